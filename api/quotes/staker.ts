import { hasRightChecksum } from '../../schemas/eth/address.ts'
import { type QuoteRefusal, refuseQuote } from '../../schemas/routes/quotes/quote-route.ts'

const ADDRESS = /^0[xX][0-9a-fA-F]{40}$/
const ZERO_ADDRESS = `0x${'00'.repeat(20)}`

type Staker = { readonly status: 'ok' /** Lower-case hex. */; readonly address: string } | QuoteRefusal

/** The address of a question; refused where stake would go where nobody meant it to go. */
export function readStaker(text: string): Staker {
  const digits = `0x${text.slice(2)}`
  if (!ADDRESS.test(text)) return refuseQuote(405, 'address is not one of 20 bytes in hex')
  if (!hasRightChecksum(digits)) return refuseQuote(405, 'address does not have the checksum of its letters (EIP-55)')
  if (digits === ZERO_ADDRESS) return refuseQuote(405, 'address is the zero address')
  return { status: 'ok', address: digits.toLowerCase() }
}

/** Withdrawal credentials, lower-case hex, of validators that pay to an address: those that do not compound, and those that do. */
export function credentialsOf(address: string): readonly string[] {
  return ['0x01', '0x02'].map((type) => `${type}${'00'.repeat(11)}${address.slice(2)}`)
}
