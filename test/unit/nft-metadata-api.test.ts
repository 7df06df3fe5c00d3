import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Api, openApi } from '../../api/http/server.ts'
import { readAsked } from '../../ingest/metadata/read-some.ts'
import { Recently } from '../../ingest/metadata/recently.ts'
import { foldChain } from '../../processors/nft/fold.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import { REFRESHES_MAX, refreshNft } from '../../schemas/jobs/read-nft.ts'
import { DEFAULT_UNFUNDED_RULES } from '../../schemas/validator-lifecycle.ts'
import { insertRows, MAINNET } from '../contract/api-fixture.ts'
import { AskedJobs } from '../contract/asked-jobs.ts'
import { ALICE, ART, answered, COINS, idOf, MAX, NOBODY, tell as tellMetadata, World } from './given-metadata.ts'
import { blockOn, eventsOf, tell as tellChain } from './given-nft-chain.ts'
import { silentLog } from './silent-log.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const CID = 'QmPK1s3pNYLi9ERiq3BDxKa4XosgWwFRQUydHUtz4YgpqB'
const never = new AbortController().signal
const stores = storesOfFile()

describe('the API, of metadata', () => {
  const TOKEN = 'token-of-demo'
  const jobs = new AskedJobs<unknown>()
  let api: Api
  let world: World
  beforeAll(async () => {
    await stores().empty()
    world = new World(() => stores().warehouse)
    const { warehouse } = stores()
    await insertRows(warehouse, 'access_tokens', [
      { token_hash: hashToken(TOKEN), account: 'demo', version: 1, is_deleted: 0 },
    ])
    const block = blockOn(undefined, [
      ...[1n, 2n, 3n].map((id) => ({ contract: ART, from: NOBODY, to: ALICE, id, amount: 1n })),
      { contract: COINS, from: NOBODY, to: ALICE, id: 7n, amount: 5n },
    ])
    await tellChain(warehouse, eventsOf(block, 'mainnet'), { chain: 'mainnet' })
    await foldChain(warehouse, 'mainnet', never)
    world.answer = (url) =>
      url.endsWith('2')
        ? { status: 'failed', isLate: false, reason: '' }
        : answered(`{"name":"One","image":"ipfs://${CID}/a.png","attributes":[{"value":9007199254740993}]}`)
    await world.run(ART, 'unread', 1, 'mainnet')
    api = await openApi({
      ...{ warehouse, jobs: jobs.jobs, unfundedRules: DEFAULT_UNFUNDED_RULES, chains: () => [MAINNET] },
      log: silentLog,
      ...{ now: () => 0, wallNow: () => 0, standingAgeMsMax: 0 },
      health: () => Promise.reject(new Error('not asked')),
      ...{ accountsKnown: async () => true, tablesWhole: async () => true, host: '127.0.0.1', port: 0 },
    })
  })
  afterAll(() => api[Symbol.asyncDispose]())

  const ask = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${api.url}/nft/eth_mainnet/${TOKEN}/${path}`, init)
    const text = await response.text()
    return { status: response.status, text, body: JSON.parse(text), etag: response.headers.get('etag') }
  }

  test('tells what a contract says of itself', async () => {
    const { body } = await ask(`getContractMetadata?contract_address=${ART}`)
    expect(body).toMatchObject({
      ...{ name: 'name of 0x01', symbol: '', token_type: 'ERC721', total_supply: String(MAX) },
      total_supply_block_number: 10,
      ...{ deployer: ALICE, deploy_block_number: 3, deploy_reason: null },
      metadata_state: { status: 'fetched', attempts: 0, last_attempt: 1_800_000_000, next_retry: null },
    })
    const batch = await ask(`getContractMetadataBatch?contract_addresses=${COINS},${ART},${ALICE}`)
    expect(batch.body).toMatchObject([
      {
        contract_address: COINS,
        name: null,
        total_supply_block_number: null,
        token_type: 'ERC1155',
        metadata_state: { status: 'pending' },
      },
      { contract_address: ART, name: 'name of 0x01' },
      { contract_address: ALICE, name: null, token_type: null, metadata_state: { status: 'not_fetched' } },
    ])
  })

  test('tells the document of a token, numbers as they are written, and why there is none', async () => {
    const read = await ask(`getNFTMetadata?contract_address=${ART}&token_id=1`)
    expect(read.text).toContain('"attributes":[{"value":9007199254740993}]')
    expect(read.body).toMatchObject({
      token_uri: 'https://a.test/1',
      metadata: { title: 'One', media: `https://gateway.test/ipfs/${CID}/a.png`, media_type: 'image/png' },
      contract: { name: 'name of 0x01' },
      error: null,
      metadata_state: { status: 'fetched', error: null, next_retry: null },
    })
    const failed = await ask(`getNFTMetadata?contract_address=${ART}&token_id=2`)
    expect(failed.body).toMatchObject({
      ...{ token_uri: 'https://a.test/2', metadata_json: null, error: 'UNREACHABLE' },
      metadata_state: {
        ...{ status: 'failed', error: 'UNREACHABLE', attempts: 1 },
        ...{ last_attempt: 1_800_000_000, next_retry: 1_800_000_030 },
      },
    })
    expect((await ask(`getNFTMetadata?contract_address=${ART}&token_id=99`)).body.metadata_state.status).toBe(
      'not_fetched',
    )
  })

  test('tells the same in the list of an owner, and nothing of it where nothing is wanted', async () => {
    const { body } = await ask(`getNFTsForOwner?owner=${ALICE}`)
    expect(body.owner_nfts).toMatchObject([
      { token_id: '1', metadata: { title: 'One' }, last_metadata_sync_time: 1_800_000_000 },
      { token_id: '2', error: 'UNREACHABLE', last_metadata_sync_time: 0, last_token_uri_sync_time: 1_800_000_000 },
      { token_id: '3', metadata: { title: 'One' } },
      { token_id: '7', contract: { name: null }, metadata_state: { status: 'pending' } },
    ])
    const without = await ask(`getNFTsForOwner?owner=${ALICE}&with_metadata=false`)
    for (const token of without.body.owner_nfts)
      expect(token).toMatchObject({
        token_uri: null,
        metadata: { title: null },
        metadata_state: { status: 'left_out' },
      })
  })

  test('has another ETag when what it tells was read again, and no other', async () => {
    const [read, failed] = [1, 2].map((id) => `getNFTMetadata?contract_address=${ART}&token_id=${id}`) as [
      string,
      string,
    ]
    const [ofRead, ofFailed] = [(await ask(read)).etag, (await ask(failed)).etag]
    expect((await ask(failed)).etag).toBe(ofFailed)
    world.recently = new Recently(() => world.nowMs)
    world.nowSec += 60
    world.answer = () => answered('{"name":"Two"}')
    await world.run(ART, 'unread', 1, 'mainnet')
    const after = await ask(failed)
    expect(after.body.metadata.title).toBe('Two')
    expect(after.etag).not.toBe(ofFailed)
    expect((await ask(read)).etag).toBe(ofRead)
  })

  test('asks for a token, or a contract, to be read again, and does not wait', async () => {
    jobs.begin({ status: 'waiting' })
    const post = (body: object) => ask('refreshNFTMetadata', { method: 'POST', body: JSON.stringify(body) })
    expect(await post({ contract_address: ART, token_id: '0x1' })).toMatchObject({
      status: 200,
      body: { status: 'queued' },
    })
    expect(await post({ contract_address: ART })).toMatchObject({ status: 200 })
    expect(jobs.asked.map(({ input }) => refreshNft.parse(input))).toEqual([
      { chain: 'mainnet', contract: ART, tokenId: idOf(1n) },
      { chain: 'mainnet', contract: ART, tokenId: null },
    ])
    expect(await ask('refreshNFTMetadata')).toMatchObject({ status: 405 })
    expect(await post({ contract_address: 'x' })).toMatchObject({ status: 400 })
    jobs.asked = Array.from({ length: REFRESHES_MAX }, () => ({ name: '', id: '', input: null }))
    expect(await post({ contract_address: ART })).toMatchObject({ status: 429 })
  })

  test('tells no next attempt where there is none: nobody saw the token moved', async () => {
    world.uriOf = () => undefined
    world.told = []
    await readAsked(world.reading(), { chain: 'mainnet', contract: ART, tokenId: idOf(99n) })
    await tellMetadata(stores().warehouse, 'nft.metadata', world.told)
    const { body } = await ask(`getNFTMetadata?contract_address=${ART}&token_id=99`)
    expect(body.metadata_state).toMatchObject({ status: 'failed', attempts: 1, next_retry: null })
  })

  test('finds it by a part of its name, and an address that nobody has read', async () => {
    const own = (await ask('searchContractMetadata?query=OF%200X01')).body
    expect(own).toMatchObject([{ contract_address: ART, name: 'name of 0x01', token_type: 'ERC721' }])
    const coins = (await ask(`searchContractMetadata?query=${COINS}`)).body
    expect(coins).toMatchObject([{ contract_address: COINS, name: null, metadata_state: { status: 'pending' } }])
  })

  test('tells why it is not known who has deployed a contract', async () => {
    world.deployment = { block: 3, deployer: null, reason: 'made_by_contract' }
    await world.run(COINS, 'unread', 1, 'mainnet')
    const { body } = await ask(`getContractMetadata?contract_address=${COINS}`)
    expect(body).toMatchObject({ deployer: null, deploy_block_number: 3, deploy_reason: 'made_by_contract' })
  })
})
