import { isIPv4, isIPv6 } from 'node:net'

/** `address/bits`: IPv4 that is not of the public internet, by IANA's registry of special purposes (RFC 6890 and what came after it). */
const NOT_PUBLIC_V4 = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // of carriers; Alibaba's metadata
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // Azure's own server beside each machine, in an address that looks public
  '169.254.0.0/16', // link-local; the clouds' metadata
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments; Oracle's metadata
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // relays of 6to4
  '192.168.0.0/16', // private
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved; broadcast
] as const

/** Of IPv6 only this is given out to the public internet (RFC 4291) … */
const GLOBAL_V6 = '2000::/3'
/** … without these. */
const NOT_PUBLIC_V6 = [
  '2001::/23', // protocol assignments: Teredo, ORCHID
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4: leads to the IPv4 address in it
  '3fff::/20', // documentation
] as const
/** Lead to the IPv4 address in their last four bytes: mapped (RFC 4291), and translated by the well-known prefix (RFC 6052). */
const WITH_V4_AT_END = ['::ffff:0:0/96', '64:ff9b::/96'] as const

const V4_BYTES = 4
const V6_BYTES = 16
const BITS_PER_BYTE = 8

/** Whether an IP address is one of the public internet. Text that is no address is not; a zone (`%eth0`) makes it none. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return isPublicV4(bytesOfV4(address))
  if (!isIPv6(address) || address.includes('%')) return false
  const bytes = bytesOfV6(address)
  if (WITH_V4_AT_END.some((range) => isIn(bytes, range))) return isPublicV4(bytes.slice(V6_BYTES - V4_BYTES))
  return isIn(bytes, GLOBAL_V6) && !NOT_PUBLIC_V6.some((range) => isIn(bytes, range))
}

function isPublicV4(bytes: readonly number[]): boolean {
  return !NOT_PUBLIC_V4.some((range) => isIn(bytes, range))
}

function bytesOfV4(address: string): readonly number[] {
  return address.split('.').map(Number)
}

/** Of text that `isIPv6` takes: groups of hex digits, one gap at most, and perhaps an IPv4 address at the end. */
function bytesOfV6(address: string): readonly number[] {
  const [head = '', tail] = address.split('::')
  const before = groupsOf(head)
  const after = groupsOf(tail ?? '')
  const gap = tail === undefined ? 0 : V6_BYTES - before.length - after.length
  return [...before, ...Array.from({ length: gap }, () => 0), ...after]
}

function groupsOf(text: string): readonly number[] {
  if (text === '') return []
  return text.split(':').flatMap((group) => {
    if (group.includes('.')) return bytesOfV4(group)
    const value = Number.parseInt(group, 16)
    return [value >> BITS_PER_BYTE, value & 0xff]
  })
}

function isIn(bytes: readonly number[], range: string): boolean {
  const [base = '', bits = ''] = range.split('/')
  const start = isIPv4(base) ? bytesOfV4(base) : bytesOfV6(base)
  return start.every((byte, at) => {
    const counted = Math.min(Math.max(Number(bits) - at * BITS_PER_BYTE, 0), BITS_PER_BYTE)
    const mask = (0xff << (BITS_PER_BYTE - counted)) & 0xff
    return (byte & mask) === ((bytes[at] ?? 0) & mask)
  })
}
