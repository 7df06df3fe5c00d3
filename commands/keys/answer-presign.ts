import type { ExitChain } from '../../processors/validators/exit/exit-custody.ts'
import { OwnersOnLog } from '../../processors/validators/exit/owners-on-log.ts'
import {
  exitsToPresign,
  type PresignFault,
  type PresignRefusal,
  presignExits,
} from '../../processors/validators/exit/presign-exits.ts'
import { AppError } from '../../schemas/errors.ts'
import type { Answering, KeyCustody } from './answer-keys.ts'
import type { PresignCheck, PresignQuestion } from './key-question.ts'
import { namesOf } from './names-of.ts'

/** Signs exits and hands them out encrypted. Throws AppError for what cannot be signed: then nothing was. */
export async function answerPresign(
  { vault, book, lease, eventLog, exitChainOf, now }: KeyCustody,
  question: PresignQuestion,
  { print, signal }: Answering,
): Promise<void> {
  const chain = await openedChain(exitChainOf, question.chain)
  const owners = new OwnersOnLog(eventLog, signal)
  const custody = { vault, book, writer: lease, owners, now }
  const outcome = await presignExits(custody, chain, question)
  if (outcome.status === 'refused') throw refusalOf(outcome, question)
  for (const { jwe, pubkey, validatorIndex, epoch } of outcome.exits)
    await print({ jwe, pubkey, validatorIndex, epoch })
}

/** Throws AppError for what cannot be signed; signs nothing. */
export async function checkPresign(
  { vault, eventLog, exitChainOf, now }: KeyCustody,
  question: PresignCheck,
  { signal }: Answering,
): Promise<void> {
  const chain = await openedChain(exitChainOf, question.chain)
  const checking = { vault, owners: new OwnersOnLog(eventLog, signal), now }
  const outcome = await exitsToPresign(checking, chain, question)
  if (outcome.status === 'refused') throw refusalOf(outcome, question)
}

async function openedChain(exitChainOf: KeyCustody['exitChainOf'], name: string): Promise<ExitChain> {
  const chain = await exitChainOf(name)
  if (chain !== undefined) return chain
  throw new AppError('usage', `${name} is paused or not configured: no exit was signed.`)
}

function refusalOf({ fault, pubkeys }: PresignRefusal, { account, chain }: PresignCheck | PresignQuestion): AppError {
  const named = namesOf(pubkeys)
  const sentences: Readonly<Record<PresignFault, string>> = {
    not_in_vault: `The key vault has no secret of ${named}`,
    of_nobody_or_another: `${account} does not have ${named} on ${chain} today`,
    not_registered: `The final registry of ${chain} has no index yet of ${named}, which an exit has to name`,
    not_active: `It is not fixed yet from which epoch on these may exit, since they are not active: ${named}`,
  }
  return new AppError('usage', `${sentences[fault]}; no exit was signed.`)
}
