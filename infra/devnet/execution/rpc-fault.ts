// The codes of JSON-RPC 2.0, and what nodes use besides.
export const PARSE_ERROR = -32_700
export const INVALID_REQUEST = -32_600
export const METHOD_NOT_FOUND = -32_601
export const INVALID_PARAMS = -32_602
export const INTERNAL_ERROR = -32_603
export const SERVER_ERROR = -32_000
export const LIMIT_EXCEEDED = -32_005

/** A refusal in JSON-RPC's own terms; it becomes the `error` of an answer. */
export class RpcFault extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.name = 'RpcFault'
    this.code = code
  }
}
