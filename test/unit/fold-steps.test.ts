import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { FOLD_LIMITS, foldChain } from '../../processors/nft/fold.ts'
import { memoryOf } from '../../processors/nft/fold-memory.ts'
import { AppError } from '../../schemas/errors.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import { tries } from '../long-form.ts'
import { ART, type Block, blockOn, COINS, chainOf, eventsOf, NOBODY, revertOf, tell } from './given-nft-chain.ts'
import { anyBlock, expectHoldings } from './told-holdings.ts'
import { handleOf } from './warehouse-handle.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const CHAIN = 'eth'
const never = new AbortController().signal
const stores = storesOfFile()

const tellAll = (warehouse: Warehouse, blocks: readonly Block[]) =>
  tell(
    warehouse,
    blocks.flatMap((block) => eventsOf(block, CHAIN)),
    { chain: CHAIN },
  )

/** Before so many statements of the fold. */
const anyMoment = fc.record({
  statements: fc.integer({ min: 1, max: 40 }),
  what: fc.oneof(
    fc.constant('failure' as const),
    fc.constant('other process' as const),
    fc.record({ away: fc.integer({ min: 1, max: 4 }), blocks: fc.array(anyBlock, { minLength: 1, maxLength: 5 }) }),
  ),
})

test('steps that are noted together come to what the canonical blocks say, whatever happens between them', {
  timeout: 600_000,
}, async () => {
  const { warehouse, empty } = stores()
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyBlock, { minLength: 4, maxLength: 8 }),
      fc.integer({ min: 1, max: 12 }),
      fc.constantFrom(1, 2, FOLD_LIMITS.revertedBlocks),
      fc.array(anyMoment, { maxLength: 4 }),
      async (blocks, notedTransfers, revertedBlocks, moments) => {
        await empty()
        let head: Block | undefined
        for (const moves of blocks) head = blockOn(head, moves)
        await tellAll(warehouse, chainOf(head))
        const left = [...moments]
        let statements = 0
        let isDone = false
        const handle = handleOf(warehouse)
        // A statement beside it may fail meanwhile, and with it the fold: what has begun to be told is told all the same.
        let happening: Promise<void> = Promise.resolve()
        const beforeEach = async () => {
          isDone = false
          const [moment] = left
          if (moment === undefined || ++statements < moment.statements) return
          left.shift()
          statements = 0
          if (moment.what === 'failure') throw new AppError('warehouse', 'it is away', { retryable: true })
          const { what } = moment
          happening = happening.then(() => happen(what))
          await happening
        }
        const happen = async (what: Exclude<(typeof moments)[number]['what'], 'failure'>): Promise<void> => {
          if (what === 'other process') return void (await foldChain(handleOf(warehouse), CHAIN, never))
          const reverts = chainOf(head).slice(-what.away).toReversed()
          await tell(
            warehouse,
            reverts.map((block) => revertOf(block, CHAIN)),
            { chain: CHAIN },
          )
          head = chainOf(head).at(-1 - what.away)
          for (const moves of what.blocks) {
            head = blockOn(head, moves)
            await tellAll(warehouse, [head])
          }
        }
        const disturbed = new Proxy(handle, {
          get: (target, name) => {
            const own = Reflect.get(target, name)
            if (typeof own !== 'function' || !['insert', 'query', 'queryWords'].includes(String(name))) return own
            return async (...given: unknown[]) => {
              await beforeEach()
              return await own.apply(target, given)
            }
          },
        })
        // Each block is a step.
        const limits = { ...FOLD_LIMITS, stepTransfers: 1, notedTransfers, revertedBlocks }
        while (!isDone) {
          // Where nothing was written since it asks nothing.
          isDone = true
          try {
            await foldChain(disturbed, CHAIN, never, limits)
            isDone ||= left.length === 0
          } catch (error) {
            expect(error).toMatchObject({ message: 'it is away' })
          }
          await happening
        }
        await foldChain(disturbed, CHAIN, never, limits)
        await expectHoldings(warehouse, head as Block)
      },
    ),
    { numRuns: tries(15, 200) },
  )
})

test('blocks that move no token are noted some at a time', async () => {
  const { warehouse, empty } = stores()
  await empty()
  let head: Block | undefined
  for (let number = 1; number <= 40; number++) head = blockOn(head, [])
  await tellAll(warehouse, chainOf(head))
  const noted: number[] = []
  const handle = handleOf(warehouse, async (table, columns) => {
    await warehouse.insert(table, columns)
    if (table === 'nft_blocks') noted.push(columns.block_number?.length ?? 0)
  })
  expect(await foldChain(handle, CHAIN, never, { ...FOLD_LIMITS, stepBlocks: 5, notedBlocks: 12 })).toBe(40)
  expect(noted).toEqual([15, 15, 10])
})

test('where nothing was written since all that is there was folded nothing is asked, and what comes is folded', async () => {
  const { warehouse, empty } = stores()
  await empty()
  const first = blockOn(undefined, [])
  await tellAll(warehouse, [first])
  let statements = 0
  const handle = new Proxy(handleOf(warehouse), {
    get: (target, name) => {
      const own = Reflect.get(target, name)
      if (name !== 'query' && name !== 'queryWords') return own
      return (...asked: unknown[]) => {
        statements++
        return own.apply(target, asked)
      }
    },
  })
  expect(await foldChain(handle, CHAIN, never)).toBe(1)
  const asked = statements
  expect([await foldChain(handle, CHAIN, never), statements]).toEqual([0, asked])
  const second = blockOn(first, [{ contract: ART, from: NOBODY, to: COINS, id: 1n, amount: 1n }])
  const isHeader = ({ type }: EncodedEvent) => type === 'execution.block'
  const [logs, header] = [
    eventsOf(second, CHAIN).filter((event) => !isHeader(event)),
    eventsOf(second, CHAIN).filter(isHeader),
  ]
  const folded: number[] = []
  for (const events of [header, logs, [revertOf(second, CHAIN)]]) {
    await tell(warehouse, events, { chain: CHAIN })
    folded.push(await foldChain(handle, CHAIN, never))
  }
  expect(folded).toEqual([0, 1, 0])
  const third = blockOn(first, [])
  await tellAll(warehouse, [third, blockOn(third, [])])
  expect(await foldChain(handle, CHAIN, never)).toBe(2)
})

test('a block whose logs are being written is looked for when they are there, and not for long', async () => {
  const { warehouse, empty } = stores()
  await empty()
  const first = blockOn(undefined, [])
  await tellAll(warehouse, [first])
  expect(await foldChain(warehouse, CHAIN, never)).toBe(1)
  const second = blockOn(first, [{ contract: ART, from: NOBODY, to: COINS, id: 1n, amount: 1n }])
  const isHeader = ({ type }: EncodedEvent) => type === 'execution.block'
  await tell(warehouse, eventsOf(second, CHAIN).filter(isHeader), { chain: CHAIN })
  let ended: Promise<void> = new Promise(() => {})
  const handle = new Proxy(handleOf(warehouse), {
    get: (target, name) =>
      name === 'writing' ? () => ({ before: 0, sinceMs: 0, ended: () => ended }) : Reflect.get(target, name),
  })
  expect(await foldChain(handle, CHAIN, never)).toBe(0)
  ended = tell(
    warehouse,
    eventsOf(second, CHAIN).filter((event) => !isHeader(event)),
    { chain: CHAIN },
  )
  expect(await foldChain(handle, CHAIN, never)).toBe(1)
})

test.each([
  { tellsWrites: true, isRemembered: true },
  { tellsWrites: true, isRemembered: false },
  { tellsWrites: false, isRemembered: true },
  { tellsWrites: false, isRemembered: false },
])(
  'a block that is reverted and comes back while what follows is looked for counts: %o',
  async ({ tellsWrites, isRemembered }) => {
    const { warehouse, empty } = stores()
    await empty()
    let head: Block | undefined
    for (let id = 1n; id <= 5n; id++) head = blockOn(head, [{ contract: ART, from: NOBODY, to: COINS, id, amount: 1n }])
    const [first, second, third, ...last] = chainOf(head)
    const [fourth, fifth] = last
    const blocks = [first, second, third, fourth, fifth].filter((block) => block !== undefined)
    await tellAll(
      warehouse,
      blocks.filter((block) => block !== third),
    )
    const revertAll = (reverted: readonly Block[]) => reverted.map((block) => revertOf(block, CHAIN))
    await tell(warehouse, revertAll(last.toReversed()), { chain: CHAIN })
    let moment: (() => Promise<void>) | undefined
    const handle = new Proxy(handleOf(warehouse), {
      get: (target, name) => {
        if (name === 'writesOf' && !tellsWrites) return undefined
        const own = Reflect.get(target, name)
        if (name !== 'query') return own
        return async (sql: string, ...more: unknown[]) => {
          const isHeaders = sql.includes('log_parts, version')
          if (isHeaders && moment !== undefined) {
            const now = moment
            moment = undefined
            await now()
          }
          return own.call(target, sql, ...more)
        }
      },
    })
    expect(await foldChain(isRemembered ? handle : handleOf(warehouse), CHAIN, never)).toBe(2)
    await tellAll(warehouse, [third as Block])
    moment = async () => {
      await tell(warehouse, revertAll([third as Block]), { chain: CHAIN })
      await tellAll(warehouse, [third as Block, ...last])
    }
    for (let time = 0; time < 3; time++) await foldChain(handle, CHAIN, never)
    expect(moment).toBeUndefined()
    await expectHoldings(warehouse, head as Block)
  },
)

test('blocks behind more missing ones than a step has are folded with those before, and what was in memory for many is given back', async () => {
  const { warehouse, empty } = stores()
  await empty()
  const handle = handleOf(warehouse)
  const limits = { ...FOLD_LIMITS, stepBlocks: 3 }
  const mint = (id: bigint) => [{ contract: ART, from: NOBODY, to: COINS, id, amount: 1n }]
  const first = blockOn(undefined, mint(1n))
  const second = blockOn(first, mint(2n))
  await tellAll(warehouse, [first, second])
  expect(await foldChain(handle, CHAIN, never, limits)).toBe(2)
  expect(memoryOf(handle).known.get(CHAIN)?.folded).toBeDefined()
  expect(await foldChain(handle, CHAIN, never, limits)).toBe(0)
  expect(memoryOf(handle).known.get(CHAIN)?.folded).toBeUndefined()
  await tellAll(warehouse, [blockOn(second, []), blockOn(undefined, [], 10)])
  expect(await foldChain(handle, CHAIN, never, limits)).toBe(2)
  const [newest] = await warehouse.query<{ number: string }>('SELECT max(block_number) AS number FROM nft_blocks')
  expect(newest?.number).toBe('10')
})
