import type { Log } from '../infra/ports/log.ts'
import { type LockedDifference, lockedDifferences } from '../processors/settlements/locked-differences.ts'
import { compareRecords } from '../processors/verify/altered-records.ts'
import { whySettlementsAreUnknown } from '../processors/verify/behind-log.ts'
import { AppError } from '../schemas/errors.ts'
import { formatInstant } from '../schemas/eth/time.ts'
import { ACCOUNTS_KEY, settlementCorrected } from '../schemas/events/accounts.ts'
import { type EncodedEvent, encodeEvent } from '../schemas/events/codec.ts'
import { ACCOUNTS_LEASE, readBook } from './admin/account-facts.ts'
import { atIntervals } from './at-intervals.ts'
import type { Ports, Running } from './role.ts'
import { nowSec } from './setting.ts'

/** Late evidence comes hours behind a block: a look goes over all that is locked. */
const LOOK_INTERVAL_MS = 60_000
/** An operator's command waits for its turn meanwhile. */
const PROCESSED_WITHIN_MS = 5_000
/** What is due is read out of blocks and evidence, so no job's figures are waited for. */
const NO_JOBS = { pending: async () => 0 }

/** Writes what locked days lack or have too much, as long as the program runs. */
export function correctLockedDays(ports: Ports, { log }: Running, signal: AbortSignal): Promise<void> {
  const look = async (): Promise<void> => {
    const corrections = await unlessLater(log, () => correctLocked(ports, { now: nowSec(), log }, signal))
    if (corrections > 0)
      log.warn({ corrections }, 'more is known of blocks of locked days: the records that correct them')
  }
  return atIntervals({ log, what: 'the watch over locked days', intervalMs: () => LOOK_INTERVAL_MS }, look, signal)
}

/** 0 where the next look does it: another process has got the right to write meanwhile, or a later release has said what this one cannot read. */
async function unlessLater(log: Pick<Log, 'debug' | 'error'>, correct: () => Promise<number>): Promise<number> {
  try {
    return await correct()
  } catch (error) {
    const code = error instanceof AppError ? error.code : undefined
    if (code === 'lease_lost')
      log.debug({ code }, 'the right to correct locked days is lost: the next look asks for it')
    else if (code === 'undecodable') log.error({ code, error }, 'locked days are not corrected by this release')
    else throw error
    return 0
  }
}

interface Correcting {
  readonly now: number
  /** Hears of records that nothing corrects. */
  readonly log?: Pick<Log, 'error'> | undefined
  readonly waitMsMax?: number
}

/**
 * Writes a record of now for each locked one that is no longer what its block proves, and says how many. Nothing is written while the
 * tables are behind the log, and only what two looks have found, with all between them that the log had at the second one's beginning: of an event
 * that is being processed, some tables have rows before others do. And nothing of accounts whose records are not as the log has them: tables
 * would write the log. `now` is Unix seconds.
 */
export async function correctLocked(
  { eventLog, warehouse }: Pick<Ports, 'eventLog' | 'warehouse'>,
  { now, log, waitMsMax = PROCESSED_WITHIN_MS }: Correcting,
  signal: AbortSignal,
): Promise<number> {
  if ((await lockedDifferences(warehouse)).length === 0) return 0
  await using turn = await eventLog.lease(ACCOUNTS_LEASE, signal)
  const areProcessed = async (): Promise<boolean> => {
    const tables = { eventLog, warehouse, jobQueue: NO_JOBS }
    return (await whySettlementsAreUnknown(tables, { waitMsMax, signal })) === undefined
  }
  if (!(await areProcessed())) return 0
  const altered = await alteredAccounts({ eventLog, warehouse, log, signal })
  const look = () => lockedDifferences(warehouse, { isMeant: ({ account }) => !altered.has(account) })
  const found = new Set((await look()).map(nameOf))
  if (!(await areProcessed())) return 0
  const lasting = (await look()).filter((difference) => found.has(nameOf(difference)))
  if (lasting.length === 0) return 0
  const before = (await readBook(eventLog, signal)).corrections().length
  const at = formatInstant(Math.floor(now))
  await turn.append(
    'accounts',
    lasting.map((difference, i) => correctionOf(difference, before + 1 + i, at)),
  )
  return lasting.length
}

interface Comparing extends Pick<Ports, 'eventLog' | 'warehouse'>, Pick<Correcting, 'log'> {
  readonly signal: AbortSignal
}

/** Whose records the tables have otherwise than the log: they differ from their blocks, too, and are nothing to be paid or taken back. */
async function alteredAccounts({ log, ...ports }: Comparing): Promise<ReadonlySet<string>> {
  const { altered } = await compareRecords(ports)
  for (const { chain, account, what } of altered)
    log?.error({ chain, account, what }, 'what was settled for good is not as the log has it: verify says what to do')
  return new Set(altered.map(({ account }) => account))
}

function nameOf({ chain, account, slot, userRewardWei, serviceFeeWei }: LockedDifference): string {
  return `${chain}:${account}:${slot}:${userRewardWei}:${serviceFeeWei}`
}

function correctionOf(difference: LockedDifference, number: number, at: string): EncodedEvent {
  const { chain, account, slot, blockNumber, validatorIndex, pubkey, reason } = difference
  return encodeEvent(settlementCorrected, {
    id: `${settlementCorrected.name}:${number}`,
    key: ACCOUNTS_KEY,
    time: at,
    data: {
      ...{ chain, account, number, pubkey, validatorIndex, at, reason },
      userRewardWei: String(difference.userRewardWei),
      serviceFeeWei: String(difference.serviceFeeWei),
      block: { slot, number: blockNumber },
    },
  })
}
