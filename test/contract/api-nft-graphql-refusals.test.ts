import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openApi } from '../../api/http/server.ts'
import { ART } from '../unit/given-nft-chain.ts'
import { TOKEN } from './given-api.ts'
import { ANN, type GivenGraphqlApi, MAX, openGivenGraphqlApi, SCROLL_PATH } from './given-nft-graphql.ts'

let given: GivenGraphqlApi
beforeAll(async () => {
  given = await openGivenGraphqlApi()
})
afterAll(() => given[Symbol.asyncDispose]())
const post: GivenGraphqlApi['post'] = (...asked) => given.post(...asked)

describe('refusals', () => {
  test.each([
    [`nft { contract(address: "0x12") { name } }`, /^Param error: contract_address is not an address$/],
    [
      `nft { token(contractAddress: "${ART}", tokenId: "${MAX + 1n}") { tokenId } }`,
      /token_id is not an integer from 0 to 2\^256 - 1/,
    ],
    [`nft { owner(address: "${ANN}") { tokens(pageSize: 101) { totalCount } } }`, /page_size/],
    [`nft { transfers(order: "sideways") { totalCount } }`, /order/],
    [`nft { transfers(fromBlock: 1e400) { totalCount } }`, /from_block is not an integer from 0 to 2\^53 - 1/],
    [`nft { transfers(toBlock: -1e400) { totalCount } }`, /to_block is not an integer from 0 to 2\^53 - 1/],
    [`nft { transfers(category: ["ERC20"]) { totalCount } }`, /category/],
    [`nft { transfers(contractAddresses: []) { totalCount } }`, /contract_addresses is empty/],
    [
      `nft { owner(address: "${ANN}") { tokens(contractAddresses: []) { totalCount } } }`,
      /contract_addresses is empty/,
    ],
    [`nft(block: "yesterday") { validAt { blockNumber } }`, /block is not a block/],
    [`nft(block: "1000000") { validAt { blockNumber } }`, /in the future/],
    [`nft(block: "finalized") { validAt { blockNumber } }`, /no block is known to be final/],
    [
      `nft { transfers(maxCount: 1000) { transfers { token { metadata { title } } } } }`,
      /the query takes 25 statements, the limit is 24/,
    ],
    [
      `nft { owner(address: "${ANN}") { contracts(pageSize: 5) { contracts { contract { owners { totalCount } } } } } }`,
      /the query takes 30 statements, the limit is 24/,
    ],
  ])('of %s say why', async (question, message) => {
    const { status, body } = await post(`{ ${question} }`)
    expect(body.errors?.[0].message).toMatch(message)
    expect(body.errors[0].extensions.code).toBe('400')
    expect(status).toBe(400)
  })

  test('of a token that asks more often than it may', async () => {
    await using limited = await openApi({ ...given.parts, nftRequestsPerSecond: 1, host: '127.0.0.1', port: 0 })
    const asked = (number: number) =>
      post(`{ nft(block: "${number}") { validAt { blockNumber } } }`, { url: limited.url })
    const answers = [await asked(1), await asked(2), await asked(3)]
    expect(answers[0]?.status).toBe(200)
    expect(answers.find(({ status }) => status === 429)?.body.errors[0].message).toMatch(
      /^Too Many Requests: the token asks more than 1 times a second$/,
    )
  })

  test.each([
    ['of a plain text', 'nft { validAt { blockNumber } }'],
    ['of a text that hides what it asks for', '\\u006eft { validAt { blockNumber } }'],
  ])('count equal questions %s, answered from memory or not', async (_, fields) => {
    await using limited = await openApi({ ...given.parts, nftRequestsPerSecond: 2, host: '127.0.0.1', port: 0 })
    const body = `{"query":"{ ${fields} }"}`
    const asked = () => fetch(`${limited.url}/${SCROLL_PATH}/${TOKEN}/graphql`, { method: 'POST', body })
    // Two at a time are one for the tables.
    const answers = [...(await Promise.all([asked(), asked()])), ...(await Promise.all([asked(), asked(), asked()]))]
    expect(answers.slice(0, 2).map(({ status }) => status)).toEqual([200, 200])
    const refused = answers.find(({ status }) => status === 429)
    expect(refused?.headers.get('retry-after')).toBe('1')
  })

  test('count no question that asks nothing of tokens, whatever its text has in it', async () => {
    await using limited = await openApi({ ...given.parts, nftRequestsPerSecond: 1, host: '127.0.0.1', port: 0 })
    for (let i = 0; i < 4; i++)
      expect((await post('query nft { nft: __typename }', { url: limited.url })).body.data).toEqual({ nft: 'Query' })
  })

  test('of a chain of which nothing is indexed yet', async () => {
    const { status, body } = await post('{ nft { validAt { blockNumber } } }', { path: 'ethereum/hoodi' })
    expect(body.errors[0]).toMatchObject({
      message: 'Service not ready: no block of the chain is indexed yet',
      extensions: { code: '503' },
    })
    expect(status).toBe(503)
  })

  test('of validators, on a chain that has none', async () => {
    const { status, body } = await post('{ validators { totalCount } }')
    expect(body.errors[0].message).toBe('Path Not Found: the chain has no validators')
    expect(status).toBe(404)
    const onMainnet = await post('{ validators { totalCount } nft { validAt { blockNumber } } }', {
      path: 'ethereum/mainnet',
    })
    expect(onMainnet.body.data.validators.totalCount).toBe(0)
  })
})
