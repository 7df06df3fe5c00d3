import type { Address } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Api, openApi } from '../../api/http/server.ts'
import { refreshNft } from '../../schemas/jobs/read-nft.ts'
import { ART, COINS, NOBODY } from '../unit/given-nft-chain.ts'
import { AskedJobs } from './asked-jobs.ts'
import { BOB, base, type GivenNftApi, MAX, openGivenNftApi } from './given-nft-api.ts'

const STRANGE: Address = `0x${'77'.repeat(20)}`

let nft: GivenNftApi
let api: Api
const jobs = new AskedJobs<unknown>()
beforeAll(async () => {
  nft = await openGivenNftApi()
  api = await openApi({ ...nft.parts, jobs: jobs.jobs, host: '127.0.0.1', port: 0 })
})
afterAll(async () => {
  await api[Symbol.asyncDispose]()
  await nft[Symbol.asyncDispose]()
})

async function refresh(body: object, chain = 'eth_mainnet') {
  jobs.begin({ status: 'waiting' })
  const response = await fetch(`${api.url}${base(chain)}/refreshNFTMetadata`, {
    method: 'POST',
    body: JSON.stringify(body),
  })
  const { detail } = (await response.json()) as { readonly detail?: string }
  if (response.status === 200) expect(response.headers.get('x-valid-at')).toMatch(/^block_number=\d+, /)
  return { status: response.status, detail, asked: jobs.asked.map(({ input }) => refreshNft.parse(input).tokenId) }
}

describe('what is asked to be read again', () => {
  test.each([
    ['a token that was moved', { contract_address: ART, token_id: MAX.toString() }],
    ['a token of many', { contract_address: COINS, token_id: '8' }],
    ['what a contract of such says of itself', { contract_address: ART }],
  ])('is %s', async (_, body) => {
    const { status, asked } = await refresh(body)
    expect(status).toBe(200)
    expect(asked).toHaveLength(1)
  })

  test.each([
    ['a token that no transfer ever moved', { contract_address: ART, token_id: '555' }, /^the token was never moved/],
    ['one of another contract', { contract_address: COINS, token_id: '1' }, /^the token was never moved/],
    ['a contract of no token', { contract_address: STRANGE }, /^no token of the contract was ever moved/],
    ['an account', { contract_address: BOB }, /^no token of the contract was ever moved/],
    ['nobody', { contract_address: NOBODY, token_id: '1' }, /^the token was never moved/],
  ])('is not %s, where everything is indexed', async (_, body, detail) => {
    const answer = await refresh(body)
    expect(answer).toMatchObject({ status: 400, asked: [] })
    expect(answer.detail).toMatch(detail)
  })

  test('may be any token where indexing began later: it may have been there before', async () => {
    const unseen = { contract_address: ART, token_id: '555' }
    expect(await refresh(unseen, 'scroll_mainnet')).toMatchObject({ status: 200, asked: [`0x${'0'.repeat(61)}22b`] })
    expect(await refresh({ contract_address: STRANGE }, 'scroll_mainnet')).toMatchObject({ status: 200, asked: [null] })
  })

  test('is nothing before anything is indexed', async () => {
    expect(await refresh({ contract_address: ART }, 'eth_holesky')).toMatchObject({ status: 503, asked: [] })
  })
})
