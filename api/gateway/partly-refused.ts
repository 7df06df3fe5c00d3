import { idOfAnswer } from './call-ids.ts'
import { endOfValue, itemsOf, skipBlanks } from './json-text.ts'
import { isAboutUs } from './node-answer.ts'
import { rpcRefusal, tellRefusal } from './refusals.ts'

/** A node's answer to a batch as clients may see it. */
export interface Cleared {
  readonly answer: Buffer
  /** Of calls that were not answered, as `meantBy` has them. */
  readonly unanswered: ReadonlySet<string>
}

/** An answer of which some parts are about us: these are ours instead, and the bytes of the others stay. It is known to be a list in JSON. */
export function clearOfRefusals(answer: Buffer): Cleared {
  const parsed = JSON.parse(answer.toString()) as readonly unknown[]
  const starts = itemsOf(answer, skipBlanks(answer, 0))
  const unanswered = new Set<string>()
  const pieces: Buffer[] = []
  let copied = 0
  for (const [i, one] of parsed.entries()) {
    if (!isAboutUs(one)) continue
    const from = starts[i] as number
    const id = idOfAnswer(answer, from) ?? 'null'
    unanswered.add(id)
    pieces.push(answer.subarray(copied, from), Buffer.from(rpcRefusal(NOT_ANSWERED, id)))
    copied = endOfValue(answer, from)
  }
  return { answer: Buffer.concat([...pieces, answer.subarray(copied)]), unanswered }
}

const NOT_ANSWERED = tellRefusal({ kind: 'bad-answer' })
