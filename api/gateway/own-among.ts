import { endOfValue, isArrayAt, itemsOf, skipBlanks } from './json-text.ts'

/** An answer of ours to something in a batch that is not sent. */
export interface OwnAnswer {
  readonly text: string
  /** How many answers a node owes to what stands before it. */
  readonly before: number
}

/** A batch of answers of ours alone. */
export const listOf = (own: readonly OwnAnswer[]): string => `[${textOf(own)}]`

/**
 * A node's answer to the rest of a batch with ours among it, each where its item stands: the node's bytes stay. In what is no list, or no
 * JSON, ours come first.
 */
export function ownAmong(answer: Buffer, own: readonly OwnAnswer[]): Buffer {
  const from = skipBlanks(answer, 0)
  if (!isArrayAt(answer, from) || !isJson(answer)) return ownFirst(answer, own)
  const starts = itemsOf(answer, from)
  const last = starts.at(-1)
  const end = last === undefined ? from + 1 : endOfValue(answer, last)
  const pieces: Buffer[] = []
  let copied = 0
  for (const { text, before } of own) {
    const at = starts[before]
    const isFirst = copied <= from && at === undefined && last === undefined
    const piece = at === undefined ? `${isFirst ? '' : ','}${text}` : `${text},`
    pieces.push(answer.subarray(copied, at ?? end), Buffer.from(piece))
    copied = at ?? end
  }
  return Buffer.concat([...pieces, answer.subarray(copied)])
}

/** The same of what is the beginning of a node's answer, or all of it: ours come first. */
export function ownFirst(answer: Buffer, own: readonly OwnAnswer[]): Buffer {
  const text = textOf(own)
  const from = skipBlanks(answer, 0)
  if (from === answer.length) return Buffer.from(`[${text}]`)
  if (!isArrayAt(answer, from)) return Buffer.concat([Buffer.from(`[${text},`), answer, Buffer.from(']')])
  const isEmpty = answer[skipBlanks(answer, from + 1)] === 0x5d
  return Buffer.concat([Buffer.from(`[${text}${isEmpty ? '' : ','}`), answer.subarray(from + 1)])
}

const textOf = (own: readonly OwnAnswer[]): string => own.map(({ text }) => text).join(',')

function isJson(text: Buffer): boolean {
  try {
    JSON.parse(text.toString())
    return true
  } catch {
    return false
  }
}
