import type { Lease } from '../../infra/ports/event-log.ts'
import type { KeyKeeping } from '../../infra/ports/key-keeping.ts'
import type { KeyVault } from '../../infra/ports/key-vault.ts'
import type { FundedKeys } from '../../processors/validators/quoted-keys.ts'
import type { RegisteredKeys } from '../../processors/validators/registered-keys.ts'
import type { StakingBook } from '../../processors/validators/staking-book.ts'
import type { Turns } from '../../processors/validators/turns.ts'
import type { UnfundedRoom } from '../../processors/validators/unfunded-room.ts'
import type { Ports, Running } from '../role.ts'
import type { StakingChains } from './staking-chains.ts'

/** What the duties of the role share while it has the lease. */
export interface Custody {
  readonly ports: Ports
  readonly running: Running
  readonly vault: KeyVault & KeyKeeping
  /** Tells the log as the one who has the vault: only through the book, which remembers it. */
  readonly lease: Lease
  /** The configured chains that validators can be created on. */
  readonly chains: StakingChains
  /** What was told the log: by nobody else, so it is never behind. */
  readonly book: StakingBook
  /** Keys that the registries know. */
  readonly registered: RegisteredKeys
  /** Keys whose deposits the chain has taken. */
  readonly funded: FundedKeys
  /** How many validators may wait for their deposits. */
  readonly room: UnfundedRoom
  /** Keys are handed over to validator clients one after the other of a chain. */
  readonly handing: Turns
}

/** A part of the role's work, until the signal aborts. */
export type Duty = (custody: Custody, signal: AbortSignal) => Promise<void>
