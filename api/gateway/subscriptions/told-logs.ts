import type { ChainView } from './chain-view.ts'

/** What ties a log to its block. */
interface LogRef {
  readonly blockHash: string
  readonly number: number
  readonly index: string
  readonly isRemoved: boolean
}

interface ToldOfBlock {
  readonly hash: string
  readonly number: number
  /** JSON by index, in the order in which they were told. */
  readonly standing: Map<string, string>
  readonly removed: Set<string>
  bytes: number
}

/** What subscribers of logs have been told, of the newest blocks: so that nothing is told twice, and what is gone can be told to be. */
export class ToldLogs {
  readonly #blocks = new Map<string, ToldOfBlock>()
  #bytes = 0
  #bytesMax = Number.POSITIVE_INFINITY
  /** Up to this number not all that was told is known. */
  #forgottenTo = Number.NEGATIVE_INFINITY
  readonly #view: ChainView
  /** Logs of blocks that the view has known for longer are not the subscribers'. */
  readonly sinceTurn: number
  /** Blocks up to this number may have been there before: who subscribes may know their logs. */
  readonly #sinceNumber: number

  constructor(view: ChainView) {
    this.#view = view
    this.sinceTurn = view.turn
    this.#sinceNumber = view.tip?.number ?? Number.POSITIVE_INFINITY
  }

  /** How much may be kept: what is older is forgotten, and can no longer be told to be removed. */
  keepAtMost(bytes: number): void {
    this.#bytesMax = bytes
    if (this.#bytes > bytes) this.#trim()
  }

  get forgottenTo(): number {
    return this.#forgottenTo
  }

  /** The newest block of which a log stands: it may be told before the block is. */
  get newest(): number {
    let newest = Number.NEGATIVE_INFINITY
    for (const { number, standing } of this.#blocks.values()) if (standing.size > 0) newest = Math.max(newest, number)
    return newest
  }

  /**
   * Notes a log that is about to be told; false: it was told already, or is removed and was told to nobody. The next node may have had its block before
   * it was asked for logs, and have left it before it was asked for blocks. Logs of no block are not looked after.
   */
  note(json: unknown): boolean {
    const log = readLog(json)
    if (log === undefined) return true
    const block = this.#blockOf(log)
    if (log.isRemoved) {
      const isKnown = block.standing.has(log.index) || this.#mayBeKnown(log.number)
      if (block.removed.has(log.index) || !isKnown) return false
      block.removed.add(log.index)
      this.#addBytes(block, -(block.standing.get(log.index)?.length ?? 0))
      block.standing.delete(log.index)
      return true
    }
    if (block.standing.has(log.index)) return false
    const text = JSON.stringify(json)
    block.removed.delete(log.index)
    block.standing.set(log.index, text)
    this.#addBytes(block, text.length)
    return true
  }

  /** Logs that were told of blocks which the chain has left, in the order of these; JSON that says that they are removed. */
  takeLeft(): readonly string[] {
    const from = this.#view.oldest?.number ?? Number.POSITIVE_INFINITY
    const left = [...this.#blocks.values()]
      .filter(({ hash, number }) => number >= from && !this.#view.has(hash))
      .toSorted((one, other) => one.number - other.number)
    return left.flatMap((block) => {
      const texts = [...block.standing.values()]
      for (const index of block.standing.keys()) block.removed.add(index)
      block.standing.clear()
      this.#addBytes(block, -block.bytes)
      return texts.map((text) => JSON.stringify({ ...(JSON.parse(text) as object), removed: true }))
    })
  }

  /** Whether logs of a block of this number may be known to subscribers though it is not known here. */
  #mayBeKnown(number: number): boolean {
    const { oldest } = this.#view
    return number <= Math.max(this.#sinceNumber, this.#forgottenTo) || number < (oldest?.number ?? 0)
  }

  /** Forgets what is older than all that the view has, and what is too much. */
  #trim(): void {
    const from = this.#view.oldest?.number ?? Number.NEGATIVE_INFINITY
    for (const block of this.#blocks.values()) if (block.number < from) this.#forget(block)
    if (this.#bytes <= this.#bytesMax) return
    for (const block of [...this.#blocks.values()].toSorted((one, other) => one.number - other.number)) {
      if (this.#bytes <= this.#bytesMax) return
      this.#forgottenTo = Math.max(this.#forgottenTo, block.number)
      this.#forget(block)
    }
  }

  #blockOf({ blockHash, number }: LogRef): ToldOfBlock {
    let block = this.#blocks.get(blockHash)
    if (block === undefined) {
      this.#trim()
      block = { hash: blockHash, number, standing: new Map(), removed: new Set(), bytes: 0 }
      this.#blocks.set(blockHash, block)
    }
    return block
  }

  #addBytes(block: ToldOfBlock, bytes: number): void {
    block.bytes += bytes
    this.#bytes += bytes
  }

  #forget(block: ToldOfBlock): void {
    this.#bytes -= block.bytes
    this.#blocks.delete(block.hash)
  }
}

function readLog(json: unknown): LogRef | undefined {
  if (typeof json !== 'object' || json === null) return undefined
  const { blockHash, blockNumber, logIndex, removed } = json as Readonly<Record<string, unknown>>
  if (typeof blockHash !== 'string' || typeof blockNumber !== 'string' || typeof logIndex !== 'string') return undefined
  return { blockHash, number: Number(blockNumber), index: logIndex, isRemoved: removed === true }
}
