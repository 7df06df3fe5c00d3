import { GWEI_PER_ETH } from '../../schemas/eth/units.ts'
import { VALIDATOR_STATUSES } from '../../schemas/events/beacon-epoch.ts'
import type { ChainNode } from '../nodes/nodes.ts'
import type { RegistryFigures, ValidatorStates } from '../ports/beacon-source.ts'
import { missing, pathOf } from './route.ts'
import { BEACON } from './routes.ts'
import { scanValidators } from './tables.ts'
import type { Ask, WideTables } from './wide-tables.ts'

/** Rows of a sample, 4 MB of JSON: a registry up to this is counted, a larger one is told from so many evenly spaced validators. */
export const SAMPLE_VALIDATORS_MAX = 8_192

/** MIN_ACTIVATION_BALANCE and MAX_EFFECTIVE_BALANCE_ELECTRA of every preset: who has more of a balance than this is paid the excess. */
const FULL_BALANCES_ETH: ReadonlySet<number> = new Set([32, 2_048])

const codeOf = (status: (typeof VALIDATOR_STATUSES)[number]) => VALIDATOR_STATUSES.indexOf(status)
const ACTIVE: ReadonlySet<number> = new Set(
  (['active_ongoing', 'active_exiting', 'active_slashed'] as const).map(codeOf),
)
const WITHDRAWAL_POSSIBLE = codeOf('withdrawal_possible')

/** What the registry after a slot comes to. Throws AppError of a node fault. */
export async function askRegistryFigures(ask: Ask, tables: WideTables, slot: number): Promise<RegistryFigures> {
  const size = await tables.registrySize(ask, slot)
  const sampled = Math.min(size, SAMPLE_VALIDATORS_MAX)
  const indices = Uint32Array.from({ length: sampled }, (_, i) => Math.floor((i * size) / sampled))
  const rows = await tables.validators(ask, slot, indices)
  const counted = rows.validatorIndex.length
  const { activeEth, eligible } = sums(rows)
  const scale = counted === 0 ? 0 : size / counted
  return {
    size,
    isSampled: sampled < size,
    totalActiveGwei: BigInt(Math.round(activeEth * scale)) * BigInt(GWEI_PER_ETH),
    sweepEligible: Math.round(eligible * scale),
  }
}

/** Credentials are not read: one who may hold more than 32 ETH and holds little more is taken for one who is paid that. */
function sums({ status, effectiveBalanceEth, balanceGwei }: ValidatorStates) {
  let activeEth = 0
  let eligible = 0
  for (let i = 0; i < status.length; i++) {
    const isActive = ACTIVE.has(status[i] as number)
    const effectiveEth = effectiveBalanceEth[i] as number
    const isAbove = (balanceGwei[i] as bigint) > BigInt(effectiveEth) * BigInt(GWEI_PER_ETH)
    if (isActive) activeEth += effectiveEth
    if (status[i] === WITHDRAWAL_POSSIBLE || (FULL_BALANCES_ETH.has(effectiveEth) && isAbove)) eligible++
  }
  return { activeEth, eligible }
}

/** Validators that are on their way out, slashed ones too. */
export async function askExiting(node: ChainNode, slot: number, registrySize: number): Promise<ValidatorStates> {
  const statuses = ['active_exiting', 'active_slashed']
  const path = pathOf(BEACON.getStateValidators, { stateId: slot, statuses } as never)
  const table = scanValidators({ wanted: new Uint8Array(registrySize).fill(1), rowsHint: 0 })
  const request = { method: 'GET', path, accept: 'application/json' } as const
  if (!(await node.read(request, (piece) => table.push(piece)))) missing(node, `the state of slot ${slot}`)
  table.end()
  return table.columns()
}

export const NOBODY: ValidatorStates = scanValidators({ wanted: new Uint8Array(0), rowsHint: 0 }).columns()
