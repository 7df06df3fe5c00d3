import { CORRELATION_EPOCHS, GWEI_PER_INCREMENT, type MadeRegistry } from './registry.ts'

// What a transition of Fulu pays and takes, written from the specification (consensus-specs: altair, bellatrix, electra) in big integers, with
// none of production's formulas. Balances here never come near 0, so that a validator's parts can be added up first.

export const SOURCE = 1
export const TARGET = 2
export const HEAD = 4
const FLAG_SETS = 8
const WEIGHTS: readonly (readonly [flag: number, weight: bigint])[] = [
  [SOURCE, 14n],
  [TARGET, 26n],
  [HEAD, 14n],
]
const INCREMENTS_MAX = 2_048

export interface Amounts {
  readonly perIncrement: bigint
  readonly total: bigint
  /** Of a seat of the sync committee in a block, and what its proposer has of it. */
  readonly seat: number
  readonly seatProposer: number
}

function squareRoot(value: bigint): bigint {
  let root = value
  for (let next = (value + 1n) / 2n; next < root; next = (root + value / root) / 2n) root = next
  return root
}

/** What everything is paid by: the same in all epochs, since nobody comes or goes. */
export function amountsOf({ active, increments }: MadeRegistry): Amounts {
  let total = 0n
  for (const index of active) total += BigInt(increments[index] as number)
  const perIncrement = (BigInt(GWEI_PER_INCREMENT) * 64n) / squareRoot(total * BigInt(GWEI_PER_INCREMENT))
  const seat = (perIncrement * total * 2n) / 64n / 32n / 512n
  return { perIncrement, total, seat: Number(seat), seatProposer: Number((seat * 8n) / 56n) }
}

/** What the proposer has for new flags: the sum of increments times weights, over 448 (get_attestation_participation_flag_indices). */
export function proposerPart({ perIncrement }: Amounts, weighted: number): number {
  return Number((BigInt(weighted) * perIncrement) / 448n)
}

/** Sum of the weights of flags. */
export function weightOf(flags: number): number {
  return WEIGHTS.reduce((sum, [flag, weight]) => ((flags & flag) === 0 ? sum : sum + Number(weight)), 0)
}

export interface Movable {
  readonly balancesGwei: Float64Array
  readonly scores: Float64Array
  /** Of the epoch before the one that ends. */
  readonly participation: Uint8Array
}

/** Scores, then rewards and penalties of attestations (process_inactivity_updates, process_rewards_and_penalties), outside a leak. */
export function payAttestations(registry: MadeRegistry, amounts: Amounts, state: Movable): void {
  const { active, slashed, increments } = registry
  const { balancesGwei, scores, participation } = state
  const table = flagTable(registry, amounts, participation)
  for (const index of active) {
    const flags = participation[index] as number
    let score = scores[index] as number
    score = (flags & TARGET) !== 0 ? score - Math.min(1, score) : score + 4
    score -= Math.min(16, score)
    scores[index] = score
    const own = increments[index] as number
    const inactivity = (flags & TARGET) !== 0 || score === 0 ? 0 : inactivityOf(own, score)
    balancesGwei[index] =
      (balancesGwei[index] as number) + (table[flags * (INCREMENTS_MAX + 1) + own] as number) - inactivity
  }
  // The slashed count as having missed everything.
  for (const index of slashed) {
    scores[index] = Math.max(0, (scores[index] as number) + 4 - 16)
    balancesGwei[index] = (balancesGwei[index] as number) + (table[increments[index] as number] as number)
  }
}

function inactivityOf(increments: number, score: number): number {
  return Number((BigInt(increments) * BigInt(GWEI_PER_INCREMENT) * BigInt(score)) / (4n * 2n ** 24n))
}

/** By flags and increments, gwei. */
function flagTable({ active, increments }: MadeRegistry, { perIncrement, total }: Amounts, participation: Uint8Array) {
  const took = WEIGHTS.map(([flag]) => {
    let sum = 0
    for (const index of active) if (((participation[index] as number) & flag) !== 0) sum += increments[index] as number
    return BigInt(sum)
  })
  const table = new Float64Array(FLAG_SETS * (INCREMENTS_MAX + 1))
  for (let own = 0; own <= INCREMENTS_MAX; own++) {
    const base = BigInt(own) * perIncrement
    for (let flags = 0; flags < FLAG_SETS; flags++) {
      let gwei = 0n
      WEIGHTS.forEach(([flag, weight], place) => {
        if ((flags & flag) !== 0) gwei += (base * weight * (took[place] as bigint)) / (total * 64n)
        else if (flag !== HEAD) gwei -= (base * weight) / 64n
      })
      table[flags * (INCREMENTS_MAX + 1) + own] = Number(gwei)
    }
  }
  return table
}

/** `process_slashings` of Electra for those that are half-way to withdrawable. */
export function payCorrelation(
  { slashed, increments, withdrawableEpochs }: MadeRegistry,
  { total }: Amounts,
  { epoch, slashingsGwei, balancesGwei }: { epoch: number; slashingsGwei: bigint; balancesGwei: Float64Array },
): void {
  const tripled = slashingsGwei * 3n
  const cap = total * BigInt(GWEI_PER_INCREMENT)
  const perIncrement = (tripled < cap ? tripled : cap) / total
  for (const index of slashed) {
    if (withdrawableEpochs[index] !== epoch + CORRELATION_EPOCHS) continue
    const penalty = Number(perIncrement * BigInt(increments[index] as number))
    balancesGwei[index] = (balancesGwei[index] as number) - penalty
  }
}
