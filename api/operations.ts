import type { Operation } from './http/operation.ts'
import { dailyRewardsOperation } from './rewards/daily-rewards.ts'
import { settledRewardsOperation } from './rewards/settled-rewards.ts'
import { totalRewardsOperation } from './rewards/total-rewards.ts'
import { validatorDetailsOperation } from './validators/validator-details.ts'

/** Every REST operation behind the token: what the listener serves and what the OpenAPI document describes. */
export const OPERATIONS: readonly Operation[] = [
  dailyRewardsOperation,
  totalRewardsOperation,
  settledRewardsOperation,
  validatorDetailsOperation,
]
