import { askControl } from '../../infra/control.ts'
import { openLocalKeyVault } from '../../infra/key-vault/open-local.ts'
import { openEventLog } from '../../infra/open-ports.ts'
import type { EventLog, Lease } from '../../infra/ports/event-log.ts'
import { readStakingBook } from '../../processors/validators/staking-book.ts'
import { AppError } from '../../schemas/errors.ts'
import type { Setting } from '../setting.ts'
import { VALIDATORS_LEASE } from '../validators/lease.ts'
import { answerKeys } from './answer-keys.ts'
import { isKeyAnswer, type KeyAnswer, type KeyQuestion } from './key-question.ts'

/** A program that was killed gives the lease up within 15 s. */
const LEASE_WAIT_MS = 20_000

/** Asks the program that has the vault, or opens it here when none has. Throws the AppError that it was answered with. */
export async function askKeys(
  setting: Setting,
  question: KeyQuestion,
  print: (answer: KeyAnswer) => Promise<void>,
): Promise<void> {
  const { config, log, signal } = setting
  const printing: Promise<void>[] = []
  const asking = { print: (line: string) => void printing.push(print(checkedAnswer(line))), signal }
  if (await askControl(config.vault.directory, question, asking)) return void (await Promise.all(printing))
  await using eventLog = await openEventLog(config, log)
  await using lease = await leaseOf(eventLog, signal)
  await using vault = await openLocalKeyVault(config.vault)
  const book = await readStakingBook(eventLog, log, signal)
  await using open = new AsyncDisposableStack()
  const exitChainOf = async (name: string) => (await import('./open-exit-chain.ts')).openExitChain(setting, name, open)
  await answerKeys({ vault, lease, book, eventLog, exitChainOf, now: Date.now }, question, { print, signal })
}

async function leaseOf(eventLog: EventLog, signal: AbortSignal): Promise<Lease> {
  const late = AbortSignal.timeout(LEASE_WAIT_MS)
  try {
    return await eventLog.lease(VALIDATORS_LEASE, AbortSignal.any([signal, late]))
  } catch (cause) {
    if (!late.aborted || signal.aborted) throw cause
    throw new AppError(
      'usage',
      'A program has the key vault of this log, and not in this data folder: give this command where that program runs.',
      { cause },
    )
  }
}

function checkedAnswer(line: string): KeyAnswer {
  const answer: unknown = JSON.parse(line)
  if (isKeyAnswer.Check(answer)) return answer
  throw new AppError('usage', 'The program that has the key vault is of another release: stop it first.')
}
