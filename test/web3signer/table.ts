import type { AnswerRules, TableRoute } from './api-table.ts'

/** `ErrorResponse` of keymanager/schemas.yaml. */
const REFUSED: AnswerRules = { json: { required: { message: /^.*$/s }, optional: {} } }

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
    /** 200: SigningResponse as application/json, or the text alone; 400 malformed; 404 no such key; 412 slashing rules. */
    answers: {
      200: {
        json: { required: { signature: /^0x[a-fA-F0-9]{192}$/ }, optional: {} },
        text: /^0x[a-fA-F0-9]{192}$/,
      },
      ...{ 400: {}, 404: {}, 412: {}, 500: {} },
    },
  },
  keystores: {
    method: 'POST',
    path: /^\/eth\/v1\/keystores$/,
    request: {
      required: { 'keystores.*': /^\{.*\}$/s, 'passwords.*': /^.+$/s },
      optional: { slashing_protection: /^\{.*\}$/s },
    },
    /** `data` has the length and the order of `keystores`. */
    answers: {
      200: {
        json: {
          required: { 'data.*.status': /^(imported|duplicate|error)$/ },
          optional: { 'data.*.message': /^.*$/s },
        },
      },
      ...{ 401: REFUSED, 403: REFUSED, 500: REFUSED },
    },
  },
  upcheck: { method: 'GET', path: /^\/upcheck$/, answers: { 200: { text: /^OK$/ }, 500: { text: /^FAILED$/ } } },
} as const satisfies Record<string, TableRoute>
