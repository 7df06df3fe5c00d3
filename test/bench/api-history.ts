import type { StoredEvent } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { rangesOf, sliceColumns } from '../../ingest/epochs/registry-rows.ts'
import { type Projecting, project } from '../../processors/loop/consume.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { sumMonth } from '../../processors/rewards/months.ts'
import { chainKey } from '../../schemas/chains.ts'
import { FAR_FUTURE_EPOCH } from '../../schemas/eth/far-future.ts'
import {
  type ChainClock,
  DAY_OFFSET_SEC,
  DAY_SEC,
  dayOfInstant,
  firstOfMonth,
  firstSlotOfEpoch,
  formatDay,
  formatInstant,
  slotTimeSec,
} from '../../schemas/eth/time.ts'
import {
  ACCOUNTS_KEY,
  feeRateSet,
  hashToken,
  TRACKED_PER_EVENT_MAX,
  tokenCreated,
  validatorsTracked,
} from '../../schemas/events/accounts.ts'
import {
  dayBalances,
  type EpochPart,
  epochBlocks,
  epochValidators,
  type FinalizedBlock,
} from '../../schemas/events/beacon-epoch.ts'
import { type EncodedEvent, encodeEvent, type Topic } from '../../schemas/events/codec.ts'
import { executionBlock } from '../../schemas/events/execution-block.ts'
import { IDENTIFIED_PER_EVENT_MAX, validatorsIdentified } from '../../schemas/events/validators.ts'
import { transactionColumns } from '../unit/execution-columns.ts'

const CHAIN = 'mainnet'
const SLOTS_PER_EPOCH = 32
const SECONDS_PER_SLOT = 12
const EPOCHS_PER_DAY = 225
/** Epochs whose events are projected at once: a batch of the processors. */
const EPOCHS_PER_BATCH = 8
/** One block in so many is of a tracked validator, as where a tenth of a network is tracked. */
const SLOTS_PER_PROPOSAL = 10
const UNTRACKED = 2_000_000
/** Of 512 seats, those that a tenth of a network has. */
const MEMBERS = 51
const SEAT_GWEI = 20_000n
const PROPOSED_GWEI = 30_000_000n
const [SOURCE_GWEI, TARGET_GWEI, HEAD_GWEI] = [2_600n, 4_900n, 2_500n]
/** One validator in so many misses its votes of an epoch. */
const MISSES_ONE_IN = 50

export interface HistorySize {
  readonly validators: number
  readonly accounts: number
  /** Validators of the first account; the others share the rest evenly. */
  readonly largest: number
  /** Closed days. */
  readonly days: number
  /** The last of them, of which there are epochs. */
  readonly epochDays: number
}

export const tokenOf = (account: number): string => `token-of-account-${account}`
export const pubkeyAt = (index: number): string => `0x${(0xa000_0000 + index).toString(16).padStart(96, 'b')}`

/** Which validators an account has: `[from, to)`. */
export function validatorsOf({ validators, accounts, largest }: HistorySize, account: number) {
  if (account === 0) return { from: 0, to: largest }
  const each = Math.floor((validators - largest) / (accounts - 1))
  return { from: largest + (account - 1) * each, to: largest + account * each }
}

/**
 * A history of many accounts by events, which the processors make rows of: closed days with the epochs that they are made of. Of days
 * before these the rows are copies of one of them, whose months are summed as when days are closed.
 */
export class ApiHistory {
  readonly size: HistorySize
  readonly clock: ChainClock
  readonly #firstEpoch: number
  readonly #balanceGwei: BigInt64Array
  readonly #indices: Uint32Array
  #offset = 0n
  #nextEpoch: number

  constructor(size: HistorySize, nowSec: number) {
    this.size = size
    const firstDay = dayOfInstant(nowSec) - size.days
    // Days begin with an epoch: a cut within one would need a replay here.
    const genesisTimeSec = firstDay * DAY_SEC - DAY_OFFSET_SEC
    this.clock = { genesisTimeSec, secondsPerSlot: SECONDS_PER_SLOT, slotsPerEpoch: SLOTS_PER_EPOCH }
    this.#firstEpoch = (size.days - size.epochDays) * EPOCHS_PER_DAY
    this.#nextEpoch = this.#firstEpoch
    this.#indices = Uint32Array.from({ length: size.validators }, (_, index) => index)
    this.#balanceGwei = new BigInt64Array(size.validators).fill(32_000_000_000n)
  }

  /** Fills the tables up to an instant. */
  async fill(ports: Projecting & { readonly wanted: { make(): Promise<void> } }, nowSec: number): Promise<void> {
    await this.#project(ports, 'accounts', this.#accountFacts())
    await this.#project(ports, 'validators', this.#identities())
    const epochs = Math.floor((nowSec - this.clock.genesisTimeSec) / SECONDS_PER_SLOT / SLOTS_PER_EPOCH) - 2
    while (this.#nextEpoch < epochs) {
      const some = Array.from({ length: Math.min(EPOCHS_PER_BATCH, epochs - this.#nextEpoch) }, () => this.nextEpoch())
      for (const topic of ['execution.blocks', 'beacon.epochs'] as const)
        await this.#project(
          ports,
          topic,
          some.flatMap((events) => events[topic]),
        )
    }
    await ports.wanted.make()
    await this.#copyDays(ports.warehouse)
  }

  async #project(ports: Projecting, topic: Topic, events: readonly EncodedEvent[]): Promise<void> {
    const projector = PROJECTORS.find((one) => one.topic === topic)
    if (projector === undefined) throw new Error(`nobody reads ${topic}`)
    const stored = events.map((event): StoredEvent => ({ event, position: { partition: 0, offset: this.#offset++ } }))
    await project(ports, projector, stored)
  }

  #accountFacts(): readonly EncodedEvent[] {
    const shared = { key: ACCOUNTS_KEY, time: formatInstant(this.clock.genesisTimeSec) }
    return Array.from({ length: this.size.accounts }, (_, number) => {
      const account = `account-${number}`
      const { from, to } = validatorsOf(this.size, number)
      const starts = Array.from(
        { length: Math.ceil((to - from) / TRACKED_PER_EVENT_MAX) },
        (_, i) => from + i * TRACKED_PER_EVENT_MAX,
      )
      const tokenHash = hashToken(tokenOf(number))
      return [
        encodeEvent(tokenCreated, {
          ...{ ...shared, id: `token:${number}` },
          data: { account, tokenHash, name: '', scopes: ['read'] },
        }),
        encodeEvent(feeRateSet, {
          ...{ ...shared, id: `rate:${number}` },
          data: { account, rate: '0.1', effectiveFrom: shared.time },
        }),
        ...starts.map((start) => {
          const pubkeys = keysFrom(start, Math.min(to, start + TRACKED_PER_EVENT_MAX))
          return encodeEvent(validatorsTracked, {
            ...shared,
            id: `tracked:${start}`,
            data: { chain: CHAIN, account, pubkeys },
          })
        }),
      ]
    }).flat()
  }

  #identities(): readonly EncodedEvent[] {
    const { validators } = this.size
    return Array.from({ length: Math.ceil(validators / IDENTIFIED_PER_EVENT_MAX) }, (_, i) => {
      const from = i * IDENTIFIED_PER_EVENT_MAX
      const pubkeys = keysFrom(from, Math.min(validators, from + IDENTIFIED_PER_EVENT_MAX))
      const withdrawalCredentials = `0x01${'00'.repeat(11)}${'ab'.repeat(20)}`
      const identified = pubkeys.map((pubkey, at) => ({ index: from + at, pubkey, withdrawalCredentials }))
      return encodeEvent(validatorsIdentified, {
        ...{ id: `identified:${from}`, key: CHAIN, time: formatInstant(this.clock.genesisTimeSec) },
        data: { chain: CHAIN, validators: identified },
      })
    })
  }

  /** The events of the epoch behind the last one. */
  nextEpoch(): Readonly<Record<'execution.blocks' | 'beacon.epochs', readonly EncodedEvent[]>> {
    const epoch = this.#nextEpoch++
    const { clock } = this
    const firstSlot = firstSlotOfEpoch(clock, epoch)
    const time = formatInstant(slotTimeSec(clock, firstSlot + SLOTS_PER_EPOCH - 1))
    const days = epoch % EPOCHS_PER_DAY === 0 ? this.#dayEvents(epoch, time) : []
    const blocks = Array.from({ length: SLOTS_PER_EPOCH }, (_, i) => this.#block(firstSlot + i))
    const columns = this.#credit(epoch, blocks)
    const ranges = rangesOf(this.#indices).map((rows) => ({
      part: { kind: 'validators', range: rows.range, rows: rows.to - rows.from } as const,
      event: encodeEvent(epochValidators, {
        ...{ id: `beacon.epoch-validators:${CHAIN}:${epoch}:${rows.range}`, key: chainKey(CHAIN, rows.range), time },
        data: { header: { chain: CHAIN, clock, epoch, range: rows.range }, columns: sliceColumns(columns, rows) },
      }),
    }))
    const parts: EpochPart[] = [...days, ...ranges].map(({ part }) => part)
    const syncRows = SLOTS_PER_EPOCH * MEMBERS
    const told = encodeEvent(epochBlocks, {
      ...{ id: `beacon.epoch-blocks:${CHAIN}:${epoch}`, key: CHAIN, time },
      data: {
        header: { chain: CHAIN, clock, epoch, blocks, effects: [], residuals: [], parts, ...NOT_COMPUTED },
        columns: {
          slotOffset: Uint8Array.from({ length: syncRows }, (_, i) => Math.floor(i / MEMBERS)),
          validatorIndex: Uint32Array.from({ length: syncRows }, (_, i) => this.#member(i % MEMBERS)),
          syncGwei: new BigInt64Array(syncRows).fill(SEAT_GWEI),
        },
      },
    })
    return {
      'execution.blocks': blocks
        .filter(({ proposerIndex }) => proposerIndex < UNTRACKED)
        .map((block) => this.#execution(block)),
      'beacon.epochs': [...days.map(({ event }) => event), ...ranges.map(({ event }) => event), told],
    }
  }

  #member(seat: number): number {
    return Math.floor((seat * this.size.validators) / MEMBERS)
  }

  #block(slot: number): FinalizedBlock {
    const isOwn = slot % SLOTS_PER_PROPOSAL === 0
    const proposerIndex = isOwn ? ((slot / SLOTS_PER_PROPOSAL) * 7_919) % this.size.validators : UNTRACKED + slot
    const reward = isOwn
      ? {
          attestationsGwei: String(PROPOSED_GWEI),
          syncAggregateGwei: '0',
          proposerSlashingsGwei: '0',
          attesterSlashingsGwei: '0',
        }
      : UNASKED
    return {
      ...{ slot, root: hashAt(slot), parentRoot: hashAt(slot - 1), proposerIndex, executionBlockHash: hashAt(slot) },
      ...{ executionBlockNumber: slot + 1, feeRecipient: addressAt(proposerIndex), ...reward },
    }
  }

  /** Lets the epoch change balances; what is then told of the validators. */
  #credit(epoch: number, blocks: readonly FinalizedBlock[]) {
    const rows = this.size.validators
    const gwei = (right: bigint, wrong: bigint) => {
      const column = new BigInt64Array(rows).fill(right)
      for (let i = epoch % MISSES_ONE_IN; i < rows; i += MISSES_ONE_IN) column[i] = wrong
      return column
    }
    const [sourceGwei, targetGwei] = [gwei(SOURCE_GWEI, -SOURCE_GWEI), gwei(TARGET_GWEI, -TARGET_GWEI)]
    const headGwei = gwei(HEAD_GWEI, 0n)
    const balances = this.#balanceGwei
    for (let i = 0; i < rows; i++)
      balances[i] =
        (balances[i] as bigint) + (sourceGwei[i] as bigint) + (targetGwei[i] as bigint) + (headGwei[i] as bigint)
    for (let seat = 0; seat < MEMBERS; seat++) this.#add(this.#member(seat), SEAT_GWEI * BigInt(SLOTS_PER_EPOCH))
    for (const { proposerIndex } of blocks) if (proposerIndex < UNTRACKED) this.#add(proposerIndex, PROPOSED_GWEI)
    return {
      ...{ validatorIndex: this.#indices, sourceGwei, targetGwei, headGwei, inactivityGwei: new BigInt64Array(rows) },
      balanceGwei: balances.slice(),
      effectiveBalanceEth: new Uint32Array(rows).fill(32),
      status: new Uint8Array(rows).fill(2),
      slashed: new Uint8Array(rows),
      activationEpoch: new BigUint64Array(rows),
      exitEpoch: new BigUint64Array(rows).fill(FAR_FUTURE_EPOCH),
      withdrawableEpoch: new BigUint64Array(rows).fill(FAR_FUTURE_EPOCH),
    }
  }

  #add(index: number, gwei: bigint): void {
    this.#balanceGwei[index] = (this.#balanceGwei[index] as bigint) + gwei
  }

  /** Balances that the day begins with which begins with the epoch. */
  #dayEvents(epoch: number, time: string) {
    const slot = firstSlotOfEpoch(this.clock, epoch) - 1
    const day = dayOfInstant(slotTimeSec(this.clock, slot + 1))
    const columns = { validatorIndex: this.#indices, balanceGwei: this.#balanceGwei.slice() }
    return rangesOf(this.#indices).map((rows) => ({
      part: { kind: 'day_balances', range: rows.range, rows: rows.to - rows.from } as const,
      event: encodeEvent(dayBalances, {
        ...{ id: `beacon.day-balances:${CHAIN}:${day}:${rows.range}`, key: chainKey(CHAIN, rows.range), time },
        data: { header: { chain: CHAIN, epoch, day, slot, range: rows.range }, columns: sliceColumns(columns, rows) },
      }),
    }))
  }

  #execution({ slot, executionBlockNumber: number, feeRecipient: coinbase }: FinalizedBlock): EncodedEvent {
    const timestampSec = slotTimeSec(this.clock, slot)
    const hash = hashAt(slot)
    return encodeEvent(executionBlock, {
      ...{ id: `execution.block:${CHAIN}:${hash}`, key: chainKey(CHAIN, hash), time: formatInstant(timestampSec) },
      data: {
        header: {
          ...{ chain: CHAIN, number, hash, parentHash: hashAt(slot - 1), timestampSec, coinbase, extraData: '0x' },
          ...{ baseFeePerGasWei: '7000000000', gasUsed: 42_000, logParts: 0, logsCheck: 'receipts', hasOutcomes: true, provenSenders: [] }, // biome-ignore format: what every block has
        },
        columns: transactionColumns([{ priceWei: 7_500_000_000n + BigInt(slot) }, { priceWei: 8_000_000_000n }]),
      },
    })
  }

  /** Days before those that have epochs, as copies of the first of these. */
  async #copyDays(warehouse: Warehouse): Promise<void> {
    const { days, epochDays } = this.size
    const firstDay = dayOfInstant(this.clock.genesisTimeSec)
    const model = formatDay(firstDay + days - epochDays)
    const slots = EPOCHS_PER_DAY * SLOTS_PER_EPOCH
    for (let day = firstDay; day < firstDay + days - epochDays; day++) {
      const params = { chain: CHAIN, model, day: formatDay(day), first: (day - firstDay) * slots }
      await warehouse.command(
        `INSERT INTO daily_rewards SELECT * REPLACE ({day:Date} AS day) FROM (SELECT * FROM daily_rewards FINAL WHERE ${OF_MODEL})`,
        params,
      )
      await warehouse.command(
        `INSERT INTO closed_days SELECT * REPLACE ({day:Date} AS day, {first:UInt64} AS first_slot, {first:UInt64} + ${slots - 1} AS last_slot)
         FROM (SELECT * FROM closed_days FINAL WHERE ${OF_MODEL})`,
        params,
      )
      // The last day of its month, or of those that are copied.
      if (firstOfMonth(day + 1) !== firstOfMonth(day) || day + 1 === firstDay + days - epochDays)
        await sumMonth(warehouse, CHAIN, day)
    }
  }
}

const NOT_COMPUTED = { proof: null, proposers: null, network: null, differences: null } as const
const OF_MODEL = 'chain = {chain:String} AND day = {model:Date}'

const UNASKED = {
  attestationsGwei: null,
  syncAggregateGwei: null,
  proposerSlashingsGwei: null,
  attesterSlashingsGwei: null,
} as const

const hashAt = (slot: number): string => `0x${slot.toString(16).padStart(64, '0')}`
const addressAt = (index: number): string => `0x${index.toString(16).padStart(40, 'f')}`
const keysFrom = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, i) => pubkeyAt(from + i))
