import type { EventLog, EventWriter, StoredEvent } from '../infra/ports/event-log.ts'
import { chainKey } from '../schemas/chains.ts'
import { AppError } from '../schemas/errors.ts'
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

  constructor(options: CursorOptions) {
    this.#options = options
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
      this.#refuseOtherChain(data)
      const isOurs = event.key === (event.version === 1 ? name : chainKey(chain, name))
      if (isOurs && (found === undefined || isNewer(stored, found.stored))) found = { stored, data }
    }
    return found?.data
  }

  #refuseOtherChain({ identity }: CursorData): void {
    const { chain, identity: ours } = this.#options
    if (identity === undefined || isSameChain(identity, ours)) return
    throw new AppError(
      'config',
      `the event log tells of another chain by the name of ${chain} (${nameOf(identity)}) than the node (${nameOf(ours)}): ` +
        "use that chain's node, or another data folder (EPOCHLINE_DATA=./data-2)",
    )
  }

  /** Append it after the events that it stands for. `time` is chain time, ISO 8601. */
  async write(data: Omit<CursorData, 'chain' | 'identity'>, time: string): Promise<void> {
    const { chain, name, identity, writer } = this.#options
    const key = chainKey(chain, name)
    await writer.append('ingest.cursors', [
      encodeEvent(ingestCursor, {
        id: `ingest.cursor:${key}:${data.next}`,
        key,
        time,
        data: { chain, identity, ...data },
      }),
    ])
  }
}

/** Cursors of one ingester lie in one partition, but for those from before keys had the chain's name: they are older. */
function isNewer(stored: StoredEvent, than: StoredEvent): boolean {
  if (stored.position.partition === than.position.partition) return stored.position.offset > than.position.offset
  return stored.event.version > than.event.version
}

const EXECUTION_IDENTITY = /^eip155:(\d+)(?::(0x[0-9a-f]{64}))?$/

/** Identity of a chain without a beacon chain; the hash of block 0 is left out where the node no longer has it. */
export function executionIdentity(chainId: number, genesisHash: string | undefined): string {
  return genesisHash === undefined ? `eip155:${chainId}` : `eip155:${chainId}:${genesisHash}`
}

/** A hash of block 0 that one of the two lacks cannot contradict the other's: the chain ids decide then. */
function isSameChain(a: string, b: string): boolean {
  const [ofA, ofB] = [EXECUTION_IDENTITY.exec(a), EXECUTION_IDENTITY.exec(b)]
  if (ofA === null || ofB === null) return a === b
  return ofA[1] === ofB[1] && (ofA[2] === undefined || ofB[2] === undefined || ofA[2] === ofB[2])
}

function nameOf(identity: string): string {
  const execution = EXECUTION_IDENTITY.exec(identity)
  if (execution === null) return `genesis validators root ${identity}`
  const [, chainId, genesisHash] = execution
  return genesisHash === undefined ? `chain id ${chainId}` : `chain id ${chainId}, genesis ${genesisHash}`
}
