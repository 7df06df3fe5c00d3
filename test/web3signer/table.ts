/**
 * Web3Signer's OpenAPI, as far as it is used: Consensys/web3signer, core/src/main/resources/openapi-specs/eth2 (signing/paths/sign.yaml and
 * signing/schemas.yaml of 23.8.0 and later, keymanager/paths/keystores.yaml and keymanager/schemas.yaml, signing/paths/upcheck.yaml). A
 * field's rule is its pattern or format there; `uint64` is decimal text, as its examples are.
 */
export const WEB3SIGNER_API = {
  sign: {
    method: 'POST',
    path: /^\/api\/v1\/eth2\/sign\/(0x[a-fA-F0-9]{96})$/,
    /** VoluntaryExitSigning: Signing (fork_info required, signingRoot optional) with type and voluntary_exit, both required. */
    request: {
      required: {
        type: /^VOLUNTARY_EXIT$/,
        'fork_info.fork.previous_version': /^0x[a-fA-F0-9]{8}$/,
        'fork_info.fork.current_version': /^0x[a-fA-F0-9]{8}$/,
        'fork_info.fork.epoch': /^\d+$/,
        'fork_info.genesis_validators_root': /^0x[a-fA-F0-9]{64}$/,
        'voluntary_exit.epoch': /^\d+$/,
        'voluntary_exit.validator_index': /^\d+$/,
      },
      optional: { signingRoot: /^0x[a-fA-F0-9]{64}$/ },
    },
    /** 200: SigningResponse as application/json, or the text alone as text/plain; 400 malformed; 404 no such key; 412 slashing rules. */
    statuses: [200, 400, 404, 412, 500],
    answer: { signature: /^0x[a-fA-F0-9]{192}$/ },
  },
  keystores: {
    method: 'POST',
    path: /^\/eth\/v1\/keystores$/,
    request: {
      required: { 'keystores.*': /^\{.*\}$/s, 'passwords.*': /^.+$/s },
      optional: { slashing_protection: /^\{.*\}$/s },
    },
    /** `data` has the length and the order of `keystores`. */
    statuses: [200, 401, 403, 500],
    answer: { 'data.*.status': /^(imported|duplicate|error)$/, 'data.*.message': /^.*$/ },
  },
  upcheck: { method: 'GET', path: /^\/upcheck$/, statuses: [200, 500] },
} as const

type Rules = Readonly<Record<string, RegExp>>

/** The leaves of a JSON value by their paths, list entries as `*`. */
function leavesOf(value: unknown, path = ''): readonly (readonly [string, unknown])[] {
  if (Array.isArray(value)) return value.flatMap((item) => leavesOf(item, `${path}.*`.replace(/^\./, '')))
  if (typeof value !== 'object' || value === null) return [[path, value]]
  return Object.entries(value).flatMap(([name, field]) => leavesOf(field, path === '' ? name : `${path}.${name}`))
}

/** What is wrong with a body by its rules; empty when nothing is. All leaves are texts there. */
export function faultsOf(body: unknown, required: Rules, optional: Rules = {}): readonly string[] {
  const leaves = leavesOf(body)
  const missing = Object.keys(required).filter((path) => !leaves.some(([found]) => found === path))
  const wrong = leaves.flatMap(([path, value]) => {
    const rule = required[path] ?? optional[path]
    if (rule === undefined) return [`${path} is not in the API`]
    return typeof value === 'string' && rule.test(value) ? [] : [`${path} is not ${rule.source}`]
  })
  return [...missing.map((path) => `${path} is missing`), ...wrong]
}
