import { OwnersOnLog } from '../../processors/validators/exit/owners-on-log.ts'
import { type PresignFault, type PresignOutcome, presignExits } from '../../processors/validators/exit/presign-exits.ts'
import { AppError } from '../../schemas/errors.ts'
import type { Answering, KeyCustody } from './answer-keys.ts'
import type { PresignQuestion } from './key-question.ts'
import { namesOf } from './names-of.ts'

/** Signs exits and hands them out encrypted. Throws AppError for what cannot be signed: then nothing was. */
export async function answerPresign(
  { vault, book, lease, eventLog, exitChainOf }: KeyCustody,
  question: PresignQuestion,
  { print, signal }: Answering,
): Promise<void> {
  const chain = await exitChainOf(question.chain)
  if (chain === undefined)
    throw new AppError('usage', `${question.chain} is paused or not configured: no exit was signed.`)
  const owners = new OwnersOnLog(eventLog, signal)
  const custody = { vault, book, writer: lease, owners, now: Date.now }
  const outcome = await presignExits(custody, chain, question)
  if (outcome.status === 'refused') throw refusalOf(outcome, question)
  for (const { jwe, pubkey, validatorIndex, epoch } of outcome.exits)
    await print({ jwe, pubkey, validatorIndex, epoch })
}

function refusalOf(
  { fault, pubkeys }: Extract<PresignOutcome, { status: 'refused' }>,
  { account, chain }: PresignQuestion,
): AppError {
  const named = namesOf(pubkeys)
  const sentences: Readonly<Record<PresignFault, string>> = {
    not_in_vault: `The key vault has no secret of ${named}`,
    of_nobody_or_another: `${account} does not have ${named} on ${chain} today`,
    not_registered: `The final registry of ${chain} has no index yet of ${named}, which an exit has to name`,
    not_active: `It is not fixed yet from which epoch on these may exit, since they are not active: ${named}`,
  }
  return new AppError('usage', `${sentences[fault]}; no exit was signed.`)
}
