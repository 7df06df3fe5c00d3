import { randomUUID } from 'node:crypto'
import type { ExitFault } from '../../schemas/exit-reasons.ts'
import { EXIT_MS_MAX, type ExitValidatorsInput, exitValidators } from '../../schemas/jobs/exit-validators.ts'
import { RESULTS, type Refusal, refuse } from '../../schemas/routes/envelope.ts'
import { cancelExitsRoute, exitValidatorsRoute } from '../../schemas/routes/validators/exit-validators.ts'
import { accountDeposits } from '../http/account-deposits.ts'
import { type ActionScope, action } from '../http/action.ts'
import { askJob } from '../http/ask-job.ts'
import type { Answer } from '../http/operation.ts'
import { normalisePubkey } from '../http/pubkey-text.ts'
import { horizonOf } from '../rewards/horizon.ts'

export const exitValidatorsOperation = action(exitValidatorsRoute, ({ body }, scope) => ask('request', body, scope))

export const cancelExitsOperation = action(cancelExitsRoute, ({ body }, scope) => ask('cancel', body, scope))

type Done = Answer<{ readonly code: '200'; readonly msg: 'Success' }>

const DONE: Done = { status: 'answered', envelope: { code: '200', msg: RESULTS['200'].text } }

async function ask(
  kind: ExitValidatorsInput['kind'],
  { pubkeys }: { readonly pubkeys: readonly string[] },
  scope: ActionScope,
): Promise<Done | Refusal> {
  const { chain, account, actor } = scope
  const wanted = [...new Set(pubkeys.map(normalisePubkey))]
  const deposits = await accountDeposits(scope, (await horizonOf(scope.standing))?.clock)
  const input = {
    kind,
    chain,
    account,
    actor,
    requestId: randomUUID(),
    pubkeys: wanted,
    deposited: wanted.filter((pubkey) => deposits.has(pubkey)),
  }
  const output = await askJob(scope, exitValidators, { input, timeoutMs: EXIT_MS_MAX })
  if (output === undefined || output.status === 'unavailable') return refuse('503', NOT_DONE)
  if (output.status === 'done') return DONE
  return refuse('400', `${output.pubkey} ${SENTENCES[output.fault]}`, output.fault)
}

const NOT_DONE = 'exits cannot be requested or cancelled at the moment; the request can be repeated safely'

const SENTENCES: Readonly<Record<ExitFault, string>> = {
  unknown_validator: 'is not a validator of the account',
  key_not_in_vault: 'cannot exit: its key is not held here',
  not_deposited: 'is not deposited yet',
  exit_not_requested: 'has no exit to cancel',
  exit_already_signed: 'can no longer stay: its exit is signed',
  already_exiting: 'can no longer stay: the chain has fixed its exit',
}
