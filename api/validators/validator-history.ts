import { refuse } from '../../schemas/routes/envelope.ts'
import { validatorHistory } from '../../schemas/routes/validators/validator-history.ts'
import { answer, operation, type RequestScope } from '../http/operation.ts'
import { normalisePubkey } from '../http/pubkey-text.ts'
import { horizonOf } from '../rewards/horizon.ts'
import { accountValidators } from './account-validators.ts'
import { historiesOf } from './history.ts'

export const validatorHistoryOperation = operation(
  validatorHistory,
  async ({ query }, scope) => {
    const found = await historyOf(query.pubkey, scope)
    if (found.status === 'refused') return found
    const { pubkey, history } = found
    return answer({ network: scope.network, pubkey, history: [...history] })
  },
  async ({ query }, scope) => {
    const found = await historyOf(query.pubkey, scope)
    return found.status === 'refused' ? found : { status: 'report', rows: [found.history] }
  },
)

async function historyOf(asked: string, scope: RequestScope) {
  const pubkey = normalisePubkey(asked)
  const horizon = await horizonOf(scope.standing)
  const validator = (await accountValidators(scope, horizon)).find((one) => one.pubkey === pubkey)
  if (validator === undefined) return refuse('400', 'pubkey is none of the account’s validators')
  const [history = []] = await historiesOf(scope, horizon, [validator])
  return { status: 'found', pubkey, history } as const
}
