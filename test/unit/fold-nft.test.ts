import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { foldChain } from '../../processors/nft/fold.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import { tries } from '../long-form.ts'
import {
  ART,
  type Block,
  blockOn,
  COINS,
  chainOf,
  eventsOf as eventsOfChain,
  type Move,
  NOBODY,
  revertOf,
  tell as tellChain,
} from './given-nft-chain.ts'
import { dumpTables } from './projecting.ts'
import { anyBlock, expectHoldings, holdingsOf, PEOPLE, toldHoldings } from './told-holdings.ts'
import { handleOf } from './warehouse-handle.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const CHAIN = 'eth'
const never = new AbortController().signal

const stores = storesOfFile()

const eventsOf = (block: Block) => eventsOfChain(block, CHAIN)
const revert = (block: Block) => revertOf(block, CHAIN)
const tell = (warehouse: Warehouse, events: readonly EncodedEvent[], afterInsert?: () => Promise<unknown>) =>
  tellChain(warehouse, events, { chain: CHAIN, ...(afterInsert === undefined ? {} : { afterInsert }) })

async function fold(warehouse: Warehouse): Promise<number> {
  return await foldChain(warehouse, CHAIN, never)
}

/**
 * Blocks on the head, after so many were taken away, or on a head of before, whose blocks come back; whether they are folded then, and
 * whether the events come once more.
 */
const anyStep = fc.record({
  away: fc.nat(4),
  comesBack: fc.boolean(),
  blocks: fc.array(anyBlock, { minLength: 1, maxLength: 4 }),
  isFolded: fc.boolean(),
  again: fc.boolean(),
  /** In which order what happens to different blocks is heard of. */
  order: fc.infiniteStream(fc.nat(9)),
})

/** What happens to each block, in its order. */
type Heard = Map<string, EncodedEvent[]>

function hear(heard: Heard, { hash }: Block, events: readonly EncodedEvent[]): void {
  heard.set(hash, [...(heard.get(hash) ?? []), ...events])
}

/** Blocks lie in different partitions: what happens to one is heard of before or after what happens to another. */
function inOrder(heard: Heard, order: Iterator<number>): readonly EncodedEvent[] {
  const left = [...heard.values()].map((events) => [...events])
  const events: EncodedEvent[] = []
  while (left.length > 0) {
    const place = (order.next().value ?? 0) % left.length
    const next = left[place]?.shift()
    if (next === undefined) left.splice(place, 1)
    else events.push(next)
  }
  return events
}

test('folded holdings are those of the canonical chain after each of its blocks, whatever was reverted and folded before', {
  timeout: 600_000,
}, async () => {
  const { warehouse, empty } = stores()
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 1, maxLength: 6 }), async (steps) => {
      await empty()
      let head: Block | undefined
      const heads: Block[] = []
      for (const { away, comesBack, blocks, isFolded, again, order } of steps) {
        const heard: Heard = new Map()
        const goTo = (block: Block | undefined): void => {
          const stays = new Set(chainOf(block))
          for (const gone of chainOf(head).toReversed()) if (!stays.has(gone)) hear(heard, gone, [revert(gone)])
          const has = new Set(chainOf(head))
          for (const made of stays) if (!has.has(made)) hear(heard, made, eventsOf(made))
          head = block
        }
        goTo(comesBack ? heads[away % heads.length] : chainOf(head).at(Math.min(-1 - away, -1)))
        for (const moves of blocks) goTo(blockOn(head, moves))
        if (head !== undefined) heads.push(head)
        const events = inOrder(heard, order)
        await tell(warehouse, again ? [...events, ...events] : events)
        if (isFolded) await fold(warehouse)
      }
      await fold(warehouse)
      if (head !== undefined) await expectHoldings(warehouse, head)
    }),
    { numRuns: tries(5, 300) },
  )
})

test('large steps make what one makes of all of them', async () => {
  const { warehouse, empty } = stores()
  const moves = (number: number): readonly Move[] => {
    const [from = NOBODY, to = NOBODY] = [number - 1, number].map((at) => PEOPLE[at % PEOPLE.length])
    const coins = { contract: COINS, from: number === 1 ? NOBODY : from, to, id: 1n, amount: 1n }
    // Every third time somebody else is said to have sent it.
    const art = { contract: ART, from: number % 3 === 0 ? to : coins.from, to, id: BigInt(number % 50), amount: 1n }
    return [coins, art]
  }
  let head: Block | undefined
  for (let number = 1; number <= 1_200; number++) head = blockOn(head, moves(number))
  const blocks = chainOf(head)
  const foldIn = async (steps: number) => {
    await empty()
    for (let step = 0; step < steps; step++) {
      const [from, to] = [step, step + 1].map((at) => (at * blocks.length) / steps)
      const events = blocks.slice(from, to).flatMap(eventsOf)
      await tell(warehouse, events)
      expect(await fold(warehouse)).toBe(blocks.length / steps)
    }
    return await dumpTables(warehouse, { versions: false })
  }
  const atOnce = await foldIn(1)
  expect(await foldIn(3)).toEqual(atOnce)
  for (const number of [1, 400, 401, 1_200])
    expect(await toldHoldings(warehouse, 'nft_token_holders', number)).toEqual(holdingsOf(blocks.slice(0, number)))
})

test('behind blocks that are not there another fold begins, which gives way when they come', async () => {
  const { warehouse, empty } = stores()
  await empty()
  const [first = NOBODY, second = NOBODY] = PEOPLE
  const mint = { contract: COINS, from: NOBODY, to: first, id: 1n, amount: 5n }
  const pass = { contract: COINS, from: first, to: second, id: 1n, amount: 1n }
  let head: Block | undefined
  for (const moves of [[mint], [pass], [pass], [pass], [pass]]) head = blockOn(head, moves)
  const [one, two, lacking, four, five] = chainOf(head) as [Block, Block, Block, Block, Block]
  const startsOfFolds = async () =>
    await warehouse.query<{ start: string; through: string }>(
      'SELECT start, max(block_number) AS through FROM nft_blocks GROUP BY start ORDER BY start',
    )
  await tell(warehouse, eventsOf(one))
  expect(await fold(warehouse)).toBe(1)
  await tell(warehouse, [two, four, five].flatMap(eventsOf))
  expect(await fold(warehouse)).toBe(3)
  expect(await startsOfFolds()).toEqual([
    { start: '1', through: '2' },
    { start: '4', through: '5' },
  ])
  await tell(warehouse, eventsOf(lacking))
  expect(await fold(warehouse)).toBe(3)
  expect(await startsOfFolds()).toEqual([{ start: '1', through: '5' }])
  await expectHoldings(warehouse, five)
})

test('the head is folded beside the earlier past, between its steps', { timeout: 300_000 }, async () => {
  const { warehouse, empty } = stores()
  await empty()
  const [first = NOBODY, second = NOBODY] = PEOPLE
  const mint = { contract: COINS, from: NOBODY, to: first, id: 1n, amount: 5n }
  const pass = { contract: COINS, from: first, to: second, id: 1n, amount: 1n }
  // As many as take two steps.
  const past = [blockOn(undefined, [mint])]
  while (past.length < 6_000) past.push(blockOn(past.at(-1), []))
  const [one, two, three] = [1, 2, 3].map((after) => blockOn(undefined, [pass], past.length + after)) as [
    Block,
    Block,
    Block,
  ]
  const head = [
    { ...one, parent: past.at(-1) as Block },
    { ...two, parent: one },
    { ...three, parent: two },
  ] as const
  await tell(warehouse, eventsOf(head[0]))
  expect(await fold(warehouse)).toBe(1)
  await tell(warehouse, [...past, head[1]].flatMap(eventsOf))
  const noted: (readonly [bigint | undefined, bigint | undefined])[] = []
  const handle = handleOf(warehouse, async (table, columns) => {
    await warehouse.insert(table, columns)
    if (table !== 'nft_blocks') return
    const { start, block_number: numbers } = columns as Readonly<Record<string, BigUint64Array>>
    noted.push([start?.at(0), numbers?.at(-1)])
    if (noted.length === 2) await tell(warehouse, eventsOf(head[2]))
  })
  await fold(handle)
  expect(noted).toEqual([
    [6_001n, 6_002n],
    [1n, 5_500n],
    [6_001n, 6_003n],
    [1n, 6_003n],
  ])
  expect(await warehouse.query('SELECT DISTINCT start FROM nft_blocks')).toEqual([{ start: '1' }])
  const held = await toldHoldings(warehouse, 'nft_token_holders', 6_003)
  expect(held).toEqual(holdingsOf([...past, ...head]))
})

test('a block is folded with all that it logged, whenever the fold looks while its rows are written', async () => {
  const { warehouse, empty } = stores()
  await empty()
  const [a = NOBODY, b = NOBODY] = PEOPLE
  const first = blockOn(undefined, [{ contract: ART, from: NOBODY, to: a, id: 1n, amount: 1n }])
  const head = blockOn(first, [
    { contract: ART, from: a, to: b, id: 1n, amount: 1n },
    { contract: COINS, from: NOBODY, to: a, id: 2n, amount: 3n },
  ])
  const events = chainOf(head).flatMap(eventsOf)
  const ofLogs = events.filter(({ type }) => type === 'execution.logs')
  const told = [...events.filter((event) => !ofLogs.includes(event)), ...ofLogs]
  await tell(warehouse, told, () => fold(warehouse))
  await expectHoldings(warehouse, head)
})

/** What a fold keeps between its steps it keeps of a handle: all from the first block on, nothing, or what came since a later one. */
const HANDLES: readonly ((warehouse: Warehouse) => () => Warehouse)[] = [
  (warehouse) => () => warehouse,
  (warehouse) => () => handleOf(warehouse),
  (warehouse) => {
    const [first, later] = [handleOf(warehouse), handleOf(warehouse)]
    let asked = 0
    return () => (asked++ === 0 ? first : later)
  },
]

test.each(['nft_totals', 'nft_token_holders', 'nft_blocks'])(
  'what a step has come to is forgotten where it could not write %s',
  async (lost) => {
    const { warehouse, empty } = stores()
    const [a = NOBODY, b = NOBODY] = PEOPLE
    const ofArt = { contract: ART, id: 1n, amount: 1n }
    const ofCoins = { contract: COINS, id: 2n, amount: 3n }
    const first = blockOn(undefined, [
      { ...ofArt, from: NOBODY, to: a },
      { ...ofCoins, from: NOBODY, to: a },
    ])
    const head = blockOn(first, [
      { ...ofArt, from: a, to: b },
      { ...ofCoins, from: a, to: b },
    ])
    await empty()
    let isFull = false
    const handle = handleOf(warehouse, async (table, columns) => {
      if (isFull && table === lost) throw new Error('no space is left')
      await warehouse.insert(table, columns)
    })
    await tell(warehouse, eventsOf(first))
    expect(await fold(handle)).toBe(1)
    await tell(warehouse, eventsOf(head))
    isFull = true
    await expect(fold(handle)).rejects.toThrow('no space is left')
    isFull = false
    expect(await fold(handle)).toBe(1)
    await expectHoldings(warehouse, head)
  },
)

test('a fold forgets what it has come to when a rebuild has put other rows in place', async () => {
  const { warehouse, empty } = stores()
  const [a = NOBODY, b = NOBODY] = PEOPLE
  const first = blockOn(undefined, [{ contract: COINS, id: 2n, from: NOBODY, to: a, amount: 3n }])
  const head = blockOn(first, [{ contract: COINS, id: 2n, from: a, to: b, amount: 3n }])
  await empty()
  await tell(warehouse, eventsOf(first))
  expect(await fold(warehouse)).toBe(1)
  // Its rows say of the same block that there were five.
  for (const table of ['nft_token_holders', 'nft_holder_tokens'])
    await warehouse.command(
      `INSERT INTO ${table} SELECT * REPLACE (5 AS amount) FROM ${table} WHERE holder = unhex({holder:String})`,
      { holder: a.slice(2) },
    )
  await warehouse.command('OPTIMIZE TABLE nft_token_holders FINAL')
  await warehouse.insert('rebuild_exchanges', {
    ...{ started: BigInt64Array.of(1n), chain: [''], content: ['{}'] },
    ...{ version: BigUint64Array.of(2n), is_deleted: Uint8Array.of(1) },
  })
  await tell(warehouse, eventsOf(head))
  expect(await fold(warehouse)).toBe(1)
  const held = await toldHoldings(warehouse, 'nft_token_holders', head.number)
  expect([...held].filter(([key]) => key.includes(a.slice(2).toLowerCase())).map(([, amount]) => amount)).toEqual([2n])
})

test('what is folded of a block does not depend on where steps end, nor on whether all blocks before are there', {
  timeout: 600_000,
}, async () => {
  const { warehouse, empty } = stores()
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyBlock, { minLength: 2, maxLength: 8 }),
      fc.constantFrom(1, 7),
      async (blocks, first) => {
        let head: Block | undefined
        for (const [i, moves] of blocks.entries()) head = blockOn(head, moves, first + i)
        const chain = chainOf(head)
        await empty()
        await tell(warehouse, chain.flatMap(eventsOf))
        await fold(warehouse)
        const atOnce = await dumpTables(warehouse, { versions: false })
        for (const handles of HANDLES) {
          await empty()
          const asked = handles(warehouse)
          for (const block of chain) {
            await tell(warehouse, eventsOf(block))
            expect(await fold(asked())).toBe(1)
          }
          expect(await dumpTables(warehouse, { versions: false })).toEqual(atOnce)
        }
      },
    ),
    { numRuns: tries(3, 300) },
  )
})
