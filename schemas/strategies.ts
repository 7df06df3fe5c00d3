import { type Gwei, toWei } from './eth/units.ts'
import { CREATED_MAX } from './events/created-validators.ts'

/** A way to stake: what is asked for by its id, and where the stake goes. */
export interface Strategy {
  readonly id: string
  /** Names of what the stake is divided among. */
  readonly routes: readonly string[]
  /** Share of each route, percentage text. */
  readonly weights: readonly string[]
  /** What one validator is funded with. */
  readonly validatorGwei: Gwei
}

export const STRATEGIES = [
  // Credentials of type 0x01, 32 ETH for each validator.
  { id: '32x', routes: ['ethereum-solo'], weights: ['100%'], validatorGwei: 32_000_000_000n },
] as const satisfies readonly Strategy[]

export const STRATEGY_DEFAULT = '32x'

/** Case counts; undefined where there is none of this id. */
export function strategyOf(id: string): Strategy | undefined {
  return STRATEGIES.find((strategy) => strategy.id === id)
}

/** A uint256 without leading zeros. */
const AMOUNT = /^[1-9][0-9]{0,77}$/

/**
 * How many validators an amount is for: decimal text, gwei or wei, of 1 to 100 whole validators. The ranges of the two units do not
 * meet: 100 validators are 3.2e12 gwei, one is 3.2e19 wei. Undefined for any other amount.
 */
export function validatorsOfAmount({ validatorGwei }: Strategy, amount: string): number | undefined {
  if (!AMOUNT.test(amount)) return undefined
  const value = BigInt(amount)
  const unit = [validatorGwei, toWei(validatorGwei)].find(
    (one) => value % one === 0n && value / one <= BigInt(CREATED_MAX),
  )
  return unit === undefined ? undefined : Number(value / unit)
}
