import { expect, test } from 'vitest'
import { type Ask, WideTables } from '../../infra/beacon/wide-tables.ts'
import type { ChainNode } from '../../infra/nodes/nodes.ts'

const BODY_BYTES_MAX = 64 * 1024 * 1024
const MAINNET_VALIDATORS = 2_200_000

/** A node that has so many validators, of which each is told that is asked for and there. */
function nodeOf(size: number): { readonly ask: Ask; readonly highest: () => number } {
  let highest = -1
  const node = {
    async read({ body = '[]' }: { readonly body?: string }, take: (piece: Uint8Array) => void) {
      const ids = (JSON.parse(body) as readonly string[]).map(Number)
      highest = Math.max(highest, ...ids)
      const data = ids.filter((id) => id < size).map((id) => ({ index: String(id), balance: '32000000000' }))
      take(Buffer.from(JSON.stringify({ execution_optimistic: false, finalized: true, data })))
      return true
    },
  }
  return { ask: (_, question) => question(node as unknown as ChainNode), highest: () => highest }
}

test.each([0, 1, 2, 63, 64, 65, 258, 4_095, MAINNET_VALIDATORS, 2 ** 22 - 1, 2 ** 22, 2 ** 22 + 1, 10_000_000])(
  'a registry of %i validators is found to have as many',
  async (size) => {
    expect(await new WideTables(BODY_BYTES_MAX).registrySize(nodeOf(size).ask, 7)).toBe(size)
  },
)

test('a registry is looked for where it was before, however it has grown or shrunk since', async () => {
  const tables = new WideTables(BODY_BYTES_MAX)
  for (const size of [258, 259, 515, 517, 40_000, 258, 0, 3]) {
    expect(await tables.registrySize(nodeOf(size).ask, 7)).toBe(size)
  }
})

test('nobody is asked about indices far beyond the registry, since a question takes a byte for each of them', async () => {
  const tables = new WideTables(BODY_BYTES_MAX)
  const first = nodeOf(MAINNET_VALIDATORS)
  await tables.registrySize(first.ask, 7)
  expect(first.highest()).toBeLessThan(2 ** 22)
  const second = nodeOf(258)
  await tables.registrySize(second.ask, 7)
  const third = nodeOf(258)
  await tables.registrySize(third.ask, 7)
  expect(third.highest()).toBeLessThan(2 * 258)
})
