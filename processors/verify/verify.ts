import type { EventLog } from '../../infra/ports/event-log.ts'
import type { JobQueue } from '../../infra/ports/job-queue.ts'
import type { Warehouse, WarehouseReader } from '../../infra/ports/warehouse.ts'
import { ROUNDING_GWEI_MAX } from '../../schemas/tables/day-levels.ts'
import { compareRecords } from './altered-records.ts'
import type { Difference } from './compared-rows.ts'
import { findDayGaps } from './day-gaps.ts'
import { findMissing, type Missing } from './find-missing.ts'
import { countDays, type DayProof, holds } from './prove-days.ts'
import { proveEpochs } from './prove-epochs.ts'
import { proveMissedSlots } from './prove-missed.ts'
import { proveMonths } from './prove-months.ts'
import { proveRevenue, proveSettlements } from './prove-settlements.ts'
import { proveTokens } from './prove-tokens.ts'
import type { Proving } from './proving.ts'
import { findUnanchored, type UnanchoredEpochs } from './unanchored-epochs.ts'
import { findUncorrected } from './uncorrected.ts'
import { findUnexplainedRevenue } from './unexplained-revenue.ts'
import { type CatchingUp, type Unprocessed, untilProcessed } from './until-processed.ts'
import { findUntoldValidators, type UntoldValidator, type UntoldValidators } from './untold-validators.ts'

/** A statement may see half of what is being written: what looks wrong while processors work is looked at again, so often in all. */
const REPETITIONS_MAX = 5
/** Validators of a chain that are named; the others are counted. */
const UNTOLD_NAMED_MAX = 20
/** Epochs of a chain that are named; the others are counted. */
const EPOCHS_NAMED_MAX = 20
/** What has been asked for is made in this time, once all events are processed. */
const ASK_AGAIN_SEC_MIN = 5

export interface Verifying {
  readonly eventLog: EventLog
  readonly warehouse: Warehouse
  readonly jobQueue: Pick<JobQueue, 'pending'>
  /** Only what concerns this chain, or none. */
  readonly chain?: string | undefined
  readonly signal: AbortSignal
  /** What else is told, and fails nothing. */
  readonly notes: readonly string[]
  /** Leaves out what holds. */
  readonly quiet: boolean
  /** Whether processors may be at work: then what the log holds now is waited for. */
  readonly mayBeProcessed: boolean
  /** How long the log is waited for that processors go on with; a minute without it. */
  readonly waitMsMax?: number
  /** Takes one line of the answer; the next one waits until it is taken. */
  readonly print: (line: string) => Promise<void>
}

/** What a verification has found: nothing where every figure holds and the tables have all that the log has. */
export interface Verdict {
  /** Figures that do not hold. */
  readonly wrong: number
  /** Validator-days that hold and are in no figure, since nothing shows that the states that they were computed of are the chain's. */
  readonly withheld: number
  /** Things that the log has and the tables have not. */
  readonly missing: number
  /** Tracked validators of which no epoch tells anything, so that nothing of them was verified. */
  readonly untold: number
  /** Processors go on with the log and are not through: nothing was looked at. */
  readonly isCatchingUp: boolean
  /** The log has epochs, and not one figure could be proven. */
  readonly nothingProven: boolean
}

/**
 * Proves every figure of the tables again, and compares the tables with the log. Everything is told line by line: what holds
 * unless `quiet`, what does not hold, what is missing and what to do, and at the end how much was proven. Memory and the length
 * of one statement do not grow with the history.
 */
export async function verifyTables(verifying: Verifying): Promise<Verdict> {
  const { print, signal, waitMsMax } = verifying
  const chain = verifying.chain ?? ''
  const processed = () => untilProcessed(verifying, { wait: verifying.mayBeProcessed, waitMsMax, chain, signal })
  let repetitions = verifying.mayBeProcessed ? REPETITIONS_MAX : 0
  const proving: Proving = {
    chain,
    async again() {
      signal.throwIfAborted()
      if (repetitions-- <= 0) return false
      await processed()
      return true
    },
  }
  const unprocessed = await processed()
  signal.throwIfAborted()
  if (unprocessed.catchingUp !== undefined) {
    await print(formatCatchingUp(unprocessed, unprocessed.catchingUp))
    return { wrong: 0, withheld: 0, missing: 0, untold: 0, isCatchingUp: true, nothingProven: true }
  }
  const comparison = await findMissing({ ...verifying, ...proving, unprocessed })
  const { days, proofs, wrong, withheld, epochs, settlements, oversettled } = await proveFigures(verifying, proving)
  for (const note of [...verifying.notes, ...comparison.notes]) await print(`${note}.`)
  const altered = await tellAltered(verifying, proving)
  const missedWrong = await tellMissed(verifying, proving)
  const wrongTokens = await tellTokens(verifying, proving)
  const missing = [...comparison.missing, ...(await findUncorrected(verifying.warehouse, chain, altered.accounts))]
  for (const one of missing) await print(formatMissing(one))
  const untold = await tellUntold(verifying, proving)
  const proven = proofs + epochs.checked + settlements.checked
  if (proven === 0) await print(nothing(comparison.epochsInLog))
  await print(
    `${days} days, ${proofs} validator-days, ${wrong} wrong; ${epochs.checked} validator-epochs, ${epochs.unexplained} unexplained; ` +
      `${settlements.checked} settlements, ${settlements.wrong} wrong`,
  )
  return {
    wrong: wrong + epochs.unexplained + settlements.wrong + oversettled + altered.records + missedWrong + wrongTokens,
    withheld,
    missing: missing.length,
    untold,
    isCatchingUp: false,
    nothingProven: proven === 0 && comparison.epochsInLog > 0,
  }
}

/** Tells of each figure that does not hold, and of those that do unless `quiet`. */
async function proveFigures({ warehouse, quiet, print, signal }: Verifying, proving: Proving) {
  const days = new Set<string>()
  const rounded = new Map<string, number>()
  const unanchored = new Map<string, number>()
  let proofs = 0
  let wrong = 0
  const add = (counts: Map<string, number>, name: string, count: number) => {
    if (count > 0) counts.set(name, (counts.get(name) ?? 0) + count)
  }
  for await (const some of countDays(warehouse, proving, quiet)) {
    signal.throwIfAborted()
    if (some.checked > 0) days.add(`${some.chain} ${some.day}`)
    proofs += some.checked
    wrong += some.wrong
    add(rounded, some.chain, some.rounding)
    add(unanchored, some.chain, some.unanchored)
    for (const proof of some.told) await print(formatProof(proof, holds(proof)))
  }
  for (const [name, count] of rounded) {
    await print(
      `${name}: ${count} validator-days have what their node rounds in them, ${ROUNDING_GWEI_MAX} gwei an epoch at most`,
    )
  }
  for await (const { chain: name, month, validator_index } of proveMonths(warehouse, proving)) {
    wrong++
    await print(`${name} month ${month} validator ${validator_index}: WRONG: it is not the sum of its days`)
  }
  for (const [name, count] of unanchored) {
    for (const line of formatWithheld(name, count, await findUnanchored(warehouse, name))) await print(line)
  }
  const epochs = await proveEpochs(warehouse, proving)
  for (const { chain: name, epoch, validator_index, residual } of epochs.examples) {
    await print(`${name} epoch ${epoch} validator ${validator_index}: ${residual} gwei unexplained`)
  }
  signal.throwIfAborted()
  const settlements = await proveSettlements(warehouse, proving)
  for (const { chain: name, account, slot, reason } of settlements.examples) {
    await print(`${name} account ${account} slot ${slot}: ${reason}`)
  }
  const revenue = await proveRevenue(warehouse, proving)
  for (const { chain: name, proven_wei, settled_wei, nobodys_wei, blocks_oversettled: over, ...of } of revenue) {
    const named = of.slots_oversettled.join(', ')
    const settledOnce =
      over === '0'
        ? 'each to one account'
        : `${over} blocks OVERSETTLED (slots ${named}${Number(over) > of.slots_oversettled.length ? ', …' : ''})`
    await print(
      `${name} revenue: ${proven_wei} wei proven, ${settled_wei} settled, ${settledOnce}, ${nobodys_wei} nobody's`,
    )
  }
  for (const { chain: name, day, closed, validators_missing: lacking } of await findDayGaps(warehouse, proving.chain)) {
    const lacks = `lacks ${lacking} tracked validators: backfill it to have them`
    await print(`${name} ${day} ${closed === 1 ? lacks : 'is not closed'}`)
  }
  for (const { chain: name, blocks, claimed_wei, ...span } of await findUnexplainedRevenue(warehouse, proving.chain)) {
    await print(
      `${name} ${span.first_day} to ${span.last_day}: ${blocks} blocks claim ${claimed_wei} wei that is not proven, and in no ` +
        'figure; admin validators fee-recipient says at which address validators are paid',
    )
  }
  const oversettled = revenue.reduce((sum, { blocks_oversettled: over }) => sum + Number(over), 0)
  const withheld = [...unanchored.values()].reduce((sum, count) => sum + count, 0)
  return { days: days.size, proofs, wrong, withheld, epochs, settlements, oversettled }
}

/** Tells of records that were settled for good and are otherwise in the tables than in the log, and whose they are. */
async function tellAltered(
  verifying: Verifying,
  { chain, again }: Proving,
): Promise<{ readonly records: number; readonly accounts: ReadonlySet<string> }> {
  const compare = () => compareRecords({ ...verifying, chain })
  let { compared, altered } = await compare()
  while (altered.length > 0 && (await again())) ({ compared, altered } = await compare())
  if (compared > 0 && altered.length === 0 && !verifying.quiet)
    await verifying.print(`${compared} records that locks keep, or that correct them, are as the log has them`)
  for (const { chain: name, account, what } of altered) {
    const where = name === '' ? account : `${name} account ${account}`
    await verifying.print(
      `${where} ${what}: WRONG: what was settled for good is not as the log has it. Run \`epochline rebuild --family accounts\`.`,
    )
  }
  return { records: altered.length, accounts: new Set(altered.map(({ account }) => account)) }
}

/** Tells of slots that were missed and are not told so, or the other way round, and returns how many they are. */
async function tellMissed({ warehouse, print }: Verifying, proving: Proving): Promise<number> {
  const { wrong, examples } = await proveMissedSlots(warehouse, proving)
  for (const { chain, slot, reason } of examples) await print(`${chain} slot ${slot}: WRONG: ${reason}`)
  return wrong
}

/** Tells of rows about who holds which token that do not follow from the chain's transfers, and returns how many they are. */
async function tellTokens({ warehouse, quiet, print, signal }: Verifying, proving: Proving): Promise<number> {
  // Of a large chain it takes hours.
  const reader: WarehouseReader = { query: (sql, params) => warehouse.query(sql, params, { signal }) }
  let all = 0
  for await (const { chain, checked, wrong, examples } of proveTokens(reader, proving)) {
    for (const one of examples) await print(formatDifference(chain, one))
    if (wrong > 0)
      await print(
        `${chain}: ${wrong} rows about tokens are WRONG. Run \`epochline rebuild --chain ${chain} --family nft\`, and without ` +
          '--family where blocks themselves are not told.',
      )
    else if (!quiet) await print(`${chain}: ${checked} rows about tokens follow from its transfers`)
    all += wrong
  }
  return all
}

/** Names the validators of which nothing could be verified, and says how many they are. */
async function tellUntold({ warehouse, print }: Verifying, { chain, again }: Proving): Promise<number> {
  const count = (found: readonly UntoldValidators[]) => found.reduce((sum, { untold }) => sum + untold.length, 0)
  let found = await findUntoldValidators(warehouse, chain)
  while (count(found) > 0 && (await again())) found = await findUntoldValidators(warehouse, chain)
  for (const { chain: name, untold, unregistered } of found) {
    for (const one of untold.slice(0, UNTOLD_NAMED_MAX)) await print(formatUntold(name, one))
    if (untold.length > UNTOLD_NAMED_MAX)
      await print(`${name}: and ${untold.length - UNTOLD_NAMED_MAX} more validators of which NOTHING was verified`)
    if (untold.length > 0)
      await print(
        `${name}: while the program runs, final epochs tell of tracked validators within some minutes: verify again then`,
      )
    if (unregistered > 0)
      await print(`${name}: ${unregistered} tracked keys are not in the registry: there is nothing of them to verify`)
  }
  return count(found)
}

function formatUntold(chain: string, { pubkey, index }: UntoldValidator): string {
  const [who, why] =
    index === undefined
      ? [pubkey, 'nobody has looked for it in the registry since it was tracked']
      : [`${index} ${pubkey}`, 'it is in the registry, and no epoch tells of it']
  return `${chain} validator ${who}: NOTHING was verified: ${why}`
}

function formatDifference(chain: string, { block, table, isLacking, madeOf, row }: Difference): string {
  const what = isLacking ? `lacks what ${madeOf} makes` : `has what ${madeOf} does not make`
  return `${chain} block ${block}: WRONG: ${table} ${what}: ${row}`
}

/** What is left out, by which epochs, and what to do about it. */
function formatWithheld(
  chain: string,
  validatorDays: number,
  { epochs, blockless }: UnanchoredEpochs,
): readonly string[] {
  const withheld = `${chain}: WITHHELD: ${validatorDays} validator-days are in no figure`
  const named = epochs.slice(0, EPOCHS_NAMED_MAX)
  const more = epochs.length > named.length ? ` and ${epochs.length - named.length} more` : ''
  return [
    ...(epochs.length === 0
      ? []
      : [
          `${withheld}, as nothing names states that they were computed of: epochs ${named.join(', ')}${more}. ` +
            `gaps --chain ${chain} --repair computes them anew, where a node still gives their states`,
        ]),
    ...(blockless === 0 ? [] : [`${withheld}, as ${blockless} epochs have no block that could name a state`]),
  ]
}

/** By how much, and when to ask again. */
function formatCatchingUp({ jobs }: Unprocessed, { events, eventsPerSec }: CatchingUp): string {
  const pending = [...jobs.values()].reduce((sum, one) => sum + one, 0)
  const seconds = Math.max(ASK_AGAIN_SEC_MIN, Math.ceil(events / Math.max(eventsPerSec, 1e-3)))
  const inTime = seconds < 100 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`
  return (
    `The program is catching up with the log, ${eventsPerSec.toFixed(1)} events a second: ${events} events and ${pending} jobs wait. ` +
    `Nothing was verified, since figures are still being made: verify again in ${inTime}.`
  )
}

function nothing(epochsInLog: number): string {
  if (epochsInLog === 0) return 'Nothing to prove: the log has no finalized epoch.'
  return `Nothing was proven, although the log has ${epochsInLog} finalized epochs: no validator is tracked, or see above what is missing.`
}

function formatMissing({ chain, what, examples, remedy }: Missing): string {
  const named = chain === '' ? what : `${chain}: ${what}`
  return `MISSING ${named}${examples.length === 0 ? '' : `: ${examples.join(', ')}`}. ${remedy}`
}

function formatProof(proof: DayProof, isRight: boolean): string {
  const change = BigInt(proof.balance_end) - BigInt(proof.balance_start)
  const flows = [
    `rewards ${proof.rewards}`,
    `deposits ${proof.deposits}`,
    `withdrawals ${proof.withdrawals}`,
    `returned ${proof.returned}`,
    ...namedUnlessZero({
      moved: proof.moved,
      consolidated: proof.consolidated_in,
      'consolidated away': proof.consolidated_out,
    }),
    ...namedUnlessZero({ rounding: isRight ? proof.residual : '0' }),
  ]
  const who = `${proof.chain} ${proof.day} validator ${proof.validator_index}`
  return `${who}: ${flows.join(' + ')} = ${change} gwei  ${isRight ? (proof.level === 'unanchored' ? 'withheld: unanchored' : 'ok') : faultOf(proof)}`
}

function namedUnlessZero(amounts: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(amounts).flatMap(([name, gwei]) => (gwei === '0' ? [] : [`${name} ${gwei}`]))
}

function faultOf({ level, residual }: DayProof): string {
  if (level !== 'unexplained') return 'WRONG: the stored row is missing or differs from its detail'
  return residual === '0' ? 'WRONG: an epoch of it is unexplained, and another the other way' : `WRONG by ${residual}`
}
