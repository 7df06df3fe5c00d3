import fc from 'fast-check'
import type { Address } from 'viem'
import { expect, test } from 'vitest'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { foldChain } from '../../processors/nft/fold.ts'
import { memoryOf } from '../../processors/nft/fold-memory.ts'
import { type FoldState, TOKEN_ID, TOKEN_KEY } from '../../processors/nft/fold-state.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import { tries } from '../long-form.ts'
import {
  ART,
  type Block,
  blockOn,
  COINS,
  chainOf,
  eventsOf,
  type Move,
  NOBODY,
  revertOf,
  tell,
} from './given-nft-chain.ts'
import { dumpChain } from './projecting.ts'
import { handleOf } from './warehouse-handle.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const PEOPLE: readonly Address[] = ['a1', 'b2', 'c3'].map((byte) => `0x${byte.repeat(20)}` as const)
const never = new AbortController().signal
const stores = storesOfFile()

const hex = (words: Uint32Array, at: number, width: number) =>
  Buffer.from(words.slice(at, at + width).buffer).toString('hex')

/** What it tells of each key that it tells anything else of than nothing; keys by what they stand for. */
function contentOf(state: FoldState): ReadonlyMap<string, readonly unknown[]> {
  const { accounts, contracts, tokens, holdings, pairs } = state
  const account = (number: number) => hex(accounts.keys, 5 * number, 5)
  const contract = (number: number) => hex(contracts.keys, 5 * number, 5)
  const token = (number: number) => {
    const id = hex(tokens.keys, TOKEN_KEY * number + TOKEN_ID, 8)
    return `${contract(state.contractOf(number))} ${state.isMany(number)} ${id}`
  }
  const all = { accounts, contracts, tokens, holdings, pairs }
  const told = {
    accounts: (key: number) => [
      account(key),
      ...[state.accountHoldings, state.accountContracts].map((figures) => figures.get(key)),
      ...[state.sent, state.received].flatMap(({ transfers, singles }) => [transfers.get(key), singles.get(key)]),
    ],
    contracts: (key: number) => [
      contract(key),
      ...[state.contractHoldings, state.contractHolders].map((figures) => figures.get(key)),
      ...[state.ofContract.transfers.get(key), state.ofContract.singles.get(key)],
    ],
    tokens: (key: number) => {
      const owner = state.owner.get(key)
      return [token(key), owner === 0 ? 0 : account(owner), state.isKnown.get(key), state.tokenHolders.get(key)]
    },
    holdings: (key: number) => [
      `${token(state.tokenOf(key))} ${account(state.holderOf(key))}`,
      ...[state.balance.get(key), state.sinceBlock.get(key), state.sinceTimeSec.get(key)],
    ],
    pairs: (key: number) => [
      `${contract(state.contractOfPair(key))} ${account(state.accountOfPair(key))}`,
      ...[state.pairTokens.get(key), state.pairAmount.get(key)],
    ],
  }
  const content = new Map<string, readonly unknown[]>()
  for (const kind of ['accounts', 'contracts', 'tokens', 'holdings', 'pairs'] as const) {
    for (let key = 0; key < all[kind].size; key++) {
      const [name, ...figures] = told[kind](key)
      if (figures.some((figure) => figure !== 0)) content.set(`${kind} ${name}`, figures)
    }
  }
  return content
}

const stateOf = (warehouse: Warehouse, chain: string): FoldState => {
  const kept = memoryOf(warehouse).states.get(chain)?.at(-1)
  if (kept === undefined) throw new Error(`nothing is kept of ${chain}`)
  return kept.state
}

const anybody = fc.constantFrom(NOBODY, ...PEOPLE)
const anyMove: fc.Arbitrary<Move> = fc.record({
  contract: fc.constantFrom(ART, COINS),
  from: anybody,
  to: anybody,
  id: fc.constantFrom(1n, 2n),
  amount: fc.constantFrom(0n, 1n, 3n, 2n ** 256n - 1n),
})
const anyBlock = fc.array(anyMove, { maxLength: 4 })
const BLOCKS = 4
/** Blocks, on what is left after so many were reverted; whether it is folded between. */
const anyReorg = fc.record({
  away: fc.nat(BLOCKS + 2),
  isFoldedBetween: fc.boolean(),
  blocks: fc.array(anyBlock, { minLength: 1, maxLength: BLOCKS + 1 }),
})
/** Of changes of a block, of some, and of all that happen here. */
const anyBytes = fc.constantFrom(500, 2_000, 2 ** 20)
/** More blocks than are taken back, with a move now and then. */
const OLD: readonly (readonly Move[])[] = Array.from({ length: BLOCKS + 4 }, (_, i) => {
  const [from = NOBODY, to = NOBODY] = [PEOPLE[i % 3], PEOPLE[(i + 1) % 3]]
  return i % 2 > 0 ? [] : [{ contract: i % 4 > 0 ? ART : COINS, from, to, id: BigInt(1 + (i % 3)), amount: 1n }]
})

// Of the same length: rows tell how long events are.
const [KEEPING, READING] = ['keeping', 'reading'] as const
const CANONICAL = 'canonical'

test('what a fold keeps over reorgs is what the canonical blocks come to, and it writes what one without memory does', {
  timeout: 600_000,
}, async () => {
  const { warehouse, empty } = stores()
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyReorg, { minLength: 2, maxLength: 5 }),
      fc.boolean(),
      anyBytes,
      async (reorgs, isWhole, bytes) => {
        await empty()
        const keeper = handleOf(warehouse)
        memoryOf(keeper, { blocks: BLOCKS, bytes })
        const fold = async (events: readonly ((chain: string) => readonly EncodedEvent[])[]) => {
          for (const chain of [KEEPING, READING])
            await tell(
              warehouse,
              events.flatMap((of) => of(chain)),
              { chain },
            )
          await foldChain(keeper, KEEPING, never)
          await foldChain(handleOf(warehouse), READING, never)
        }
        let head: Block | undefined
        const grow = (blocks: readonly (readonly Move[])[]) =>
          blocks.map((moves) => {
            const block = blockOn(head, moves)
            head = block
            return (chain: string) => eventsOf(block, chain)
          })
        const [first, ...rest] = grow(OLD)
        if (first === undefined) throw new Error('there are old blocks')
        // Of a chain that another process has begun to fold, it is what was looked up since.
        if (!isWhole) {
          await tell(warehouse, first(KEEPING), { chain: KEEPING })
          await foldChain(handleOf(warehouse), KEEPING, never)
        }
        await fold([first, ...rest])
        for (const { away, isFoldedBetween, blocks } of reorgs) {
          const events: ((chain: string) => readonly EncodedEvent[])[] = []
          for (let i = 0; i < away && head?.parent !== undefined; i++) {
            const reverted: Block = head
            events.push((chain) => [revertOf(reverted, chain)])
            head = reverted.parent
          }
          if (isFoldedBetween) await fold(events.splice(0))
          await fold([...events, ...grow(blocks)])
        }
        expect(await dumpChain(warehouse, KEEPING)).toEqual(await dumpChain(warehouse, READING))
        const only = chainOf(head).flatMap((block) => eventsOf(block, CANONICAL))
        await tell(warehouse, only, { chain: CANONICAL })
        const other = handleOf(warehouse)
        await foldChain(other, CANONICAL, never)
        const [kept, fresh] = [stateOf(keeper, KEEPING), stateOf(other, CANONICAL)]
        const content = contentOf(kept)
        if (kept.isWhole) expect(content).toEqual(contentOf(fresh))
        else expect([...contentOf(fresh)]).toEqual(expect.arrayContaining([...content]))
      },
    ),
    { numRuns: tries(3, 40) },
  )
})

test.each([
  { depth: BLOCKS, bytes: 2 ** 20, isKept: true },
  { depth: BLOCKS + 1, bytes: 2 ** 20, isKept: false },
  { depth: BLOCKS, bytes: 100, isKept: false },
  { depth: 1, bytes: 100, isKept: true },
])('over a reorg of $depth blocks with $bytes bytes for them all that is folded is known: $isKept', async (given) => {
  const { depth, bytes, isKept } = given
  const { warehouse } = stores()
  const handle = handleOf(warehouse)
  memoryOf(handle, { blocks: BLOCKS, bytes })
  const chain = `reorg-${depth}-${bytes}`
  let head: Block | undefined
  for (const moves of OLD) head = blockOn(head, moves)
  const events = chainOf(head).flatMap((block) => eventsOf(block, chain))
  await tell(warehouse, events, { chain })
  await foldChain(handle, chain, never)
  const reverts: EncodedEvent[] = []
  for (let i = 0; i < depth && head !== undefined; i++) {
    reverts.push(revertOf(head, chain))
    head = head.parent
  }
  head = blockOn(head, OLD[0] ?? [])
  await tell(warehouse, [...reverts, ...eventsOf(head, chain)], { chain })
  expect(await foldChain(handle, chain, never)).toBe(1)
  expect(stateOf(handle, chain).isWhole).toBe(isKept)
})
