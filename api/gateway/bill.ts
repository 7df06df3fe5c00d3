import { type Meter, type Passed, type Taken, UNBUDGETED } from './meter.ts'
import { OTHER_METHOD, type UsageMinute, type UsageOf, type UsageRow } from './usage.ts'

/** Of who leaves before the answer has come: no client hears it. */
export const CLIENT_LEFT = 499

/** Statuses from here on say that nothing was answered. */
const REFUSED_MIN = 400

interface BilledCall {
  /** Undefined: it is no call that can be read. */
  readonly method?: string | undefined
}

/** What is asked, until it has been read. */
const UNREAD: readonly BilledCall[] = [{ method: OTHER_METHOD }]
const NONE: ReadonlyMap<BilledCall, number> = new Map()

/** Where the plan's units are taken, and what was asked is counted. */
export interface BillParts {
  readonly meter: Pick<Meter, 'minuteAt' | 'giveBack'>
  /** Takes so many units at a time: Unix milliseconds. */
  readonly take: (units: number, nowMs: number) => Taken | Promise<Taken>
  /** Undefined: nobody's, which is not counted. */
  readonly of: UsageOf | undefined
  readonly now: () => number
  /** Whether a request counts one before it is read, and so whatever it asks: nobody else answers for it. */
  readonly countsUnread?: boolean
}

/**
 * One request's: units are taken for its calls, and given back where we fail; its usage is counted once, when it has ended. What is billed in usage
 * is what was taken and not given back, whenever that is.
 */
export class Bill {
  readonly #parts: BillParts
  readonly #beganMs = performance.now()
  /** When its answer began, where that is told before it has ended. */
  #answeredMs: number | undefined
  #calls = UNREAD
  #own = NONE
  #requestBytes = 0
  #minute: UsageMinute | undefined
  #passed: Passed | undefined
  #isCounted = false
  /** Units that were taken before it was read. */
  #unreadUnits = 0
  /** Rows that a unit each is billed in. */
  #billed: UsageRow[] = []

  constructor(parts: BillParts) {
    this.#parts = parts
  }

  /** `own`: the statuses of calls that are answered here; those that are refused cost nothing. */
  asks(calls: readonly BilledCall[], requestBytes: number, own: ReadonlyMap<BilledCall, number> = NONE): void {
    this.#calls = calls
    this.#requestBytes = requestBytes
    this.#own = own
  }

  /** More of a request whose length was not told. */
  addRequestBytes(bytes: number): void {
    this.#requestBytes += bytes
  }

  /** Where that is counted, the unit of a request of which nobody knows yet whether it can be read: it is never given back. */
  takeUnread(): Taken | Promise<Taken> {
    const { now, take, countsUnread = false } = this.#parts
    if (!countsUnread) return UNBUDGETED
    this.#unreadUnits = 1
    return take(1, now())
  }

  /** A unit for each call that is not refused, all or none. */
  take(): Taken | Promise<Taken> {
    const { meter, now, take } = this.#parts
    const nowMs = now()
    this.#minute = meter.minuteAt(nowMs)
    const units = this.#units - this.#unreadUnits
    const taken = units <= 0 ? UNBUDGETED : take(units, nowMs)
    return taken instanceof Promise ? taken.then((one) => this.#keep(one)) : this.#keep(taken)
  }

  /** The answer begins: what is counted as its time ends. */
  begins(): void {
    this.#answeredMs ??= performance.now()
  }

  /** The answer is out, or the client gone. Of several ends the first counts. */
  answered(status: number, answerBytes: number): void {
    this.#count(status, answerBytes, this.#passed !== undefined)
  }

  /** Each of its calls was refused, in so many bytes: what was taken is given back. Those that were refused before keep their status. */
  failed(status: number, answerBytes = 0): void {
    this.costsNothing()
    this.#count(status, answerBytes, false)
  }

  /** Of these calls nobody has answered, whatever becomes of the others: what was taken for them is given back. To be told before those end. */
  failedOf(calls: readonly BilledCall[], status: number): void {
    const failed = calls.filter((call) => !this.#isRefused(call))
    if (this.#passed !== undefined) this.#parts.meter.giveBack(this.#passed, failed.length)
    this.#own = new Map([...this.#own, ...failed.map((call) => [call, status] as const)])
  }

  /** Gives back what was taken, whatever its end is: nobody can read what is asked. */
  costsNothing(): void {
    if (this.#passed === undefined) return
    this.#parts.meter.giveBack(this.#passed, this.#units)
    for (const row of this.#billed) row.giveBack(1)
    this.#passed = undefined
    this.#billed = []
  }

  /** Something of an answer without end, which has been given once it has begun. */
  streamed(status: number, bytes: number): void {
    this.answered(status, 0)
    // What lasts for days is not to keep the rows of its first minute.
    this.#passed = undefined
    this.#billed = []
    const { of, meter, now } = this.#parts
    const [{ method = OTHER_METHOD }] = this.#calls as [BilledCall]
    if (of !== undefined) meter.minuteAt(now())?.rowOf(of, method, status).addAnswerBytes(bytes)
  }

  get #units(): number {
    if (this.#own.size === 0) return this.#calls.length
    return this.#calls.filter((call) => !this.#isRefused(call)).length
  }

  #isRefused(call: BilledCall): boolean {
    return (this.#own.get(call) ?? 200) >= REFUSED_MIN
  }

  #keep(taken: Taken): Taken {
    if (taken.status === 'limited') return { ...taken, units: this.#units }
    if (taken.status !== 'passed') return taken
    // Nobody has done anything for who has left while the counters were asked.
    if (this.#isCounted) this.#parts.meter.giveBack(taken, this.#units)
    else this.#passed = taken
    return taken
  }

  #count(status: number, answerBytes: number, isBilled: boolean): void {
    const { of, meter, now } = this.#parts
    if (this.#isCounted) return
    this.#isCounted = true
    const minute = this.#minute ?? meter.minuteAt(now())
    this.#minute = undefined
    if (of === undefined || minute === undefined) return
    const ms = (this.#answeredMs ?? performance.now()) - this.#beganMs
    const { length } = this.#calls
    for (const [i, call] of this.#calls.entries()) {
      const own = this.#own.get(call)
      const isOfPlan = isBilled && !this.#isRefused(call)
      const row = minute.rowOf(of, call.method ?? OTHER_METHOD, own ?? status)
      const [requestPart, answerPart] = [partOf(this.#requestBytes, i, length), partOf(answerBytes, i, length)]
      row.count({ billed: isOfPlan ? 1 : 0, ms, requestBytes: requestPart, answerBytes: answerPart })
      if (isOfPlan) this.#billed.push(row)
    }
  }
}

/** Bytes of a batch are its calls' in equal parts, the first of which has what cannot be parted. */
function partOf(bytes: number, i: number, calls: number): number {
  if (calls === 1) return bytes
  const each = Math.floor(bytes / calls)
  return i === 0 ? bytes - each * (calls - 1) : each
}
