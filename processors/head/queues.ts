import type { StoredEvent } from '../../infra/ports/event-log.ts'
import { churnLimits } from '../../schemas/eth/churn.ts'
import { FAR_FUTURE_EPOCH } from '../../schemas/eth/far-future.ts'
import { clearEpochs, type DepositQueueRules } from '../../schemas/eth/pending-deposits.ts'
import { epochOf } from '../../schemas/eth/time.ts'
import { type BeaconQueuesData, beaconQueues } from '../../schemas/events/beacon-queues.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { toChurnRules, toSweepRules } from '../../schemas/queue-rules.ts'
import type { QueueFacts } from '../../schemas/tables/chain-queues.ts'
import { type Projected, versionOf } from '../loop/rows.ts'

/** What waits at a chain's head becomes the chain's one row, and how far its queue of deposits has got one of the epoch. */
export function projectQueues(stored: StoredEvent, unnamedChain: string): Projected {
  const data = decodeEvent(beaconQueues, stored.event, unnamedChain)
  const { chain, slot } = data.header
  const columns = {
    chain: [chain],
    slot: BigUint64Array.of(BigInt(slot)),
    facts: [JSON.stringify(toQueueFacts(data))],
    version: BigUint64Array.of(versionOf(stored.position)),
  }
  const front = {
    chain: [chain],
    epoch: Uint32Array.of(epochOf(data.header.clock, slot)),
    front_slot: BigUint64Array.of(frontSlot(data)),
    version: columns.version,
  }
  return {
    rows: [
      { table: 'chain_queues', columns },
      { table: 'deposit_queue_fronts', columns: front },
    ],
  }
}

/**
 * The least slot of a request that waits, or that of the state: what was asked for before it has left the queue. One for a validator that leaves
 * is put off, and others overtake it.
 */
function frontSlot({ header, columns }: BeaconQueuesData): bigint {
  const { slot: slots, withdrawableEpoch } = columns
  return slots.reduce((least, slot, i) => {
    // Balances that were queued back and bridge deposits have no slot of their own.
    return slot > 0n && slot < least && withdrawableEpoch[i] === FAR_FUTURE_EPOCH ? slot : least
  }, BigInt(header.slot))
}

/** Healthy finality is one epoch behind when an epoch ends: within epoch E, epoch E - 2 is final. */
const HEALTHY_LAG_EPOCHS = 1

/** What estimates are made of: the queue of deposits is played once here, and not for every question. */
export function toQueueFacts(data: BeaconQueuesData): QueueFacts {
  const { clock, rules, slot, finalizedEpoch, totalActiveGwei, isSampled, carriedGwei, exits, sweep } = data.header
  const epoch = epochOf(clock, slot)
  const finalityLag = Math.max(HEALTHY_LAG_EPOCHS, epoch - finalizedEpoch - 1)
  const churn = toChurnRules(rules)
  const { exitGwei } = churnLimits(churn, epoch, BigInt(totalActiveGwei))
  return {
    clock,
    slot,
    finalityLag,
    seedLookahead: rules.MAX_SEED_LOOKAHEAD,
    exitDelayEpochs: rules.MIN_VALIDATOR_WITHDRAWABILITY_DELAY,
    serviceEpochs: rules.SHARD_COMMITTEE_PERIOD,
    minActivationGwei: rules.MIN_ACTIVATION_BALANCE,
    deposits: {
      ...depositFacts(data, {
        churn,
        slotsPerEpoch: clock.slotsPerEpoch,
        perEpochMax: rules.MAX_PENDING_DEPOSITS_PER_EPOCH,
        finalizedAtEndOf: (ending) => Math.max(finalizedEpoch, ending - finalityLag),
      }),
      isCarryKnown: carriedGwei !== null,
      isSampled,
    },
    exits: { ...exits, limitGwei: String(exitGwei) },
    sweep: { ...sweep, ...toSweepRules(rules) },
    own: Object.fromEntries(data.header.own.map(([prefix, ...epochs]) => [prefix, epochs])),
  }
}

/** Waiting deposits of the accounts' validators with the epochs in which they are credited. */
function depositFacts(
  { header, columns }: BeaconQueuesData,
  rules: DepositQueueRules,
): Pick<QueueFacts['deposits'], 'own' | 'endEpoch'> {
  const cleared = clearEpochs(
    {
      amountsGwei: withOneMore(columns.amountGwei, BigInt(header.rules.MIN_ACTIVATION_BALANCE)),
      slots: withOneMore(columns.slot, BigInt(header.slot)),
      withdrawableEpochs: withOneMore(columns.withdrawableEpoch, FAR_FUTURE_EPOCH),
    },
    {
      epoch: epochOf(header.clock, header.slot),
      carriedGwei: BigInt(header.carriedGwei ?? 0),
      totalActiveGwei: BigInt(header.totalActiveGwei),
    },
    rules,
  )
  const own: QueueFacts['deposits']['own'] = []
  columns.ownPrefix.forEach((prefix, position) => {
    if (prefix === 0n) return
    const digits = prefix.toString(16).padStart(16, '0')
    own.push([digits, String(columns.amountGwei[position]), cleared[position] as number])
  })
  return { own, endEpoch: cleared.at(-1) as number }
}

function withOneMore(column: BigUint64Array, value: bigint): BigUint64Array {
  const longer = new BigUint64Array(column.length + 1)
  longer.set(column)
  longer[column.length] = value
  return longer
}
