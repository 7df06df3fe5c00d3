import { labelForAccount } from '../../processors/validators/label-validators.ts'
import { labelValidators } from '../../schemas/jobs/label-validators.ts'
import { clocksOf } from '../role.ts'
import type { Duty } from './duty.ts'

/** Tells the log what accounts call their validators, one request after the other. */
export const labelling: Duty = async ({ ports, running, lease, book }, signal) => {
  const parts = { writer: lease, book, ...clocksOf(running) }
  await ports.jobQueue.work({
    name: labelValidators.name,
    concurrency: 1,
    signal,
    handle: ({ input }) => labelForAccount(parts, labelValidators.parse(input)),
  })
}
