import { dailyRewardsOperation } from './daily-rewards.ts'
import type { Operation } from './operation.ts'
import { settledRewardsOperation } from './settled-rewards.ts'
import { totalRewardsOperation } from './total-rewards.ts'
import { validatorDetailsOperation } from './validator-details.ts'

/** Every REST operation behind the token: what the listener serves and what the OpenAPI document describes. */
export const OPERATIONS: readonly Operation[] = [
  dailyRewardsOperation,
  totalRewardsOperation,
  settledRewardsOperation,
  validatorDetailsOperation,
]
