import type { Address } from 'viem'
import { expect, test } from 'vitest'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { FOLD_LIMITS, foldChain } from '../../processors/nft/fold.ts'
import { proveTokens } from '../../processors/verify/prove-tokens.ts'
import { ART, type Block, blockOn, COINS, eventsOf, NOBODY, tell } from './given-nft-chain.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const CHAIN = 'eth'
const ANA: Address = `0x${'a1'.repeat(20)}`
const never = new AbortController().signal
const stores = storesOfFile()

const eventsOfAll = (blocks: readonly Block[]) => blocks.flatMap((block) => eventsOf(block, CHAIN))

async function proven(warehouse: Warehouse) {
  const sums = { checked: 0, wrong: 0 }
  for await (const { checked, wrong } of proveTokens(warehouse)) {
    sums.checked += checked
    sums.wrong += wrong
  }
  return sums
}

/** A warehouse that stops folding once so many steps are noted. */
function stoppingAfter(warehouse: Warehouse, steps: number, stop: AbortController): Warehouse {
  let noted = 0
  return new Proxy(warehouse, {
    get(target, name) {
      if (name !== 'insert') return Reflect.get(target, name)
      const insert: Warehouse['insert'] = async (table, columns) => {
        if (table === 'nft_blocks' && ++noted === steps) stop.abort()
        await target.insert(table, columns)
      }
      return insert
    },
  })
}

test.each([3, 4, 6, 7])(
  'what is folded from block %i on is proven by its own rows while a fold of the same blocks is made beside it',
  async (start) => {
    const { warehouse, empty } = stores()
    await empty()
    const blocks: Block[] = []
    for (let number = 1; number <= 12; number++) {
      const isArt = number % 2 === 1
      const move = { contract: isArt ? ART : COINS, from: NOBODY, to: ANA, id: isArt ? BigInt(number) : 2n, amount: 1n }
      blocks.push(blockOn(blocks.at(-1), [move]))
    }
    await tell(warehouse, eventsOfAll(blocks.slice(start - 1)), { chain: CHAIN })
    await foldChain(warehouse, CHAIN, never)
    const alone = await proven(warehouse)
    expect(alone.wrong).toBe(0)
    await tell(warehouse, eventsOfAll(blocks.slice(0, start - 1)), { chain: CHAIN })
    const stop = new AbortController()
    await foldChain(stoppingAfter(warehouse, 10, stop), CHAIN, stop.signal, { ...FOLD_LIMITS, besideTransfers: 1 })
    expect(await warehouse.query('SELECT DISTINCT toUInt32(start) AS start FROM nft_blocks ORDER BY start')).toEqual([
      { start: 1 },
      { start },
    ])
    expect(await proven(warehouse)).toEqual(alone)
  },
)
