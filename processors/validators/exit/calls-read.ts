import { decodeEvent, type EncodedEvent } from '../../../schemas/events/codec.ts'
import { type ExitCallName, exitCallId, exitCallRead } from '../../../schemas/events/exit-calls.ts'

/** The calls to exit-request contracts of which the log says what became of them. */
export class CallsRead {
  readonly #ids = new Set<string>()

  /** Throws AppError `undecodable` for an event that is not what its type says. */
  add(event: EncodedEvent): void {
    if (event.type === exitCallRead.name) this.#ids.add(exitCallId(decodeEvent(exitCallRead, event)))
  }

  has(call: ExitCallName): boolean {
    return this.#ids.has(exitCallId(call))
  }
}
