import { createForAccount } from '../../processors/validators/create-validators.ts'
import { createValidators } from '../../schemas/jobs/create-validators.ts'
import { clocksOf } from '../role.ts'
import { answer } from './answering.ts'
import type { Duty } from './duty.ts'

/** Requests of a chain that are worked on at once: the vault makes keys one request after the other, the nodes answer beside it. */
const CREATED_AT_ONCE = 4

/** Makes validators for whoever asks the API for them. */
export const creating: Duty = async (custody, signal) => {
  const { running, vault, lease, book, room } = custody
  const parts = { vault, writer: lease, book, room, log: running.log, ...clocksOf(running) }
  await answer(
    custody,
    {
      job: createValidators,
      atOnce: CREATED_AT_ONCE,
      make: (chain, input) => createForAccount(parts, chain, input),
      failed: 'validators could not be created',
    },
    signal,
  )
}
