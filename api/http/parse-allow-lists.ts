import {
  ALLOW_BYTES_MAX,
  ALLOW_LISTS,
  type AllowList,
  type AllowLists,
  METHOD_ENTRY_PATTERN,
  ORIGIN_CHARACTERS_MAX,
} from '../../schemas/allow-lists.ts'
import { hasRightChecksum } from '../../schemas/eth/address.ts'
import { parseIpNetwork } from './ip-networks.ts'

const METHOD = new RegExp(METHOD_ENTRY_PATTERN)

/** How an entry is kept, so that it is compared as a text; undefined where it is none. */
const KEPT: Readonly<Record<AllowList, (entry: string) => string | undefined>> = {
  origins: originOf,
  ips: (entry) => (parseIpNetwork(entry) === undefined ? undefined : entry.toLowerCase()),
  methods: (entry) => (METHOD.test(entry) && !entry.slice(0, -1).includes('*') ? entry : undefined),
  contracts: (entry) => (/^0x[0-9a-f]{40}$/i.test(entry) && hasRightChecksum(entry) ? entry.toLowerCase() : undefined),
}

const WORDS: Readonly<Record<AllowList, string>> = {
  origins: 'no origin of a page, e.g. https://app.example.org',
  ips: 'neither an address nor a network, e.g. 203.0.113.0/24',
  methods: 'no name of a method, e.g. eth_get*, where * may stand at the end alone',
  contracts: 'no address of a contract: 0x and 40 hex digits, with the right checksum where letters are of both cases',
}

export type ParsedAllowLists =
  | { readonly status: 'ok'; readonly allow: AllowLists | undefined }
  | { readonly status: 'refused'; readonly list: AllowList; readonly entry: string; readonly why: string }
  /** Together they have more than `ALLOW_BYTES_MAX`. */
  | { readonly status: 'too-large' }

/** Lists as people write them, in the spelling that they are kept and compared in, each entry once. Without any list there is none. */
export function parseAllowLists(given: { readonly [List in AllowList]?: readonly string[] }): ParsedAllowLists {
  const allow: { [List in AllowList]?: string[] } = {}
  for (const list of ALLOW_LISTS) {
    const entries = given[list]
    if (entries === undefined) continue
    const kept = new Set<string>()
    for (const entry of entries) {
      const text = KEPT[list](entry)
      if (text === undefined) return { status: 'refused', list, entry, why: WORDS[list] }
      kept.add(text)
    }
    allow[list] = [...kept]
  }
  // Kept entries are ASCII, a byte a character.
  const bytes = Object.values(allow).reduce((sum, entries) => sum + entries.join('').length, 0)
  if (bytes > ALLOW_BYTES_MAX) return { status: 'too-large' }
  return { status: 'ok', allow: Object.keys(allow).length === 0 ? undefined : allow }
}

/** As browsers send it: lower case, without the scheme's own port. */
function originOf(entry: string): string | undefined {
  const url = URL.parse(entry)
  const isOrigin = url !== null && /^https?:$/.test(url.protocol) && `${url.pathname}${url.search}${url.hash}` === '/'
  if (!isOrigin || entry.endsWith('/') || url.username !== '' || url.password !== '' || /[,*]/.test(url.host))
    return undefined
  return url.origin.length > ORIGIN_CHARACTERS_MAX ? undefined : url.origin
}
