import type { EventLog } from '../../infra/ports/event-log.ts'
import { AccountBook } from '../../schemas/account-book.ts'
import { dayOfInstant } from '../../schemas/eth/time.ts'
import { unlessUndecodable } from '../../schemas/events/codec.ts'
import { type ExitStepOf, ExitSteps } from './exit-steps.ts'

/** A step of an exit that its account may be told of. */
export interface ExitNews extends ExitStepOf {
  /** Of its fact in `accounts`, all facts of which have one key and so one order. */
  readonly offset: bigint
}

/** What the log says of accounts, read on whenever somebody asks. */
export class AccountsOnLog {
  readonly book = new AccountBook()
  readonly #eventLog: Pick<EventLog, 'read' | 'ends'>
  readonly #signal: AbortSignal
  readonly #exits = new ExitSteps()
  readonly #next = new Map<number, bigint>()
  #behind = 0n
  /** Read, and not taken yet: a read that fails midway has read them all the same. */
  #news: ExitNews[] = []

  constructor(eventLog: Pick<EventLog, 'read' | 'ends'>, signal: AbortSignal) {
    this.#eventLog = eventLog
    this.#signal = signal
  }

  /** Offset behind the newest fact that was read. */
  get next(): bigint {
    return this.#behind
  }

  /** Reads what has come; the steps of exits in it wait to be taken, also those of a read that has failed. */
  async readOn(): Promise<void> {
    const ends = await this.#eventLog.ends('accounts')
    // Opening a reader takes seconds in Kafka, and most of the time nothing has come.
    if ([...ends].every(([partition, end]) => (this.#next.get(partition) ?? 0n) >= end)) return
    const facts = this.#eventLog.read({ topic: 'accounts', from: this.#next, signal: this.#signal })
    for await (const { event, position } of facts) {
      const day = dayOfInstant(Date.parse(event.time) / 1_000)
      unlessUndecodable(() => {
        this.book.add(event)
        for (const one of this.#exits.add(event)) {
          const isOwn = this.book.ownership.ownerOn(one.chain, one.step.pubkey, day) === one.account
          if (isOwn || one.step.step === 'failed') this.#news.push({ ...one, offset: position.offset })
        }
      })
      this.#next.set(position.partition, position.offset + 1n)
      if (position.offset >= this.#behind) this.#behind = position.offset + 1n
    }
    // Behind the last event there may be marks of transactions.
    for (const [partition, end] of ends) if (end > (this.#next.get(partition) ?? 0n)) this.#next.set(partition, end)
  }

  /**
   * The steps of exits that were read since they were taken last, in their order. An account hears of an exit that it has asked for while
   * the validator is its own, and that its request has failed in any case.
   */
  takeNews(): readonly ExitNews[] {
    const news = this.#news
    this.#news = []
    return news
  }
}
