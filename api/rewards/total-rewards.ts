import { dayOfInstant } from '../../schemas/eth/time.ts'
import { formatEthFromGwei, formatEthFromWei, toWei } from '../../schemas/eth/units.ts'
import { totalRewards, type ValidatorTotal } from '../../schemas/routes/rewards/total-rewards.ts'
import { pageOf } from '../http/cursor.ts'
import { inPieces, operation, type RequestScope } from '../http/operation.ts'
import { toStatus } from '../validators/validator-status.ts'
import { type AccountTotals, accountTotals, countDeposited, type ValidatorTotals } from './account-totals.ts'
import { answerFigures, completenessOfTotals } from './completeness.ts'
import { horizonOf } from './horizon.ts'

export const totalRewardsOperation = operation(
  totalRewards,
  async ({ query }, scope) => {
    const horizon = await horizonOf(scope.standing)
    const totals = horizon === undefined ? await emptyTotals(scope) : await accountTotals(scope, horizon)
    const page = pageOf(totals.items, {
      of: [totalRewards.id, scope.chain, scope.account],
      query,
      keyOf: ({ state }) => [String(state.validator_index)],
      isBehind: ({ state }, [last]) => state.validator_index > Number(last),
    })
    if (page.status === 'refused') return page
    const data = {
      validator_details: page.items.map(toValidatorTotal),
      validators_active_count: totals.active,
      validators_total_count: totals.deposited,
      validators_total_rewards: formatTotal(totals),
      validators_total_cl_balance: formatEthFromGwei(totals.balanceGwei),
    }
    return answerFigures(data, page, completenessOfTotals(horizon, totals.missing))
  },
  async (_, scope) => {
    const horizon = await horizonOf(scope.standing)
    const totals = horizon === undefined ? await emptyTotals(scope) : await accountTotals(scope, horizon)
    return {
      status: 'report',
      completeness: completenessOfTotals(horizon, totals.missing),
      rows: inPieces(totals.items, toValidatorTotal),
    }
  },
)

/** Before the first complete epoch there are validators, but no figures. */
async function emptyTotals(scope: RequestScope): Promise<AccountTotals> {
  const deposited = await countDeposited(scope, dayOfInstant(scope.nowMs / 1000), undefined)
  return {
    deposited,
    active: 0,
    elRewardWei: 0n,
    clRewardGwei: 0n,
    balanceGwei: 0n,
    items: [],
    missing: new Map(),
    openDays: new Map(),
  }
}

function toValidatorTotal(totals: ValidatorTotals): ValidatorTotal {
  const { pubkey, state, elRewardWei, clRewardGwei } = totals
  return {
    validator_index: state.validator_index,
    pubkey,
    el_total_reward: formatEthFromWei(elRewardWei),
    cl_total_reward: formatEthFromGwei(clRewardGwei),
    total_reward: formatTotal(totals),
    cl_balance: formatEthFromGwei(BigInt(state.balance_gwei)),
    effective_balance: formatEthFromGwei(BigInt(state.effective_balance_gwei)),
    status: toStatus(state.status),
  }
}

function formatTotal(income: Pick<AccountTotals, 'elRewardWei' | 'clRewardGwei'>): string {
  return formatEthFromWei(income.elRewardWei + toWei(income.clRewardGwei))
}
