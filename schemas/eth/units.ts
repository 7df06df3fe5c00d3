/** Gwei (1e-9 ETH), the unit of the consensus layer. */
export type Gwei = bigint
/** Wei (1e-18 ETH), the unit of the execution layer. */
export type Wei = bigint

export const WEI_PER_GWEI = 1_000_000_000n
export const GWEI_PER_ETH = 1_000_000_000
const WEI_DECIMALS = 18
const GWEI_DECIMALS = 9

/** Exact decimal text of an integer amount with `decimals` decimal places, without trailing zeros: -1500000000n, 9 -> "-1.5". */
function formatFixed(amount: bigint, decimals: number): string {
  const negative = amount < 0n
  const digits = (negative ? -amount : amount).toString().padStart(decimals + 1, '0')
  const whole = digits.slice(0, -decimals)
  const fraction = digits.slice(-decimals).replace(/0+$/, '')
  return `${negative ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

/** Wei as exact ETH text without trailing zeros: 19723733185782400n -> "0.0197237331857824". */
export function formatEthFromWei(wei: Wei): string {
  return formatFixed(wei, WEI_DECIMALS)
}

/** Gwei as exact ETH text without trailing zeros: 32000000001n -> "32.000000001". */
export function formatEthFromGwei(gwei: Gwei): string {
  return formatFixed(gwei, GWEI_DECIMALS)
}

/** Gwei to wei, exactly. */
export function toWei(gwei: Gwei): Wei {
  return gwei * WEI_PER_GWEI
}

/** Highest power of ten before the point that is read as an amount: all ether has nine. */
const ETH_DIGITS_MAX = 12

/** Parses decimal ETH text with a sign and up to 18 places ("-1.5") as wei, exactly; undefined when it is not that. */
export function parseEth(text: string): Wei | undefined {
  const match = /^([+-]?)(\d+)(?:\.(\d{1,18}))?$/.exec(text)
  const [, sign = '', whole = '', fraction = ''] = match ?? []
  if (match === null || whole.length > ETH_DIGITS_MAX) return undefined
  const wei = BigInt(whole + fraction.padEnd(WEI_DECIMALS, '0'))
  return sign === '-' ? -wei : wei
}

/** An exact share between 0 and 1, as a fraction of integers; never a float. */
export interface Rate {
  readonly numerator: bigint
  readonly denominator: bigint
}

export const RATE_DECIMALS_MAX = 18

/** Parses a decimal fraction ("0.3") between 0 and 1 exactly; undefined when it is not one. */
export function parseRate(text: string): Rate | undefined {
  const match = /^([01])(?:\.(\d+))?$/.exec(text)
  if (match === null) return undefined
  const fraction = match[2] ?? ''
  if (fraction.length > RATE_DECIMALS_MAX) return undefined
  const denominator = 10n ** BigInt(fraction.length)
  const numerator = BigInt(`${match[1]}${fraction}`)
  return numerator > denominator ? undefined : { numerator, denominator }
}
