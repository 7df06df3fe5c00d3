import { DEFAULT_PLAN, PLAN_DEFAULTS, type Plan } from '../../schemas/plans.ts'
import type { Path } from './mistakes.ts'
import { type FilePlan, type FileSettings, isPlanName, UNLIMITED } from './rules.ts'
import type { SettingReader } from './setting-reader.ts'
import type { PlansConfig } from './types.ts'

/** What accounts may ask for: the default plan is there whatever the file says. */
export function readPlans(reader: SettingReader, { plans: inFile = {} }: FileSettings): PlansConfig {
  const plans = new Map<string, Plan>()
  const planOfAccount = new Map<string, string>()
  for (const [name, plan] of Object.entries<FilePlan>({ [DEFAULT_PLAN]: {}, ...inFile })) {
    const path = ['plans', name]
    if (!isPlanName(name)) {
      reader.refuseAt(path, 'is no name of a plan: at most 32 lower-case letters, digits and dashes')
      continue
    }
    plans.set(name, readPlan(reader, path, { name, plan }))
    for (const [index, account] of (plan.accounts ?? []).entries()) {
      const place = [...path, 'accounts', index]
      const other = planOfAccount.get(account)
      if (account === '') continue // a mistaken one, which is told already
      if (name === DEFAULT_PLAN) reader.refuseAt(place, 'is not needed: the default plan is that of all accounts')
      else if (other !== undefined) reader.refuseAt(place, `has the plan ${other} as well`)
      else reader.show(place, account)
      planOfAccount.set(account, name)
    }
  }
  return { plans: [...plans.values()], planOfAccount: Object.fromEntries(planOfAccount) }
}

function readPlan(
  reader: SettingReader,
  path: Path,
  { name, plan }: { readonly name: string; readonly plan: FilePlan },
): Plan {
  const limit = (setting: 'requests_per_day' | 'requests_per_second', usual: number): number | undefined => {
    const value = plan[setting]
    reader.show([...path, setting], value ?? usual, value === undefined ? 'default' : 'file')
    return value === UNLIMITED ? undefined : (value ?? usual)
  }
  const requestsPerDay = limit('requests_per_day', PLAN_DEFAULTS.requestsPerDay)
  const requestsPerSecond = limit('requests_per_second', PLAN_DEFAULTS.requestsPerSecond)
  return {
    name,
    ...(requestsPerDay === undefined ? {} : { requestsPerDay }),
    ...(requestsPerSecond === undefined ? {} : { requestsPerSecond }),
  }
}
