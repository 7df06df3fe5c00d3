import type { Config } from '../infra/config/types.ts'
import { DEMO_ACCOUNT } from '../infra/devnet/demo-account.ts'
import { DEFAULT_PLAN, type Plan } from '../schemas/plans.ts'

/** Of the devnet's account: everybody knows its token, on a devnet that is one's own. */
const DEMO_PLAN: Plan = { name: 'devnet' }

/** What each account may ask for. */
export function planOf({ plans: { plans, planOfAccount }, devnet }: Pick<Config, 'plans' | 'devnet'>) {
  const byName = new Map(plans.map((plan) => [plan.name, plan]))
  const usual = byName.get(DEFAULT_PLAN)
  if (usual === undefined) throw new Error('there is no default plan')
  const named = Object.entries(planOfAccount).map(([account, name]) => [account, byName.get(name) ?? usual] as const)
  const byAccount = new Map<string, Plan>([
    ...(devnet === undefined ? [] : [[DEMO_ACCOUNT, DEMO_PLAN] as const]),
    ...named,
  ])
  return (account: string): Plan => byAccount.get(account) ?? usual
}
