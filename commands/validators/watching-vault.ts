import type { Log } from '../../infra/ports/log.ts'
import { AppError } from '../../schemas/errors.ts'
import { retryWithBackoff } from '../../schemas/retry.ts'
import { pause } from '../../schemas/wait.ts'
import type { Custody, Duty } from './duty.ts'
import { VaultTelling } from './telling-vault.ts'

/** A question to another process and a row of a file. */
const CHECK_INTERVAL_MS = 5_000
/** Keys that a line of the log names. */
const NAMED_MAX = 100

/**
 * Looks whether the vault answers, whose process may be killed or stopped and whose key may go, and names what it lacks; tells
 * the log of it, since the API may be in another process.
 */
export const watchingVault: Duty = async ({ vault, book, running, lease }, signal) => {
  const { log } = running
  // Its process may be killed with this question as with any other.
  const missing = await retryWithBackoff({ log, signal, what: 'the look for keys that the key vault lacks' }, () =>
    vault.lacking([...book.created.pubkeys(), ...book.moved.imported()]),
  )
  if (missing === undefined) return
  tellOfLostKeys(missing, log)
  running.vault.watch(() => ({ ...vault.state(), missing }))
  const telling = new VaultTelling(lease, missing, Date.now)
  try {
    while (!signal.aborted) {
      await check(vault, log)
      await unlessLogIsAway(telling.tell(vault.state()), log)
      await pause(CHECK_INTERVAL_MS, signal)
    }
  } finally {
    running.vault.watch(undefined)
  }
  if (!lease.lost.aborted) await unlessLogIsAway(telling.tellStopped(), log)
}

/** A log that is away comes back; who waits for a word of the vault meanwhile sees how old the last one is. */
async function unlessLogIsAway(telling: Promise<void>, log: Log): Promise<void> {
  try {
    await telling
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'event_log' && error.retryable)) throw error
    log.warn({ reason: error.message }, 'the event log could not be told how the key vault is')
  }
}

/** Tells the log when it stops answering, and when it answers again. A process that has ended is started anew by the question. */
async function check(vault: Custody['vault'], log: Log): Promise<void> {
  const before = vault.state().state
  try {
    await vault.check()
    if (before === 'away') log.info({}, 'the key vault answers again')
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    if (before === 'answering') log.error({ reason: error.message }, 'the key vault does not answer')
  }
}

/** An older copy of the vault, or none, was put in its place: nobody can sign for them, so nobody must fund them. */
function tellOfLostKeys(lost: readonly string[], log: Log): void {
  if (lost.length === 0) return
  log.error(
    { lost: lost.length, pubkeys: lost.slice(0, NAMED_MAX) },
    `the key vault lacks the keys of ${lost.length} validators that were created here or imported: put its newest copy back, and let nobody fund them`,
  )
}
