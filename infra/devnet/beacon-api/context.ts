import type { BeaconConfig } from '@lodestar/config'
import type { CachedBeaconStateFulu } from '@lodestar/state-transition'
import type { Hex } from '../../../schemas/eth/hex.ts'
import type { ChainEvents } from '../consensus/chain-event.ts'
import type { ExitPool } from '../consensus/exit-pool.ts'
import type { History } from '../consensus/history.ts'

/** What the routes read. They change nothing but the exit pool. */
export interface BeaconApiContext {
  readonly config: BeaconConfig
  readonly genesisTimeSec: number
  readonly chainId: number
  readonly depositContractAddress: Hex
  readonly history: History
  readonly events: ChainEvents
  readonly exits: ExitPool
  /** The state at the head; not to be changed. */
  headState(): CachedBeaconStateFulu
  /** The state of a canonical slot, made again from blocks; not to be changed. */
  stateAt(slot: number): CachedBeaconStateFulu
  /** The slot that the wall clock shows: the target while history is being produced. */
  targetSlot(): number
}

/** The fork of every block: all forks up to this one are active from genesis. */
export const FORK_NAME = 'fulu'
