import { transactionRecipient } from '../../schemas/eth/transaction-recipient.ts'
import { type Call, MEMBERS_MAX } from './calls.ts'
import {
  endOfValue,
  foldedKey,
  isArrayAt,
  isObjectAt,
  isStringAt,
  itemsOf,
  type Member,
  membersOf,
} from './json-text.ts'
import type { ContractPlace } from './method-rules.ts'

/** What is told of a call that names none where it has to. */
const NONE = 'the call names none, or none that can be read'
const ADDRESS = /^(0x)?[0-9a-f]{40}$/i

/** A value within a call, as it lies in the body. */
interface Value {
  readonly body: Buffer
  readonly from: number
}

/**
 * What of the call is not for the contracts of a key: the first contract that is none of them, or a word on why none can be told.
 * Undefined where all that it names are among them. Read as the strictest of nodes: of members that nodes may take for one another all count.
 */
export function foreignContract(
  body: Buffer,
  { method, params }: Call,
  { place, contracts }: { readonly place: ContractPlace; readonly contracts: ReadonlySet<string> },
): string | undefined {
  if (place === 'closed') return `${method} may name any`
  // By name nodes call them as each likes.
  if (params === undefined || !isArrayAt(body, params.from)) return NONE
  const values = itemsOf(body, params.from).map((from) => ({ body, from }))
  const named = namedBy(place, values)
  return named === undefined ? NONE : named.find((one) => !contracts.has(one.toLowerCase()))
}

/** Addresses as they are written; undefined where one that there has to be is not, or is no text. */
function namedBy(place: Exclude<ContractPlace, 'closed'>, values: readonly Value[]): readonly string[] | undefined {
  const [first, second] = values
  if (first === undefined) return undefined
  switch (place) {
    case 'transaction':
      return values.slice(1).some(changesState) ? undefined : membersNamed(first, 'to')
    case 'address':
      return textsOf(first)
    case 'logs':
      return membersNamed(first, 'address')
    case 'subscription': {
      const kind = textsOf(first)?.[0]
      if (kind !== 'logs') return []
      return second === undefined ? undefined : membersNamed(second, 'address')
    }
    case 'rawTransaction': {
      const recipient = transactionRecipient(textsOf(first)?.[0] ?? '')
      return recipient === undefined ? undefined : [recipient]
    }
  }
}

/** The texts of all members that stand for `key`; undefined where there is none, or one with something else, or more members than a call has. */
function membersNamed({ body, from }: Value, key: string): readonly string[] | undefined {
  if (!isObjectAt(body, from)) return undefined
  const texts: string[] = []
  const members = membersOf(body, from, MEMBERS_MAX + 1)
  if (members.length > MEMBERS_MAX) return undefined
  for (const member of members) {
    if (foldedKey(body, member) !== key) continue
    const own = textsOf({ body, from: member.from })
    if (own === undefined) return undefined
    texts.push(...own)
  }
  return texts.length === 0 ? undefined : texts
}

/** Of a text, or of a list of texts that has some. */
function textsOf({ body, from }: Value): readonly string[] | undefined {
  if (isStringAt(body, from)) return [JSON.parse(body.toString('utf8', from, endOfValue(body, from))) as string]
  if (!isArrayAt(body, from)) return undefined
  const items = itemsOf(body, from)
  if (items.length === 0 || !items.every((at) => isStringAt(body, at))) return undefined
  return items.flatMap((at) => textsOf({ body, from: at }) ?? [])
}

/** Whether it has other code or storage for addresses, with which a contract may be made to call every other one. */
function changesState({ body, from }: Value): boolean {
  if (!isObjectAt(body, from)) return false
  const members = membersOf(body, from, MEMBERS_MAX + 1)
  const isOfAddress = ({ keyFrom, keyTo, from: valueFrom }: Member): boolean =>
    isObjectAt(body, valueFrom) && ADDRESS.test(JSON.parse(body.toString('utf8', keyFrom, keyTo)) as string)
  return members.length > MEMBERS_MAX || members.some(isOfAddress)
}
