import { createForAccount } from '../../processors/validators/create-validators.ts'
import { AppError } from '../../schemas/errors.ts'
import {
  type CreateValidatorsInput,
  type CreateValidatorsOutput,
  createValidators,
} from '../../schemas/jobs/create-validators.ts'
import { clocksOf } from '../role.ts'
import type { Duty } from './duty.ts'

/** Requests that are worked on at once: the vault makes keys one request after the other, the nodes answer beside it. */
const CREATED_AT_ONCE = 4

/** Makes validators for whoever asks the API for them. */
export const creating: Duty = async ({ ports, running, vault, lease, chains, book, room }, signal) => {
  const { log } = running
  const parts = { vault, writer: lease, book, room, log, ...clocksOf(running) }
  const handle = async (input: CreateValidatorsInput): Promise<CreateValidatorsOutput> => {
    const chain = await chains.of(input.chain)
    if (chain === undefined) return { status: 'unavailable' }
    return await createForAccount(parts, chain, input).catch((error: unknown) => {
      if (error instanceof AppError)
        log.warn({ chain: input.chain, reason: error.message }, 'validators could not be created')
      throw error
    })
  }
  await ports.jobQueue.work({
    name: createValidators.name,
    concurrency: CREATED_AT_ONCE,
    signal,
    handle: ({ input }) => handle(createValidators.parse(input)),
  })
}
