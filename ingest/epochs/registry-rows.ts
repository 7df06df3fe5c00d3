import type { AttestationRewards, Balances, ValidatorSet, ValidatorStates } from '../../infra/ports/beacon-source.ts'
import { AppError } from '../../schemas/errors.ts'
import { type ChainClock, epochOf } from '../../schemas/eth/time.ts'
import { type EpochValidatorsColumns, RANGE_VALIDATORS } from '../../schemas/events/beacon-epoch.ts'

/** A stretch of rows whose validators share a range. */
export interface RangeRows {
  readonly range: number
  readonly from: number
  readonly to: number
}

/** Cuts rows of ascending indices where the range changes. */
export function rangesOf(validatorIndex: Uint32Array): readonly RangeRows[] {
  const ranges: RangeRows[] = []
  for (let from = 0; from < validatorIndex.length; ) {
    const range = Math.floor((validatorIndex[from] as number) / RANGE_VALIDATORS)
    let to = from + 1
    while (to < validatorIndex.length && (validatorIndex[to] as number) < (range + 1) * RANGE_VALIDATORS) to++
    ranges.push({ range, from, to })
    from = to
  }
  return ranges
}

/** Where the index is among ascending ones. */
export function positionIn(set: ValidatorSet, index: number): number | undefined {
  let low = 0
  let high = set.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((set[middle] as number) < index) low = middle + 1
    else high = middle
  }
  return set[low] === index ? low : undefined
}

/** Whether the index is one of the set's. */
export function isAmong(set: ValidatorSet, index: number): boolean {
  return positionIn(set, index) !== undefined
}

/** An answer about the validators of a set in the state after a slot, as it has to be checked. */
export interface RegistryAnswer {
  readonly what: string
  readonly slot: number
  readonly clock: ChainClock
  /** Since which epochs the set's validators from a position on are eligible, as a later state has it. */
  readonly eligibleSince: (from: number) => Promise<BigUint64Array>
}

/**
 * Makes sure that an answer has a row of everybody who must be in its state. Who is in the registry stays in it, and indices are
 * given in order: rows may only be missing at the end of the set, for validators that joined later. When they did is asked of a
 * later state: who was there long enough to be noted as eligible at the end of an epoch (consensus-specs,
 * process_registry_updates) was there in that epoch. Throws AppError `node_malformed` for any other gap.
 */
export async function checkRegistryRows(
  { validatorIndex }: ValidatorStates | Balances,
  asked: ValidatorSet,
  { what, slot, clock, eligibleSince }: RegistryAnswer,
): Promise<void> {
  const rows = validatorIndex.length
  for (let i = 0; i < rows; i++) if (validatorIndex[i] !== asked[i]) throw missingRow(what, asked[i] as number)
  if (rows === asked.length) return
  const epochs = await eligibleSince(rows)
  const then = BigInt(epochOf(clock, slot + 1))
  const wrong = epochs.findIndex((epoch) => epoch <= then)
  if (wrong !== -1) throw missingRow(what, asked[rows + wrong] as number)
}

export function missingRow(what: string, index: number): AppError {
  return new AppError('node_malformed', `${what} lack validator ${index}, which was asked for`, { retryable: true })
}

/**
 * Joins states with the rewards of an earlier duty epoch. Who was active in the duty epoch must have a reward row; for
 * others no row means no duty, which are zeros. Without a duty epoch (the first two) nothing was credited.
 */
export function joinRewards(
  states: ValidatorStates,
  rewards: AttestationRewards | undefined,
  dutyEpoch: number,
): EpochValidatorsColumns {
  const { validatorIndex, activationEpoch, exitEpoch } = states
  const rows = validatorIndex.length
  if (rewards !== undefined && isSame(validatorIndex, rewards.validatorIndex)) return { ...states, ...rewards }
  const joined = {
    sourceGwei: new BigInt64Array(rows),
    targetGwei: new BigInt64Array(rows),
    headGwei: new BigInt64Array(rows),
    inactivityGwei: new BigInt64Array(rows),
  }
  const duty = BigInt(dutyEpoch)
  let at = 0
  for (let i = 0; rewards !== undefined && i < rows; i++) {
    const index = validatorIndex[i] as number
    while (at < rewards.validatorIndex.length && (rewards.validatorIndex[at] as number) < index) at++
    if (rewards.validatorIndex[at] === index) {
      joined.sourceGwei[i] = rewards.sourceGwei[at] as bigint
      joined.targetGwei[i] = rewards.targetGwei[at] as bigint
      joined.headGwei[i] = rewards.headGwei[at] as bigint
      joined.inactivityGwei[i] = rewards.inactivityGwei[at] as bigint
    } else if ((activationEpoch[i] as bigint) <= duty && duty < (exitEpoch[i] as bigint)) {
      throw missingRow(`attestation rewards of epoch ${dutyEpoch}`, index)
    }
  }
  return { ...states, ...joined }
}

/** Whether two sets are of the same validators. */
export function isSame(some: Uint32Array, others: Uint32Array): boolean {
  if (some.length !== others.length) return false
  for (let i = 0; i < some.length; i++) if (some[i] !== others[i]) return false
  return true
}

/** The rows from … to of every column. */
export function sliceColumns<Columns extends object>(columns: Columns, { from, to }: RangeRows): Columns {
  const parts = Object.entries(columns as Record<string, Uint8Array>).map(([name, column]) => [
    name,
    column.subarray(from, to),
  ])
  return Object.fromEntries(parts) as Columns
}
