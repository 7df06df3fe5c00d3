import { Pool } from 'undici'
import { AppError } from '../../../schemas/errors.ts'

export type Call = readonly [method: string, params: readonly unknown[]]

export type CallResult =
  | { readonly status: 'ok'; readonly result: unknown }
  | { readonly status: 'error'; readonly code: number; readonly message: string }

interface Response {
  readonly id: number
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string }
}

export interface JsonRpc extends AsyncDisposable {
  isUp(): Promise<boolean>
  /** One HTTP request; results in the order of the calls. An empty list asks nothing. */
  batch(calls: readonly Call[]): Promise<readonly CallResult[]>
  /** One call that must succeed. */
  call(method: string, params: readonly unknown[]): Promise<unknown>
  /** Passes a body on and gives back the answer's text. */
  forward(body: string): Promise<string>
}

/** Requests beyond this wait; the engine needs one, the rest are the front's readers. */
const CONNECTIONS_MAX = 8
const REQUEST_TIMEOUT_MS = 60_000

/** The result of a call that must succeed. */
export function expectOk(call: Call, outcome: CallResult | undefined): unknown {
  if (outcome?.status === 'ok') return outcome.result
  throw new Error(`${call[0]} failed in anvil: ${outcome?.message ?? 'no answer'}`)
}

/** JSON-RPC over HTTP with kept-alive connections. */
export function openJsonRpc(origin: string): JsonRpc {
  const pool = new Pool(origin, {
    connections: CONNECTIONS_MAX,
    headersTimeout: REQUEST_TIMEOUT_MS,
    bodyTimeout: REQUEST_TIMEOUT_MS,
  })

  async function forward(body: string): Promise<string> {
    try {
      const headers = { 'content-type': 'application/json' }
      const response = await pool.request({ path: '/', method: 'POST', headers, body })
      return await response.body.text()
    } catch (cause) {
      throw new AppError('node_unreachable', "the devnet's execution client (anvil) does not answer", { cause })
    }
  }

  async function batch(calls: readonly Call[]): Promise<readonly CallResult[]> {
    if (calls.length === 0) return []
    const requests = calls.map(([method, params], id) => ({ jsonrpc: '2.0', id, method, params }))
    const responses = JSON.parse(await forward(JSON.stringify(requests))) as Response[]
    const results = new Array<CallResult>(calls.length)
    for (const { id, result, error } of responses) {
      results[id] = error === undefined ? { status: 'ok', result } : { status: 'error', ...error }
    }
    return results
  }

  return {
    batch,
    forward,
    async call(method, params) {
      const [outcome] = await batch([[method, params]])
      return expectOk([method, params], outcome)
    },
    async isUp() {
      try {
        await batch([['eth_chainId', []]])
        return true
      } catch (error) {
        if (error instanceof AppError && error.code === 'node_unreachable') return false
        throw error
      }
    },
    [Symbol.asyncDispose]: () => pool.destroy(),
  }
}
