import { type ChainClock, slotAt } from './eth/time.ts'

/**
 * What a created validator is until the registry has a state of it, in the order of its life; what follows are the statuses of the Beacon
 * API. `expired` is `provisioned` for too long, and a deposit ends it all the same. `failed` is one whose staking transaction a final block
 * has reverted, until another one is broadcast, or whose deposit has left the queue and made no validator.
 */
export const EARLY_STATUSES = ['provisioned', 'failed', 'expired', 'deposited_not_finalized', 'deposited'] as const
export type EarlyStatus = (typeof EARLY_STATUSES)[number]

/** What is allowed of validators that were created and never funded. */
export interface UnfundedRules {
  /** Epochs of its chain after which one is expired. */
  readonly expiryEpochs: number
  /** How many of them an account may have on one chain: those that are expired do not count. */
  readonly unfundedMax: number
}

/** Unless configured: 7 days of mainnet, and as many as a page of details has. */
export const DEFAULT_UNFUNDED_RULES: UnfundedRules = { expiryEpochs: 1_575, unfundedMax: 1_000 }

/**
 * The first slot at which a validator that was created at a slot and never funded is expired: so many whole epochs of its chain later.
 * It counts slots and not hours, so a chain that stands still lets nothing expire. What is expired stays so only while no deposit is on
 * chain: its key is kept, and a deposit makes it a validator as any other's does.
 */
export function expiresAtSlot(
  { slotsPerEpoch }: Pick<ChainClock, 'slotsPerEpoch'>,
  createdAtSlot: number,
  epochs: number,
): number {
  return createdAtSlot + epochs * slotsPerEpoch
}

/** When a validator was created, as the log tells it. */
export interface CreatedAt {
  /** Unix seconds. */
  readonly createdAtSec: number
  /** Undefined where the log does not tell it: events of before told the time alone. */
  readonly createdAtSlot: number | undefined
}

/** The slot at which a validator was created: where the log does not tell it, that of the chain's clock. */
export function createdSlot(clock: ChainClock, { createdAtSec, createdAtSlot }: CreatedAt): number {
  return createdAtSlot ?? Math.max(0, slotAt(clock, createdAtSec))
}

/** Whether one that has not been funded up to a slot is expired at it. */
export function isExpired(
  clock: ChainClock,
  created: CreatedAt,
  { atSlot, expiryEpochs }: { readonly atSlot: number; readonly expiryEpochs: number },
): boolean {
  return atSlot >= expiresAtSlot(clock, createdSlot(clock, created), expiryEpochs)
}

/** The sentence for whoever asks for more validators than may wait; undefined where they are allowed. */
export function tooManyUnfunded(unfunded: number, count: number, { unfundedMax }: UnfundedRules): string | undefined {
  if (unfunded + count <= unfundedMax) return undefined
  return (
    `${unfunded} validators of the account wait for their deposits and at most ${unfundedMax} may, so ${count} more cannot be ` +
    'created: fund them, or wait until they expire'
  )
}
