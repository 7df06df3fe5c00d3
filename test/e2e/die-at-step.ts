// Loaded before the program by a test (--import): kills the process before or after the durable step that DIE_AT names.

import { tracingChannel } from 'node:diagnostics_channel'
import { type DurableStep, STEP_CHANNEL } from '../../processors/validators/durable-steps.ts'

export type Moment = 'before' | 'after'

/** What a program's environment needs so that it dies there. */
export function dyingAt(step: DurableStep, moment: Moment): Readonly<Record<string, string>> {
  return { NODE_OPTIONS: `--import ${import.meta.url}`, DIE_AT: `${step}:${moment}` }
}

const [wanted, moment] = (process.env.DIE_AT ?? '').split(':')

function die(told: unknown): void {
  const { step, error } = told as { readonly step: DurableStep; readonly error?: unknown }
  if (step === wanted && error === undefined) process.kill(process.pid, 'SIGKILL')
}

if (wanted !== undefined && wanted !== '') {
  const nothing = () => {}
  tracingChannel(STEP_CHANNEL).subscribe({
    start: moment === 'before' ? die : nothing,
    asyncStart: moment === 'after' ? die : nothing,
    end: nothing,
    asyncEnd: nothing,
    error: nothing,
  })
}
