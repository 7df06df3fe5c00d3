import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { daySpan } from '../../schemas/eth/day-span.ts'
import { dayOfInstant, formatDay } from '../../schemas/eth/time.ts'
import { epochBlocks } from '../../schemas/events/beacon-epoch.ts'
import { chainOfEvent } from '../../schemas/events/chain-of-event.ts'
import { type EncodedEvent, type Topic, UNNAMED_CHAIN } from '../../schemas/events/codec.ts'
import { NO_TYPE } from '../../schemas/events/dead-letter.ts'
import { executionBlock, executionBlockReverted } from '../../schemas/events/execution-block.ts'
import { NO_EXECUTION_BLOCK } from '../../schemas/tables/execution.ts'
import { openDays, setOf } from '../derive.ts'
import { olderLogSentence, topicsAhead } from '../loop/ahead-of-log.ts'
import { type DeadLetter, DeadLetters } from '../loop/dead-letters.ts'
import { openExchange } from '../loop/exchange.ts'
import { filledFrom, tablesNotFilled } from '../loop/filled-from.ts'
import { isOfRemoved, type LogFacts, readLogFacts, stillCounts } from '../loop/log-facts.ts'
import { chainClocks, isClosable } from '../rewards/days.ts'
import type { Unprocessed } from './until-processed.ts'

/** Epochs or hashes of one question: a server takes 128 KiB in one parameter. */
const ASKED_AT_ONCE = 1_000
/** Epochs of one statement: their blocks and those of the execution chain are joined in memory. */
const EPOCHS_PER_STATEMENT = 6_750
const EXAMPLES_MAX = 5
/** Missing execution blocks that are looked for in the log; more are counted and not told apart. */
const BLOCKS_LOOKED_FOR_MAX = 100_000

/** What names an epoch's blocks and an execution block in their events' ids, of every version. */
const EPOCH_IN_ID = /:(\d+)(?::|$)/
const HASH_IN_ID = /:(0x[0-9a-f]{64})(?::|$)/

/** Something that the log has and the tables have not, so that figures are incomplete. */
export interface Missing {
  /** Empty where it belongs to no chain. */
  readonly chain: string
  /** What is missing and how much, as a sentence without its full stop. */
  readonly what: string
  /** The first of them. */
  readonly examples: readonly string[]
  /** What to do, as a sentence. */
  readonly remedy: string
}

export interface Comparing {
  readonly eventLog: EventLog
  readonly warehouse: Warehouse
  /** What of the log at one moment is not processed; what was appended since is not looked at. */
  readonly unprocessed: Omit<Unprocessed, 'catchingUp'>
  /** Only what concerns this chain, or none; everything where it is empty. */
  readonly chain: string
  /** Asked when days look open that could be closed: true to look again, when the jobs that close them have ended. */
  readonly again: () => Promise<boolean>
  readonly signal: AbortSignal
}

export interface Comparison {
  readonly missing: readonly Missing[]
  /** What is told and fails nothing. */
  readonly notes: readonly string[]
  /** Finalized epochs that the log has. */
  readonly epochsInLog: number
}

const START = 'Start the program, which goes on with them, and verify again.'
const REBUILD = 'Run `epochline rebuild`.'

/**
 * Compares the tables with the log: what of it they were made from, how far, and whether everything that the log has and figures
 * need is in them. The log's events are read by their names alone, a page at a time.
 */
export async function findMissing(comparing: Comparing): Promise<Comparison> {
  const { eventLog, chain, signal } = comparing
  const facts = await readLogFacts(eventLog, signal)
  const letters = (await DeadLetters.open(eventLog)).unresolved
  const missing: Missing[] = [
    ...(await missingWhole(comparing.warehouse, comparing.unprocessed, facts)),
    ...missingInLog(await topicsAhead(comparing)),
    ...missingWork(comparing.unprocessed),
    ...missingLetters(letters),
  ]
  const known = facts ?? { logId: '', unnamedChain: UNNAMED_CHAIN, removed: new Map(), retracted: new Map() }
  const epochs = await missingEpochs(comparing, known)
  let closable = await closableDays(comparing)
  while (closable.length > 0 && (await comparing.again())) closable = await closableDays(comparing)
  // Of a chain whose tables are empty these are more than a call takes as arguments.
  const all = [...missing, ...epochs.missing, ...(await missingBlocks(comparing, known)), ...closable]
  const own = all.filter((one) => chain === '' || one.chain === '' || one.chain === chain)
  return { missing: own, notes: foreignMessages(letters), epochsInLog: epochs.inLog }
}

/** Tables that are of another log, or not whole; nothing where they are the log's. */
export async function missingWhole(
  warehouse: Warehouse,
  unprocessed: Pick<Unprocessed, 'ends'>,
  facts: LogFacts | undefined,
): Promise<readonly Missing[]> {
  const whole = (what: string, remedy: string): readonly Missing[] => [{ chain: '', what, examples: [], remedy }]
  if ((await openExchange(warehouse)) !== undefined) {
    return whole('A rebuild was interrupted while it put its tables in place', `Start the program. ${REBUILD}`)
  }
  const filled = await filledFrom(warehouse)
  if (filled !== undefined && filled.logId !== facts?.logId) {
    return whole('The tables were filled from another event log than this one', REBUILD)
  }
  const isEmptyLog = [...unprocessed.ends.values()].every((end) => end.size === 0)
  if (isEmptyLog) return []
  if (filled !== undefined) {
    const empty = await tablesNotFilled(warehouse, filled)
    return empty.length === 0
      ? []
      : whole(`The log was never read into ${empty.join(', ')}`, `Start the program. ${REBUILD}`)
  }
  return whole('The tables were never filled from this log', `Start the program, which fills them. ${REBUILD}`)
}

function missingInLog(topics: readonly Topic[]): readonly Missing[] {
  if (topics.length === 0) return []
  return [{ chain: '', what: olderLogSentence(topics), examples: [], remedy: REBUILD }]
}

/** Events that no group has processed, and work that is waiting. */
export function missingWork({ events, jobs }: Pick<Unprocessed, 'events' | 'jobs'>): readonly Missing[] {
  const lacking = (what: string): Missing => ({ chain: '', what, examples: [], remedy: START })
  return [
    ...[...events].map(([topic, count]) => lacking(`${count} events of ${topic} are not processed`)),
    ...[...jobs].map(([name, count]) => lacking(`${count} jobs ${name} are not done`)),
  ]
}

/** Events that were set aside; what names no type is no event of this program. */
export function missingLetters(letters: readonly DeadLetter[]): readonly Missing[] {
  return letters.filter(({ eventType }) => eventType !== NO_TYPE).map(missingOfLetter)
}

function missingOfLetter(letter: DeadLetter): Missing {
  const what = `An event of ${letter.topic} could not be processed (${letter.reason})`
  return { chain: letter.chain, what, examples: [letter.eventId], remedy: remedyOf(letter) }
}

function remedyOf({ chain, topic, eventTime }: DeadLetter): string {
  const day = formatDay(dayOfInstant(Date.parse(eventTime) / 1000))
  const release = `If a newer release wrote it, run that release and \`epochline rebuild\``
  switch (topic as Topic) {
    case 'beacon.epochs':
    case 'execution.blocks':
    case 'execution.logs':
    case 'beacon.blocks':
      return `${release}; otherwise \`epochline backfill --chain ${chain} --from ${day} --to ${day}\`.`
    case 'accounts':
      return `${release}; otherwise give the \`epochline admin\` command of ${day} again.`
    default:
      return `${release}.`
  }
}

function foreignMessages(letters: readonly DeadLetter[]): readonly string[] {
  const foreign = letters.filter(({ eventType }) => eventType === NO_TYPE)
  if (foreign.length === 0) return []
  const topics = [...new Set(foreign.map(({ topic }) => topic))].join(', ')
  return [`${foreign.length} messages in ${topics} are none of this program: nothing needs them`]
}

/** Epochs of which the log has the blocks. */
async function missingEpochs(
  comparing: Comparing,
  facts: LogFacts,
): Promise<{ readonly missing: readonly Missing[]; readonly inLog: number }> {
  const { warehouse, chain } = comparing
  const missing = new Map<string, Set<number>>()
  /** In one partition a chain's epochs are told in their order: what comes behind a retraction tells again. */
  const takenBack = new Map<string, Set<number>>()
  /** An epoch that was backfilled twice is told twice. */
  const inLog = new Map<string, Set<number>>()
  let asked = new Map<string, Set<number>>()
  const ask = async (): Promise<void> => {
    for (const [name, epochs] of asked) {
      for (const epoch of await absentEpochs(warehouse, name, [...epochs])) setOf(missing, name).add(epoch)
    }
    asked = new Map()
  }
  const noteTakenBack = (event: EncodedEvent): void => {
    const epoch = epochIn(event)
    if (epoch !== undefined) setOf(takenBack, chainOfEvent(event, facts.unnamedChain)).add(epoch)
  }
  for await (const event of namesIn(comparing, 'beacon.epochs', facts, noteTakenBack)) {
    const name = chainOfEvent(event, facts.unnamedChain)
    const epoch = epochIn(event)
    if (epoch === undefined || (chain !== '' && chain !== name)) continue
    takenBack.get(name)?.delete(epoch)
    setOf(inLog, name).add(epoch)
    const epochs = setOf(asked, name).add(epoch)
    if (epochs.size >= ASKED_AT_ONCE) await ask()
  }
  await ask()
  const notWhole = [...missing].map(([name, epochs]) => ({
    chain: name,
    what: `${epochs.size} finalized epochs are in the log and not whole in the tables`,
    examples: examplesOfEpochs(epochs),
    remedy: `${START} If they stay missing, run \`epochline rebuild --chain ${name}\`.`,
  }))
  const notAgain = [...takenBack].map(([name, epochs]) => ({
    chain: name,
    what: `${epochs.size} finalized epochs were taken back by a repair and have not been read again`,
    examples: examplesOfEpochs(epochs),
    remedy: `Start the program, which reads them. If they stay missing, run \`epochline repair --chain ${name}\`.`,
  }))
  return {
    inLog: [...inLog.values()].reduce((sum, { size }) => sum + size, 0),
    missing: [...notWhole, ...notAgain.filter(({ examples }) => examples.length > 0)],
  }
}

/** The epoch whose blocks an event tells; undefined for other events. */
function epochIn({ type, id }: EncodedEvent): number | undefined {
  const epoch = type === epochBlocks.name ? Number(EPOCH_IN_ID.exec(id)?.[1]) : Number.NaN
  return Number.isSafeInteger(epoch) ? epoch : undefined
}

function examplesOfEpochs(epochs: ReadonlySet<number>): readonly string[] {
  return examplesOf([...epochs].toSorted((a, b) => a - b).map((epoch) => `epoch ${epoch}`))
}

/** The events of a topic at the moment that is looked at, those that count, without their data. */
async function* namesIn(
  { eventLog, unprocessed, signal }: Comparing,
  topic: Topic,
  facts: LogFacts,
  onRetracted?: (event: EncodedEvent) => void,
): AsyncGenerator<EncodedEvent> {
  const ends = unprocessed.ends.get(topic)
  for await (const stored of eventLog.read({ topic, signal, envelopesOnly: true })) {
    const { partition, offset } = stored.position
    if (offset >= (ends?.get(partition) ?? 0n)) continue
    if (stillCounts(topic, stored, facts)) yield stored.event
    else if (!isOfRemoved(topic, stored, facts)) onRetracted?.(stored.event)
  }
}

async function absentEpochs(warehouse: Warehouse, chain: string, epochs: readonly number[]) {
  const rows = await warehouse.query<{ epoch: number }>(
    'SELECT DISTINCT epoch FROM epochs WHERE chain = {chain:String} AND has({epochs:Array(UInt32)}, epoch)',
    { chain, epochs },
  )
  const present = new Set(rows.map(({ epoch }) => epoch))
  return epochs.filter((epoch) => !present.has(epoch))
}

const ABSENT_BLOCKS_SQL = `
WITH proposed AS (
  SELECT slot, execution_block_hash FROM finalized_blocks FINAL
  WHERE chain = {chain:String} AND epoch BETWEEN {first:UInt32} AND {last:UInt32}
    AND execution_block_hash != {no_execution_block:String}
    AND proposer_index IN (SELECT validator_index FROM validators WHERE chain = {chain:String})
)
SELECT slot, toString(execution_block_hash) AS hash FROM proposed
WHERE execution_block_hash NOT IN (
  SELECT block_hash FROM execution_blocks FINAL
  WHERE chain = {chain:String} AND block_hash IN (SELECT execution_block_hash FROM proposed)
)
ORDER BY slot LIMIT {limit:UInt32}`

/** Execution blocks of tracked proposers that the tables lack although the log has them. */
async function missingBlocks(comparing: Comparing, facts: LogFacts): Promise<readonly Missing[]> {
  const { warehouse, chain } = comparing
  const slotOf = new Map<string, number>()
  const spans = await warehouse.query<{ chain: string; first: number; last: number }>(
    `SELECT chain, min(epoch) AS first, max(epoch) AS last FROM finalized_blocks
     WHERE {chain:String} IN ('', chain) GROUP BY chain ORDER BY chain`,
    { chain },
  )
  for (const { chain: name, first, last } of spans) {
    for (let from = first; from <= last; from += EPOCHS_PER_STATEMENT) {
      const rows = await warehouse.query<{ slot: string; hash: string }>(ABSENT_BLOCKS_SQL, {
        chain: name,
        first: from,
        last: Math.min(last, from + EPOCHS_PER_STATEMENT - 1),
        limit: Math.max(0, BLOCKS_LOOKED_FOR_MAX - slotOf.size),
        no_execution_block: NO_EXECUTION_BLOCK,
      })
      for (const { slot, hash } of rows) slotOf.set(`${name}:${hash}`, Number(slot))
    }
  }
  if (slotOf.size === 0) return []
  const found = new Map<string, Set<number>>()
  for await (const event of namesIn(comparing, 'execution.blocks', facts)) {
    const name = chainOfEvent(event, facts.unnamedChain)
    const slot = slotOf.get(`${name}:${HASH_IN_ID.exec(event.id)?.[1]}`)
    if (slot === undefined) continue
    if (event.type === executionBlock.name) setOf(found, name).add(slot)
    else if (event.type === executionBlockReverted.name) found.get(name)?.delete(slot)
  }
  const counted = [...found].filter(([, slots]) => slots.size > 0)
  return counted.map(([name, slots]) => ({
    chain: name,
    what: `${slots.size} execution blocks of tracked proposers are in the log and not in the tables`,
    examples: examplesOf([...slots].toSorted((a, b) => a - b).map((slot) => `slot ${slot}`)),
    remedy: `${START} If they stay missing, run \`epochline rebuild --chain ${name}\`.`,
  }))
}

/** Days that have everything and are open: what closes them was lost or is waiting. */
async function closableDays({ warehouse, chain }: Comparing): Promise<readonly Missing[]> {
  const missing: Missing[] = []
  for (const [name, clock] of await chainClocks(warehouse)) {
    if (chain !== '' && chain !== name) continue
    const closable: string[] = []
    for (const day of await openDays(warehouse, name, clock)) {
      const span = daySpan(clock, day)
      if (span === undefined) continue
      if (await isClosable(warehouse, name, span)) closable.push(formatDay(day))
    }
    if (closable.length === 0) continue
    missing.push({
      chain: name,
      what: `${closable.length} days have everything and are not closed`,
      examples: examplesOf(closable.toSorted()),
      remedy: START,
    })
  }
  return missing
}

function examplesOf(names: readonly string[]): readonly string[] {
  return names.slice(0, EXAMPLES_MAX)
}
