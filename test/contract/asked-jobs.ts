import type { ApiParts } from '../../api/http/api-parts.ts'
import type { JobState } from '../../infra/ports/job-queue.ts'

/** A queue that keeps what it was asked for, each of which has the same outcome. */
export class AskedJobs<Input> {
  asked: { readonly name: string; readonly id: string; readonly input: Input }[] = []
  outcome: JobState = { status: 'waiting' }

  /** As before anything was asked. */
  begin(outcome: JobState): void {
    this.asked = []
    this.outcome = outcome
  }

  readonly jobs: ApiParts['jobs'] = {
    add: async (name, id, input) => {
      this.asked.push({ name, id, input: input as Input })
      return { status: 'added' }
    },
    result: async () => this.outcome,
    withdraw: async () => {},
    request: async (name, id, input) => {
      this.asked.push({ name, id, input: input as Input })
    },
    pending: async () => this.asked.length,
  }
}
