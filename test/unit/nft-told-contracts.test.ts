import { expect, test } from 'vitest'
import { NftStandings } from '../../api/nft/standing.ts'
import { selectContracts } from '../../api/nft/told-contracts.ts'
import { noWords } from './no-words.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const CHAIN = 'eth'
const [ART, COINS] = [`0x${'01'.repeat(20)}`, `0x${'02'.repeat(20)}`] as const
const stores = storesOfFile()

/** A contract is read, or a token, and it is told which event has told it. */
async function read(kind: 'contracts' | 'tokens', version: bigint, name = ''): Promise<void> {
  const { warehouse } = stores()
  if (kind === 'contracts')
    await warehouse.insert('nft_contracts', {
      ...{ chain: [CHAIN], contract: new Uint8Array(Buffer.from(ART.slice(2), 'hex')), name: [name] },
      ...{ has_name: Uint8Array.of(1), version: BigUint64Array.of(version) },
    })
  await warehouse.insert('nft_metadata_positions', {
    ...{ chain: [CHAIN], kind: [kind], bucket: Uint16Array.of(0), version: BigUint64Array.of(version) },
  })
}

/** A chain with a folded block, and who asks for contracts of it. */
async function given() {
  await stores().empty()
  const { warehouse } = stores()
  await warehouse.command(
    `INSERT INTO nft_blocks (chain, start, block_number, block_hash, parent_hash, time) SELECT '${CHAIN}', 1, 1, 'a', 'b', 1`,
  )
  const lookups: string[] = []
  const reader = {
    ...noWords,
    query: <Row>(sql: string) => {
      lookups.push(sql)
      return warehouse.query<Row>(sql)
    },
  }
  const standings = new NftStandings(warehouse, 0)
  const nameOf = async (contract: string) => {
    const standing = await standings.of(CHAIN)
    if (standing === undefined) throw new Error('nothing is folded')
    return (await selectContracts({ warehouse: reader, chain: CHAIN, standing }, [contract])).get(contract)?.name
  }
  return { nameOf, lookups, standings }
}

test('what a contract says, or that it says nothing, is looked up once', async () => {
  const { nameOf, lookups } = await given()
  await read('contracts', 1n, 'Art')
  expect([await nameOf(ART), await nameOf(ART)]).toEqual(['Art', 'Art'])
  expect([await nameOf(COINS), await nameOf(COINS)]).toEqual([undefined, undefined])
  expect(lookups).toHaveLength(2)
})

test('it is looked up again when a contract was read since, and not when a token was', async () => {
  const { nameOf, lookups, standings } = await given()
  await read('contracts', 1n, 'Art')
  await nameOf(ART)
  const before = await standings.of(CHAIN)
  await read('tokens', 2n)
  expect((await standings.of(CHAIN))?.position).not.toBe(before?.position)
  expect(await nameOf(ART)).toBe('Art')
  expect(lookups).toHaveLength(1)
  await read('contracts', 3n, 'Fine Art')
  expect(await nameOf(ART)).toBe('Fine Art')
  expect(lookups).toHaveLength(2)
})

test('an event that is told again changes nothing', async () => {
  const { standings } = await given()
  await read('contracts', 2n, 'Art')
  const before = await standings.of(CHAIN)
  await read('contracts', 1n, 'Old')
  await read('contracts', 2n, 'Art')
  expect((await standings.of(CHAIN))?.position).toBe(before?.position)
})
