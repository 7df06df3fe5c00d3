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

/** Names and values in turn, of a native request whose body is passed on as it comes. `isRead`: its answer is looked into, and not to be compressed. */
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

/** Of a JSON-RPC call: no more than it takes. Its answer is not to be compressed, for it is judged by what stands in it. */
export const RPC_HEADERS: readonly string[] = [
  ...['content-type', 'application/json', 'accept', 'application/json', 'user-agent', USER_AGENT],
]

/**
 * What a browser shows has no scripts, no forms and no origin: whoever may put content behind a node's address would otherwise act for those
 * who have a session at ours. What it is said to be is what it is.
 */
const NOT_OURS = ['content-security-policy', 'sandbox', 'x-content-type-options', 'nosniff'] as const
/** Types that a browser shows as a document which may have scripts, several at once too: it keeps them as a file instead. */
const DOCUMENT = /html|xml|svg|xsl|multipart|,/i
/** What nearly all nodes write, and what others do. */
const JSON_TYPE = 'application/json'
const OTHER_JSON_TYPE = /^application\/json *(?:;|$)/i

/**
 * Names and values in turn; of one that came several times all values. `isRpc`: it answers JSON-RPC, which a browser shows only where a node
 * says that it is something else. `isCut`: all but the length, which is another one.
 */
export function toClientHeaders(headers: IncomingHttpHeaders, isRpc: boolean, isCut = false): string[] {
  const passed: string[] = []
  const type = headers['content-type']
  const isDocument = type !== undefined && type !== JSON_TYPE && DOCUMENT.test(type)
  const isJson = type !== undefined && !isDocument && (type === JSON_TYPE || OTHER_JSON_TYPE.test(type))
  for (const name in headers) {
    if (!TO_CLIENTS.has(name) && !hasPrefix(name)) continue
    if ((isCut && name === 'content-length') || (isDocument && name === 'content-disposition')) continue
    const value = headers[name]
    if (typeof value === 'string') passed.push(name, value)
    else if (value !== undefined) for (const one of value) passed.push(name, one)
  }
  if (!isRpc || !isJson) passed.push(...NOT_OURS)
  if (isDocument) passed.push('content-disposition', 'attachment')
  return passed
}
