import type { EventLog, EventWriter, StoredEvent } from '../infra/ports/event-log.ts'
import { chainKey } from '../schemas/chains.ts'
import { AppError } from '../schemas/errors.ts'
import { differenceOf, withGenesisBlock } from '../schemas/eth/chain-identity.ts'
import { decodeEvent, encodeEvent } from '../schemas/events/codec.ts'
import { type CursorData, ingestCursor } from '../schemas/events/cursor.ts'
import { ownEvents } from './own-events.ts'

/** What every ingester of a chain writes to, and reads its place from. */
export interface ChainLog {
  /** Name of the chain. */
  readonly chain: string
  /** Where all is appended: the lease of the chain's ingester. */
  readonly writer: EventWriter
  readonly eventLog: EventLog
  /** The chain of events from before events named theirs. */
  readonly unnamedChain: string
}

export interface CursorOptions extends ChainLog {
  /** The ingester's name within the chain. */
  readonly name: string
  /** What names the node's chain: `CursorData.identity`. */
  readonly identity: string
}

/** One ingester's place in its chain, kept in the log. */
export class Cursor {
  readonly #options: CursorOptions
  #identity: string

  constructor(options: CursorOptions) {
    this.#options = options
    this.#identity = options.identity
  }

  /**
   * The newest cursor of the ingester; undefined when it has never run. Throws AppError `config` when any ingester has filled
   * the log with another chain of this name. Other chains' cursors are not looked at.
   */
  async read(signal: AbortSignal): Promise<CursorData | undefined> {
    const { chain, name, unnamedChain } = this.#options
    let found: { readonly stored: StoredEvent; readonly data: CursorData } | undefined
    for await (const stored of ownEvents({ ...this.#options, topic: 'ingest.cursors', signal })) {
      const { event } = stored
      if (event.type !== ingestCursor.name) continue
      const data = decodeEvent(ingestCursor, event, unnamedChain)
      this.#refuseOtherChain(data, event.time)
      const isOurs = event.key === (event.version === 1 ? name : chainKey(chain, name))
      if (isOurs && (found === undefined || isNewer(stored, found.stored))) found = { stored, data }
    }
    return found?.data
  }

  /** Cursors of earlier releases name less of their chain: what they do not name does not contradict. */
  #refuseOtherChain({ identity }: CursorData, time: string): void {
    if (identity === undefined) return
    const { chain } = this.#options
    const found = differenceOf(identity, this.#identity, Date.parse(time) / 1_000)
    if (found === undefined) {
      this.#identity = withGenesisBlock(this.#identity, identity)
      return
    }
    throw new AppError(
      'config',
      `the event log tells of another chain by the name of ${chain} than the node: its ${found.what} is ${found.first}, the node's is ` +
        `${found.second}; use that chain's node, or another data folder (EPOCHLINE_DATA=./data-2)`,
    )
  }

  /** The chain is named so from now on: what is planned of it has changed. */
  rename(identity: string): void {
    this.#identity = withGenesisBlock(identity, this.#identity)
  }

  /** Append it after the events that it stands for. `time` is chain time, ISO 8601. */
  async write(data: Omit<CursorData, 'chain' | 'identity'>, time: string): Promise<void> {
    const { chain, name, writer } = this.#options
    const key = chainKey(chain, name)
    await writer.append('ingest.cursors', [
      encodeEvent(ingestCursor, {
        id: `ingest.cursor:${key}:${data.next}`,
        key,
        time,
        data: { chain, identity: this.#identity, ...data },
      }),
    ])
  }
}

/** Cursors of one ingester lie in one partition, but for those from before keys had the chain's name: they are older. */
function isNewer(stored: StoredEvent, than: StoredEvent): boolean {
  if (stored.position.partition === than.position.partition) return stored.position.offset > than.position.offset
  return stored.event.version > than.event.version
}
