/** A refusal in JSON-RPC's own terms; it becomes the `error` of an answer. */
export class RpcFault extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.name = 'RpcFault'
    this.code = code
  }
}
