/**
 * The standard Keymanager API, as far as it is used: ethereum/keymanager-APIs, keymanager-oapi.yaml with apis/local_keystores.yaml and
 * apis/fee_recipient.yaml (releases/v1.1.0). A field's rule is its pattern or enum there; every route wants a bearer token (401 without
 * one, 403 for another), and answers `{ message }` when it refuses.
 */
export const KEYMANAGER_API = {
  list: {
    method: 'GET',
    path: /^\/eth\/v1\/keystores$/,
    /** `data` of objects with `validating_pubkey`, and perhaps `derivation_path` and `readonly`. */
    statuses: [200, 401, 403, 500],
  },
  import: {
    method: 'POST',
    path: /^\/eth\/v1\/keystores$/,
    request: {
      required: { 'keystores.*': /^\{.*\}$/s, 'passwords.*': /^.+$/s },
      optional: { slashing_protection: /^\{.*\}$/s },
    },
    /** `data` has the length and the order of `keystores`: `imported`, `duplicate`, or `error` with a message. */
    statuses: [200, 400, 401, 403, 500],
  },
  feeRecipient: {
    method: 'POST',
    path: /^\/eth\/v1\/validator\/(0x[a-fA-F0-9]{96})\/feerecipient$/,
    request: { required: { ethaddress: /^0x[a-fA-F0-9]{40}$/ }, optional: {} },
    statuses: [202, 400, 401, 403, 404, 500],
  },
} as const
