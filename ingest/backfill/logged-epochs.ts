import { type ChainClock, epochOf, slotAt } from '../../schemas/eth/time.ts'
import { FORMULAS_VERSION } from '../../schemas/eth/transition/explain-epoch.ts'
import {
  dayBalances,
  type EpochBlocksHeader,
  type EpochPart,
  epochBlocks,
  epochValidators,
} from '../../schemas/events/beacon-epoch.ts'
import { decodeEvent, type EncodedEvent, unlessUndecodable } from '../../schemas/events/codec.ts'
import { deadLetter, deadLetterResolved } from '../../schemas/events/dead-letter.ts'
import type { Position } from '../../schemas/events/envelope.ts'
import { type OwnEventsOptions, ownEvents } from '../own-events.ts'
import type { EpochRange } from './epoch-range.ts'

/** Events of before parts were counted do not say what belongs to them: their epochs are asked for again. */
const COUNTED_SINCE_VERSION = 2
/** Blocks events of before do not say what is left unexplained of those that they tell of. */
const RESIDUALS_SINCE_VERSION = 3

/** What the log has of a range of epochs. */
export interface LoggedEpochs {
  /**
   * Those of which it has everything for all validators that are wanted. One that has no row of a validator because it had not
   * joined by then looks like one that lacks it, and is not among them.
   */
  readonly present: ReadonlySet<number>
  /**
   * How many of the validators that are wanted have rows to come in an epoch of the range: they were active by then, or told of before, and
   * are not told of in it. Undefined where the log does not have the epoch at all.
   */
  readonly lackingIn: (epoch: number) => number | undefined
  /**
   * The lowest of the validators without a row in an epoch that lacks nobody by `lackingIn`: the log tells of each of them later, or nowhere in
   * the range. Undefined for other epochs.
   */
  readonly firstWithoutRow: (epoch: number) => number | undefined
  /** Those of the validators that the log tells of in none of the epochs. */
  readonly untold: Uint32Array
  /** The oldest and the newest epoch of the range that the log has, or has to be told again; undefined where it has none. */
  readonly told: EpochRange | undefined
  /**
   * Those of which an event, or one of their execution blocks, could not be processed, or that were computed by earlier formulas than those of
   * today, or of a state that nothing had named though they have blocks: they have to be told again.
   */
  readonly stale: ReadonlySet<number>
  /** Those that were computed of states. */
  readonly computed: ReadonlySet<number>
  /** Where the events lie of epochs that are whole, and were told by reward endpoints: validators that they lack can be added. */
  readonly addable: ReadonlyMap<number, readonly Position[]>
}

export interface LoggedEpochsOptions extends Omit<OwnEventsOptions, 'topic'> {
  readonly clock: ChainClock
}

/** What the log has of the epochs of a range, for all of these validators. */
export async function loggedEpochs(
  options: LoggedEpochsOptions,
  range: EpochRange,
  indices: Uint32Array,
): Promise<LoggedEpochs> {
  const { unnamedChain } = options
  const setAside = await epochsSetAside(options)
  /** Epochs of events that cannot be read here, by id. */
  const unreadable = new Map<string, number>()
  const wanted = new Set(indices)
  const partsOf = new Map<number, readonly EpochPart[]>()
  /** Validators that are wanted and have a row, by epoch and part, of so many rows: one of others is of an epoch whose blocks event never came. */
  const found = new Map<string, number>()
  /** Where the newest event of each part lies. */
  const partPlaces = new Map<string, Place>()
  /** The same of the newest blocks event of each epoch that was told by endpoints. */
  const blocksPlaces = new Map<number, Position>()
  const computed = new Set<number>()
  /** Told before parts were counted. */
  const uncounted = new Set<number>()
  const outdated = new Set<number>()
  /** By when each of them was there at the latest. */
  const thereBy = new Map<number, number>()
  const noteRows = (part: string, rows: Uint32Array, position: Position): void => {
    const ours = rows.filter((index) => wanted.has(index)).length
    partPlaces.set(part, { position, rows: rows.length })
    found.set(`${part} ${rows.length}`, ours)
  }
  for await (const { event, position } of ownEvents({ ...options, topic: 'beacon.epochs' })) {
    if (event.version < COUNTED_SINCE_VERSION) {
      if (event.type === epochBlocks.name) uncounted.add(Number(event.id.split(':').at(-1)))
      continue
    }
    if (!mayBeIn(event.id, event.type, range)) continue
    if (!isReadable(event, unnamedChain)) {
      unreadable.set(event.id, epochOfEvent(event, options.clock))
      continue
    }
    unreadable.delete(event.id) // told again
    if (event.type === epochBlocks.name) {
      const { header } = decodeEvent(epochBlocks, event, unnamedChain)
      partsOf.set(header.epoch, header.parts)
      note(computed, header.epoch, header.proof !== null)
      note(outdated, header.epoch, isOutdated(header))
      if (event.version >= RESIDUALS_SINCE_VERSION && header.proof === null) blocksPlaces.set(header.epoch, position)
      else blocksPlaces.delete(header.epoch)
    } else if (event.type === epochValidators.name) {
      const { header, columns } = decodeEvent(epochValidators, event, unnamedChain)
      noteRows(`${header.epoch} validators ${header.range}`, columns.validatorIndex, position)
      for (const [row, index] of columns.validatorIndex.entries()) {
        const epoch = Math.min(header.epoch, Number(columns.activationEpoch[row]))
        if (wanted.has(index) && epoch < (thereBy.get(index) ?? Number.POSITIVE_INFINITY)) thereBy.set(index, epoch)
      }
    } else if (event.type === dayBalances.name) {
      const { header, columns } = decodeEvent(dayBalances, event, unnamedChain)
      noteRows(`${header.epoch} day_balances ${header.range}`, columns.validatorIndex, position)
    }
  }
  const rowsOf = (epoch: number, parts: readonly EpochPart[], kind: EpochPart['kind']): number => {
    const ranges = parts.filter((part) => part.kind === kind)
    return ranges.reduce((sum, part) => sum + (found.get(`${epoch} ${kind} ${part.range} ${part.rows}`) ?? 0), 0)
  }
  const kindsOf = (epoch: number, parts: readonly EpochPart[]): ReadonlySet<EpochPart['kind']> =>
    // What the chain began with, earlier logs do not tell; nothing else says that they lack it.
    new Set(['validators', ...(epoch === 0 ? (['day_balances'] as const) : []), ...parts.map(({ kind }) => kind)])
  const isPresent = ([epoch, parts]: [number, readonly EpochPart[]]): boolean =>
    [...kindsOf(epoch, parts)].every((kind) => rowsOf(epoch, parts, kind) === wanted.size)
  const present = new Set([...partsOf].filter(isPresent).map(([epoch]) => epoch))
  const firstToldAfter = lowestAfter(indices, thereBy)
  const sinceEpochs = Float64Array.from(thereBy.values()).sort()
  const lackingIn = (epoch: number): number | undefined => {
    const parts = partsOf.get(epoch)
    // Whoever has a row was there by then: what is missing of the number is who lacks one.
    return parts && countUpTo(sinceEpochs, epoch) - rowsOf(epoch, parts, 'validators')
  }
  const firstWithoutRow = (epoch: number): number | undefined => {
    const parts = partsOf.get(epoch)
    if (parts === undefined || lackingIn(epoch) !== 0) return undefined
    const rows = rowsOf(epoch, parts, 'validators')
    if ([...kindsOf(epoch, parts)].some((kind) => rowsOf(epoch, parts, kind) !== rows)) return undefined
    return firstToldAfter(epoch)
  }
  const stale = new Set([...setAside, ...unreadable.values(), ...outdated])
  const placesOf = ([epoch, blocks]: [number, Position]): readonly [number, readonly Position[]][] => {
    const parts = (partsOf.get(epoch) ?? []).map(({ kind, range, rows }) => {
      const place = partPlaces.get(`${epoch} ${kind} ${range}`)
      return place?.rows === rows ? place.position : undefined
    })
    const isWhole = parts.length > 0 && parts.every((place) => place !== undefined) && !stale.has(epoch)
    return isWhole ? [[epoch, [blocks, ...parts]]] : []
  }
  return {
    present,
    lackingIn,
    firstWithoutRow,
    untold: indices.filter((index) => !thereBy.has(index)),
    told: spanOf([...partsOf.keys(), ...uncounted, ...unreadable.values()].filter((epoch) => isIn(epoch, range))),
    stale,
    computed,
    addable: new Map([...blocksPlaces].flatMap(placesOf)),
  }
}

/** Whether what was computed of states can be computed better; an epoch without blocks ends with a state that none can name. */
function isOutdated({ proof, blocks }: EpochBlocksHeader): boolean {
  if (proof === null) return false
  return proof.formulas < FORMULAS_VERSION || (proof.level === 'consistent' && blocks.length > 0)
}

function note(epochs: Set<number>, epoch: number, isOne: boolean): void {
  if (isOne) epochs.add(epoch)
  else epochs.delete(epoch)
}

/** A part of an epoch in the log. */
interface Place {
  readonly position: Position
  readonly rows: number
}

/** How many of ascending numbers are not above one. */
export function countUpTo(ascending: Float64Array, number: number): number {
  const above = ascending.findIndex((one) => one > number)
  return above === -1 ? ascending.length : above
}

/** The lowest of validators that were not there by an epoch, as far as is known; undefined where all were. */
function lowestAfter(indices: Uint32Array, thereBy: ReadonlyMap<number, number>) {
  const since = (index: number): number => thereBy.get(index) ?? Number.MAX_SAFE_INTEGER
  const latestFirst = Uint32Array.from(indices).sort((one, other) => since(other) - since(one))
  const epochs = Float64Array.from(latestFirst, since)
  const lowest = Uint32Array.from(latestFirst)
  for (let i = 1; i < lowest.length; i++) lowest[i] = Math.min(lowest[i] as number, lowest[i - 1] as number)
  return (epoch: number): number | undefined => {
    const there = epochs.findIndex((one) => one <= epoch)
    return lowest[(there === -1 ? lowest.length : there) - 1]
  }
}

function spanOf(epochs: readonly number[]): EpochRange | undefined {
  if (epochs.length === 0) return undefined
  const ascending = Float64Array.from(epochs).sort()
  return { fromEpoch: ascending[0] as number, toEpoch: ascending.at(-1) as number }
}

/** Epochs of events that processors have set aside, and that nobody has told again since. */
async function epochsSetAside({ eventLog, chain, clock, signal }: LoggedEpochsOptions): Promise<Set<number>> {
  const open = new Map<string, number>()
  for await (const { event } of eventLog.read({ topic: 'dead-letters', signal })) {
    if (event.type === deadLetterResolved.name) {
      const resolved = unlessUndecodable(() => decodeEvent(deadLetterResolved, event))
      if (resolved !== undefined) open.delete(`${resolved.topic} ${resolved.eventId}`)
    } else if (event.type === deadLetter.name) {
      const letter = unlessUndecodable(() => decodeEvent(deadLetter, event))
      if (letter === undefined) continue // the group that reads this topic sets it aside
      const { topic, eventId: id, eventType: type, eventTime: time } = letter
      const isNeeded = topic === 'beacon.epochs' || topic === 'execution.blocks'
      if (isNeeded && letter.chain === chain) open.set(`${topic} ${id}`, epochOfEvent({ id, type, time }, clock))
    }
  }
  return new Set(open.values())
}

function isReadable(event: EncodedEvent, unnamedChain: string): boolean {
  let isReadable = true
  const read = () => {
    if (event.type === epochBlocks.name) decodeEvent(epochBlocks, event, unnamedChain)
    else if (event.type === epochValidators.name) decodeEvent(epochValidators, event, unnamedChain)
    else if (event.type === dayBalances.name) decodeEvent(dayBalances, event, unnamedChain)
  }
  unlessUndecodable(read, () => {
    isReadable = false
  })
  return isReadable
}

/** The epoch that an event is about, by its name and time: its data cannot be read. */
function epochOfEvent({ id, type, time }: Pick<EncodedEvent, 'id' | 'type' | 'time'>, clock: ChainClock): number {
  const numbered = type === epochBlocks.name || type === epochValidators.name ? numbersOf(id)[0] : undefined
  return numbered ?? epochOf(clock, slotAt(clock, Date.parse(time) / 1000))
}

/** Ids end with the epoch, or with the epoch and the range; those of balances tell a day, and are few. */
function mayBeIn(id: string, type: string, range: EpochRange): boolean {
  if (type === dayBalances.name) return true
  const [epoch = Number.NaN] = numbersOf(id)
  return isIn(epoch, range)
}

function isIn(epoch: number, { fromEpoch, toEpoch }: EpochRange): boolean {
  return epoch >= fromEpoch && epoch <= toEpoch
}

function numbersOf(id: string): readonly number[] {
  return id.split(':').slice(2).map(Number)
}
