import { createHash } from 'node:crypto'
import { isIPv6 } from 'node:net'

const MAPPED_IPV4 = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i
/** Whoever has one address of IPv6 usually has all of its network. */
const NETWORK_GROUPS = 4
const GROUPS = 8

/** Tells clients apart by their network address, which stays in no place: SHA-256, hex. Of IPv6, all of a /64 are one client. */
export function clientOf(address: string): string {
  return createHash('sha256').update(networkOf(address)).digest('hex')
}

export function networkOf(address: string): string {
  const [text = ''] = address.split('%') // a zone is this machine's word for an interface
  const mapped = MAPPED_IPV4.exec(text)?.[1]
  if (mapped !== undefined) return mapped
  if (!isIPv6(text)) return text
  const [head = '', tail] = text.split('::')
  const left = head.split(':').filter((group) => group !== '')
  const right = tail === undefined ? [] : tail.split(':').filter((group) => group !== '')
  const gap = Array.from({ length: Math.max(0, GROUPS - left.length - right.length) }, () => '0')
  const groups = [...left, ...gap, ...right].slice(0, NETWORK_GROUPS)
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}
