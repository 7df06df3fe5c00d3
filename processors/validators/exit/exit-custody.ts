import type { EventWriter } from '../../../infra/ports/event-log.ts'
import type { ExitNode } from '../../../infra/ports/exit-node.ts'
import type { KeyVault } from '../../../infra/ports/key-vault.ts'
import type { Log } from '../../../infra/ports/log.ts'
import { formatInstant } from '../../../schemas/eth/time.ts'
import { ACCOUNTS_KEY } from '../../../schemas/events/accounts.ts'
import { type EncodedEvent, type EventType, encodeEvent } from '../../../schemas/events/codec.ts'
import type { Clocks } from '../clocks.ts'
import type { StakingBook } from '../staking-book.ts'
import { Turns } from '../turns.ts'
import { AskedOrder } from './asked-order.ts'
import type { OwnersOnLog } from './owners-on-log.ts'

/** A chain that validators may exit from. */
export interface ExitChain {
  readonly name: string
  readonly exitNode: ExitNode
}

interface CustodyParts extends Clocks {
  readonly vault: KeyVault
  /** As the one who has the vault. */
  readonly writer: EventWriter
  readonly book: StakingBook
  readonly owners: OwnersOnLog
  readonly log: Log
}

/** What is shared by all that is done about exits. */
export interface ExitCustody extends CustodyParts {
  /** Looking at the book and telling the log are one step: nothing is cancelled while it is being signed. */
  readonly inTurn: <Result>(work: () => Promise<Result>) => Promise<Result>
  readonly asked: AskedOrder
}

export function toExitCustody(parts: CustodyParts): ExitCustody {
  const turns = new Turns()
  return { ...parts, inTurn: (work) => turns.take('exits', work), asked: new AskedOrder(parts.wallNow()) }
}

/** An event of an exit that happens now. */
export function exitEvent<Name extends string, Data>(
  { now }: Pick<ExitCustody, 'now'>,
  type: EventType<Name, Data>,
  { id, data }: { readonly id: string; readonly data: Data },
): EncodedEvent {
  const time = formatInstant(Math.floor(now() / 1_000))
  return encodeEvent(type, { id: `${type.name}:${id}`, key: ACCOUNTS_KEY, time, data })
}
