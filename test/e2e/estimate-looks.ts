import type { ChainClock } from '../../schemas/eth/time.ts'
import type { ValidatorDetail } from '../../schemas/routes/validators/validator-details.ts'

const MOMENTS = ['active', 'exit', 'withdrawal'] as const

/** What the details tell the time of: an epoch's begin, and of a withdrawal the slot of the block that pays. */
export type Moment = (typeof MOMENTS)[number]

/** What was told of one moment at one time; in epochs, and parts of them. */
export interface Look {
  readonly pubkey: string
  readonly moment: Moment
  /** The head's when it was told. */
  readonly lookedIn: number
  readonly estimate: number
  /** How far off it may be by its own account; null where nobody can tell. */
  readonly band: number | null
}

/** All that a validator's details tell at a slot. */
export function looksAt(slot: number, { pubkey, status_estimates: told }: ValidatorDetail, clock: ChainClock): Look[] {
  const epochSec = clock.secondsPerSlot * clock.slotsPerEpoch
  return MOMENTS.flatMap((moment) => {
    const instant = told[`estimated_${moment}_at`]
    if (instant === null) return []
    const seconds = told.error_seconds[moment]
    const estimate = (Date.parse(instant) / 1_000 - clock.genesisTimeSec) / epochSec
    const band = seconds === null ? null : seconds / epochSec
    return [{ pubkey, moment, lookedIn: slot / clock.slotsPerEpoch, estimate, band }]
  })
}

/** In epochs, by validator. */
export type Happened = ReadonlyMap<string, Readonly<Record<Moment, number>>>

export interface ComparedLook extends Look {
  /** Epochs that the estimate was late (or early, below zero). */
  readonly error: number
}

/** What was told of the moments beside what happened. */
export function compareLooks(looks: readonly Look[], happened: Happened): readonly ComparedLook[] {
  return looks.map((look) => {
    const epoch = happened.get(look.pubkey)?.[look.moment]
    if (epoch === undefined) throw new Error(`nobody knows when ${look.pubkey} came to its ${look.moment}`)
    return { ...look, error: look.estimate - epoch }
  })
}

/** A line for each moment: how many estimates there were, and how far off they were. */
export function summaryOf(looks: readonly ComparedLook[]): string {
  return MOMENTS.map((moment) => {
    const all = looks.filter((look) => look.moment === moment)
    const fixed = all.filter(({ band }) => band === 0)
    return `${moment}: ${ofErrors(all.filter(({ band }) => band !== 0))}; once the chain had fixed it ${ofErrors(fixed)}`
  }).join('\n')
}

function ofErrors(looks: readonly ComparedLook[]): string {
  const errors = looks.map(({ error }) => Math.abs(error))
  if (errors.length === 0) return 'no estimates'
  const mean = errors.reduce((sum, error) => sum + error, 0) / errors.length
  return `${errors.length} estimates, mean error ${mean.toFixed(2)} epochs, largest ${Math.max(...errors).toFixed(2)}`
}
