import { beforeAll, describe, expect, test } from 'vitest'
import { searchContracts } from '../../api/nft/search.ts'
import { joinRows } from '../../processors/loop/rows.ts'
import { projectMetadata } from '../../processors/nft/metadata.ts'
import type { Hex } from '../../schemas/eth/hex.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { contractRead } from '../../schemas/events/nft-metadata.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const CHAIN = 'eth'
const stores = storesOfFile()

interface Named {
  readonly address: Hex
  readonly name: string
  readonly symbol: string
}

const addressOf = (place: number): Hex => `0x${'ab'.repeat(18)}${(0x1000 + place).toString(16)}`

/** Tells the tables what contracts are called; of each the highest version is the newest. */
async function call(contracts: readonly Named[], version: bigint): Promise<void> {
  const rows = contracts.flatMap(({ address, name, symbol }) => {
    const data = {
      ...{
        chain: CHAIN,
        contract: address,
        name,
        symbol,
        block: { number: 1, hash: `0x${'01'.repeat(32)}` },
        atSec: 1,
      },
      ...{ tokenType: null, totalSupply: null, deployer: null, deployBlock: null, deployReason: null },
    }
    const named = { id: `${address} ${version}`, key: CHAIN, time: '2026-01-01T00:00:00.000Z' }
    const event = encodeEvent(contractRead, { ...named, data })
    return projectMetadata({ event, position: { partition: 0, offset: version - 1n } }).rows
  })
  for (const { table, columns } of joinRows(rows)) await stores().warehouse.insert(table, columns)
}

async function search(query: string): Promise<readonly (string | null)[]> {
  const found = await searchContracts({ warehouse: stores().warehouse, chain: CHAIN }, query.toLowerCase())
  return found.map(({ name }) => name)
}

describe('a search of collections', () => {
  const NAMES: readonly (readonly [string, string])[] = [
    ['Bored Ape Yacht Club', 'BAYC'],
    ['Mutant Ape Yacht Club', 'MAYC'],
    ['Azuki', 'AZUKI'],
    ['CryptoPunks', 'PUNK'],
    ['Apes of the Café', 'ape'],
    ['Ünïcode Übung', 'UEB'],
    ['100% _ \\ "quoted"', "'"],
  ]
  beforeAll(async () => {
    await stores().empty()
    await call(
      NAMES.map(([name, symbol], place) => ({ address: addressOf(place), name, symbol })),
      1n,
    )
  })

  test.each<[string, readonly string[]]>([
    ['bayc', ['Bored Ape Yacht Club']],
    ['ape', ['Apes of the Café', 'Bored Ape Yacht Club', 'Mutant Ape Yacht Club']],
    ['APE YACHT', ['Bored Ape Yacht Club', 'Mutant Ape Yacht Club']],
    ['mutant', ['Mutant Ape Yacht Club']],
    ['unks', ['CryptoPunks']],
    ['café', ['Apes of the Café']],
    ['übung', ['Ünïcode Übung']],
    ['100%', ['100% _ \\ "quoted"']],
    ["'", ['100% _ \\ "quoted"']],
    ['azuky', ['Azuki']],
    ['azkui', ['Azuki']],
    ['bacy', ['Bored Ape Yacht Club']],
    ['cryptopnks', ['CryptoPunks']],
    ['bord ape yacht', ['Bored Ape Yacht Club', 'Mutant Ape Yacht Club']],
    ['yacht', ['Bored Ape Yacht Club', 'Mutant Ape Yacht Club']],
    ['yahct', ['Bored Ape Yacht Club', 'Mutant Ape Yacht Club']],
    ['muttant club', ['Mutant Ape Yacht Club']],
    ['yacht bored', ['Bored Ape Yacht Club']],
    ['aep club bord', []],
    ["' OR 1 = 1 --", []],
    ['\\', ['100% _ \\ "quoted"']],
    ['abab12cd', []],
    ['nothing like it', []],
    ['0xABABAB', NAMES.map(([name]) => name)],
    [addressOf(2), ['Azuki']],
    [`${addressOf(2).slice(0, -1)}3`, ['CryptoPunks']],
    ['ababab1004', ['Apes of the Café']],
  ])('finds by %j', async (query, names) => {
    expect(await search(query)).toEqual(names)
  })

  test('blanks of a name are all one', async () => {
    await call([{ address: addressOf(50), name: 'Tab\tand\u00a0space', symbol: '' }], 1n)
    expect(await search('tab and space')).toEqual(['Tab\tand\u00a0space'])
    expect(await search('tab adn spcae')).toEqual(['Tab\tand\u00a0space'])
  })

  test('finds an address with a wrong digit', async () => {
    expect(await search(addressOf(2).replace('0xab', '0xac'))).toContain('Azuki')
  })
})

describe('what a contract was called before', () => {
  test('does not count', async () => {
    await stores().empty()
    const contract = { address: addressOf(1), symbol: '' }
    await call([{ ...contract, name: 'Azuki' }], 1n)
    expect(await search('azuki')).toEqual(['Azuki'])
    await call([{ ...contract, name: 'Renamed' }], 2n)
    expect([await search('azuki'), await search('azkui'), await search('renamed')]).toEqual([[], [], ['Renamed']])
    // Told again, and late.
    await call([{ ...contract, name: 'Azuki' }], 1n)
    expect([await search('azuki'), await search('renamed')]).toEqual([[], ['Renamed']])
  })

  test('takes no place of what contracts are called now', async () => {
    await stores().empty()
    const many = Array.from({ length: 300 }, (_, i) => ({ address: addressOf(i), symbol: '' }))
    await call(
      many.map((one) => ({ ...one, name: 'Lions' })),
      1n,
    )
    const others = [400, 401].map((place) => ({
      address: addressOf(place),
      symbol: '',
      name: `Lions and others ${place}`,
    }))
    await call(others, 1n)
    await call(
      many.map((one) => ({ ...one, name: 'Tigers' })),
      2n,
    )
    expect(await search('lions')).toEqual(['Lions and others 400', 'Lions and others 401'])
    expect(await search('tigers')).toHaveLength(100)
  })
})
