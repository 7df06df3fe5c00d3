import type { ChainClock } from './eth/time.ts'

/** Epochs that a created validator may wait for its deposit, unless configured: 7 days of mainnet. */
export const EXPIRY_EPOCHS_DEFAULT = 1_575

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
