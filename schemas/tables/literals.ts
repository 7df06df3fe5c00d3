// Values written into statements: a parameter takes the engine longer to understand than to look up what is asked for, and a call of
// unhex() for each of many values five times as long as their escapes. Nothing gets here but what was checked.

const HEX = /^(?:[0-9a-f]{2})*$/

/** Bytes of hex without 0x, lower-case, as the engine compares them without a function. */
export function bytesSql(hex: string): string {
  if (!HEX.test(hex)) throw new Error(`not hex: ${hex}`)
  return `'${hex.replaceAll(/../g, '\\x$&')}'`
}

export function textSql(text: string): string {
  return `'${text.replaceAll(/[\\']/g, '\\$&')}'`
}

/** What somebody has written, as bytes: whatever it is, it cannot end the literal. */
export const writtenSql = (text: string): string => bytesSql(Buffer.from(text).toString('hex'))
