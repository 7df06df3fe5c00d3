import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'

// What of a request's headers a node sees, and of an answer's a client: whatever is not named here stays here.

const TO_NODES: ReadonlySet<string> = new Set([
  ...['accept', 'accept-encoding', 'accept-language', 'content-type', 'content-encoding', 'range'],
  ...['if-match', 'if-modified-since', 'if-none-match', 'if-range', 'if-unmodified-since', 'last-event-id'],
])
const TO_CLIENTS: ReadonlySet<string> = new Set([
  ...['accept-ranges', 'age', 'cache-control', 'content-disposition', 'content-encoding', 'content-language'],
  ...['content-length', 'content-range', 'content-type', 'etag', 'expires', 'last-modified', 'vary'],
  // Grpc-gateway of Cosmos nodes tells the height by it.
  'grpc-metadata-x-cosmos-block-height',
])
/** Of the Beacon API, Aptos, IPFS gateways and Cosmos: what their answers are of. */
const PREFIXES = ['eth-', 'x-aptos-', 'x-ipfs-', 'x-cosmos-'] as const
const USER_AGENT = 'epochline'

const hasPrefix = (name: string): boolean => PREFIXES.some((prefix) => name.startsWith(prefix))

/** Names and values in turn, of a native request whose body is passed on as it comes. `isRead`: as of `toRpcHeaders`. */
export function toNodeHeaders(
  { headers, method }: Pick<IncomingMessage, 'headers' | 'method'>,
  isRead: boolean,
): string[] {
  const passed = ['user-agent', USER_AGENT]
  for (const name in headers) {
    const value = headers[name]
    if (isRead && name === 'accept-encoding') continue
    if (typeof value === 'string' && (TO_NODES.has(name) || hasPrefix(name))) passed.push(name, value)
  }
  // Its length is known: the node need not take it in pieces.
  const length = headers['content-length']
  if (method === 'POST' && length !== undefined) passed.push('content-length', length)
  return passed
}

/** Of a JSON-RPC call: no more than it takes. `isRead`: its answer is looked into, and not to be compressed. */
export function toRpcHeaders({ headers }: Pick<IncomingMessage, 'headers'>, isRead: boolean): string[] {
  const passed = ['content-type', 'application/json', 'accept', 'application/json', 'user-agent', USER_AGENT]
  const encoding = headers['accept-encoding']
  if (encoding !== undefined && !isRead) passed.push('accept-encoding', encoding as string)
  return passed
}

/** Names and values in turn; of one that came several times all values. `isCut`: all but the length, which is another one. */
export function toClientHeaders(headers: IncomingHttpHeaders, isCut = false): string[] {
  const passed: string[] = []
  for (const name in headers) {
    if ((!TO_CLIENTS.has(name) && !hasPrefix(name)) || (isCut && name === 'content-length')) continue
    const value = headers[name]
    if (typeof value === 'string') passed.push(name, value)
    else if (value !== undefined) for (const one of value) passed.push(name, one)
  }
  return passed
}
