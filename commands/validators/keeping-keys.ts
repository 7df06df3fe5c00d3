import { type Answerer, serveControl } from '../../infra/control.ts'
import { AppError } from '../../schemas/errors.ts'
import { untilAborted } from '../../schemas/wait.ts'
import { answerKeys } from '../keys/answer-keys.ts'
import { isKeyQuestion } from '../keys/key-question.ts'
import { clocksOf } from '../role.ts'
import type { Duty } from './duty.ts'

/**
 * Answers the commands about keys, on a socket in the vault's folder: who has the vault has this, in both modes. What is printed goes to
 * the command alone.
 */
export const keepingKeys: Duty = async ({ ports, running, vault, lease, book, chains }, signal) => {
  const exitChainOf = async (name: string) => chains.of(name)
  const custody = { vault, lease, book, eventLog: ports.eventLog, exitChainOf, now: clocksOf(running).now }
  const answer: Answerer = async (question, print, asked) => {
    if (!isKeyQuestion.Check(question))
      throw new AppError('usage', 'The program that has the key vault is of another release: stop it first.')
    if ('password' in question && question.password.kind === 'environment')
      throw new AppError(
        'usage',
        'A running program reads a password from a file alone: give --password-file, or stop the program first.',
      )
    await answerKeys(custody, question, { print: (line) => print(JSON.stringify(line)), signal: asked })
  }
  await using _ = await serveControl(running.config.vault.directory, answer, running.log)
  await untilAborted(signal)
}
