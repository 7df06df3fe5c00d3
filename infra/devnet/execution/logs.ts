import type { Hex } from '../../../schemas/eth/hex.ts'
import { bloomTester } from '../../../schemas/eth/receipts.ts'
import type { BlockStore, StoredBlock } from './block-store.ts'
import { INVALID_PARAMS, LIMIT_EXCEEDED, RpcFault, SERVER_ERROR } from './rpc-fault.ts'

/** One position of a filter: any of the values, or anything at all when empty. */
type AnyOf = readonly Hex[]

/** Which logs of a block are asked for. */
export interface LogSelection {
  readonly addresses: AnyOf
  readonly topics: readonly AnyOf[]
}

export interface LogFilter extends LogSelection {
  readonly range:
    | { readonly kind: 'block'; readonly hash: string }
    | { readonly kind: 'numbers'; readonly from: number; readonly to: number }
}

export interface LogJson {
  readonly address: Hex
  readonly topics: readonly Hex[]
}

const BLOCK_RANGE_MAX = 10_000

function parseAnyOf(value: unknown, bytes: number): AnyOf {
  if (value === undefined || value === null) return []
  const values = Array.isArray(value) ? value : [value]
  return values.map((item) => {
    if (typeof item !== 'string' || !/^0x[0-9a-f]*$/i.test(item) || item.length !== 2 + 2 * bytes) {
      throw new RpcFault(INVALID_PARAMS, 'invalid address or topic in the filter')
    }
    return item.toLowerCase() as Hex
  })
}

/** Checks `address` and `topics` of a filter. */
export function parseLogSelection(value: unknown): LogSelection {
  if (typeof value !== 'object' || value === null) throw new RpcFault(INVALID_PARAMS, 'the filter is an object')
  const filter = value as Readonly<Record<string, unknown>>
  return {
    addresses: parseAnyOf(filter.address, 20),
    topics: (Array.isArray(filter.topics) ? filter.topics : []).map((topic) => parseAnyOf(topic, 32)),
  }
}

/** Checks the parameter of eth_getLogs; `numberOf` resolves numbers and tags. */
export function parseLogFilter(value: unknown, numberOf: (tag: unknown) => number | undefined): LogFilter {
  const selection = parseLogSelection(value)
  const filter = value as Readonly<Record<string, unknown>>
  if (typeof filter.blockHash === 'string') {
    return { range: { kind: 'block', hash: filter.blockHash.toLowerCase() }, ...selection }
  }
  const head = numberOf('latest') ?? 0
  const from = numberOf(filter.fromBlock) ?? head + 1
  const to = numberOf(filter.toBlock) ?? head
  if (to - from >= BLOCK_RANGE_MAX)
    throw new RpcFault(LIMIT_EXCEEDED, `at most ${BLOCK_RANGE_MAX} blocks in one request`)
  return { range: { kind: 'numbers', from, to }, ...selection }
}

function blocksOf(store: BlockStore, range: LogFilter['range']): StoredBlock[] {
  if (range.kind === 'block') {
    const block = store.byHash(range.hash)
    if (block === undefined) throw new RpcFault(SERVER_ERROR, 'unknown block')
    return [block]
  }
  const blocks: StoredBlock[] = []
  for (let number = range.from; number <= range.to; number++) {
    const block = store.byNumber(number)
    if (block !== undefined) blocks.push(block)
  }
  return blocks
}

export function selects({ addresses, topics }: LogSelection, log: LogJson): boolean {
  if (addresses.length > 0 && !addresses.includes(log.address.toLowerCase() as Hex)) return false
  return topics.every((anyOf, position) => {
    const topic = log.topics[position]
    return topic !== undefined && (anyOf.length === 0 || anyOf.includes(topic))
  })
}

/** All logs of a block, in their order. */
export async function logsOf(block: StoredBlock): Promise<readonly LogJson[]> {
  if (block.logsBloom === undefined) return []
  const { receipts } = await block.texts()
  return receipts.flatMap((receipt) => (JSON.parse(receipt) as { readonly logs: readonly LogJson[] }).logs)
}

/** JSON text of the logs that match, in chain order. Blocks whose bloom excludes a match are not opened. */
export async function findLogs(store: BlockStore, filter: LogFilter): Promise<string> {
  const positions = [filter.addresses, ...filter.topics].filter((anyOf) => anyOf.length > 0)
  const testers = positions.map((anyOf) => anyOf.map(bloomTester))
  const found: LogJson[] = []
  for (const block of blocksOf(store, filter.range)) {
    const bloom = block.logsBloom
    if (bloom === undefined || !testers.every((anyOf) => anyOf.some((mayContain) => mayContain(bloom)))) continue
    for (const log of await logsOf(block)) if (selects(filter, log)) found.push(log)
  }
  return JSON.stringify(found)
}
