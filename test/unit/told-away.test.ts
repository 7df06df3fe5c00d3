import { expect, test } from 'vitest'
import { NOT_READABLE, toldAway } from '../../api/http/answer.ts'
import { AppError } from '../../schemas/errors.ts'

test.each([
  ['warehouse', 'the warehouse could not be asked', NOT_READABLE],
  ['event_log', 'the event log could not be asked', 'the event log cannot be read at the moment'],
  ['job_queue', 'the job queue could not be asked', 'the job queue does not answer at the moment'],
  ['counters', 'the counters could not be asked', 'the counters do not answer at the moment'],
] as const)('a failure of %s is told as its own', (code, told, answered) => {
  expect(toldAway(new AppError(code, 'away', { retryable: true }))).toEqual({ told, answered })
})
