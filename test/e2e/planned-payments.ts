import { planBlock } from '../../infra/devnet/execution/scenario.ts'
import { CONTRACT_RECIPIENT_VALIDATOR } from '../../infra/devnet/open.ts'
import type { OracleBlock, PlannedPayment } from './oracle.ts'

/** The seed of the suites' devnet. */
export const E2E_SEED = 'e2e'

/** What the scenario of the suites' devnet plans for a block: a payment to the contract that refuses money fails. */
export function plannedPayment({ slot, proposerIndex }: OracleBlock): PlannedPayment {
  const plan = planBlock(E2E_SEED, slot)
  if (plan.kind === 'local' || plan.payment.kind === 'none') return { kind: 'none' }
  return {
    kind: 'payment',
    valueWei: plan.payment.valueWei,
    succeeds: proposerIndex !== CONTRACT_RECIPIENT_VALIDATOR,
  }
}
