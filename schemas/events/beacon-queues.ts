import { type Static, Type } from 'typebox'
import { FAR_FUTURE_EPOCH } from '../eth/far-future.ts'
import { DEFAULT_TOPIC_EVENT_BYTES_MAX, olderPacked, type Packed, packedEvent } from './codec.ts'
import { Chain, Clock, Hash, IntegerText, UInt } from './fields.ts'

/** Parameters of the chain that its queues go by, named as in /eth/v1/config/spec; gwei as text. */
const QueueRules = Type.Object({
  EFFECTIVE_BALANCE_INCREMENT: IntegerText,
  MIN_ACTIVATION_BALANCE: IntegerText,
  MIN_PER_EPOCH_CHURN_LIMIT_ELECTRA: IntegerText,
  CHURN_LIMIT_QUOTIENT: IntegerText,
  MAX_PER_EPOCH_ACTIVATION_EXIT_CHURN_LIMIT: IntegerText,
  MAX_PENDING_DEPOSITS_PER_EPOCH: UInt,
  MAX_SEED_LOOKAHEAD: UInt,
  MIN_VALIDATOR_WITHDRAWABILITY_DELAY: UInt,
  SHARD_COMMITTEE_PERIOD: UInt,
  MAX_WITHDRAWALS_PER_PAYLOAD: UInt,
  MAX_PENDING_PARTIALS_PER_WITHDRAWALS_SWEEP: UInt,
  MAX_VALIDATORS_PER_WITHDRAWALS_SWEEP: UInt,
  /** Null where Gloas is not planned. */
  gloas: Type.Union([
    Type.Object({
      GLOAS_FORK_EPOCH: UInt,
      CHURN_LIMIT_QUOTIENT_GLOAS: IntegerText,
      CONSOLIDATION_CHURN_LIMIT_QUOTIENT: IntegerText,
      MAX_PER_EPOCH_ACTIVATION_CHURN_LIMIT_GLOAS: IntegerText,
    }),
    Type.Null(),
  ]),
})
export type QueueRules = Static<typeof QueueRules>

const FIELDS = {
  chain: Chain,
  clock: Clock,
  rules: QueueRules,
  /** Of the head's block, whose state it is. */
  slot: UInt,
  root: Hash,
  finalizedEpoch: UInt,
  totalActiveGwei: IntegerText,
  /** Whether registry figures are those of a sample. */
  isSampled: Type.Boolean(),
  /** deposit_balance_to_consume; null where the node does not tell it. */
  carriedGwei: Type.Union([IntegerText, Type.Null()]),
  /** earliest_exit_epoch and exit_balance_to_consume, or what is told of them by what is scheduled. */
  exits: Type.Object({ earliestEpoch: UInt, leftGwei: IntegerText, isExact: Type.Boolean() }),
  sweep: Type.Object({ position: UInt, registrySize: UInt, eligible: UInt, partials: UInt }),
}
const HeaderV1 = Type.Object(FIELDS)

/** An epoch that the state has fixed; null where it has not. */
const EpochAtHead = Type.Union([UInt, Type.Null()])
/** First 8 bytes of the public key, 16 hex digits. */
const KeyPrefix = Type.String({ pattern: '^[0-9a-f]{16}$' })

/** So many of the accounts' own are told, 65 bytes each: an event of a long queue stays below what a topic takes. */
export const OWN_AT_HEAD_MAX = 2_048

const BeaconQueuesHeader = Type.Object({
  ...FIELDS,
  /**
   * Validators of the accounts that come or go, as the state has them: prefix of the key, then the epochs of eligibility, activation, exit
   * and withdrawal. Finality is two epochs behind the state.
   */
  own: Type.Array(Type.Tuple([KeyPrefix, EpochAtHead, EpochAtHead, EpochAtHead, EpochAtHead]), {
    maxItems: OWN_AT_HEAD_MAX,
  }),
})
export type BeaconQueuesHeader = Static<typeof BeaconQueuesHeader>

/** `pending_deposits` in its order. */
const LAYOUT_V1 = {
  amountGwei: 'u64',
  /** Of the request; 0 for bridge deposits and balances that were queued back. */
  slot: 'u64',
  /** First 8 bytes of the public key, big-endian, where some account has the validator; 0 for all others. */
  ownPrefix: 'u64',
} as const

export const PENDING_DEPOSITS_LAYOUT = {
  ...LAYOUT_V1,
  /** Of the validator that the deposit is for where it is leaving or has left; FAR_FUTURE_EPOCH of all others. */
  withdrawableEpoch: 'u64',
} as const

/** Before it was told whose deposits are put off, nor how it stands with the accounts' own. */
function fromV1({ header, columns }: Packed<Static<typeof HeaderV1>, typeof LAYOUT_V1>): BeaconQueuesData {
  const withdrawableEpoch = new BigUint64Array(columns.slot.length).fill(FAR_FUTURE_EPOCH)
  return { header: { ...header, own: [] }, columns: { ...columns, withdrawableEpoch } }
}

/**
 * What waits in the state at the head of an epoch's first block that was seen, and what its pace depends on; id
 * `beacon.queues:<chain>:<epoch>:<block root>`. Keyed by the chain: the later word counts, and it is of a head that may be reverted: only
 * estimates are made of it. 100,000 deposits of 32 ETH fit, all of them own; throws `event_log` for more than fits.
 */
export const beaconQueues = packedEvent(
  { name: 'beacon.queues', version: 2, topic: 'beacon.blocks', bytesMax: DEFAULT_TOPIC_EVENT_BYTES_MAX },
  BeaconQueuesHeader,
  PENDING_DEPOSITS_LAYOUT,
  { 1: olderPacked({ header: HeaderV1, layout: LAYOUT_V1 }, fromV1) },
)
export type BeaconQueuesData = Packed<BeaconQueuesHeader, typeof PENDING_DEPOSITS_LAYOUT>
