import { refuse } from '../../schemas/routes/envelope.ts'
import { validatorHistory } from '../../schemas/routes/validators/validator-history.ts'
import { answer, operation } from '../http/operation.ts'
import { horizonOf } from '../rewards/horizon.ts'
import { accountValidators } from './account-validators.ts'
import { historiesOf } from './history.ts'
import { normalisePubkey } from './public-keys.ts'

export const validatorHistoryOperation = operation(validatorHistory, async ({ query }, scope) => {
  const pubkey = normalisePubkey(query.pubkey)
  const horizon = await horizonOf(scope.standing)
  const validator = (await accountValidators(scope, horizon)).find((one) => one.pubkey === pubkey)
  if (validator === undefined) return refuse('400', 'pubkey is none of the account’s validators')
  const [history = []] = await historiesOf(scope, horizon, [validator])
  return answer({ network: scope.network, pubkey, history: [...history] })
})
