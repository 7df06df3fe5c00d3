const MAX = 2n ** 256n - 1n

/** Whether somebody with this amount holds anything, as SQL: `excess` is what is above 256 bits. */
export const IS_HELD = '(excess > 0 OR (excess = 0 AND amount > 0))'

/** The same of a row. */
export function isHeld({ amount, excess = '0' }: Readonly<Record<string, string>>): boolean {
  return excess === '0' ? amount !== '0' : !excess.startsWith('-')
}

/** An amount of one token as a contract that kept to its standard could have it. */
export function shownAmount({ amount, excess }: Readonly<Record<string, string>>): string {
  if (excess === '0') return amount ?? '0'
  return excess?.startsWith('-') ? '0' : MAX.toString()
}

/** A sum over tokens, which may be more than one of them can have. */
export function wholeAmount({ amount = '0', excess = '0' }: Readonly<Record<string, string>>): string {
  return excess === '0' ? amount : ((BigInt(excess) << 256n) + BigInt(amount)).toString()
}

export function isInconsistent({ excess }: Readonly<Record<string, string>>): boolean {
  return excess !== '0'
}

/** Of numbers that are below 2^53: most ids are, and to make them of a double takes a fraction of the time. */
const SAFE_DECIMALS = 15
const UNSAFE_HEX_DIGITS = 64 - 13
const ZEROS = '0'.repeat(UNSAFE_HEX_DIGITS)

/** A token as the tables have it, 32 bytes of hex with 0x, and as it is told. */
export const tokenHex = (decimal: string): string =>
  (decimal.length <= SAFE_DECIMALS ? Number(decimal) : BigInt(decimal)).toString(16).padStart(64, '0')
export const tokenText = (hex: string): string =>
  hex.startsWith(ZEROS, 2) ? String(Number.parseInt(hex.slice(2 + UNSAFE_HEX_DIGITS), 16)) : BigInt(hex).toString()
