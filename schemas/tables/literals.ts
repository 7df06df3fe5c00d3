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

/** Runs of numbers up to which a condition compares with their ends: with more, whether a set has a number is found sooner. */
const RUNS_MAX = 16

/**
 * Condition on a column of indices, of those that are given, ascending and each once. Validators that were created together follow on each other: to
 * compare with the ends of a run of ten thousand takes the engine half as long as to understand so many numbers and look for each row's among them.
 */
export function indicesSql(column: string, indices: readonly number[]): string {
  const runs = runsOf(indices)
  if (runs.length > RUNS_MAX) return `${column} IN (${indices.map(indexSql).join(', ')})`
  if (runs.length === 0) return '0'
  return `(${runs.map(({ first, last }) => `${column} BETWEEN ${indexSql(first)} AND ${indexSql(last)}`).join(' OR ')})`
}

/** Runs of numbers that follow on each other, of such as ascend; both ends are of the run. */
export function runsOf(numbers: readonly number[]): readonly { readonly first: number; readonly last: number }[] {
  const runs: { readonly first: number; last: number }[] = []
  for (const number of numbers) {
    const run = runs.at(-1)
    if (run !== undefined && number === run.last + 1) run.last = number
    else runs.push({ first: number, last: number })
  }
  return runs
}

function indexSql(index: number): string {
  if (!Number.isSafeInteger(index) || index < 0) throw new Error(`not an index: ${index}`)
  return `${index}`
}
