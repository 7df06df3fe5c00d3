import type { QueryParams, WordsReader } from '../../infra/ports/warehouse.ts'
import {
  type ChainClock,
  type DayNumber,
  dayOfSlot,
  firstSlotOfEpoch,
  lastSlotOfEpoch,
  parseDay,
} from '../../schemas/eth/time.ts'
import { IS_UNANCHORED, newestToldSql } from '../../schemas/tables/day-levels.ts'
import { runsOf } from '../../schemas/tables/literals.ts'
import { consensusPartsSql } from '../../schemas/tables/validator-days.ts'
import { isIn, type SeenValidator } from '../http/seen-validators.ts'
import { StandingMemo } from '../http/standing-memo.ts'
import type { Standing } from '../http/standings.ts'
import type { Horizon } from './horizon.ts'
import type { ToldDay } from './open-lacks.ts'

/** What is there of a validator on the open days on which an account sees it. */
export interface OpenIncome {
  readonly index: number
  /** Of explained days. */
  readonly clRewardGwei: bigint
  readonly explained: readonly ToldDay[]
  readonly unproven: readonly DayNumber[]
}

/**
 * Rows that are taken up at once, a few seconds of a core. Where more are lacking, as in a process that begins in the middle of a day of a million
 * validators, the next look takes up more of them.
 */
const ROWS_AT_ONCE_MAX = 30_000_000
/** Of these, what one statement reads: it is far from taking as long as a statement may, on a busy machine too. */
const ROWS_PER_STATEMENT_MAX = 8_000_000
/** Open days up to which their sums are kept: more are open while months are backfilled. */
const DAYS_MAX = 3
/** After sums were dropped because an epoch was told anew, so many times as long as it took to take them up none are: more such epochs may follow. */
const REST_PER_TAKING = 15

/** So long after sums have moved on somebody may still ask by a standing of before; later, fewer epochs mean that some were taken back. */
const OLDER_STANDING_MS_MAX = 60_000

/** Subquery of the open epochs: rows of those in between that are not complete must not count, since their detail may be there in part. */
export const OPEN_EPOCHS = `
  SELECT toUInt32(arrayJoin(range(run.1, run.2 + 1)))
  FROM (SELECT arrayJoin(arrayZip({openFirsts:Array(UInt32)}, {openLasts:Array(UInt32)})) AS run)`

// As when days are closed: an epoch that is not explained, or made of a state that no block names, leaves out the days that it lies in.
const DAYS_OF_EPOCH = `
    toDate(toDateTime({genesis:UInt64} + arrayJoin([epoch * {epoch_slots:UInt32}, (epoch + 1) * {epoch_slots:UInt32} - 1])
      * {slot_sec:UInt32}, 'UTC') + 28800) AS day`
export const UNANCHORED_DAYS = `
  SELECT day FROM (
    SELECT ${DAYS_OF_EPOCH} FROM epoch_proofs FINAL
    WHERE chain = {chain:String} AND epoch IN (${OPEN_EPOCHS}) AND ${IS_UNANCHORED}
  )`
export const UNEXPLAINED_DAYS = `
  SELECT ${DAYS_OF_EPOCH}, validator_index
  FROM epoch_residuals FINAL
  WHERE chain = {chain:String} AND epoch IN (${OPEN_EPOCHS}) AND residual_gwei != 0
    AND version IN (${newestToldSql(`epoch IN (${OPEN_EPOCHS})`)})`

const PARTS = consensusPartsSql(OPEN_EPOCHS)
const WORDS_PER_PART = 6
const FLAGS = `
  SELECT toUInt16(day) AS day, [] AS indices FROM (${UNANCHORED_DAYS}) GROUP BY day
  UNION ALL
  SELECT toUInt16(day) AS day, groupUniqArray(validator_index) AS indices FROM (${UNEXPLAINED_DAYS}) GROUP BY day`

// Whatever is told of an epoch anew has a part with a newer version, which comes behind its rows.
const TELLINGS = `
  SELECT epoch, toString((count(), sum(version))) AS version, toUInt32(sumIf(rows, is_expected = 0)) AS rows
  FROM epoch_parts FINAL
  WHERE chain = {chain:String} AND epoch IN (${OPEN_EPOCHS})
  GROUP BY epoch`

interface Telling {
  readonly epoch: number
  readonly version: string
  readonly rows: number
}

interface FlagRow {
  readonly day: DayNumber
  /** Validators of which something is not explained; of none where a state is doubtful, which makes the day of all of them so. */
  readonly indices: readonly number[]
}

const PAGE = 1_024

/** Of the validators of `PAGE` indices that follow on each other. */
interface Page {
  readonly gwei: BigInt64Array
  readonly firstEpochs: Uint32Array
  readonly epochs: Uint32Array
}

class DaySums {
  readonly unexplained = new Set<number>()
  isUnanchored = false
  readonly #pages: (Page | undefined)[] = []

  /** Adds a row of parts that begins at the word `at`; `longs` are the same words as 64-bit integers. */
  add(parts: Uint32Array, longs: BigInt64Array, at: number): void {
    const index = parts[at + 1] as number
    const [page, slot] = [this.#page(Math.floor(index / PAGE)), index % PAGE]
    page.gwei[slot] = BigInt.asIntN(64, (page.gwei[slot] as bigint) + (longs[at / 2 + 1] as bigint))
    const epochs = parts[at + 5] as number
    if (epochs === 0) return
    const [known, firstEpoch] = [page.epochs[slot] as number, parts[at + 4] as number]
    page.firstEpochs[slot] = known === 0 ? firstEpoch : Math.min(page.firstEpochs[slot] as number, firstEpoch)
    page.epochs[slot] = known + epochs
  }

  /** Undefined where no transition was told: what blocks say alone does not count. */
  of(index: number): (Omit<ToldDay, 'day'> & { readonly gwei: bigint }) | undefined {
    const [page, at] = [this.#pages[Math.floor(index / PAGE)], index % PAGE]
    const epochs = page?.epochs[at] ?? 0
    if (page === undefined || epochs === 0) return undefined
    return { gwei: page.gwei[at] as bigint, firstEpoch: page.firstEpochs[at] as number, epochs }
  }

  isExplained(index: number): boolean {
    return !this.isUnanchored && !this.unexplained.has(index)
  }

  #page(number: number): Page {
    const page = this.#pages[number] ?? {
      gwei: new BigInt64Array(PAGE),
      firstEpochs: new Uint32Array(PAGE),
      epochs: new Uint32Array(PAGE),
    }
    this.#pages[number] = page
    return page
  }
}

/**
 * Consensus income of all validators of a chain on its open days, which each epoch that comes adds its rows to: what a statement reads of a whole
 * day's epochs otherwise, for each few accounts anew. It takes 16 kB of memory per day and 1,024 indices among which one is tracked.
 */
class OpenSums {
  #days = new Map<DayNumber, DaySums>()
  /** Epochs that are in the sums, with what was told of them. */
  #epochs = new Map<number, string>()
  #exchanges = ''
  /** Of the last horizon that they have moved on to, and when that was. */
  #horizonEpoch = -1
  #movedMs = Number.NEGATIVE_INFINITY
  /** For which standing they are all there is of the open epochs. */
  #figures: object | undefined
  #tookMs = 0
  #restUntilMs = Number.NEGATIVE_INFINITY
  #turn: Promise<void> = Promise.resolve()

  /** Takes up what is lacking of the open epochs, one standing after the other. */
  async moveOn(standing: Standing, horizon: Horizon): Promise<void> {
    const turn = this.#turn.then(() => this.#moveOn(standing, horizon))
    // A failure is its askers', not that of the standing behind them.
    this.#turn = turn.catch(() => {})
    return await turn
  }

  async #moveOn({ warehouse, figures }: Standing, horizon: Horizon): Promise<void> {
    // Whoever asks by an older standing is not to lead back.
    const isOlder = horizon.epoch < this.#horizonEpoch && performance.now() - this.#movedMs < OLDER_STANDING_MS_MAX
    if (horizon.openDays.length > DAYS_MAX || isOlder) return
    const { chain, openEpochs } = horizon
    const tellings =
      openEpochs.length === 0 ? [] : await warehouse.query<Telling>(TELLINGS, { chain, ...openRuns(openEpochs) })
    const told = new Map(tellings.map((telling) => [telling.epoch, telling]))
    const isKept = this.#isKept(horizon, told)
    if (!isKept && this.#epochs.size > 0) this.#restUntilMs = performance.now() + this.#tookMs * REST_PER_TAKING
    const known = isKept ? this.#epochs : new Map<number, string>()
    const lacking = openEpochs.filter((epoch) => !known.has(epoch)).flatMap((epoch) => told.get(epoch) ?? [])
    const isResting = known.size === 0 && performance.now() < this.#restUntilMs
    const [taken = []] = isResting ? [] : groupsOf(lacking, ROWS_AT_ONCE_MAX)
    const began = performance.now()
    const found: FoundEpochs[] = []
    for (const some of groupsOf(taken, ROWS_PER_STATEMENT_MAX)) found.push(await readEpochs(warehouse, horizon, some))
    if (known.size === 0 && taken.length > 0) this.#tookMs = performance.now() - began
    // From here on nobody else has a turn: what is in the sums, and for whom, changes at once.
    const days = isKept ? this.#days : new Map<DayNumber, DaySums>()
    this.#days = new Map(numbersOf(horizon.openDays).map((day) => [day, days.get(day) ?? new DaySums()]))
    this.#epochs = new Map([...known].filter(([epoch]) => told.has(epoch)))
    for (const epochs of found) this.#add(epochs)
    for (const { epoch, version } of taken) this.#epochs.set(epoch, version)
    this.#exchanges = horizon.exchanges
    this.#horizonEpoch = horizon.epoch
    this.#movedMs = performance.now()
    this.#figures = openEpochs.every((epoch) => this.#epochs.has(epoch)) ? figures : undefined
  }

  /** Whether all that is in the sums is still so: days that were closed leave, and later ones come. */
  #isKept({ exchanges, openDays, clock }: Horizon, told: ReadonlyMap<number, Telling>): boolean {
    if (exchanges !== this.#exchanges) return false
    const [open, newest] = [new Set(numbersOf(openDays)), Math.max(...this.#days.keys())]
    if (![...open].every((day) => this.#days.has(day) || day > newest)) return false
    return [...this.#epochs].every(([epoch, version]) =>
      told.has(epoch) ? told.get(epoch)?.version === version : daysOf(clock, epoch).every((day) => !open.has(day)),
    )
  }

  #add({ parts, flags }: FoundEpochs): void {
    const longs = new BigInt64Array(parts.buffer, parts.byteOffset, parts.length / 2)
    for (let at = 0; at < parts.length; at += WORDS_PER_PART) this.#days.get(parts[at] as number)?.add(parts, longs, at)
    for (const { day, indices } of flags) {
      const sums = this.#days.get(day)
      if (sums === undefined) continue
      if (indices.length === 0) sums.isUnanchored = true
      for (const index of indices) sums.unexplained.add(index)
    }
  }

  /** Undefined where they are not what the standing's tables say. */
  of({ figures }: Standing, validators: readonly SeenValidator[]): readonly OpenIncome[] | undefined {
    if (figures !== this.#figures) return undefined
    return validators.flatMap(({ index, intervals }) => {
      let clRewardGwei = 0n
      const explained: ToldDay[] = []
      const unproven: DayNumber[] = []
      for (const [day, sums] of this.#days) {
        const own = intervals.some((interval) => isIn(interval, day)) ? sums.of(index) : undefined
        if (own === undefined) continue
        if (sums.isExplained(index)) {
          const { gwei, ...told } = own
          clRewardGwei += gwei
          explained.push({ day, ...told })
        } else unproven.push(day)
      }
      return explained.length + unproven.length === 0 ? [] : [{ index, clRewardGwei, explained, unproven }]
    })
  }
}

/** Epochs that follow on each other, of so many rows together at most; one that has more is alone. */
function groupsOf(tellings: readonly Telling[], rowsMax: number): readonly (readonly Telling[])[] {
  const groups: Telling[][] = []
  let rows = Number.POSITIVE_INFINITY
  for (const telling of tellings) {
    rows += telling.rows
    if (rows > rowsMax) {
      groups.push([])
      rows = telling.rows
    }
    groups.at(-1)?.push(telling)
  }
  return groups
}

interface FoundEpochs {
  readonly parts: Uint32Array
  readonly flags: readonly FlagRow[]
}

async function readEpochs(warehouse: WordsReader, horizon: Horizon, taken: readonly Telling[]): Promise<FoundEpochs> {
  const params = openParams(
    horizon,
    taken.map(({ epoch }) => epoch),
  )
  const [parts, flags] = await Promise.all([
    warehouse.queryWords(PARTS, params),
    warehouse.query<FlagRow>(FLAGS, params),
  ])
  return { parts, flags }
}

/** Parameters of `OPEN_EPOCHS`, of epochs that ascend: while months are backfilled they are too many to be named one by one. */
function openRuns(epochs: readonly number[]) {
  const runs = runsOf(epochs)
  return { openFirsts: runs.map(({ first }) => first), openLasts: runs.map(({ last }) => last) }
}

/** Parameters of statements about some of the open epochs, which ascend. */
export function openParams({ chain, clock, openDays }: Horizon, openEpochs: readonly number[]): QueryParams {
  const [first, last] = [openEpochs[0] ?? 0, openEpochs.at(-1) ?? 0]
  return {
    chain,
    days: openDays,
    ...openRuns(openEpochs),
    first_epoch: first,
    first_transition: first,
    last_transition: last,
    first_slot: firstSlotOfEpoch(clock, first),
    last_slot: lastSlotOfEpoch(clock, last),
    genesis: clock.genesisTimeSec,
    slot_sec: clock.secondsPerSlot,
    epoch_slots: clock.slotsPerEpoch,
  }
}

const numbersOf = (days: readonly string[]): readonly DayNumber[] => days.map((day) => parseDay(day) as DayNumber)

const daysOf = (clock: ChainClock, epoch: number): readonly DayNumber[] =>
  [firstSlotOfEpoch(clock, epoch), lastSlotOfEpoch(clock, epoch)].map((slot) => dayOfSlot(clock, slot))

/** By warehouse (a process has one, and tests several) and chain. */
const sumsOfChains = new WeakMap<WordsReader, Map<string, OpenSums>>()
const movedMemo = new StandingMemo<void>(() => 1)

/**
 * What the validators have on open days, of the sums that all accounts share; those that have nothing are left out. Undefined where these are not
 * those of the standing: while they are taken up, or are of a newer one.
 */
export async function summedIncomes(
  standing: Standing,
  horizon: Horizon,
  validators: readonly SeenValidator[],
): Promise<readonly OpenIncome[] | undefined> {
  const ofChains = sumsOfChains.get(standing.warehouse) ?? new Map<string, OpenSums>()
  sumsOfChains.set(standing.warehouse, ofChains)
  const sums = ofChains.get(standing.chain) ?? new OpenSums()
  ofChains.set(standing.chain, sums)
  await movedMemo.of(standing, '', () => sums.moveOn(standing, horizon))
  return sums.of(standing, validators)
}
