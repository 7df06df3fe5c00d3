import { AppError } from '../../schemas/errors.ts'
import type { AnsweringJob } from '../../schemas/jobs/job.ts'
import { ChainPlaces } from './chain-places.ts'
import type { Custody } from './duty.ts'
import type { OpenedChain } from './staking-chains.ts'

/**
 * Requests of a kind that are taken from the queue for one chain: worked on, or waiting for that. What comes above goes back to the queue,
 * which hands it out again after a pause.
 */
export const HELD_OF_CHAIN_MAX = 64
/** Of all chains: there is room beside seven of them whose nodes hang. */
const HELD_MAX = 8 * HELD_OF_CHAIN_MAX

interface Question<Input, Output> {
  readonly job: AnsweringJob<Input, Output>
  /** Requests of a chain that are worked on at once. */
  readonly atOnce: number
  readonly make: (chain: OpenedChain, input: Input) => Promise<Output>
  /** Said when it could not be made, beside the reason. */
  readonly failed?: string
}

/** Works on the requests of one kind until the signal aborts, on those of each chain by itself. */
export async function answer<Input extends { readonly chain: string }, Output>(
  { ports, running: { log }, chains }: Custody,
  { job, atOnce, make, failed }: Question<Input, Output | { readonly status: 'unavailable' }>,
  signal: AbortSignal,
): Promise<void> {
  const places = new ChainPlaces(atOnce, HELD_OF_CHAIN_MAX)
  const answerNow = async (input: Input) => {
    const chain = await chains.of(input.chain)
    if (chain === undefined) return { status: 'unavailable' }
    return await make(chain, input).catch((error: unknown) => {
      if (failed !== undefined && error instanceof AppError)
        log.warn({ chain: input.chain, reason: error.message }, failed)
      throw error
    })
  }
  await ports.jobQueue.work({
    name: job.name,
    concurrency: HELD_MAX,
    signal,
    async handle(taken) {
      const input = job.parse(taken.input)
      return await places.take(input.chain, () => answerNow(input))
    },
  })
}
