import { alreadyDeposited } from '../../schemas/broadcast-reasons.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { parseRawTransaction } from '../../schemas/eth/raw-transaction.ts'
import { checkStaking } from '../../schemas/eth/staking-check.ts'
import type { CalledDeposit } from '../../schemas/eth/staking-transaction.ts'
import { broadcastStaking } from '../../schemas/jobs/broadcast-staking.ts'
import { refuse } from '../../schemas/routes/envelope.ts'
import { broadcastStakingRoute } from '../../schemas/routes/validators/broadcast-staking.ts'
import { accountDeposits } from '../http/account-deposits.ts'
import { type ActionScope, action } from '../http/action.ts'
import { askJob } from '../http/ask-job.ts'
import { answer } from '../http/operation.ts'
import type { AccountScope } from '../http/seen-validators.ts'
import { horizonOf } from '../rewards/horizon.ts'
import { createdValidators } from './created-validators.ts'

/** So long a request waits for a node to have its transaction; the job sends none after that. */
const BROADCAST_MS_MAX = 25_000
const NO_NODE =
  'no node of the chain could be reached, or none in time: the same transaction can be broadcast again safely'
const NO_CLIENT =
  'the validator client that is to run the validators does not take them now, so nothing was sent: the same transaction can be broadcast again safely'

/** Who does it looks at everything again, and at what only it knows: this saves a job for what is wrong by itself. */
export const broadcastStakingOperation = action(broadcastStakingRoute, async ({ body }, scope) => {
  const { chain, account, stakingContract } = scope
  const parsed = parseRawTransaction(body.signed_transaction)
  if (parsed.status === 'refused') return refuse('400', parsed.sentence, parsed.reason)
  const { transaction } = parsed
  const created = await createdValidators(scope)
  const checked = checkStaking(transaction, {
    chainId: undefined,
    contract: stakingContract,
    depositContract: await depositContractOf(scope),
    createdOf: (pubkey) => created.get(pubkey),
  })
  // The tables may be a moment behind what was created.
  if (checked.status === 'refused' && checked.reason !== 'unknown_validator')
    return refuse('400', checked.sentence, checked.reason)
  const deposited =
    checked.status === 'ok' ? await depositedBefore(scope, transaction.hash, checked.deposits) : undefined
  if (deposited !== undefined) return refuse('400', alreadyDeposited(deposited), 'already_deposited')
  const input = { chain, account, txHash: transaction.hash, rawTransaction: transaction.raw }
  const output = await askJob(scope, broadcastStaking, { input, timeoutMs: BROADCAST_MS_MAX })
  switch (output?.status) {
    case 'sent':
      return answer({ tx_hash: transaction.hash })
    case 'refused':
      return refuse('400', output.sentence, output.reason)
    case 'unavailable':
      return refuse('500', output.away === 'validator_client' ? NO_CLIENT : NO_NODE)
    case undefined:
      return refuse('500', NO_NODE)
  }
})

/** The first of the validators that another transaction has deposited for, by whatever means and however long ago it was sent. */
async function depositedBefore(
  scope: ActionScope,
  txHash: string,
  deposits: readonly CalledDeposit[],
): Promise<string | undefined> {
  const onChain = await accountDeposits(scope, (await horizonOf(scope.standing))?.clock)
  return deposits
    .map(({ pubkey }) => hexOf(pubkey))
    .find((pubkey) => (onChain.get(pubkey)?.transactionHash ?? txHash) !== txHash)
}

const DEPOSIT_CONTRACT = `SELECT toString(address) AS address FROM deposit_contracts FINAL WHERE chain = {chain:String}`

/** Undefined where the log does not tell it yet. */
async function depositContractOf({ standing, shared }: AccountScope): Promise<string | undefined> {
  const [row] = await shared.query<{ readonly address: string }>(DEPOSIT_CONTRACT, { chain: standing.chain })
  return row?.address
}
