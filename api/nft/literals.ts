import type { NftPin } from './asking.ts'

// Values written into statements: a parameter takes the engine longer to understand than to look up what is asked for. Nothing gets here
// but what was checked: addresses, tokens, and names of chains that are configured.

const HEX = /^(?:[0-9a-f]{2})*$/

/** Bytes of hex without 0x, as the engine compares them without a function. */
export function bytesSql(hex: string): string {
  if (!HEX.test(hex)) throw new Error(`not hex: ${hex}`)
  return `'${hex.replaceAll(/../g, '\\x$&')}'`
}

export function textSql(text: string): string {
  return `'${text.replaceAll(/[\\']/g, '\\$&')}'`
}

/** Rows of the chain's fold. */
export function foldSql({ chain, standing }: Pick<NftPin, 'chain' | 'standing'>): string {
  return `chain = ${textSql(chain)} AND start = ${standing.start}`
}
