import type { StakingQueues } from '../../infra/ports/beacon-source.ts'
import { chainKey } from '../../schemas/chains.ts'
import { approximateExitQueue, churnLimits, type ScheduledExit } from '../../schemas/eth/churn.ts'
import { epochOf } from '../../schemas/eth/time.ts'
import { GWEI_PER_ETH } from '../../schemas/eth/units.ts'
import {
  type BeaconQueuesHeader,
  beaconQueues,
  OWN_AT_HEAD_MAX,
  type QueueRules,
} from '../../schemas/events/beacon-queues.ts'
import { type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { prefixOfPubkey, toChurnRules } from '../../schemas/queue-rules.ts'
import { type NamedChain, timeOfSlot } from '../beacon-head/block-events.ts'
import { forkEpoch, specNumber } from '../epochs/spec.ts'

type Spec = Readonly<Record<string, string>>

/** The parameters that the node's config/spec has; throws AppError `node_malformed` where one is missing. */
export function queueRules(spec: Spec): QueueRules {
  const amount = (name: string) => String(specNumber(spec, name))
  const gloasEpoch = forkEpoch(spec, 'GLOAS')
  return {
    EFFECTIVE_BALANCE_INCREMENT: amount('EFFECTIVE_BALANCE_INCREMENT'),
    MIN_ACTIVATION_BALANCE: amount('MIN_ACTIVATION_BALANCE'),
    MIN_PER_EPOCH_CHURN_LIMIT_ELECTRA: amount('MIN_PER_EPOCH_CHURN_LIMIT_ELECTRA'),
    CHURN_LIMIT_QUOTIENT: amount('CHURN_LIMIT_QUOTIENT'),
    MAX_PER_EPOCH_ACTIVATION_EXIT_CHURN_LIMIT: amount('MAX_PER_EPOCH_ACTIVATION_EXIT_CHURN_LIMIT'),
    MAX_PENDING_DEPOSITS_PER_EPOCH: specNumber(spec, 'MAX_PENDING_DEPOSITS_PER_EPOCH'),
    MAX_SEED_LOOKAHEAD: specNumber(spec, 'MAX_SEED_LOOKAHEAD'),
    MIN_VALIDATOR_WITHDRAWABILITY_DELAY: specNumber(spec, 'MIN_VALIDATOR_WITHDRAWABILITY_DELAY'),
    SHARD_COMMITTEE_PERIOD: specNumber(spec, 'SHARD_COMMITTEE_PERIOD'),
    MAX_WITHDRAWALS_PER_PAYLOAD: specNumber(spec, 'MAX_WITHDRAWALS_PER_PAYLOAD'),
    MAX_PENDING_PARTIALS_PER_WITHDRAWALS_SWEEP: specNumber(spec, 'MAX_PENDING_PARTIALS_PER_WITHDRAWALS_SWEEP'),
    MAX_VALIDATORS_PER_WITHDRAWALS_SWEEP: specNumber(spec, 'MAX_VALIDATORS_PER_WITHDRAWALS_SWEEP'),
    gloas: Number.isFinite(gloasEpoch)
      ? {
          GLOAS_FORK_EPOCH: gloasEpoch,
          CHURN_LIMIT_QUOTIENT_GLOAS: amount('CHURN_LIMIT_QUOTIENT_GLOAS'),
          CONSOLIDATION_CHURN_LIMIT_QUOTIENT: amount('CONSOLIDATION_CHURN_LIMIT_QUOTIENT'),
          MAX_PER_EPOCH_ACTIVATION_CHURN_LIMIT_GLOAS: amount('MAX_PER_EPOCH_ACTIVATION_CHURN_LIMIT_GLOAS'),
        }
      : null,
  }
}

export interface QueuesOfChain {
  readonly chain: NamedChain
  readonly rules: QueueRules
  readonly queues: StakingQueues
  /** Public keys that accounts have. */
  readonly own: Iterable<string> & Pick<ReadonlySet<string>, 'has'>
}

/** The event of what a node has told. */
export function queuesEvent({ chain, rules, queues, own }: QueuesOfChain): EncodedEvent {
  const { name, clock } = chain
  const { deposits, registry, fields, slot, root } = queues
  const header: BeaconQueuesHeader = {
    chain: name,
    clock,
    rules,
    slot,
    root,
    finalizedEpoch: queues.finalizedEpoch,
    totalActiveGwei: String(registry.totalActiveGwei),
    isSampled: registry.isSampled,
    carriedGwei: fields === undefined ? null : String(fields.depositBalanceToConsumeGwei),
    exits: exitsOf(rules, queues, epochOf(clock, slot)),
    sweep: {
      position: queues.sweepPosition,
      registrySize: registry.size,
      eligible: registry.sweepEligible,
      partials: queues.partials.amountGwei.length,
    },
    own: ownAtHead(queues, epochOf(clock, slot)),
  }
  const ownPrefixes = new Set([...own].map((pubkey) => BigInt(`0x${prefixOfPubkey(pubkey)}`)))
  const ownPrefix = deposits.pubkeyPrefix.map((prefix) => (ownPrefixes.has(prefix) ? prefix : 0n))
  const { amountGwei, withdrawableEpoch } = deposits
  return encodeEvent(beaconQueues, {
    id: `beacon.queues:${name}:${epochOf(clock, slot)}:${root}`,
    key: chainKey(name),
    time: timeOfSlot(chain, slot),
    data: { header, columns: { amountGwei, slot: deposits.slot, ownPrefix, withdrawableEpoch } },
  })
}

/** Those whose last epoch lies ahead: what has passed is final, or soon will be. */
function ownAtHead({ own }: StakingQueues, epoch: number): BeaconQueuesHeader['own'] {
  return own
    .filter(({ withdrawableEpoch }) => withdrawableEpoch === undefined || withdrawableEpoch > epoch)
    .slice(0, OWN_AT_HEAD_MAX)
    .map(({ pubkey, eligibilityEpoch, activationEpoch, exitEpoch, withdrawableEpoch }) => [
      prefixOfPubkey(pubkey),
      eligibilityEpoch ?? null,
      activationEpoch ?? null,
      exitEpoch ?? null,
      withdrawableEpoch ?? null,
    ])
}

function exitsOf(rules: QueueRules, queues: StakingQueues, epoch: number): BeaconQueuesHeader['exits'] {
  const { fields, registry } = queues
  if (fields !== undefined) {
    const { earliestExitEpoch: earliestEpoch, exitBalanceToConsumeGwei: leftGwei } = fields
    return { earliestEpoch, leftGwei: String(leftGwei), isExact: true }
  }
  const { exitGwei } = churnLimits(toChurnRules(rules), epoch, registry.totalActiveGwei)
  const { earliestEpoch, leftGwei } = approximateExitQueue(scheduledExits(rules, queues), exitGwei)
  return { earliestEpoch, leftGwei: String(leftGwei), isExact: false }
}

function scheduledExits(rules: QueueRules, { exiting, partials, consolidatedIndices }: StakingQueues): ScheduledExit[] {
  const consolidated = new Set(Array.from(consolidatedIndices, Number))
  const scheduled: ScheduledExit[] = []
  exiting.validatorIndex.forEach((index, i) => {
    if (consolidated.has(index)) return
    const balanceGwei = BigInt(exiting.effectiveBalanceEth[i] as number) * BigInt(GWEI_PER_ETH)
    scheduled.push({ epoch: Number(exiting.exitEpoch[i]), balanceGwei })
  })
  partials.withdrawableEpoch.forEach((withdrawable, i) => {
    const epoch = Number(withdrawable) - rules.MIN_VALIDATOR_WITHDRAWABILITY_DELAY
    scheduled.push({ epoch, balanceGwei: partials.amountGwei[i] as bigint })
  })
  return scheduled
}
