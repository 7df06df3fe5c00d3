import type { FastifyInstance } from 'fastify'
import type { SharedParts } from '../http/api-parts.ts'
import { requireChainAndAccount } from '../http/chain-path.ts'
import { type Operation, serveOperations } from '../http/operation.ts'
import { dailyRewardsOperation } from './daily-rewards.ts'
import { settledRewardsOperation } from './settled-rewards.ts'
import { statementOperation } from './statement.ts'
import { totalRewardsOperation } from './total-rewards.ts'
import { validatorProofOperation } from './validator-proof.ts'
import { validatorRewardsOperation } from './validator-rewards.ts'

export const REWARDS_OPERATIONS: readonly Operation[] = [
  dailyRewardsOperation,
  totalRewardsOperation,
  settledRewardsOperation,
  validatorRewardsOperation,
  validatorProofOperation,
  statementOperation,
]

/** What validators have earned, of chains that have validators. */
export async function rewardsPlugin(app: FastifyInstance, parts: SharedParts): Promise<void> {
  requireChainAndAccount(app, { ...parts, family: 'rewards', serves: (chain) => chain.hasBeacon })
  serveOperations(app, REWARDS_OPERATIONS, parts)
}
