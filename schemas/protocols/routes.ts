import type { Probe, Route, Verb } from './protocol.ts'

/** JSON-RPC by POST at each of the paths. */
export function jsonRpcAt(...paths: readonly string[]): readonly Route[] {
  return paths.map((path) => ({ verbs: ['POST'], path, form: 'json-rpc' }))
}

export function restReads(verbs: readonly Verb[], paths: readonly string[]): readonly Route[] {
  return paths.map((path) => ({ verbs, path, form: 'rest' }))
}

/** By POST: what a node is made to do by them it does once. */
export function restWrites(paths: readonly string[]): readonly Route[] {
  return paths.map((path) => ({ verbs: ['POST'], path, form: 'rest', isWrite: true }))
}

/** A question by JSON-RPC, whose answer is `result` or lies in it. */
export function rpcProbe(
  { method, params = [], path = '/' }: { method: string; params?: readonly unknown[]; path?: string },
  as: Probe['as'],
  at: Probe['at'] = [],
): Probe {
  return { verb: 'POST', path, body: { jsonrpc: '2.0', id: 1, method, params }, at: ['result', ...at], as }
}

export function restProbe(path: string, as: Probe['as'], at: Probe['at']): Probe {
  return { verb: 'GET', path, at, as }
}
