import { type Static, Type } from 'typebox'
import { BalanceEffect, CreditedDeposit, type EffectLists, effectsOf, Slashing, Withdrawal } from './balance-effects.ts'
import { type ColumnsOf, type EncodedEvent, olderPacked, type Packed, packedEvent } from './codec.ts'
import { Address, Chain, Clock, Hash, IntegerText, UInt } from './fields.ts'

// An epoch is told by several events that need no order: its blocks event names the others (`parts`), and the epoch is complete
// when all of them are there.

/** Validators whose indices share a quotient by this are one range, one event: about 300 kB raw, whatever the network's size. */
export const RANGE_VALIDATORS = 16_384

/** Statuses of the Beacon API in the order of their stored codes; the code is the position. */
export const VALIDATOR_STATUSES = [
  'pending_initialized',
  'pending_queued',
  'active_ongoing',
  'active_exiting',
  'active_slashed',
  'exited_unslashed',
  'exited_slashed',
  'withdrawal_possible',
  'withdrawal_done',
] as const
export type ValidatorStatus = (typeof VALIDATOR_STATUSES)[number]

const EpochValidatorsFields = { clock: Clock, epoch: UInt, range: UInt }
const EpochValidatorsHeader = Type.Object({ chain: Chain, ...EpochValidatorsFields })
export type EpochValidatorsHeader = Static<typeof EpochValidatorsHeader>

/** One row per tracked validator of the range that is in the registry at the end of the epoch, by ascending index. */
export const EPOCH_VALIDATORS_LAYOUT = {
  validatorIndex: 'u32',
  /** Attestation rewards of duty epoch `epoch - 2`, credited in the transition into `epoch`; gwei, penalties negative. */
  sourceGwei: 'i64 plain',
  targetGwei: 'i64 plain',
  headGwei: 'i64 plain',
  inactivityGwei: 'i64 plain',
  /** Post-state of the epoch's last slot. */
  balanceGwei: 'i64 planes',
  /** In force during the epoch, in units of 1e9 gwei. */
  effectiveBalanceEth: 'u32 plain',
  status: 'u8',
  slashed: 'u8',
  activationEpoch: 'u64',
  exitEpoch: 'u64',
  withdrawableEpoch: 'u64',
} as const
export type EpochValidatorsColumns = ColumnsOf<typeof EPOCH_VALIDATORS_LAYOUT>

/** Of versions 1 and 2: every number as the difference to the previous row, a byte per validator and epoch more. */
const EPOCH_VALIDATORS_DIFFERENCES = {
  ...EPOCH_VALIDATORS_LAYOUT,
  sourceGwei: 'i64',
  targetGwei: 'i64',
  headGwei: 'i64',
  inactivityGwei: 'i64',
  balanceGwei: 'i64',
  effectiveBalanceEth: 'u32',
} as const
export type EpochValidatorsData = Packed<EpochValidatorsHeader, typeof EPOCH_VALIDATORS_LAYOUT>

const DayBalancesFields = {
  /**
   * Day number (UTC+8); the balances are those it starts with: post-state of the last slot before it, or the genesis state (slot 0) for the
   * day in which the chain began, which earlier logs do not tell.
   */
  day: UInt,
  slot: UInt,
  range: UInt,
}
const DayBalancesHeader = Type.Object({
  chain: Chain,
  /** The epoch that the day begins in. */
  epoch: UInt,
  ...DayBalancesFields,
})
export type DayBalancesHeader = Static<typeof DayBalancesHeader>
export const DAY_BALANCES_LAYOUT = { validatorIndex: 'u32', balanceGwei: 'i64 planes' } as const
/** Of versions 1 and 2. */
const DAY_BALANCES_DIFFERENCES = { validatorIndex: 'u32', balanceGwei: 'i64' } as const
export type DayBalancesData = Packed<DayBalancesHeader, typeof DAY_BALANCES_LAYOUT>

const FinalizedBlockFields = {
  slot: UInt,
  root: Hash,
  parentRoot: Hash,
  proposerIndex: UInt,
  executionBlockHash: Hash,
  executionBlockNumber: UInt,
  feeRecipient: Address,
}
const KnownRewards = {
  attestationsGwei: IntegerText,
  syncAggregateGwei: IntegerText,
  proposerSlashingsGwei: IntegerText,
  attesterSlashingsGwei: IntegerText,
}
const Unasked = Type.Union([IntegerText, Type.Null()])
const FinalizedBlock = Type.Object({
  ...FinalizedBlockFields,
  /** Consensus-layer proposer reward by part, gwei: `rewards/blocks` of the Beacon API. Null where the proposer is not tracked. */
  attestationsGwei: Unasked,
  syncAggregateGwei: Unasked,
  proposerSlashingsGwei: Unasked,
  attesterSlashingsGwei: Unasked,
})
export type FinalizedBlock = Static<typeof FinalizedBlock>

const EpochPart = Type.Object({
  kind: Type.Union([Type.Literal('validators'), Type.Literal('day_balances')]),
  range: UInt,
  /** Rows of the part: one that was made for fewer validators is not the one that is meant. */
  rows: UInt,
})
/** An event that an epoch is not complete without. */
export type EpochPart = Static<typeof EpochPart>

/** How the figures of an epoch came about that were computed from states. */
const EpochProof = Type.Object({
  /** Version of the formulas: schemas/eth/transition/explain-epoch.ts. */
  formulas: UInt,
  /** Root of the state after the epoch's last slot, as it was computed of its bytes. */
  stateRoot: Hash,
  /**
   * `anchored`: the roots of the states before and after the epoch are those that the chain's own blocks name; `agreed`: and another node
   * than the one that gave the states names the same.
   */
  level: Type.Union([Type.Literal('consistent'), Type.Literal('anchored'), Type.Literal('agreed')]),
})
export type EpochProof = Static<typeof EpochProof>

/** Of before other nodes were asked whether they have the same state. */
const UnagreedProof = Type.Object({
  formulas: UInt,
  stateRoot: Hash,
  level: Type.Union([Type.Literal('consistent'), Type.Literal('anchored')]),
})

/** What is not explained of a validator's balance, gwei. */
const Residual = Type.Object({ validatorIndex: UInt, gwei: IntegerText })

/**
 * Sums over all validators of the chain's registry, tracked or not: what an epoch's transition and blocks credited, gwei. Of figures that
 * explain every balance alone.
 */
const NetworkSums = Type.Object({
  /** Active in the epoch, and their effective balances in it. */
  activeValidators: UInt,
  effectiveBalanceGwei: IntegerText,
  sourceGwei: IntegerText,
  targetGwei: IntegerText,
  headGwei: IntegerText,
  inactivityGwei: IntegerText,
  syncGwei: IntegerText,
  proposerGwei: IntegerText,
  slashingPenaltyGwei: IntegerText,
  /** What source, target and head had been with every vote right and in time; 0 in an inactivity leak. */
  idealAttestationsGwei: IntegerText,
})
export type NetworkSums = Static<typeof NetworkSums>

/** What nodes may tell otherwise than figures go by. */
const DifferenceKind = Type.Union([
  Type.Literal('state root'),
  Type.Literal('attestation rewards'),
  Type.Literal('proposer rewards'),
  Type.Literal('sync committee rewards'),
])
export type DifferenceKind = Static<typeof DifferenceKind>

/** A node that told something of the epoch otherwise than figures go by. */
const ToldOtherwise = Type.Object({
  /** "beacon node 2": by its place in the configuration. */
  node: Type.String(),
  /** Name and version of its client, as it tells them; empty where it did not. */
  client: Type.String(),
  what: DifferenceKind,
})
export type ToldOtherwise = Static<typeof ToldOtherwise>

const EpochFields = { clock: Clock, epoch: UInt }
const EpochBlocksFields = {
  chain: Chain,
  ...EpochFields,
  blocks: Type.Array(FinalizedBlock),
  /** Of tracked validators. */
  effects: Type.Array(BalanceEffect),
  /** Of tracked validators whose residual is not 0; without a proof, of those that have more than nodes round. */
  residuals: Type.Array(Residual),
  /** The epoch's other events. None from before they were counted: then they lie before this one. */
  parts: Type.Array(EpochPart),
}
const EpochBlocksHeader = Type.Object({
  ...EpochBlocksFields,
  /** Null where the figures are what the node's reward endpoints tell: what they leave unexplained shows by the day. */
  proof: Type.Union([EpochProof, Type.Null()]),
  /** Who was to propose in each slot of the epoch, in their order; of slot 0 it says nothing. Null where it is not known. */
  proposers: Type.Union([Type.Array(UInt), Type.Null()]),
  network: Type.Union([NetworkSums, Type.Null()]),
  /** Null where nothing was computed that nodes could differ from. */
  differences: Type.Union([Type.Array(ToldOtherwise), Type.Null()]),
})
export type EpochBlocksHeader = Static<typeof EpochBlocksHeader>

/** Of before these were told. */
const UNTOLD = { proposers: null, network: null, differences: null } as const

const EffectListFields = {
  withdrawals: Type.Array(Withdrawal),
  slashings: Type.Array(Slashing),
  deposits: Type.Array(CreditedDeposit),
}

/** A header of before effects were one list, and figures could be computed. */
function withEffects<Header extends EffectLists>({ withdrawals, slashings, deposits, ...header }: Header) {
  return { ...header, effects: effectsOf({ withdrawals, slashings, deposits }), proof: null, residuals: [], ...UNTOLD }
}

function withUntold<Data extends { readonly header: object }>({ header, ...data }: Data) {
  return { ...data, header: { ...header, ...UNTOLD } } as Omit<Data, 'header'> & {
    header: Data['header'] & typeof UNTOLD
  }
}

/** Sync committee rewards of tracked validators, summed over a validator's seats per block; gwei, penalties negative. */
export const EPOCH_BLOCKS_LAYOUT = { slotOffset: 'u8', validatorIndex: 'u32', syncGwei: 'i64' } as const
export type EpochBlocksColumns = ColumnsOf<typeof EPOCH_BLOCKS_LAYOUT>
export type EpochBlocksData = Packed<EpochBlocksHeader, typeof EPOCH_BLOCKS_LAYOUT>

/** State and attestation rewards of one range at the end of one finalized epoch; id `beacon.epoch-validators:<chain>:<epoch>:<range>`. */
export const epochValidators = packedEvent(
  { name: 'beacon.epoch-validators', version: 3, topic: 'beacon.epochs' },
  EpochValidatorsHeader,
  EPOCH_VALIDATORS_LAYOUT,
  {
    1: olderPacked(
      { header: Type.Object({ ...EpochValidatorsFields, ranges: UInt }), layout: EPOCH_VALIDATORS_DIFFERENCES },
      ({ header: { ranges: _, ...header }, columns }, chain) => ({ header: { chain, ...header }, columns }),
    ),
    2: olderPacked({ header: EpochValidatorsHeader, layout: EPOCH_VALIDATORS_DIFFERENCES }, (data) => data),
  },
)

/** Balances that a UTC+8 day starts with; id `beacon.day-balances:<chain>:<day>:<range>`. */
export const dayBalances = packedEvent(
  { name: 'beacon.day-balances', version: 3, topic: 'beacon.epochs' },
  DayBalancesHeader,
  DAY_BALANCES_LAYOUT,
  {
    1: olderPacked(
      { header: Type.Object(DayBalancesFields), layout: DAY_BALANCES_DIFFERENCES },
      // Which epoch it belonged to was not said and is not needed: parts were not counted then.
      ({ header, columns }, chain) => ({ header: { chain, epoch: 0, ...header }, columns }),
    ),
    2: olderPacked({ header: DayBalancesHeader, layout: DAY_BALANCES_DIFFERENCES }, (data) => data),
  },
)

/** The finalized blocks of one epoch with what they changed; slots without an entry were missed; id `beacon.epoch-blocks:<chain>:<epoch>`. */
export const epochBlocks = packedEvent(
  { name: 'beacon.epoch-blocks', version: 5, topic: 'beacon.epochs' },
  EpochBlocksHeader,
  EPOCH_BLOCKS_LAYOUT,
  {
    1: olderPacked(
      {
        header: Type.Object({
          ...EpochFields,
          ...EffectListFields,
          network: Type.String(),
          blocks: Type.Array(Type.Object({ ...FinalizedBlockFields, ...KnownRewards })),
        }),
        layout: EPOCH_BLOCKS_LAYOUT,
      },
      ({ header: { network: _, ...header }, columns }, chain) => ({
        header: withEffects({ chain, ...header, parts: [] }),
        columns,
      }),
    ),
    2: olderPacked(
      {
        header: Type.Object({
          chain: Chain,
          ...EpochFields,
          ...EffectListFields,
          blocks: Type.Array(FinalizedBlock),
          parts: Type.Array(EpochPart),
        }),
        layout: EPOCH_BLOCKS_LAYOUT,
      },
      ({ header, columns }) => ({ header: withEffects(header), columns }),
    ),
    3: olderPacked(
      {
        header: Type.Object({ ...EpochBlocksFields, proof: Type.Union([UnagreedProof, Type.Null()]) }),
        layout: EPOCH_BLOCKS_LAYOUT,
      },
      withUntold,
    ),
    4: olderPacked(
      {
        header: Type.Object({ ...EpochBlocksFields, proof: Type.Union([EpochProof, Type.Null()]) }),
        layout: EPOCH_BLOCKS_LAYOUT,
      },
      withUntold,
    ),
  },
)

const headerWithNetwork = olderPacked(
  { header: Type.Object({ network: Type.String() }), layout: EPOCH_BLOCKS_LAYOUT },
  ({ header }) => header.network,
)

/** The network that an epoch of a log with unnamed chains tells; undefined for any other event. */
export function networkOfUnnamedLog(event: EncodedEvent): string | undefined {
  if (event.type !== epochBlocks.name || event.version !== 1) return undefined
  return headerWithNetwork(event.data, '')
}
