import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { CallAnswer, ContractNode } from '../../infra/ports/contract-node.ts'
import type { PublicAnswer } from '../../infra/ports/public-fetch.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { readAsked } from '../../ingest/metadata/read-some.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import {
  ART,
  answered,
  CHAIN,
  COINS,
  documentsOf,
  idOf,
  MAX,
  mint,
  statesOf,
  tell,
  tellBlock,
  World,
} from './given-metadata.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const stores = storesOfFile()
let world: World
beforeEach(() => {
  world = new World(() => stores().warehouse)
})

describe('what is known of tokens', () => {
  beforeAll(() => stores().empty())

  test('is what their contract and its server say: each is asked once', async () => {
    await tellBlock(stores().warehouse, 1, [mint(ART, 1n), mint(ART, MAX), mint(COINS, 7n), mint(ART, 1n)])
    world.uriOf = (contract, id) => (contract === COINS ? 'https://a.test/{id}' : `https://a.test/${id}`)
    expect(await world.run(ART)).toEqual({ read: 2, isMore: false })
    expect(await world.run(COINS)).toEqual({ read: 1, isMore: false })
    expect(world.called).toEqual(['tokenURI 0x01 1', `tokenURI 0x01 ${MAX}`, 'uri 0x02 7'])
    expect(world.fetched).toEqual([
      'GET https://a.test/1',
      `GET https://a.test/${MAX}`,
      `GET https://a.test/${'7'.padStart(64, '0')}`,
    ])
    expect(await world.run(ART)).toEqual({ read: 0, isMore: false })
    expect(await documentsOf(stores().warehouse, ART)).toMatchObject([
      { id: '1', title: 'at https://a.test/1' },
      { id: String(MAX), title: `at https://a.test/${MAX}` },
    ])
    expect(await statesOf(stores().warehouse, COINS)).toMatchObject([
      { id: '7', error: '', attempts: 0, token_uri: 'https://a.test/{id}', has: 1, next: 0 },
    ])
    expect(
      await stores().warehouse.query(
        `SELECT lower(hex(contract)) AS contract, name, has_name, symbol, has_symbol, toString(token_type) AS type,
           total_supply, has_total_supply AS has_supply, lower(hex(deployer)) AS deployer, deploy_block
         FROM nft_contracts FINAL ORDER BY contract`,
      ),
    ).toEqual([
      {
        ...{ contract: '01'.repeat(20), name: 'name of 0x01', has_name: 1, symbol: '', has_symbol: 1, type: 'ERC721' },
        ...{ total_supply: String(MAX), has_supply: 1, deployer: 'a1'.repeat(20), deploy_block: '3' },
      },
      {
        ...{ contract: '02'.repeat(20), name: 'name of 0x02', has_name: 1, symbol: '', has_symbol: 1, type: 'ERC1155' },
        ...{ total_supply: '0', has_supply: 0, deployer: 'a1'.repeat(20), deploy_block: '3' },
      },
    ])
  })

  test.each<[string, string | CallAnswer | undefined, PublicAnswer | undefined, string, boolean]>([
    ['a call that reverts, whatever it says', undefined, undefined, 'CALL_REVERTED', false],
    ['a call that answers too much', { status: 'too_large' }, undefined, 'TOO_LARGE', false],
    ['a call that takes too long', { status: 'timed_out' }, undefined, 'TIMEOUT', false],
    ['an empty URI', '', undefined, 'NO_TOKEN_URI', false],
    ['another scheme', 'ftp://a.test/1', undefined, 'UNSUPPORTED_SCHEME', false],
    [
      'an address that is refused',
      'http://10.0.0.1/',
      { status: 'refused', kind: 'address', reason: '' },
      'BLOCKED_ADDRESS',
      true,
    ],
    ['a server that keeps waiting', 'https://a.test/', { status: 'failed', isLate: true, reason: '' }, 'TIMEOUT', true],
    ['no server', 'https://a.test/', { status: 'failed', isLate: false, reason: '' }, 'UNREACHABLE', true],
    ['another answer', 'https://a.test/', answered('{}', 'application/json', 404), 'HTTP_STATUS', true],
    ['too much', 'https://a.test/', { status: 'refused', kind: 'size', reason: '' }, 'TOO_LARGE', true],
    ['a page', 'https://a.test/', answered('<html>'), 'NOT_JSON', true],
    ['a list', 'https://a.test/', answered('[]'), 'NOT_AN_OBJECT', true],
  ])('where it ends with %s is told, and tried again', async (_, uri, answer, error, isAsked) => {
    await stores().empty()
    await tellBlock(stores().warehouse, 1, [mint(ART, 1n)])
    world.uriOf = () => uri
    world.answer = () => answer ?? answered('{}')
    const begin = world.nowSec
    await world.run(ART)
    const [first] = await statesOf(stores().warehouse, ART)
    expect(first).toMatchObject({ error, attempts: 1, has: typeof uri === 'string' ? 1 : 0 })
    const firstDelay = Number(first?.next) - begin
    expect(world.fetched).toHaveLength(isAsked ? 1 : 0)
    // Not before it is due.
    world.nowSec = Number(first?.next) - 1
    expect(await world.run(ART)).toMatchObject({ read: 0 })
    world.nowSec += 1
    expect(await world.run(ART)).toMatchObject({ read: 1 })
    const [second] = await statesOf(stores().warehouse, ART)
    expect(second).toMatchObject({ error, attempts: 2 })
    expect(Number(second?.next) - world.nowSec).toBe(2 * firstDelay)
    world.nowSec = Number(second?.next)
    world.uriOf = () => 'data:application/json,{"name":"there"}'
    await world.run(ART)
    expect(await statesOf(stores().warehouse, ART)).toMatchObject([{ error: '', attempts: 0, next: 0 }])
    expect(await documentsOf(stores().warehouse, ART)).toMatchObject([{ title: 'there' }])
  })

  test('is tried again by itself no later for having been asked for meanwhile', async () => {
    await stores().empty()
    await tellBlock(stores().warehouse, 1, [mint(ART, 1n)])
    world.answer = () => ({ status: 'failed', isLate: false, reason: '' })
    await world.run(ART)
    const [first] = await statesOf(stores().warehouse, ART)
    for (let i = 0; i < 3; i++) {
      await readAsked(world.reading(), { chain: CHAIN, contract: ART, tokenId: idOf(1n) })
      await tell(stores().warehouse, 'nft.metadata', world.told.slice(-1))
    }
    expect(await statesOf(stores().warehouse, ART)).toMatchObject([{ attempts: 1, next: first?.next }])
  })

  test('still holds what was read before where a later attempt fails', async () => {
    await stores().empty()
    await tellBlock(stores().warehouse, 1, [mint(ART, 1n)])
    await world.run(ART)
    world.answer = () => ({ status: 'failed', isLate: false, reason: '' })
    await readAsked(world.reading(), { chain: CHAIN, contract: ART, tokenId: idOf(1n) })
    await tell(stores().warehouse, 'nft.metadata', world.told.slice(-1))
    expect(await statesOf(stores().warehouse, ART)).toMatchObject([{ error: 'UNREACHABLE', attempts: 1 }])
    expect(await documentsOf(stores().warehouse, ART)).toMatchObject([{ title: 'at https://a.test/1' }])
  })

  test('is asked for when somebody wants it, of tokens that there are', async () => {
    await stores().empty()
    await tellBlock(stores().warehouse, 1, [mint(ART, 1n)])
    for (const tokenId of [idOf(1n), null]) await readAsked(world.reading(), { chain: CHAIN, contract: ART, tokenId })
    expect(world.told.map(({ type }) => type)).toEqual(['nft.token-read', 'nft.contract-read'])
  })

  test('is asked for when somebody wants it of a token that nobody saw moved, and not tried again by itself', async () => {
    await stores().empty()
    const asked = async (contract: typeof ART, tokenId: string) => {
      world.told = []
      await readAsked(world.reading(), { chain: CHAIN, contract, tokenId })
      await tell(stores().warehouse, 'nft.metadata', world.told)
      return world.told.map(({ type }) => type)
    }
    // What it is is asked first, once.
    expect(await asked(COINS, idOf(7n))).toEqual(['nft.contract-read', 'nft.token-read'])
    expect(world.called).toEqual(['uri 0x02 7'])
    world.uriOf = () => undefined
    expect(await asked(COINS, idOf(8n))).toEqual(['nft.token-not-read'])
    expect(await asked(COINS, idOf(8n))).toEqual(['nft.token-not-read'])
    expect(await statesOf(stores().warehouse, COINS)).toMatchObject([
      { id: '7', error: '' },
      { id: '8', error: 'CALL_REVERTED', attempts: 1, next: 0 },
    ])
    expect(await world.run(COINS)).toEqual({ read: 0, isMore: false })
    // Once it is moved it is read as any other.
    await tellBlock(stores().warehouse, 11, [mint(COINS, 8n)])
    expect(await world.run(COINS)).toEqual({ read: 1, isMore: false })
  })

  test('is not asked of a contract that has no tokens', async () => {
    await stores().empty()
    const node: ContractNode = {
      ...world.reading().node,
      call: async (calls) => ({
        block: { number: 1, hash: idOf(1n), timeSec: 1 },
        answers: calls.map(() => ({ status: 'reverted' })),
      }),
    }
    await readAsked({ ...world.reading(), node }, { chain: CHAIN, contract: ART, tokenId: idOf(1n) })
    expect(world.told.map(({ type }) => type)).toEqual(['nft.contract-read'])
  })

  test('is the same when it is made of the log again, without anybody being asked', async () => {
    await stores().empty()
    await tellBlock(stores().warehouse, 1, [mint(ART, 1n), mint(ART, 2n)])
    world.answer = (url) =>
      url.endsWith('2') ? { status: 'failed', isLate: false, reason: '' } : answered('{"name":"a"}')
    await world.run(ART)
    const events = world.told
    const tables = () => Promise.all([statesOf(stores().warehouse, ART), documentsOf(stores().warehouse, ART)])
    const before = await tables()
    const asked = world.fetched.length
    await stores().empty()
    await tell(stores().warehouse, 'nft.metadata', events)
    await tell(stores().warehouse, 'nft.metadata', events)
    expect(await tables()).toEqual(before)
    expect(world.fetched).toHaveLength(asked)
  })

  test('is left to others for a while where a server keeps us waiting', async () => {
    await stores().empty()
    await tellBlock(
      stores().warehouse,
      1,
      Array.from({ length: 40 }, (_, i) => mint(ART, BigInt(i))),
    )
    world.answer = () => ({ status: 'failed', isLate: true, reason: '' })
    const { read, isMore } = await world.run(ART)
    expect(read).toBeLessThanOrEqual(4)
    expect(isMore).toBe(true)
  })

  test('takes its media type from the server of the media, through the same guard, and no media from where that refuses', async () => {
    await stores().empty()
    await tellBlock(stores().warehouse, 1, [mint(ART, 1n), mint(ART, 2n)])
    world.uriOf = (_, id) => `data:application/json,{"image":"https://media.test/${id}"}`
    world.answer = (url) =>
      url.endsWith('1') ? answered('', 'Image/PNG; a=b') : { status: 'refused', kind: 'address', reason: '' }
    await world.run(ART)
    expect(world.fetched.toSorted()).toEqual(['HEAD https://media.test/1', 'HEAD https://media.test/2'])
    expect(
      await stores().warehouse.query(
        `SELECT JSONExtractString(told, 'media') AS media, JSONExtractString(told, 'media_type') AS media_type
         FROM nft_token_told FINAL WHERE kind = 'document' ORDER BY token`,
      ),
    ).toEqual([
      { media: 'https://media.test/1', media_type: 'image/png' },
      { media: '', media_type: '' },
    ])
  })

  test.each([
    ...[
      'http://169.254.169.254/x.png',
      'http://2852039166/x.png',
      'http://0xa9.0376.43518/x.gif',
      'https://[::1]/x.webp',
    ],
    ...[
      'http://[::ffff:10.0.0.1]/x.mp4',
      'http://127.1:8123/x.jpg',
      ' HTTP://192.168.0.1./x.PNG',
      'http://localhost/x.png',
    ],
    ...[
      'http://LOCALHOST../x.png',
      'http://a.localhost/x.svg',
      'http://redis:6379/x.png',
      'http://printer.local/x.png',
    ],
    ...['http://metadata.google.internal/x.png', 'http://router.home.arpa/x.png', 'http://user@media.test/x.png'],
  ])('has no media at %s, whatever their name says that they are', async (image) => {
    await stores().empty()
    await tellBlock(stores().warehouse, 1, [mint(ART, 1n)])
    world.uriOf = () => `data:application/json,${JSON.stringify({ image })}`
    await world.run(ART)
    expect(world.fetched).toEqual([])
    expect(await mediaOf(stores().warehouse)).toEqual([{ media: null, media_type: null, media_external: null }])
  })

  test('has media by a gateway without the server that is written for them, where that is not public', async () => {
    await stores().empty()
    await tellBlock(stores().warehouse, 1, [mint(ART, 1n), mint(ART, 2n)])
    const content = `ipfs/Qm${'a'.repeat(44)}/x.png`
    world.uriOf = (_, id) =>
      `data:application/json,${JSON.stringify({ image: `http://${id === 1n ? '10.0.0.1' : 'media.test'}/${content}` })}`
    await world.run(ART)
    const media = { media: `https://gateway.test/${content}`, media_type: 'image/png' }
    expect(await mediaOf(stores().warehouse)).toEqual([
      { ...media, media_external: null },
      { ...media, media_external: `http://media.test/${content}` },
    ])
  })
})

const mediaOf = async (warehouse: Warehouse) => {
  const rows = await warehouse.query<{ told: string }>(
    `SELECT told FROM nft_token_told FINAL WHERE kind = 'document' ORDER BY token`,
  )
  return rows.map(({ told }) => {
    const { media, media_type, media_external } = JSON.parse(told)
    return { media, media_type, media_external }
  })
}

test('a node’s answer to a contract that is none is told as none', async () => {
  await stores().empty()
  const reading = world.reading()
  const node: ContractNode = {
    ...reading.node,
    call: async (calls) => ({
      block: { number: 1, hash: idOf(1n), timeSec: 1 },
      answers: calls.map(() => ({ status: 'returned', data: new Uint8Array() })),
    }),
    deploymentOf: async () => ({ block: null, deployer: null, reason: 'not_a_contract' }),
  }
  await readAsked({ ...reading, node }, { chain: CHAIN, contract: ART, tokenId: null })
  await tell(stores().warehouse, 'nft.metadata', world.told)
  const [row] = await stores().warehouse.query(
    `SELECT has_name, has_symbol, toString(token_type) AS type, has_total_supply AS supply, deploy_block, deploy_reason,
       lower(hex(deployer)) AS deployer FROM nft_contracts FINAL`,
  )
  expect(row).toEqual({
    ...{ has_name: 0, has_symbol: 0, type: '', supply: 0, deploy_block: '-1', deploy_reason: 'not_a_contract' },
    deployer: hexOf(new Uint8Array(20)).slice(2),
  })
})
