import type { Address } from 'viem'
import { expect, test } from 'vitest'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { foldChain } from '../../processors/nft/fold.ts'
import { blockOn, COINS, eventsOf, type Move, tell } from './given-nft-chain.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const CHAIN = 'eth'
/** `max_query_size` of a server. */
const TEXT_MAX = 256 * 1024
const stores = storesOfFile()

const person = (number: number): Address => `0x${(number + 1).toString(16).padStart(40, '0')}`

/** As many as have the most keys: each of another token, between two others. */
const moves = (count: number): readonly Move[] =>
  Array.from({ length: count }, (_, i) => ({
    ...{ contract: COINS, from: person(2 * i), to: person(2 * i + 1) },
    ...{ id: 2n ** 255n + BigInt(i), amount: 1n },
  }))

test.each([200, 250, 300, 1_000])(
  'a block of %i transfers is looked up in less text than a server takes',
  async (count) => {
    const { warehouse, empty } = stores()
    await empty()
    const texts: string[] = []
    const listening = new Proxy(warehouse, {
      get: (target, name) => {
        if (name === 'queryWords')
          return (...asked: Parameters<Warehouse['queryWords']>) => {
            texts.push(asked[0])
            return target.queryWords(...asked)
          }
        const own = Reflect.get(target, name)
        return typeof own === 'function' ? own.bind(target) : own
      },
    })
    await tell(warehouse, eventsOf(blockOn(undefined, moves(count)), CHAIN), { chain: CHAIN })
    expect(await foldChain(listening, CHAIN, new AbortController().signal)).toBe(1)
    expect(Math.max(...texts.map(({ length }) => length))).toBeLessThan(TEXT_MAX)
  },
)
