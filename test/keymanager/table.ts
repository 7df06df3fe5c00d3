import type { AnswerRules, TableRoute } from '../web3signer/api-table.ts'

/** `ErrorResponse`. */
const REFUSED: AnswerRules = { json: { required: { message: /^.*$/s }, optional: {} } }
/** Of every route, since each wants a bearer token. */
const REFUSALS = { 401: REFUSED, 403: REFUSED, 500: REFUSED }

/**
 * The standard Keymanager API, as far as it is used: ethereum/keymanager-APIs, keymanager-oapi.yaml with apis/local_keystores.yaml and
 * apis/fee_recipient.yaml (releases/v1.1.0). A field's rule is its pattern or enum there; every route wants a bearer token (401 without
 * one, 403 for another), and answers `{ message }` when it refuses.
 */
export const KEYMANAGER_API = {
  list: {
    method: 'GET',
    path: /^\/eth\/v1\/keystores$/,
    answers: {
      200: {
        json: {
          required: { 'data.*.validating_pubkey': /^0x[a-fA-F0-9]{96}$/ },
          optional: { 'data.*.derivation_path': /^.*$/, 'data.*.readonly': 'boolean' },
        },
      },
      ...REFUSALS,
    },
  },
  import: {
    method: 'POST',
    path: /^\/eth\/v1\/keystores$/,
    request: {
      required: { 'keystores.*': /^\{.*\}$/s, 'passwords.*': /^.+$/s },
      optional: { slashing_protection: /^\{.*\}$/s },
    },
    /** `data` has the length and the order of `keystores`: `imported`, `duplicate`, or `error` with a message. */
    answers: {
      200: {
        json: {
          required: { 'data.*.status': /^(imported|duplicate|error)$/ },
          optional: { 'data.*.message': /^.*$/s },
        },
      },
      400: REFUSED,
      ...REFUSALS,
    },
  },
  feeRecipient: {
    method: 'POST',
    path: /^\/eth\/v1\/validator\/(0x[a-fA-F0-9]{96})\/feerecipient$/,
    request: { required: { ethaddress: /^0x[a-fA-F0-9]{40}$/ }, optional: {} },
    answers: { 202: {}, 400: REFUSED, 404: REFUSED, ...REFUSALS },
  },
} as const satisfies Record<string, TableRoute>
