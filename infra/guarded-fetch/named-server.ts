import { isIP } from 'node:net'
import { isPublicAddress } from './public-address.ts'

// What a URL says of its server before anybody resolves a name.

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' }
/** Last labels of names that no public name server knows: RFC 6761, RFC 6762, ICANN's for private use, and what routers and hosts files give out. */
const LOCAL_ENDS: ReadonlySet<string> = new Set(['localhost', 'local', 'internal', 'localdomain', 'lan'])
/** RFC 8375. */
const HOME = 'home.arpa'

/** The name, or the address without brackets. `URL` has made decimal, octal and hex forms of IPv4 addresses one. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1')
}

/** Whether a URL leads to the one server that may be asked wherever it is: `host:port`, as a URL spells them. */
export function isAllowedServer(url: URL, allowed: string | undefined): boolean {
  return `${url.hostname}:${url.port === '' ? DEFAULT_PORTS[url.protocol] : url.port}` === allowed
}

/**
 * Whether an http or https URL may be one of the public internet, as far as it says so itself: false for an address that is not public, for
 * a name that leads somewhere only inside a network, and where there is a user or a password in it. What a name resolves to is not known.
 */
export function mayBePublic(text: string, allowed?: string): boolean {
  const url = URL.parse(text)
  if (url === null || !Object.hasOwn(DEFAULT_PORTS, url.protocol)) return false
  if (url.username !== '' || url.password !== '') return false
  if (isAllowedServer(url, allowed)) return true
  const host = hostOf(url)
  return isIP(host) === 0 ? !isLocalName(host) : isPublicAddress(host)
}

/** Dots at the end, or twice, change nothing for many who resolve names. */
function isLocalName(host: string): boolean {
  const labels = host.split('.').filter((label) => label !== '')
  return labels.length < 2 || LOCAL_ENDS.has(labels.at(-1) ?? '') || labels.slice(-2).join('.') === HOME
}
