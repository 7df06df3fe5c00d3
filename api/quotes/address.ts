import { checksumAddress } from '../../schemas/eth/address.ts'
import { FAR_FUTURE_EPOCH_TEXT } from '../../schemas/eth/far-future.ts'
import { addressBalanceRoute, addressValidatorRoute } from '../../schemas/routes/quotes/address.ts'
import { type QuoteRefusal, refuseQuote } from '../../schemas/routes/quotes/quote-route.ts'
import { pageOffset } from '../http/operation.ts'
import { type Horizon, horizonOf } from '../rewards/horizon.ts'
import { type AccountValidator, accountValidators } from '../validators/account-validators.ts'
import { earlyStatus } from '../validators/lifecycle.ts'
import { toStatus } from '../validators/validator-status.ts'
import { type QuoteScope, quote } from './quote.ts'
import { credentialsOf, readStaker } from './staker.ts'

export const addressBalance = quote(addressBalanceRoute, async (query, scope) => {
  const found = await ofAddress(query.address, scope)
  if (found.status === 'refused') return found
  const { address, horizon, validators } = found
  const states = validators.flatMap(({ registered }) => registered ?? [])
  const sumOf = (column: 'balance_gwei' | 'effective_balance_gwei') =>
    String(states.reduce((sum, state) => sum + BigInt(state[column]), 0n))
  return {
    status: 'quoted',
    answer: {
      address: checksumAddress(address),
      validators: states.length,
      balance: sumOf('balance_gwei'),
      effectiveBalance: sumOf('effective_balance_gwei'),
      epoch: horizon === undefined ? null : String(horizon.epoch),
    },
  }
})

export const addressValidator = quote(addressValidatorRoute, async (query, scope) => {
  const found = await ofAddress(query.address, scope)
  if (found.status === 'refused') return found
  const { address, horizon, validators } = found
  const { page, limit } = query
  const offset = pageOffset(query)
  return {
    status: 'quoted',
    answer: {
      address: checksumAddress(address),
      validators: validators.slice(offset, offset + limit).map((validator) => {
        const { pubkey, registered } = validator
        return {
          pubkey,
          status:
            registered === undefined
              ? earlyStatus(validator, horizon, scope.unfundedRules)
              : toStatus(registered.status),
          balance: registered?.balance_gwei ?? '0',
          effectiveBalance: registered?.effective_balance_gwei ?? '0',
          activationEpoch: registered?.activation_epoch ?? FAR_FUTURE_EPOCH_TEXT,
          exitEpoch: registered?.exit_epoch ?? FAR_FUTURE_EPOCH_TEXT,
        }
      }),
      pagination: { page, limit, total: validators.length },
    },
  }
})

type OfAddress =
  | {
      readonly status: 'ok'
      readonly address: string
      readonly horizon: Horizon | undefined
      readonly validators: readonly AccountValidator[]
    }
  | QuoteRefusal

/** Validators of the account that quotes are made for whose withdrawal address it is. */
async function ofAddress(text: string | undefined, scope: QuoteScope): Promise<OfAddress> {
  if (text === undefined) return refuseQuote(405, 'address is missing')
  const staker = readStaker(text)
  if (staker.status === 'refused') return staker
  const { address } = staker
  const credentials = new Set(credentialsOf(address))
  const horizon = await horizonOf(scope.standing)
  const validators = await accountValidators(scope, horizon)
  return {
    status: 'ok',
    address,
    horizon,
    validators: validators.filter(({ withdrawalCredentials }) => credentials.has(withdrawalCredentials)),
  }
}
