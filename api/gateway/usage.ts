import { randomBytes } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import type { EventWriter } from '../../infra/ports/event-log.ts'
import type { Log } from '../../infra/ports/log.ts'
import { AppError } from '../../schemas/errors.ts'
import { formatInstant } from '../../schemas/eth/time.ts'
import { type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { USAGE_ROWS_MAX, type UsageData, type UsageHeader, usageCounted } from '../../schemas/events/usage.ts'
import { TIME_BUCKETS, timeBucketOf } from '../../schemas/usage-times.ts'

/** What a process may lose when it is killed. */
const TELL_MS = 1_000
/** Of a key in a minute, each network's by themselves: names are the client's own, further ones count as `OTHER_METHOD`. */
export const METHODS_OF_KEY_MAX = 256
/** Calls whose method has no row of its own: beyond that many, or not readable. No node has a method of this name. */
export const OTHER_METHOD = 'other'
/** Of usage that the log has not taken, in events: more than what 100,000 rows are told in is given up, the oldest first. */
export const UNTOLD_MAX = 200

const MINUTE_MS = 60_000
const MINUTE_SEC = 60

/** Who asks, and where. */
export interface UsageOf {
  readonly account: string
  /** SHA-256 of the key, hex. */
  readonly tokenHash: string
  /** Protocol and network with a slash between them. */
  readonly place: string
}

/** What a call has come to. */
export interface CountedCall {
  /** Units. */
  readonly billed: number
  readonly ms: number
  readonly requestBytes: number
  readonly answerBytes: number
}

export interface UsageOptions {
  readonly eventLog: EventWriter
  readonly log: Log
}

/** Rows that are told together. */
class UsagePart {
  readonly header: UsageHeader
  readonly rows: UsageRow[] = []
  readonly #onChange: (part: UsagePart) => void
  isChanged = false
  /** How often. */
  told = 0

  constructor(header: UsageHeader, onChange: (part: UsagePart) => void) {
    this.header = header
    this.#onChange = onChange
  }

  change(): void {
    if (this.isChanged) return
    this.isChanged = true
    this.#onChange(this)
  }
}

/** What one process has counted of one minute, key, network, method and status. It only grows, but for what is given back. */
export class UsageRow {
  readonly of: UsageOf
  readonly method: string
  readonly status: number
  readonly #part: UsagePart
  readonly times = new Uint32Array(TIME_BUCKETS)
  calls = 0
  billed = 0
  requestBytes = 0
  answerBytes = 0
  pushes = 0
  /** Of all calls together. */
  timeMs = 0

  constructor(of: UsageOf, { method, status }: { readonly method: string; readonly status: number }, part: UsagePart) {
    this.of = of
    this.method = method
    this.status = status
    this.#part = part
  }

  count({ billed, ms, requestBytes, answerBytes }: CountedCall): void {
    this.calls++
    this.billed += billed
    this.requestBytes += requestBytes
    this.answerBytes += answerBytes
    this.timeMs += ms
    const bucket = timeBucketOf(ms)
    this.times[bucket] = (this.times[bucket] as number) + 1
    this.#part.change()
  }

  /** Units of calls that were counted as billed; their minute may be long over. */
  giveBack(units: number): void {
    this.billed -= units
    this.#part.change()
  }

  /** More of an answer that was counted when it began. */
  addAnswerBytes(bytes: number): void {
    this.answerBytes += bytes
    this.#part.change()
  }

  push(bytes: number): void {
    this.pushes++
    this.addAnswerBytes(bytes)
  }
}

interface UsageOfKey {
  readonly rows: Map<string, UsageRow>
  readonly methods: Set<string>
  /** As it was asked for: most calls of a key are like the one before. */
  last: { readonly place: string; readonly method: string; readonly status: number; readonly row: UsageRow } | undefined
}

/** A minute's rows. Who has asked in it holds it until its calls have ended. */
export class UsageMinute {
  readonly number: number
  readonly #keys = new Map<string, UsageOfKey>()
  readonly #newPart: (minute: number, number: number) => UsagePart
  #parts = 0
  #part: UsagePart | undefined

  constructor(number: number, newPart: (minute: number, number: number) => UsagePart) {
    this.number = number
    this.#newPart = newPart
  }

  rowOf(of: UsageOf, method: string, status: number): UsageRow {
    let ofKey = this.#keys.get(of.tokenHash)
    if (ofKey === undefined) {
      ofKey = { rows: new Map(), methods: new Set(), last: undefined }
      this.#keys.set(of.tokenHash, ofKey)
    }
    const { last } = ofKey
    if (last?.method === method && last.status === status && last.place === of.place) return last.row
    const row = ofKey.rows.get(`${of.place} ${status} ${method}`) ?? this.#addRow(ofKey, of, { method, status })
    ofKey.last = { place: of.place, method, status, row }
    return row
  }

  #addRow(ofKey: UsageOfKey, of: UsageOf, { method: asked, status }: { method: string; status: number }): UsageRow {
    const { rows, methods } = ofKey
    const name = `${of.place} ${asked}`
    const isNamed = methods.has(name) || methods.size < METHODS_OF_KEY_MAX
    if (isNamed) methods.add(name)
    const method = isNamed ? asked : OTHER_METHOD
    const key = `${of.place} ${status} ${method}`
    const known = rows.get(key)
    if (known !== undefined) return known
    if (this.#part === undefined || this.#part.rows.length === USAGE_ROWS_MAX)
      this.#part = this.#newPart(this.number, this.#parts++)
    const row = new UsageRow(of, { method, status }, this.#part)
    this.#part.rows.push(row)
    rows.set(key, row)
    return row
  }
}

/**
 * Counts what keys ask in memory, and tells the log every second what has changed, as it stands: repeated, or replayed, it comes to the
 * same. While the log is away, it is told later.
 */
export class Usage implements AsyncDisposable {
  readonly #options: UsageOptions
  #writer = newWriter()
  readonly #timer: NodeJS.Timeout
  #minute: UsageMinute | undefined
  #changed: UsagePart[] = []
  #telling: Promise<void> | undefined
  /** The log, as it was told once. */
  #isAway = false

  constructor(options: UsageOptions) {
    this.#options = options
    this.#timer = setInterval(() => void this.tell(), TELL_MS).unref()
  }

  minuteAt(nowMs: number): UsageMinute {
    const number = Math.floor(nowMs / MINUTE_MS)
    const current = this.#minute
    if (current?.number === number) return current
    // A clock that was put back: rows of a minute that has been told already are not to take the place of those.
    if (current !== undefined && number < current.number) this.#writer = newWriter()
    const minute = new UsageMinute(number, this.#newPart)
    this.#minute = minute
    return minute
  }

  /** Resolves when the log has what was counted before the call, or has not taken it. */
  async tell(): Promise<void> {
    await this.#telling
    this.#telling ??= this.#tellChanged().finally(() => {
      this.#telling = undefined
    })
    await this.#telling
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    await this.tell()
    this.#giveUpBut(0)
  }

  readonly #newPart = (minute: number, part: number): UsagePart =>
    new UsagePart({ writer: this.#writer, minuteSec: minute * MINUTE_SEC, part }, (changed) =>
      this.#changed.push(changed),
    )

  async #tellChanged(): Promise<void> {
    const parts = this.#changed
    if (parts.length === 0) return
    this.#changed = []
    try {
      const events: EncodedEvent[] = []
      for (const part of parts) {
        part.isChanged = false
        events.push(toEvent(part))
        // Calls do not wait until all of many keys is encoded.
        await turn()
      }
      await this.#options.eventLog.append('usage', events)
      this.#isAway = false
    } catch (error) {
      const why = error instanceof AppError ? { reason: error.message } : { err: error }
      if (!this.#isAway) this.#options.log.warn(why, 'usage could not be told, and will be later')
      this.#isAway = true
      for (const part of parts) part.change()
      this.#giveUpBut(UNTOLD_MAX)
    }
  }

  #giveUpBut(kept: number): void {
    const lost = this.#changed.splice(0, Math.max(0, this.#changed.length - kept))
    if (lost.length === 0) return
    const calls = lost.flatMap(({ rows }) => rows).reduce((sum, row) => sum + row.calls, 0)
    for (const part of lost) part.isChanged = false
    this.#options.log.error({ calls }, 'usage that could not be told is lost')
  }
}

function newWriter(): string {
  return randomBytes(8).toString('hex')
}

function toEvent(part: UsagePart): EncodedEvent {
  const { writer, minuteSec, part: number } = part.header
  const key = `${writer}:${minuteSec}:${number}`
  return encodeEvent(usageCounted, {
    id: `${usageCounted.name}:${key}:${part.told++}`,
    key,
    time: formatInstant(minuteSec),
    data: toData(part),
  })
}

function toData({ header, rows }: UsagePart): UsageData {
  const texts = (textOf: (row: UsageRow) => string) => rows.map((row) => Buffer.from(textOf(row)))
  const counts = (countOf: (row: UsageRow) => number) => Uint32Array.from(rows, countOf)
  const sums = (sumOf: (row: UsageRow) => number) => BigUint64Array.from(rows, (row) => BigInt(Math.round(sumOf(row))))
  const columns = {
    account: texts(({ of }) => of.account),
    tokenHash: Buffer.from(rows.map(({ of }) => of.tokenHash).join(''), 'hex'),
    place: texts(({ of }) => of.place),
    method: texts(({ method }) => method),
    status: counts(({ status }) => status),
    calls: counts(({ calls }) => calls),
    billed: counts(({ billed }) => billed),
    requestBytes: sums(({ requestBytes }) => requestBytes),
    answerBytes: sums(({ answerBytes }) => answerBytes),
    pushes: counts(({ pushes }) => pushes),
    timeUs: sums(({ timeMs }) => timeMs * 1_000),
    times: rows.map(({ times }) => Buffer.from(times.buffer)),
  }
  return { header, columns }
}
