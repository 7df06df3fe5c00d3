import type { FastifyInstance } from 'fastify'
import { type Action, serveActions } from '../http/action.ts'
import type { SharedParts } from '../http/api-parts.ts'
import { acceptTextOfAnyType } from '../http/body-rules.ts'
import { requireChainAndAccount } from '../http/chain-path.ts'
import { type Operation, serveOperations } from '../http/operation.ts'
import { broadcastStakingOperation } from './broadcast-staking.ts'
import { createValidatorsOperation } from './create-validators.ts'
import { cancelExitsOperation, exitValidatorsOperation } from './exit-validators.ts'
import { labelValidatorsOperation } from './label-validators.ts'
import { validatorDetailsOperation } from './validator-details.ts'
import { validatorHistoryOperation } from './validator-history.ts'

export const VALIDATORS_OPERATIONS: readonly Operation[] = [validatorDetailsOperation, validatorHistoryOperation]
export const VALIDATORS_ACTIONS: readonly Action[] = [
  createValidatorsOperation,
  broadcastStakingOperation,
  exitValidatorsOperation,
  cancelExitsOperation,
  labelValidatorsOperation,
]

/** What validators are, and their making, of chains that have validators. Bodies are JSON whatever their type says. */
export async function validatorsPlugin(app: FastifyInstance, parts: SharedParts): Promise<void> {
  acceptTextOfAnyType(app)
  requireChainAndAccount(app, { ...parts, family: 'validators', serves: (chain) => chain.hasBeacon })
  serveOperations(app, VALIDATORS_OPERATIONS, parts)
  serveActions(app, VALIDATORS_ACTIONS, parts)
}
