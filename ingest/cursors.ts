import type { BeaconChain } from '../infra/ports/beacon-source.ts'
import type { EventLog } from '../infra/ports/event-log.ts'
import { AppError } from '../schemas/errors.ts'
import { formatInstant, slotTimeSec } from '../schemas/eth/time.ts'
import { decodeEvent, encodeEvent } from '../schemas/events/codec.ts'
import { type CursorData, ingestCursor } from '../schemas/events/cursor.ts'

/** One ingester's place in its chain, kept in the log. */
export class Cursor {
  readonly #eventLog: EventLog
  readonly #key: string
  readonly #chain: BeaconChain

  constructor(eventLog: EventLog, key: string, chain: BeaconChain) {
    this.#eventLog = eventLog
    this.#key = key
    this.#chain = chain
  }

  /**
   * The newest cursor of the key; undefined when the ingester has never run. Throws AppError `config` when any ingester has
   * filled the log from another chain.
   */
  async read(signal: AbortSignal): Promise<CursorData | undefined> {
    let found: CursorData | undefined
    for await (const { event } of this.#eventLog.read({ topic: 'ingest.cursors', signal })) {
      const cursor = decodeEvent(ingestCursor, event)
      this.#refuseOtherChain(cursor)
      if (event.key === this.#key) found = cursor
    }
    return found
  }

  #refuseOtherChain({ genesisValidatorsRoot }: CursorData): void {
    const ours = this.#chain.genesisValidatorsRoot
    if (genesisValidatorsRoot === undefined || genesisValidatorsRoot === ours) return
    throw new AppError(
      'config',
      `the event log tells of another chain (genesis validators root ${genesisValidatorsRoot}) than the beacon node (${ours}): use that chain's node, or another data folder (EPOCHLINE_DATA=./data-2)`,
    )
  }

  /** Append it after the events that it stands for. `slot` gives the event its chain time. */
  async write(data: CursorData, slot: number): Promise<void> {
    const { clock, genesisValidatorsRoot } = this.#chain
    await this.#eventLog.append('ingest.cursors', [
      encodeEvent(ingestCursor, {
        id: `ingest.cursor:${this.#key}:${data.next}`,
        key: this.#key,
        time: formatInstant(slotTimeSec(clock, slot)),
        data: { ...data, genesisValidatorsRoot },
      }),
    ])
  }
}
