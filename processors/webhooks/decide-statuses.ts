import { VALIDATOR_STATUSES } from '../../schemas/events/beacon-epoch.ts'

/** A status that a validator came into, and the final epoch at whose end it was seen first; null before the registry. */
export interface StatusSince {
  readonly status: string
  readonly epoch: number | null
}

/**
 * Statuses to tell of a validator that is known in one and is now in another, in their order. `passed` are those of the registry that it
 * went through between the two looks, ascending by epoch.
 *
 * Nothing leads back from the registry, nor from a later status of it to an earlier one, but a deposit to a validator that was paid out:
 * what says so is a table that is not filled yet, and no change. Before the registry a reorganisation leads back.
 */
export function statusesToTell(
  known: string | undefined,
  now: StatusSince,
  passed: readonly StatusSince[],
): readonly StatusSince[] {
  const steps: StatusSince[] = []
  let last = known
  for (const step of [...passed, now]) {
    if (!isChange(last, step.status)) continue
    steps.push(step)
    last = step.status
  }
  return steps
}

function isChange(from: string | undefined, to: string): boolean {
  if (from === to) return false
  if (from === undefined) return true
  const [before, after] = [placeOf(from), placeOf(to)]
  if (before === BEFORE_REGISTRY) return true
  return after > before || (from === 'withdrawal_done' && to === 'withdrawal_possible')
}

const BEFORE_REGISTRY = -1

/** In the order of a validator's life. */
function placeOf(status: string): number {
  return (VALIDATOR_STATUSES as readonly string[]).indexOf(status)
}
