import { chainKey } from '../../schemas/chains.ts'
import { validatorsTracked } from '../../schemas/events/accounts.ts'
import { beaconBlock } from '../../schemas/events/beacon-block.ts'
import { dayBalances, epochBlocks, epochValidators } from '../../schemas/events/beacon-epoch.ts'
import { decodeEvent, type EncodedEvent, type EventType, type Topic } from '../../schemas/events/codec.ts'
import { executionBlock } from '../../schemas/events/execution-block.ts'
import { feeRecipientsTold } from '../../schemas/events/fee-recipients.ts'
import { registryLookedAt, validatorsIdentified } from '../../schemas/events/validators.ts'

/** Topics of accounts, not of chains. */
const OF_ACCOUNTS: ReadonlySet<Topic> = new Set<Topic>(['accounts', 'usage'])
/** Facts of the accounts that are about validators of one chain. */
const OF_A_CHAIN: ReadonlySet<string> = new Set([validatorsTracked.name, feeRecipientsTold.name])

/** The same events of another chain: data and key name it. What is about accounts and names no chain is left out. */
export function renamed(events: ReadonlyMap<Topic, readonly EncodedEvent[]>, chain: string): typeof events {
  return new Map(
    [...events].map(([topic, list]) => [
      topic,
      list.filter(({ type }) => !OF_ACCOUNTS.has(topic) || OF_A_CHAIN.has(type)).map((e) => renameOne(e, chain)),
    ]),
  )
}

/** The same event of another chain. */
export function renameOne(event: EncodedEvent, chain: string): EncodedEvent {
  const named = (data: Uint8Array): EncodedEvent => ({
    ...event,
    id: `${event.id}:${chain}`,
    key: OF_A_CHAIN.has(event.type) ? event.key : keyOf(event.key, chain),
    data,
  })
  const json = <Data extends { chain: string }>(type: EventType<string, Data>): EncodedEvent =>
    named(type.encode({ ...decodeEvent(type, event), chain }))
  const packed = <Data extends { header: { chain: string } }>(type: EventType<string, Data>): EncodedEvent => {
    const data = decodeEvent(type, event)
    return named(type.encode({ ...data, header: { ...data.header, chain } }))
  }
  switch (event.type) {
    case validatorsTracked.name:
      return json(validatorsTracked)
    case feeRecipientsTold.name:
      return json(feeRecipientsTold)
    case validatorsIdentified.name:
      return json(validatorsIdentified)
    case registryLookedAt.name:
      return json(registryLookedAt)
    case beaconBlock.name:
      return json(beaconBlock)
    case executionBlock.name:
      return packed(executionBlock)
    case epochValidators.name:
      return packed(epochValidators)
    case dayBalances.name:
      return packed(dayBalances)
    case epochBlocks.name:
      return packed(epochBlocks)
    default:
      throw new Error(`no chain can be given to ${event.type}`)
  }
}

function keyOf(key: string, chain: string): string {
  const [, ...parts] = key.split(':')
  return parts.length === 0 ? chainKey(chain) : chainKey(chain, parts.join(':'))
}

/** Events of both in turns: what lies in one topic when several chains are followed. */
export function inTurns(
  a: ReadonlyMap<Topic, readonly EncodedEvent[]>,
  b: ReadonlyMap<Topic, readonly EncodedEvent[]>,
): typeof a {
  return new Map(
    [...a].map(([topic, first]) => {
      const second = b.get(topic) ?? []
      const length = Math.max(first.length, second.length)
      return [topic, Array.from({ length }, (_, i) => [first[i], second[i]].filter((e) => e !== undefined)).flat()]
    }),
  )
}
