import fc from 'fast-check'
import type { Address } from 'viem'
import { expect } from 'vitest'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { proveTokens } from '../../processors/verify/prove-tokens.ts'
import { ART, type Block, COINS, chainOf, type Move, NOBODY } from './given-nft-chain.ts'

// Who holds what of the chain `eth`, as its moves say by themselves and as the tables tell it.

export const PEOPLE: readonly Address[] = ['a1', 'b2', 'c3', 'd4'].map((byte) => `0x${byte.repeat(20)}` as const)
const MAX = 2n ** 256n - 1n

/** Who holds how much of what, by a reading of the standards that keeps one number for each holder, and one holder for each token. */
export function holdingsOf(blocks: readonly Block[]): ReadonlyMap<string, bigint> {
  const owners = new Map<bigint, Address>()
  const coins = new Map<string, bigint>()
  for (const { contract, from, to, id, amount } of blocks.flatMap(({ moves }) => moves)) {
    if (contract === ART) {
      owners.set(id, to)
      continue
    }
    const [sender, receiver] = [`${id} ${from}`, `${id} ${to}`]
    coins.set(sender, (coins.get(sender) ?? 0n) - amount)
    coins.set(receiver, (coins.get(receiver) ?? 0n) + amount)
  }
  const held = new Map<string, bigint>()
  for (const [id, owner] of owners) if (owner !== NOBODY) held.set(`${ART} ${id} ${owner}`, 1n)
  for (const [key, amount] of coins)
    if (amount > 0n && !key.endsWith(NOBODY)) held.set(`${COINS} ${key}`, amount > MAX ? MAX : amount)
  return held
}

const NOT_REVERTED = `block_hash NOT IN (SELECT block_hash FROM reverted_blocks FINAL WHERE chain = 'eth' AND is_reverted = 1)`
const hex = (column: string) => `concat('0x', lower(hex(${column})))`

/** The same as the tables tell it, after a block: in either order of them. */
export async function toldHoldings(warehouse: Warehouse, table: string, number: number) {
  const rows = await warehouse.query<{ contract: string; id: string; holder: string; amount: string; excess: string }>(
    `SELECT ${hex('contract')} AS contract, toString(reinterpretAsUInt256(reverse(token_id))) AS id, ${hex('holder')} AS holder,
       toString(argMax(amount, block_number)) AS amount, argMax(excess, block_number) AS excess
     FROM ${table} AS t WHERE chain = 'eth' AND block_number <= {number:UInt64} AND ${NOT_REVERTED} AND t.holder != toFixedString('', 20)
     GROUP BY t.contract, t.token_id, t.holder`,
    { number },
  )
  const held = new Map<string, bigint>()
  for (const { contract, id, holder, amount, excess } of rows) {
    const shown = excess === '0' ? BigInt(amount) : excess.startsWith('-') ? 0n : MAX
    if (shown > 0n) held.set(`${contract} ${id} ${holder}`, shown)
  }
  return held
}

/** What the tables count of each key after a block. */
async function toldCounts(
  warehouse: Warehouse,
  question: string,
  number: number,
): Promise<ReadonlyMap<string, string>> {
  const rows = await warehouse.query<{ key: string; counts: string }>(
    `SELECT key, argMax(value, block_number) AS counts FROM (${question}) WHERE block_number <= {number:UInt64} AND ${NOT_REVERTED}
     GROUP BY key HAVING counts != '' AND NOT startsWith(counts, '0 ')`,
    { number },
  )
  return new Map(rows.map(({ key, counts }) => [key, counts]))
}

function countBy(
  held: ReadonlyMap<string, bigint>,
  key: (parts: readonly string[]) => string,
  other: (parts: readonly string[]) => string | bigint,
): ReadonlyMap<string, string> {
  const of = new Map<string, { holdings: number; others: Set<string | bigint>; sum: bigint }>()
  for (const [name, amount] of held) {
    const parts = name.split(' ')
    const entry = of.get(key(parts)) ?? { holdings: 0, others: new Set(), sum: 0n }
    entry.holdings++
    entry.others.add(other(parts))
    entry.sum += amount
    of.set(key(parts), entry)
  }
  return new Map([...of].map(([name, { holdings, others }]) => [name, `${holdings} ${others.size}`]))
}

export async function expectHoldings(warehouse: Warehouse, head: Block): Promise<void> {
  for (const block of chainOf(head)) {
    const held = holdingsOf(chainOf(block))
    for (const table of ['nft_token_holders', 'nft_holder_tokens'])
      expect(await toldHoldings(warehouse, table, block.number), `${table} after ${block.number}`).toEqual(held)
  }
  const held = holdingsOf(chainOf(head))
  const totals = (kind: string) =>
    `SELECT ${hex('t.key')} AS key, concat(toString(tokens), ' ', toString(others)) AS value, block_number, block_hash
     FROM nft_totals AS t WHERE chain = 'eth' AND kind = '${kind}'`
  expect(await toldCounts(warehouse, totals('account'), head.number)).toEqual(
    countBy(
      held,
      ([, , holder = '']) => holder,
      ([contract = '']) => contract,
    ),
  )
  expect(await toldCounts(warehouse, totals('contract'), head.number)).toEqual(
    countBy(
      held,
      ([contract = '']) => contract,
      ([, , holder = '']) => holder,
    ),
  )
  for await (const { wrong, examples } of proveTokens(warehouse))
    expect({ wrong, examples }).toEqual({ wrong: 0, examples: [] })
}

const anybody = fc.constantFrom(NOBODY, ...PEOPLE)
const anyMove: fc.Arbitrary<Move> = fc.record({
  contract: fc.constantFrom(ART, COINS),
  from: anybody,
  to: anybody,
  id: fc.constantFrom(0n, 1n, 2n, MAX),
  amount: fc.oneof(fc.bigInt(0n, 3n), fc.constantFrom(MAX, MAX - 1n, 2n ** 255n, 2n ** 128n, 2n ** 128n - 1n)),
})
export const anyBlock = fc.array(anyMove, { maxLength: 6 })
