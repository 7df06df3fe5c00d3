import { type Static, Type } from 'typebox'
import { jsonEvent } from './codec.ts'
import { Address, Chain, IntegerText, Pubkey, UInt } from './fields.ts'

/** Records of one event: some 400 bytes each, below what a topic takes by default. */
export const KEPT_PER_EVENT_MAX = 1_000

/** What was settled of a block, as it was served; amounts in wei. */
export const KeptSettlement = Type.Object({
  slot: UInt,
  blockNumber: UInt,
  validatorIndex: UInt,
  pubkey: Pubkey,
  /** Of the block, Unix seconds. */
  timeSec: UInt,
  feeAddress: Address,
  revenueClass: Type.String(),
  revenueWei: IntegerText,
  feeRate: Type.String(),
  serviceFeeWei: IntegerText,
  /** Of its row, which statements say. */
  version: IntegerText,
})
export type KeptSettlement = Static<typeof KeptSettlement>

const SettlementsKept = Type.Object({
  /** They count where a lock of this id follows. */
  lockId: Type.String({ minLength: 1 }),
  account: Type.String(),
  chain: Chain,
  records: Type.Array(KeptSettlement, { maxItems: KEPT_PER_EVENT_MAX }),
})
export type SettlementsKept = Static<typeof SettlementsKept>

/**
 * Settlement records of days that are about to be locked: from then on these are served, whatever is found out later. Id
 * `account.settlements-kept:<lock id>:<chain>:<first slot>`.
 */
export const settlementsKept = jsonEvent(
  { name: 'account.settlements-kept', version: 1, topic: 'accounts' },
  SettlementsKept,
)
