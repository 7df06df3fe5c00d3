import type { Address } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ART, COINS } from '../unit/given-nft-chain.ts'
import { MAINNET, SCROLL } from './api-fixture.ts'
import { ANN, BOB, type GivenNftApi, openGivenNftApi } from './given-nft-api.ts'

// COINS has logged in block 3 what nobody can read; so has ART on a chain that is indexed from block 100 on.

const OTHER = `0x${'0e'.repeat(20)}`
let nft: GivenNftApi
beforeAll(async () => {
  nft = await openGivenNftApi()
  for (const [chain, contract, number] of [
    [MAINNET, COINS, 3],
    [SCROLL, ART, 101],
  ] as const)
    await nft.warehouse.command(
      `INSERT INTO nft_odd_logs (chain, contract, block_number, block_hash, log_index, event, reason, version)
       VALUES ('${chain.names.name}', unhex('${contract.slice(2)}'), ${number}, unhex('${'ab'.repeat(32)}'), 9, 'TransferBatch', 'malformed', 1)`,
    )
})
afterAll(() => nft[Symbol.asyncDispose]())

interface Row {
  readonly contract_address: Address
  readonly is_amount_whole: boolean
}

async function coverageOf(operation: string, query: string, chain?: string): Promise<readonly unknown[]> {
  const { status, body } = await nft.get(operation, query, chain)
  expect(status).toBe(200)
  return [body.coverage.is_whole, body.coverage.reason]
}
const ODD = [false, 'odd_logs']
const WHOLE = [true, null]

test.each([
  ['getNFTsForOwner', 'owner_nfts', [true, true, false]],
  ['getContractsForOwner', 'contracts', [true, false]],
])('%s says of which contracts more may be held than is known, from that block on', async (operation, list, wholes) => {
  const { body } = await nft.get(operation, `owner=${ANN}`)
  expect((body[list] as Row[]).map((row) => row.is_amount_whole)).toEqual(wholes)
  expect([body.coverage.is_whole, body.coverage.reason]).toEqual(ODD)
  const before = (await nft.get(operation, `owner=${ANN}&block=2`)).body
  expect(new Set((before[list] as Row[]).map((row) => row.is_amount_whole))).toEqual(new Set([true]))
  expect([before.coverage.is_whole, before.coverage.reason]).toEqual(WHOLE)
})

test.each([
  ['getNFTsForOwner', `owner=${BOB}&contract_addresses=`],
  ['getAssetsTransfer', 'contract_addresses='],
  ['getOwnersForContract', 'contract_address='],
  ['isHolderOfContract', `wallet=${BOB}&contract_address=`],
])('%s says it of the contracts that it is asked of', async (operation, query) => {
  expect(await coverageOf(operation, `${query}${ART}`)).toEqual(WHOLE)
  expect(await coverageOf(operation, `${query}${OTHER}`)).toEqual(WHOLE)
  expect(await coverageOf(operation, `${query}${COINS}`)).toEqual(ODD)
  expect(await coverageOf(operation, `${query}${COINS}&block=2`)).toEqual(WHOLE)
  if (query.includes('addresses')) expect(await coverageOf(operation, `${query}${ART},${COINS}`)).toEqual(ODD)
})

test('who has a token that is one of a kind is not known where indexing began late, either', async () => {
  const chain = 'scroll_mainnet'
  const ofToken = `contract_address=${ART}&token_id=1`
  for (const [operation, query, list] of [
    ['getOwnersForNFT', ofToken, 'owners'],
    ['getNFTsForOwner', `owner=${BOB}&contract_addresses=${ART}`, 'owner_nfts'],
  ] as const) {
    const wholesAt = async (block: number) =>
      ((await nft.get(operation, `${query}&block=${block}`, chain)).body[list] as Row[]).map(
        (row) => row.is_amount_whole,
      )
    expect(await wholesAt(100), operation).toEqual([true])
    expect(await wholesAt(101), operation).toEqual([false])
  }
  expect(await coverageOf('getOwnersForNFT', ofToken, chain)).toEqual(ODD)
  expect(await coverageOf('getOwnersForNFT', `${ofToken}&block=100`, chain)).toEqual([false, 'starts_later'])
})

test('changes say it of each holding, and not that nothing is left of what may have been more', async () => {
  const { body } = await nft.get('getChanges', 'limit=1000')
  const told = (body.changes as { holdings: readonly (Row & { amount: string | null })[] }[]).flatMap(
    ({ holdings }) => holdings,
  )
  const ofCoins = told.filter(({ contract_address }) => contract_address === COINS)
  expect(ofCoins.length).toBeGreaterThan(0)
  expect(new Set(ofCoins.map((row) => row.is_amount_whole))).toEqual(new Set([false]))
  expect(ofCoins.map(({ amount }) => amount)).not.toContain('0')
  const others = told.filter(({ contract_address }) => contract_address !== COINS)
  expect(others.length).toBeGreaterThan(0)
  expect(new Set(others.map((row) => row.is_amount_whole))).toEqual(new Set([true]))
  expect([body.coverage.is_whole, body.coverage.reason]).toEqual(ODD)
})

test('a list of transfers says it of the contracts that it tells of', async () => {
  expect(await coverageOf('getAssetsTransfer', `to_address=${ANN}`)).toEqual(ODD)
  expect(await coverageOf('getAssetsTransfer', `to_address=${ANN}&block=2`)).toEqual(WHOLE)
})

test.each([
  ['getNFTsForOwner', `owner=${ANN}`],
  ['getContractsForOwner', `owner=${ANN}`],
  ['getAssetsTransfer', `to_address=${ANN}`],
  ['getAssetsTransfer', `contract_addresses=${COINS}`],
  ['getOwnersForContract', `contract_address=${COINS}`],
])('%s of %s is counted where all is known, and not where it is not', async (operation, query) => {
  expect((await nft.get(operation, query)).body.total_count).toBeNull()
  expect((await nft.get(operation, `${query}&block=2`)).body.total_count).toEqual(expect.any(Number))
})
