import { expect, test } from 'vitest'
import { KeptTold } from '../../api/nft/kept-told.ts'
import { NftStandings } from '../../api/nft/standing.ts'
import { selectContracts } from '../../api/nft/told-contracts.ts'
import { selectTokens } from '../../api/nft/told-tokens.ts'
import { noWords } from './no-words.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const CHAIN = 'eth'
const [ART, COINS] = [`0x${'0a'.repeat(20)}`, `0x${'0b'.repeat(20)}`] as const
const stores = storesOfFile()

/** A contract is read, or a token, and it is told which event has told it. */
async function read(kind: 'contracts' | 'tokens', version: bigint, name = ''): Promise<void> {
  const { warehouse } = stores()
  if (kind === 'contracts')
    await warehouse.insert('nft_contracts', {
      ...{ chain: [CHAIN], contract: new Uint8Array(Buffer.from(ART.slice(2), 'hex')), name: [name] },
      ...{ has_name: Uint8Array.of(1), version: BigUint64Array.of(version) },
    })
  if (kind === 'tokens')
    await warehouse.insert('nft_token_told', {
      ...{ chain: [CHAIN], token: new Uint8Array(Buffer.from(`${ART.slice(2)}${'00'.repeat(31)}01`, 'hex')) },
      ...{ kind: ['document'], told: [JSON.stringify({ title: name, shortened: ['json'] })] },
      ...{ whole: [JSON.stringify({ title: `${name}, whole` })], version: BigUint64Array.of(version) },
    })
  await warehouse.insert('nft_metadata_positions', {
    ...{ chain: [CHAIN], kind: [kind], bucket: Uint16Array.of(0), version: BigUint64Array.of(version) },
  })
}

/** A chain with a folded block, and who asks for contracts and tokens of it. */
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
  const tables = async () => {
    const standing = await standings.of(CHAIN)
    if (standing === undefined) throw new Error('nothing is folded')
    return { warehouse: reader, chain: CHAIN, standing }
  }
  const nameOf = async (contract: string) => (await selectContracts(await tables(), [contract])).get(contract)?.name
  const titlesOf = async (...tokenIds: readonly string[]) => {
    const tokens = tokenIds.map((tokenId) => ({ contract: ART, tokenId, standard: 'ERC721' as const }))
    return (await selectTokens(await tables(), tokens)).map(({ document }) => document?.title)
  }
  return { nameOf, titlesOf, lookups, standings }
}

test('what a contract says, or that it says nothing, is kept from the second time on', async () => {
  const { nameOf, lookups } = await given()
  await read('contracts', 1n, 'Art')
  expect([await nameOf(ART), await nameOf(ART), await nameOf(ART)]).toEqual(['Art', 'Art', 'Art'])
  expect(lookups).toHaveLength(2)
  expect([await nameOf(COINS), await nameOf(COINS), await nameOf(COINS)]).toEqual([undefined, undefined, undefined])
  expect(lookups).toHaveLength(4)
})

test('it is looked up again when a contract was read since, and not when a token was', async () => {
  const { nameOf, lookups, standings } = await given()
  await read('contracts', 1n, 'Art')
  for (let time = 0; time < 2; time++) await nameOf(ART)
  const before = await standings.of(CHAIN)
  await read('tokens', 2n)
  expect((await standings.of(CHAIN))?.position).not.toBe(before?.position)
  expect(await nameOf(ART)).toBe('Art')
  expect(lookups).toHaveLength(2)
  await read('contracts', 3n, 'Fine Art')
  // That it is asked for often is known already.
  for (let time = 0; time < 2; time++) expect(await nameOf(ART)).toBe('Fine Art')
  expect(lookups).toHaveLength(3)
})

test('what is told of a token, or that nothing is, is kept from the second time on, among whichever tokens', async () => {
  const { titlesOf, lookups } = await given()
  await read('tokens', 1n, 'One')
  for (let time = 0; time < 2; time++) expect(await titlesOf('1', '2')).toEqual(['One', undefined])
  expect(lookups).toHaveLength(2)
  expect(await titlesOf('2', '1', '2')).toEqual([undefined, 'One', undefined])
  expect(lookups).toHaveLength(2)
  expect(await titlesOf('1', '3')).toEqual(['One', undefined])
  expect(lookups).toHaveLength(3)
})

test('of a token alone all is told that lists leave out, though it was in a list before', async () => {
  const { titlesOf } = await given()
  await read('tokens', 1n, 'One')
  for (let time = 0; time < 2; time++) await titlesOf('1', '2')
  expect(await titlesOf('1')).toEqual(['One, whole'])
  expect(await titlesOf('1', '2')).toEqual(['One', undefined])
})

test('a token is looked up again when one was read since, and not when a contract was', async () => {
  const { titlesOf, lookups } = await given()
  await read('tokens', 1n, 'One')
  for (let time = 0; time < 2; time++) await titlesOf('1', '2')
  await read('contracts', 2n, 'Art')
  expect(await titlesOf('1', '2')).toEqual(['One', undefined])
  expect(lookups).toHaveLength(2)
  await read('tokens', 3n, 'First')
  expect(await titlesOf('1', '2')).toEqual(['First', undefined])
  expect(lookups).toHaveLength(3)
})

test('what is asked for once is not kept, and takes no place of what is', () => {
  const kept = new KeptTold<string>('', 1_000)
  for (let time = 0; time < 2; time++) kept.keep('a', 'one', 300)
  for (let other = 0; other < 1_000; other++) kept.keep(`other ${other}`, 'some', 300)
  expect([kept.of('a'), kept.of('other 999')]).toEqual(['one', undefined])
})

test('what does not fit beside the others takes their place', () => {
  const kept = new KeptTold<string>('', 1_000)
  const keep = (...[key, told, characters]: Parameters<typeof kept.keep>) => {
    for (let time = 0; time < 2; time++) kept.keep(key, told, characters)
  }
  keep('a', 'one', 300)
  keep('b', null, 0)
  keep('a', 'one', 300)
  expect([kept.of('a'), kept.of('b'), kept.of('c')]).toEqual(['one', null, undefined])
  keep('c', 'three', 200)
  expect([kept.of('a'), kept.of('b'), kept.of('c')]).toEqual([undefined, undefined, 'three'])
})

test('an event that is told again changes nothing', async () => {
  const { standings } = await given()
  await read('contracts', 2n, 'Art')
  const before = await standings.of(CHAIN)
  await read('contracts', 1n, 'Old')
  await read('contracts', 2n, 'Art')
  expect((await standings.of(CHAIN))?.position).toBe(before?.position)
})
