import type { EventLog, Offsets } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import type { BeaconChainHealth, ChainHealth, ExecutionChainHealth, Judged } from '../../schemas/chain-health.ts'
import { AppError } from '../../schemas/errors.ts'
import { type ChainClock, epochOf, firstSlotOfEpoch, slotAt, slotTimeSec } from '../../schemas/eth/time.ts'
import type { Topic } from '../../schemas/events/codec.ts'
import { chainClocks } from '../rewards/days.ts'
import type { Projector } from './consume.ts'
import { filledFrom, tablesNotFilled } from './filled-from.ts'
import type { LagWatch } from './lag-watch.ts'

export interface MeasuredHealth extends Judged {
  readonly chains: Readonly<Record<string, ChainHealth>>
  readonly lag: Readonly<Record<string, number>>
}

/** Blocks come every 12 s, so the head may be this old before something is wrong: about two minutes. */
const HEAD_LAG_SLOTS_MAX = 10
/** Epochs are final after two, ingested when the next checkpoint is, and processed within seconds. */
const FINALITY_LAG_EPOCHS_MAX = 5
/** The newest block of an execution chain may be this old: block times differ from chain to chain. */
const HEAD_AGE_SEC_MAX = 120
/** The first epoch of a day has 129 events where the whole registry is tracked; more is a backlog. */
const LAG_EVENTS_MAX = 140
/** Fewer events may wait for so long: a batch takes seconds. */
const LAG_SEC_MAX = 30
/** Blocks that a reorg may have taken back since the newest one: finality is nearer than that. */
const REVERTED_BLOCKS_MAX = 1_024
/** Figures are made of these: what nobody can read of them is missing in some. */
const TOPICS_OF_FIGURES: readonly Topic[] = ['beacon.epochs', 'execution.blocks', 'validators', 'accounts', 'log']

/** The chains that health is asked of. */
export interface WatchedChain {
  readonly name: string
  readonly hasBeacon: boolean
  /** Its nodes are not read, so it is measured against nothing. */
  readonly paused?: boolean
  /** How far the chain's clock is ahead of this machine's; 0 unless given. */
  readonly aheadSec?: number
  /** Newest block or slot of its node, where this process reads one. */
  readonly nodeHead?: number | undefined
}

export interface Measured {
  readonly eventLog: EventLog
  readonly warehouse: Warehouse
  readonly projectors: readonly Projector[]
  /** Remembers since when events wait; without it only how many. */
  readonly lagWatch?: LagWatch
  /** So long the log is waited for; without it as long as it takes. */
  readonly logMsMax?: number
}

/** Events that each projection has not processed yet, by its group; with `until`, of those before these offsets of their topics. */
export async function measureLag(
  eventLog: EventLog,
  projectors: readonly Projector[],
  until?: ReadonlyMap<Topic, Offsets>,
): Promise<Readonly<Record<string, number>>> {
  const none: Offsets = new Map()
  const lags = await Promise.all(
    projectors.map(({ topic, group }) =>
      eventLog.lag(topic, group, until === undefined ? undefined : (until.get(topic) ?? none)),
    ),
  )
  return Object.fromEntries(projectors.map(({ group }, i) => [group, Number(lags[i])]))
}

/** Where the projections stand, against the log and against each chain's clock. `nowSec` is Unix seconds. */
export async function measureHealth(
  measured: Measured,
  chains: readonly WatchedChain[],
  nowSec: number,
): Promise<MeasuredHealth> {
  const { warehouse } = measured
  const { lag, judgements } = await askLog(measured, nowSec)
  const clocks = await chainClocks(warehouse)
  const letters = await deadLettersByChain(warehouse)
  const healthOf = async (chain: WatchedChain): Promise<ChainHealth> => {
    const { paused = false, aheadSec = 0 } = chain
    const health = chain.hasBeacon
      ? await beaconHealth(warehouse, chain, { clock: clocks.get(chain.name), nowSec: nowSec + aheadSec })
      : await executionHealth(warehouse, chain, nowSec + aheadSec)
    if (paused) return { ...health.state, paused, checks: {}, reasons: [] }
    const judged = judge([...health.judgements, noDeadLetters(chain.name, letters.get(chain.name))])
    return { ...health.state, paused, ...judged }
  }
  const byName: Record<string, ChainHealth> = {}
  for (const chain of chains) byName[chain.name] = await healthOf(chain)
  return {
    chains: byName,
    lag,
    ...judge([await areFilled(warehouse), ...judgements, noDeadLetters('the log', letters.get(''))]),
  }
}

/** One condition; of several with one name all have to hold. */
interface Judgement {
  readonly check: string
  readonly holds: boolean
  readonly reason: string
}

function judge(judgements: readonly Judgement[]): Judged {
  const checks: Record<string, boolean> = {}
  for (const { check, holds } of judgements) checks[check] = holds && (checks[check] ?? true)
  return { checks, reasons: judgements.filter(({ holds }) => !holds).map(({ reason }) => reason) }
}

async function areFilled(warehouse: Warehouse): Promise<Judgement> {
  const filled = await filledFrom(warehouse)
  const empty = filled === undefined ? ['all tables'] : await tablesNotFilled(warehouse, filled)
  if (empty.length === 0) {
    const reason = 'the tables are being filled from the log: nothing is served before they are whole'
    return { check: 'tables_filled', holds: filled?.isWhole === true, reason }
  }
  return {
    check: 'tables_filled',
    holds: false,
    reason: `the log was never read into ${empty.join(', ')}: the program, or \`epochline process\`, does it when it starts`,
  }
}

interface AskedLog {
  readonly lag: MeasuredHealth['lag']
  readonly judgements: readonly Judgement[]
}

/** What the log is asked for. One that is away is a reason, and what the warehouse tells is told all the same. */
async function askLog(measured: Measured, nowSec: number): Promise<AskedLog> {
  const ask = async (): Promise<AskedLog> => {
    const lag = await measureLag(measured.eventLog, measured.projectors)
    return { lag, judgements: await keepsUp(measured, lag, nowSec) }
  }
  try {
    return await inTime(ask(), measured.logMsMax)
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'event_log' && error.retryable)) throw error
    const reason = `the event log does not answer: ${error.message}`
    return { lag: {}, judgements: [{ check: 'event_log_answers', holds: false, reason }] }
  }
}

async function inTime<Answer>(answer: Promise<Answer>, msMax: number | undefined): Promise<Answer> {
  if (msMax === undefined) return answer
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => late.reject(new AppError('event_log', `no answer within ${msMax / 1_000} s`, { retryable: true })),
    msMax,
  )
  try {
    return await Promise.race([answer, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Whether every group is at the log's end, but for what has just been appended. */
async function keepsUp(
  { eventLog, projectors, lagWatch }: Measured,
  lag: Readonly<Record<string, number>>,
  nowSec: number,
): Promise<readonly Judgement[]> {
  return Promise.all(
    projectors.map(async ({ group, topic }): Promise<Judgement> => {
      const events = lag[group] ?? 0
      const sec = lagWatch === undefined ? 0 : await lagWatch.waitingSec({ eventLog, group, topic, events }, nowSec)
      const since = sec > LAG_SEC_MAX ? ` for ${Math.round(sec)} s` : ''
      return {
        check: 'groups_keep_up',
        holds: events <= LAG_EVENTS_MAX && sec <= LAG_SEC_MAX,
        reason: `${events} events of ${topic} have waited${since} to be processed (group ${group})`,
      }
    }),
  )
}

function noDeadLetters(of: string, letters: DeadLetterRow | undefined): Judgement {
  return {
    check: 'no_dead_letters',
    holds: letters === undefined,
    reason: `${letters?.letters} events of ${of} that figures need could not be processed, e.g. ${letters?.example}: \`epochline verify\` says what to do`,
  }
}

interface DeadLetterRow {
  readonly chain: string
  readonly letters: string
  readonly example: string
}

async function deadLettersByChain(warehouse: Warehouse): Promise<ReadonlyMap<string, DeadLetterRow>> {
  const rows = await warehouse.query<DeadLetterRow>(
    `SELECT chain, count() AS letters, min(event_id) AS example FROM dead_letters FINAL
     WHERE is_resolved = 0 AND event_type != '' AND topic IN {topics:Array(String)} GROUP BY chain`,
    { topics: TOPICS_OF_FIGURES },
  )
  return new Map(rows.map((row) => [row.chain, row]))
}

type State<Health> = Omit<Health, keyof Judged | 'paused'>

async function beaconHealth(
  warehouse: Warehouse,
  { name }: WatchedChain,
  { clock, nowSec }: { readonly clock: ChainClock | undefined; readonly nowSec: number },
) {
  const [newest] = await warehouse.query<{ epochs: string; epoch: number }>(
    'SELECT count() AS epochs, max(epoch) AS epoch FROM epochs WHERE chain = {chain:String}',
    { chain: name },
  )
  const lastFinalizedEpoch = newest === undefined || newest.epochs === '0' ? undefined : newest.epoch
  const head = await newestBeaconBlock(warehouse, name)
  const wallSlot = clock === undefined ? undefined : Math.max(0, slotAt(clock, nowSec))
  const headLag =
    clock === undefined || wallSlot === undefined || head === undefined
      ? undefined
      : { slots: Math.max(0, wallSlot - head.slot), seconds: since(slotTimeSec(clock, head.slot), nowSec) }
  const finalityLag =
    clock === undefined || wallSlot === undefined || lastFinalizedEpoch === undefined
      ? undefined
      : {
          epochs: Math.max(0, epochOf(clock, wallSlot) - lastFinalizedEpoch),
          seconds: since(slotTimeSec(clock, firstSlotOfEpoch(clock, lastFinalizedEpoch + 1)), nowSec),
        }
  const executionBlock = await newestExecutionBlock(warehouse, name)
  const blocksBehind = head && Math.max(0, head.executionBlock - (executionBlock?.number ?? 0))
  const state: State<BeaconChainHealth> = {
    kind: 'beacon',
    headSlot: head?.slot,
    headLag,
    lastFinalizedEpoch,
    finalityLag,
  }
  const judgements: readonly Judgement[] = [
    {
      check: 'has_data',
      holds: lastFinalizedEpoch !== undefined,
      reason: `${name} has no finalized epoch in the tables yet`,
    },
    {
      check: 'follows_head',
      holds: headLag !== undefined && headLag.slots <= HEAD_LAG_SLOTS_MAX,
      reason: `${name} is ${headLag?.slots ?? 'all'} slots behind its head`,
    },
    {
      check: 'follows_finality',
      holds: finalityLag !== undefined && finalityLag.epochs <= FINALITY_LAG_EPOCHS_MAX,
      reason: `${name} is ${finalityLag?.epochs ?? 'all'} epochs behind, ${FINALITY_LAG_EPOCHS_MAX} are usual at most`,
    },
    {
      check: 'follows_execution',
      holds: blocksBehind !== undefined && blocksBehind <= HEAD_LAG_SLOTS_MAX,
      reason:
        blocksBehind === undefined
          ? `the head of ${name} has not shown yet which execution blocks there are`
          : `${blocksBehind} execution blocks of ${name} that the head shows are not in the tables`,
    },
  ]
  return { state, judgements }
}

/** Blocks that a reorg took back are no head. */
async function newestBeaconBlock(
  warehouse: Warehouse,
  chain: string,
): Promise<{ readonly slot: number; readonly executionBlock: number } | undefined> {
  const [row] = await warehouse.query<{ blocks: string; newest: string; execution_block: string }>(
    `SELECT count() AS blocks, max(slot) AS newest, argMax(execution_block_number, slot) AS execution_block
     FROM beacon_blocks FINAL
     WHERE chain = {chain:String} AND slot >= (
       SELECT toUInt64(greatest(0, toInt64(max(slot)) - {window:Int64})) FROM beacon_blocks WHERE chain = {chain:String}
     )`,
    { chain, window: REVERTED_BLOCKS_MAX },
  )
  if (row === undefined || row.blocks === '0') return undefined
  return { slot: Number(row.newest), executionBlock: Number(row.execution_block) }
}

async function newestExecutionBlock(
  warehouse: Warehouse,
  chain: string,
): Promise<{ readonly number: number; readonly timeSec: number } | undefined> {
  const [row] = await warehouse.query<{ blocks: string; newest: string; time_sec: number }>(
    `SELECT count() AS blocks, max(block_number) AS newest, toUnixTimestamp(argMax(time, block_number)) AS time_sec
     FROM execution_blocks FINAL
     WHERE chain = {chain:String} AND block_number >= (
       SELECT toUInt64(greatest(0, toInt64(max(block_number)) - {window:Int64}))
       FROM execution_blocks WHERE chain = {chain:String}
     )`,
    { chain, window: REVERTED_BLOCKS_MAX },
  )
  if (row === undefined || row.blocks === '0') return undefined
  return { number: Number(row.newest), timeSec: row.time_sec }
}

async function executionHealth(warehouse: Warehouse, { name, nodeHead }: WatchedChain, nowSec: number) {
  const head = await newestExecutionBlock(warehouse, name)
  const [final] = await warehouse.query<{ block_number: string }>(
    'SELECT block_number FROM execution_finality FINAL WHERE chain = {chain:String}',
    { chain: name },
  )
  const headLag = head && {
    blocks: nodeHead === undefined ? undefined : Math.max(0, nodeHead - head.number),
    seconds: since(head.timeSec, nowSec),
  }
  const state: State<ExecutionChainHealth> = {
    kind: 'execution',
    headBlock: head?.number,
    headLag,
    finalizedBlock: final === undefined ? undefined : Number(final.block_number),
  }
  const judgements: readonly Judgement[] = [
    { check: 'has_data', holds: head !== undefined, reason: `${name} has no block in the tables yet` },
    {
      check: 'follows_head',
      holds: headLag !== undefined && headLag.seconds <= HEAD_AGE_SEC_MAX,
      reason: `the newest block of ${name} is ${headLag === undefined ? 'not there' : `${headLag.seconds} s old`}`,
    },
    { check: 'follows_finality', holds: final !== undefined, reason: `${name} has no final block yet` },
  ]
  return { state, judgements }
}

/** Whole seconds that an instant is past; 0 for one that is still to come. */
function since(unixSec: number, nowSec: number): number {
  return Math.max(0, Math.round(nowSec - unixSec))
}
