import type { ReadyAnswer } from '../../schemas/routes/probes.ts'

/** How far the program has come; measured by the roles that run, told to the API as a function. */
export interface Health {
  /** Newest slot that the head follower has seen; undefined before the first one, or where no role follows the head. */
  readonly headSlot: number | undefined
  /** Newest finalized epoch of which everything is in the warehouse. */
  readonly lastFinalizedEpoch: number | undefined
  /** Events that each consumer group has not processed yet. */
  readonly lag: Readonly<Record<string, number>>
  /** Named conditions (`ingest`, `warehouse`, …); the program is ready when all are true. */
  readonly checks: Readonly<Record<string, boolean>>
}

export function toReadyAnswer(health: Health): ReadyAnswer {
  return {
    status: Object.values(health.checks).every((passed) => passed) ? 'ready' : 'not_ready',
    head_slot: health.headSlot ?? null,
    last_finalized_epoch: health.lastFinalizedEpoch ?? null,
    lag: { ...health.lag },
    checks: { ...health.checks },
  }
}
