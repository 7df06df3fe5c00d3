import type { Offsets, StoredEvent } from '../../infra/ports/event-log.ts'
import {
  DAY_BALANCES_LAYOUT,
  dayBalances,
  EPOCH_VALIDATORS_LAYOUT,
  epochBlocks,
  epochValidators,
} from '../../schemas/events/beacon-epoch.ts'
import { decodeEvent, type EncodedEvent } from '../../schemas/events/codec.ts'
import type { Position } from '../../schemas/events/envelope.ts'
import { joinRows } from '../epochs/joined-rows.ts'
import type { DayStart, ToldEpoch } from '../epochs/told-epoch.ts'
import { type OwnEventsOptions, ownEvents } from '../own-events.ts'

/** Epochs whose events are read from the log at once, and held as they lie there: of 100,000 validators 128 MB. */
const EPOCHS_PER_READ = 256
/** Reads that are held: epochs are made side by side, so that two of them may be needed. */
const READS_HELD = 2

type LoggedEvents = ReadonlyMap<number, readonly EncodedEvent[]>

/** Epochs of the log that lack validators, read again in their order, some at a time: a range may be months of everybody. */
export class ToldEpochs {
  readonly #options: Omit<OwnEventsOptions, 'topic'>
  readonly #places: ReadonlyMap<number, readonly Position[]>
  /** Which read has an epoch. */
  readonly #readOf = new Map<number, number>()
  readonly #reads = new Map<number, Promise<LoggedEvents>>()

  /** `places` tells where the events of each epoch lie; epochs are asked for by ascending numbers. */
  constructor(options: Omit<OwnEventsOptions, 'topic'>, places: ReadonlyMap<number, readonly Position[]>) {
    this.#options = options
    this.#places = places
    for (const [i, epoch] of [...places.keys()].sort((some, other) => some - other).entries())
      this.#readOf.set(epoch, Math.floor(i / EPOCHS_PER_READ))
  }

  /** What the log has told of an epoch; undefined where it has no place. */
  async of(epoch: number): Promise<ToldEpoch | undefined> {
    const read = this.#readOf.get(epoch)
    if (read === undefined) return undefined
    const events = (await this.#events(read)).get(epoch) ?? []
    return events.length === this.#places.get(epoch)?.length ? this.#decoded(events) : undefined
  }

  #events(read: number): Promise<LoggedEvents> {
    const known = this.#reads.get(read)
    if (known !== undefined) return known
    const asked = this.#read([...this.#readOf].filter(([, of]) => of === read).map(([epoch]) => epoch))
    this.#reads.set(read, asked)
    asked.catch(() => this.#reads.delete(read)) // the next one asks again
    const [oldest] = this.#reads.keys()
    if (this.#reads.size > READS_HELD && oldest !== undefined) this.#reads.delete(oldest)
    return asked
  }

  async #read(epochs: readonly number[]): Promise<LoggedEvents> {
    const { eventLog } = this.#options
    const epochAt = new Map<string, number>()
    for (const epoch of epochs) for (const place of this.#places.get(epoch) ?? []) epochAt.set(nameOf(place), epoch)
    const ends = await eventLog.ends('beacon.epochs')
    const from = beforeAll(
      epochs.flatMap((epoch) => this.#places.get(epoch) ?? []),
      ends,
    )
    const found = new Map<number, EncodedEvent[]>(epochs.map((epoch) => [epoch, []]))
    for await (const { event, position } of this.#own(from)) {
      const name = nameOf(position)
      const epoch = epochAt.get(name)
      if (epoch === undefined) continue
      found.get(epoch)?.push(event)
      epochAt.delete(name)
      if (epochAt.size === 0) break
    }
    return found
  }

  #own(from: Offsets): AsyncIterable<StoredEvent> {
    return ownEvents({ ...this.#options, topic: 'beacon.epochs', from })
  }

  #decoded(events: readonly EncodedEvent[]): ToldEpoch | undefined {
    const { unnamedChain } = this.#options
    const ofType = (name: string) => events.filter(({ type }) => type === name)
    const [blocks] = ofType(epochBlocks.name)
    if (blocks === undefined) return undefined
    const parts = ofType(epochValidators.name).map((event) => decodeEvent(epochValidators, event, unnamedChain).columns)
    const balances = ofType(dayBalances.name).map((event) => decodeEvent(dayBalances, event, unnamedChain))
    const starts = new Map(balances.map(({ header: { day, slot } }) => [day, slot]))
    const dayStarts = [...starts].map(([day, slot]): DayStart => {
      const own = balances.filter(({ header }) => header.day === day).map(({ columns }) => columns)
      return { day, slot, balances: joinRows(DAY_BALANCES_LAYOUT, own) }
    })
    const data = decodeEvent(epochBlocks, blocks, unnamedChain)
    return { data, validators: joinRows(EPOCH_VALIDATORS_LAYOUT, parts), dayStarts }
  }
}

function nameOf({ partition, offset }: Position): string {
  return `${partition} ${offset}`
}

/** Offsets before which none of the places lies; of a partition without any, its end. */
function beforeAll(places: readonly Position[], ends: Offsets): Offsets {
  const from = new Map(ends)
  for (const { partition, offset } of places)
    if (offset < (from.get(partition) ?? offset + 1n)) from.set(partition, offset)
  return from
}
