import { expect, it } from 'vitest'
import { type Random, seededRandom } from '../../infra/devnet/consensus/random.ts'
import { openExecutionSource } from '../../infra/execution/source.ts'
import type { StoredEvent } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { executionBlockEvents, executionRevertEvent } from '../../ingest/execution/block-events.ts'
import type { Projector } from '../../processors/loop/consume.ts'
import { joinRows } from '../../processors/loop/rows.ts'
import { foldChain } from '../../processors/nft/fold.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { proveTokens } from '../../processors/verify/prove-tokens.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import { tries } from '../long-form.ts'
import { silentLog } from '../unit/silent-log.ts'
import { storesOfFile } from '../unit/warehouse-of-file.ts'
import { type Collections, openCollections, type Said, SINGLES } from './collections-on-anvil.ts'
import { RandomMoves } from './random-moves.ts'

// What the tables say of tokens is what the contracts themselves say, asked at the same blocks: no rule is repeated here.

const CHAIN = 'anvil'
const TIME = '2026-01-01T00:00:00.000Z'
const TEST_MS = 1_200_000
/** Of all moves that are told, reverted ones too. */
const TRANSFERS_MIN = tries(400, 8_000)
const DEEPEST = 60
const LAST_BLOCKS = 20
/** anvil keeps the states of a few blocks more, whichever were the newest: those that it has dropped do not come back by a reorg. */
const STATES_KEPT = 62
const never = new AbortController().signal
const stores = storesOfFile()

interface Told {
  readonly number: number
  readonly hash: string
  readonly said: Said
}

const NOT_REVERTED = `block_hash NOT IN (SELECT block_hash FROM reverted_blocks FINAL WHERE chain = '${CHAIN}' AND is_reverted = 1)`
const hex = (column: string) => `concat('0x', lower(hex(${column})))`
const number = (column: string) => `toString(reinterpretAsUInt256(reverse(${column})))`

interface Question {
  readonly table: string
  readonly where: string
  readonly keys: readonly string[]
  readonly value: string
}

/** The newest rows of keys up to a block, of blocks that count. */
async function newest(
  warehouse: Warehouse,
  { table, where, keys, value }: Question,
  block: number,
): Promise<ReadonlyMap<string, bigint>> {
  const rows = await warehouse.query<{ of_key: string; newest: string }>(
    `SELECT concat(${keys.join(", ' ', ")}, '') AS of_key, toString(argMax(${value}, block_number)) AS newest FROM ${table}
     WHERE chain = '${CHAIN}' AND block_number <= {block:UInt64} AND ${NOT_REVERTED} AND ${where}
     GROUP BY ${keys.join(', ')} HAVING newest != '0'`,
    { block },
  )
  return new Map(rows.map(({ of_key, newest: text }) => [of_key, BigInt(text)]))
}

const TOKENS = {
  keys: [hex('contract'), number('token_id'), hex('holder')],
  value: 'amount',
  where: "holder != toFixedString('', 20)",
}
const totals = (kind: string, keys: readonly string[]) => ({
  ...{ table: 'nft_totals', where: `kind = '${kind}'`, keys: keys.map(hex), value: 'tokens' },
})

const onlyOf = (contracts: ReadonlySet<string>, counts: ReadonlyMap<string, bigint>) =>
  new Map([...counts].filter(([key]) => contracts.has(key.split(' ')[0] ?? '')))

async function expectSaid(
  warehouse: Warehouse,
  { addresses }: Collections,
  { number: block, said }: Told,
): Promise<void> {
  for (const table of ['nft_token_holders', 'nft_holder_tokens'])
    expect(await newest(warehouse, { table, ...TOKENS }, block), `${table} after ${block}`).toEqual(said.held)
  const counting = new Set<string>(SINGLES.map((name) => addresses[name]))
  for (const question of [totals('contract_account', ['key', 'other']), totals('account_contract', ['other', 'key'])]) {
    const told = await newest(warehouse, question, block)
    expect(onlyOf(counting, told), `${question.where} after ${block}`).toEqual(said.counted)
  }
  const supply = (await newest(warehouse, totals('contract', ['key']), block)).get(addresses.Lanterns) ?? 0n
  expect(supply, `tokens after ${block}`).toBe(said.supply.get(addresses.Lanterns))
}

let offset = 0n

async function insert(warehouse: Warehouse, events: readonly EncodedEvent[]): Promise<void> {
  const topicOf = ({ type }: EncodedEvent) => (type === 'execution.logs' ? type : 'execution.blocks')
  for (const [topic, ofTopic] of Map.groupBy(events, topicOf)) {
    const projector = PROJECTORS.find((one) => one.topic === topic) as Projector
    const stored = ofTopic.map((event): StoredEvent => ({ position: { partition: 0, offset: offset++ }, event }))
    const rows = stored.flatMap((event) => projector.project(event, CHAIN).rows)
    for (const { table, columns } of joinRows(rows, projector.lastTable)) await warehouse.insert(table, columns)
  }
}

/** Takes the newest blocks away, in one of the ways that anvil has for it. */
async function reorg({ rpc }: Collections, depth: number, random: Random): Promise<void> {
  // The first takes blocks away, the other puts as many empty ones into their place.
  if (depth > 20 || random() < 0.6) await rpc('anvil_rollback', [depth])
  else await rpc('anvil_reorg', [depth, []])
}

it('tells of real contracts, after any block, what they say themselves, whatever was reverted before', {
  timeout: TEST_MS,
}, async () => {
  const { warehouse } = stores()
  await using collections = await openCollections()
  await using source = await openExecutionSource({ urls: [collections.url], log: silentLog, binding: 'layer' })
  const random = seededRandom('nft oracle', String(tries(1, 2)))
  const below = (limit: number) => Math.floor(random() * limit)
  const moves = new RandomMoves(collections, random)
  const told: Told[] = []
  let untold: EncodedEvent[] = []
  const depths = [1, 7, DEEPEST]
  // The contracts themselves are made in the first blocks, which stay.
  let lowest = Object.keys(collections.addresses).length

  /** Has the log hear of blocks that are new since, and of those that are gone. */
  async function follow(): Promise<void> {
    const head = await collections.headNumber()
    lowest = Math.max(lowest, head - STATES_KEPT)
    for (let last = told.at(-1); last !== undefined; last = told.at(-1)) {
      if (last.number <= head && (await collections.hashOf(last.number)) === last.hash) break
      untold.push(executionRevertEvent(CHAIN, last, TIME))
      told.pop()
    }
    for (let at = (told.at(-1)?.number ?? 0) + 1; at <= head; at++) {
      const hash = await collections.hashOf(at)
      const events = executionBlockEvents(CHAIN, await source.blockByHash(hash), TIME)
      untold.push(...events.logs, ...events.blocks)
      told.push({ number: at, hash, said: await collections.ask(at) })
    }
    const said = told.at(-1)?.said
    if (said !== undefined) moves.remember(said)
  }

  async function tell(): Promise<void> {
    await insert(warehouse, random() < 0.3 ? [...untold, ...untold] : untold)
    untold = []
  }

  const countOfTransfers = async () => {
    const [row] = await warehouse.query<{ count: string }>(
      "SELECT count() AS count FROM nft_transfers FINAL WHERE event != 'ConsecutiveTransfer'",
    )
    return Number(row?.count ?? 0)
  }

  await follow()
  while (depths.length > 0 || (await countOfTransfers()) < TRANSFERS_MIN) {
    for (let blocks = 1 + below(8); blocks > 0; blocks--) {
      await collections.mine(moves.draw(below(9)))
      await follow()
    }
    if (random() < 0.5) await tell()
    if (random() < 0.5) await foldChain(warehouse, CHAIN, never)
    const room = told.length - lowest
    const wanted = depths.find((depth) => depth <= room) ?? (random() < 0.3 ? Math.min(room, 1 + below(9)) : 0)
    if (wanted === 0) continue
    if (depths.includes(wanted)) depths.splice(depths.indexOf(wanted), 1)
    await reorg(collections, wanted, random)
    await follow()
    if (random() < 0.3) {
      await tell()
      await foldChain(warehouse, CHAIN, never)
      const [head] = told.slice(-1)
      if (head !== undefined) await expectSaid(warehouse, collections, head)
    }
  }
  for (let blocks = 0; blocks < LAST_BLOCKS; blocks++) {
    await collections.mine(moves.draw(below(9)))
    await follow()
  }
  await tell()
  await foldChain(warehouse, CHAIN, never)

  for await (const { wrong, examples } of proveTokens(warehouse))
    expect({ wrong, examples }).toEqual({ wrong: 0, examples: [] })
  const past = Array.from({ length: 6 }, () => told[below(told.length)])
  for (const block of [told.at(-1), ...past]) if (block !== undefined) await expectSaid(warehouse, collections, block)
  // Asked now, as a node with a past is, and not when the block was new.
  for (const { number: block, hash } of told.slice(-LAST_BLOCKS).filter((_, i) => i % 7 === 0))
    await expectSaid(warehouse, collections, { number: block, hash, said: await collections.ask(block) })
})
