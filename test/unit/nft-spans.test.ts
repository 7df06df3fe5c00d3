import fc from 'fast-check'
import { expect, test } from 'vitest'
import { alternativesSql } from '../../api/http/lookups.ts'
import type { NftScope } from '../../api/nft/asking.ts'
import { AMOUNT, addressKey, type Item, SINCE, STANDARD_KEY, TOKEN_KEY } from '../../api/nft/history-rows.ts'
import { type HistoryTable, selectPage } from '../../api/nft/pages.ts'
import { selectSpan } from '../../api/nft/spans.ts'
import { partitionOf } from './fold-partition.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const TEST_MS = 120_000
const stores = storesOfFile()
const TABLE = 'nft_holder_tokens'
const ORDER = 'contract, token_id, standard, block_number'
const REVERTED = 'ee'.repeat(32)

interface Row {
  readonly holder: string
  /** Hex without 0x. */
  readonly contract: string
  readonly token: number
  readonly block: number
  readonly amount: number
  readonly isReverted?: boolean
}

const address = (text: string): string => text.padEnd(40, '0')
const holder = (place: string): string => place.repeat(20)
const tokenId = (token: number): string => token.toString(16).padStart(64, '0')

function tableOf(value: string): HistoryTable {
  return {
    table: TABLE,
    where: `holder = unhex('${value}')`,
    lead: { column: 'holder', value, within: '' },
    keys: [addressKey('contract'), TOKEN_KEY, STANDARD_KEY],
    amounts: AMOUNT,
    values: SINCE,
    holds: ({ amount }) => amount !== '0',
  }
}

let chains = 0

/** A chain of its own with these rows, whose words are looked for together where they are asked for at one moment. */
async function given(rows: readonly Row[]) {
  const { warehouse } = stores()
  const chain = `chain ${chains++}`
  const values = rows.map(
    ({ holder: own, contract, token, block, amount, isReverted = false }) =>
      `('${chain}', 1, unhex('${own}'), unhex('${contract}'), unhex('${tokenId(token)}'), 'ERC721', ${block}, unhex('${isReverted ? REVERTED : 'bb'.repeat(32)}'), ${amount}, 0)`,
  )
  await warehouse.command(
    `INSERT INTO ${TABLE} (chain, start, holder, contract, token_id, standard, block_number, block_hash, amount, excess)
     VALUES ${values.join(', ')}`,
  )
  const partition = await partitionOf(warehouse, { table: TABLE, chain, start: 1 })
  const gathered = new Map<string, string[]>()
  /** Words of a statement of parts, by its text, and how many statements of words were of one page alone. */
  const together = new Map<string, Promise<Uint32Array>>()
  let alone = 0
  const reader = {
    query: warehouse.query,
    queryWords: (sql: string) => {
      alone++
      return warehouse.queryWords(sql)
    },
    lookUpWords: async (select: string, condition: string) => {
      const all = gathered.get(select) ?? []
      gathered.set(select, all)
      all.push(condition)
      await Promise.resolve()
      gathered.delete(select)
      const sql = alternativesSql(select, all)
      const words = together.get(sql) ?? warehouse.queryWords(sql)
      together.set(sql, words)
      return await words
    },
  }
  const isReverted = (hash: string) => hash === REVERTED.toUpperCase()
  const scope = (number: number) =>
    ({
      ...{ chain, warehouse: reader },
      standing: { partition, start: 1, isReverted, notReverted: `block_hash != unhex('${REVERTED}')` },
      snapshot: { number },
    }) as unknown as NftScope
  return { scope, counts: () => ({ together: together.size, alone }) }
}

const held = (own: string, contract: string, token: number): Row => ({
  ...{ holder: own, contract: address(contract), token, block: 1, amount: 1 },
})
const names = (rows: { readonly count: number; readonly keyOf: (row: number) => readonly string[] } | undefined) =>
  Array.from({ length: rows?.count ?? 0 }, (_, row) => {
    const [contract = '', token = ''] = rows?.keyOf(row) ?? []
    return `${contract.slice(2, 4)}/${Number(token)}`
  })

test('parts of several lists, and of one, are looked for together, each with its own rows', {
  timeout: TEST_MS,
}, async () => {
  const [one, other] = [holder('1a'), holder('2b')]
  const of = (own: string) => Array.from({ length: 16 }, (_, i) => held(own, `${i.toString(16)}0`, i))
  const { scope, counts } = await given([...of(one), ...of(other), held(one, '40', 99)])
  const look = (own: string, behind: readonly string[], last: string) =>
    selectSpan(scope(1), {
      ...tableOf(own),
      ...{ lead: { column: 'holder', value: own, within: '' } },
      order: ORDER,
      behind,
      last,
      rows: 8,
    })
  const behind = (contract: string, token: number) => [`0x${address(contract)}`, `0x${tokenId(token)}`, 'ERC721']
  const last = (begin: string) => `0x${begin.padEnd(40, 'f')}`
  const found = await Promise.all([
    look(one, behind('20', 2), last('5')),
    look(other, behind('30', 3), last('6')),
    look(one, behind('40', 4), last('5')),
    look(other, behind('f0', 15), last('f')),
    look(holder('3c'), behind('10', 0), last('f')),
  ])
  expect(found.map(names)).toEqual([
    ['30/3', '40/4', '40/99', '50/5'],
    ['40/4', '50/5', '60/6'],
    ['40/99', '50/5'],
    [],
    [],
  ])
  expect(counts()).toEqual({ together: 1, alone: 0 })
})

test('who has far more rows than he should takes the place of those behind him', { timeout: TEST_MS }, async () => {
  const [fat, other] = [holder('1a'), holder('2b')]
  const rows = Array.from({ length: 50 }, (_, i) => held(fat, '10', i))
  const { scope } = await given([...rows, held(other, '10', 7)])
  const look = (own: string) =>
    selectSpan(scope(1), {
      ...tableOf(own),
      lead: { column: 'holder', value: own, within: '' },
      order: ORDER,
      behind: [`0x${address('05')}`],
      last: `0x${'f'.repeat(40)}`,
      rows: 5,
    })
  const [mine, others] = await Promise.all([look(fat), look(other)])
  // Two of them, of twice five rows each.
  expect(names(mine)).toEqual(Array.from({ length: 20 }, (_, i) => `10/${i}`))
  expect(names(others)).toEqual([])
})

test('where nobody looks for several at once nothing is looked for', async () => {
  const pin = { warehouse: {}, standing: { partition: '' } } as unknown as NftScope
  const own = holder('1a')
  const lead = { column: 'holder', value: own, within: '' }
  expect(
    await selectSpan(pin, { ...tableOf(own), lead, order: ORDER, behind: [], last: '0x', rows: 1 }),
  ).toBeUndefined()
})

test('of a list whose items lie about evenly each page is looked for in one go, once a page has shown it', {
  timeout: TEST_MS,
}, async () => {
  const own = holder('1a')
  const contracts = Array.from({ length: 200 }, (_, i) => (i * 327 + ((i * 7_919) % 150)).toString(16).padStart(4, '0'))
  const { scope, counts } = await given(contracts.map((contract, i) => held(own, contract, i)))
  let [after, pages]: [readonly string[] | undefined, number] = [undefined, 0]
  for (; pages < 25; pages++) after = (await selectPage(scope(1), tableOf(own), { limit: 7, after })).next
  expect(after).toBeDefined()
  // The first one is found as text, and the second shows how far apart they lie.
  expect(counts()).toEqual({ together: pages - 2, alone: 1 })
})

/** Of a few contracts, which lie close together or far apart, with one token or many, some of them given away or of reverted blocks. */
const aList = fc.array(
  fc.record({
    contract: fc.oneof(
      fc.constantFrom('11', '1100000001', 'fe'),
      fc.integer({ min: 0, max: 0xffff }).map((place) => place.toString(16).padStart(4, '0')),
    ),
    tokens: fc.oneof(
      { weight: 4, arbitrary: fc.integer({ min: 1, max: 3 }) },
      { weight: 1, arbitrary: fc.integer({ min: 20, max: 60 }) },
    ),
    changes: fc.array(fc.record({ amount: fc.integer({ min: 0, max: 2 }), isReverted: fc.boolean() }), {
      maxLength: 3,
    }),
  }),
  { minLength: 1, maxLength: 120 },
)

test('pages have all that is held, each once, whatever lies where', { timeout: TEST_MS }, async () => {
  let together = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(aList, { minLength: 2, maxLength: 3 }),
      fc.integer({ min: 2, max: 4 }),
      async (lists, block) => {
        const rows: Row[] = []
        const expected = lists.map((list, place) => {
          const own = holder(`${place}c`)
          const now = new Map<string, number>()
          const seen = new Set<string>()
          for (const { contract, tokens, changes } of list)
            for (let token = 0; token < tokens; token++) {
              const of = { holder: own, contract: address(contract), token }
              const name = `${of.contract} ${tokenId(token)}`
              if (seen.has(name)) continue
              seen.add(name)
              const each = [{ amount: 1, isReverted: false }, ...changes]
              for (const [i, change] of each.entries()) {
                rows.push({ ...of, ...change, block: i + 1 })
                if (!change.isReverted && i + 1 <= block) now.set(name, change.amount)
              }
            }
          return [...now]
            .filter(([, amount]) => amount > 0)
            .map(([name, amount]) => `${name} ${amount}`)
            .sort()
        })
        const { scope, counts } = await given(rows)
        const found = await Promise.all(
          lists.map(async (_, place) => {
            const items: Item[] = []
            let after: readonly string[] | undefined
            do {
              const page = await selectPage(scope(block), tableOf(holder(`${place}c`)), { limit: 7, after })
              items.push(...page.items)
              after = page.next
            } while (after !== undefined)
            return items.map(
              (item) =>
                `${(item.contract_text as string).slice(2)} ${(item.token_id_text as string).slice(2)} ${item.amount}`,
            )
          }),
        )
        expect(found).toEqual(expected)
        together += counts().together
      },
    ),
    { numRuns: 12 },
  )
  expect(together).toBeGreaterThan(0)
})
