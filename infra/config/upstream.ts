import type { Protocol } from '../../schemas/protocols/protocol.ts'
import type { Path } from './mistakes.ts'
import { NODE_URL, WEBSOCKET_URL } from './references.ts'
import type { FileUpstream } from './rules.ts'
import type { SettingReader } from './setting-reader.ts'
import type { UpstreamConfig } from './types.ts'

const WEIGHT_DEFAULT = 1

/** A token of HTTP (RFC 9110, 5.6.2). */
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}$/
/** One line without blanks around it; what is not ASCII has no meaning in HTTP. */
const HEADER_VALUE = /^[!-~]([\t -~]{0,4094}[!-~])?$/
/** Of one connection (RFC 9110, 7.6.1), or of the message that is sent on it: only who sends it knows them. */
const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'proxy-authorization'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade', 'content-length', 'host', 'expect'],
])
const WEBSOCKET_HEADERS = 'sec-websocket-'

/** One upstream of a network. */
export function readUpstream(
  reader: SettingReader,
  path: Path,
  { upstream, protocol }: { readonly upstream: FileUpstream; readonly protocol: Protocol },
): UpstreamConfig {
  const { url, ws_url: inFile, headers = {}, archive, weight } = upstream
  if (url === undefined) reader.refuseAt([...path, 'url'], `is missing; e.g. url: ${NODE_URL.example} or env:NAME`)
  const read = url === undefined ? '' : reader.fileUrl([...path, 'url'], url, NODE_URL)
  const wsUrl = inFile === undefined ? undefined : readWebSocketUrl(reader, [...path, 'ws_url'], inFile, protocol)
  const isArchive = archive ?? false
  reader.show([...path, 'archive'], isArchive, archive === undefined ? 'default' : undefined)
  reader.show([...path, 'weight'], weight ?? WEIGHT_DEFAULT, weight === undefined ? 'default' : undefined)
  return {
    url: read,
    ...(wsUrl === undefined ? {} : { wsUrl }),
    headers: readHeaders(reader, [...path, 'headers'], headers),
    isArchive,
    weight: weight ?? WEIGHT_DEFAULT,
  }
}

function readWebSocketUrl(
  reader: SettingReader,
  path: Path,
  text: string,
  { name, webSocket }: Protocol,
): string | undefined {
  if (webSocket !== undefined && webSocket.isBridged !== true) return reader.fileUrl(path, text, WEBSOCKET_URL)
  reader.refuseAt(path, `is for protocols whose nodes have WebSocket; those of ${name} have none`)
  return undefined
}

/** Names in lower case, each once. Their values are secrets. */
function readHeaders(
  reader: SettingReader,
  path: Path,
  headers: Readonly<Record<string, string>>,
): UpstreamConfig['headers'] {
  const read = new Map<string, string>()
  for (const [spelled, text] of Object.entries(headers)) {
    const place = [...path, spelled]
    const name = spelled.toLowerCase()
    const fault = nameFault(name) ?? (read.has(name) ? 'is there twice: its letters may be of either case' : undefined)
    if (fault !== undefined) {
      reader.refuseAt(place, fault)
      continue
    }
    const value = reader.fileSecret(place, text)
    if (value !== undefined && !HEADER_VALUE.test(value))
      reader.refuseAt(place, 'refers to something that is not one line of ASCII, which a header has')
    read.set(name, value ?? '')
  }
  return Object.fromEntries(read)
}

function nameFault(name: string): string | undefined {
  if (!HEADER_NAME.test(name)) return 'is not the name of a header; e.g. authorization'
  if (CONNECTION_HEADERS.has(name) || name.startsWith(WEBSOCKET_HEADERS))
    return 'belongs to the connection, and cannot be set'
  return undefined
}
