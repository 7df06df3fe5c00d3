import { dayOfInstant } from '../../schemas/eth/time.ts'
import { formatEthFromGwei, formatEthFromWei, toWei } from '../../schemas/eth/units.ts'
import { totalRewards, type ValidatorTotal } from '../../schemas/routes/rewards/total-rewards.ts'
import { answerPage, operation, pageOffset, type RequestScope } from '../http/operation.ts'
import { toStatus } from '../validators/validator-status.ts'
import { horizonOf } from './horizon.ts'
import { type AccountTotalsRow, countTracked, selectAccountTotals, type ValidatorTotalRow } from './select-rewards.ts'

export const totalRewardsOperation = operation(totalRewards, async ({ query }, scope) => {
  const { warehouse, account } = scope
  const horizon = await horizonOf(scope.standing)
  const totals =
    horizon === undefined
      ? undefined
      : await selectAccountTotals(warehouse, { account, horizon, offset: pageOffset(query), limit: query.limit })
  const known = totals ?? (await emptyTotals(scope))
  const data = {
    validator_details: known.page.map(toValidatorTotal),
    validators_active_count: Number(known.active),
    validators_total_count: Number(known.tracked),
    validators_total_rewards: formatTotal(known),
    validators_total_cl_balance: formatEthFromGwei(BigInt(known.balance_gwei)),
  }
  return answerPage(data, { page: query.page, limit: query.limit, total: Number(known.present) })
})

/** Before the first complete epoch there are validators, but no figures. */
async function emptyTotals(scope: RequestScope): Promise<AccountTotalsRow> {
  const { warehouse, chain, account, nowMs } = scope
  const tracked = await countTracked(warehouse, { chain, account, day: dayOfInstant(nowMs / 1000) })
  const none = { present: '0', active: '0', el_reward_wei: '0', cl_reward_gwei: '0', balance_gwei: '0', page: [] }
  return { tracked: String(tracked), ...none }
}

function toValidatorTotal(row: ValidatorTotalRow): ValidatorTotal {
  return {
    validator_index: row.validator_index,
    pubkey: row.pubkey,
    el_total_reward: formatEthFromWei(BigInt(row.el_reward_wei)),
    cl_total_reward: formatEthFromGwei(BigInt(row.cl_reward_gwei)),
    total_reward: formatTotal(row),
    cl_balance: formatEthFromGwei(BigInt(row.balance_gwei)),
    effective_balance: formatEthFromGwei(BigInt(row.effective_balance_gwei)),
    status: toStatus(row.status),
  }
}

function formatTotal(row: { readonly el_reward_wei: string; readonly cl_reward_gwei: string }): string {
  return formatEthFromWei(BigInt(row.el_reward_wei) + toWei(BigInt(row.cl_reward_gwei)))
}
