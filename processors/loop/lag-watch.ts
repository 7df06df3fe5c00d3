import type { EventLog, Offsets } from '../../infra/ports/event-log.ts'
import type { Topic } from '../../schemas/events/codec.ts'

export interface Waiting {
  readonly eventLog: EventLog
  readonly group: string
  readonly topic: Topic
  /** Events that it has not processed. */
  readonly events: number
}

/** Remembers how far the log was at earlier looks: a group that has not got there since is standing still, however little waits. */
export class LagWatch {
  readonly #marks = new Map<string, { readonly ends: Offsets; readonly sinceSec: number }>()

  /** Seconds for which the group has had something to do that was there at an earlier look; 0 at the first one. */
  async waitingSec({ eventLog, group, topic, events }: Waiting, nowSec: number): Promise<number> {
    if (events === 0) {
      this.#marks.delete(group)
      return 0
    }
    const mark = this.#marks.get(group)
    if (mark !== undefined && (await eventLog.lag(topic, group, mark.ends)) > 0n) return nowSec - mark.sinceSec
    this.#marks.set(group, { ends: await eventLog.ends(topic), sinceSec: nowSec })
    return 0
  }
}
