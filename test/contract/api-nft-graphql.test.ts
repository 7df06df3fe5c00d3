import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ART, COINS, NOBODY } from '../unit/given-nft-chain.ts'
import { TOKEN } from './given-api.ts'
import {
  ANN,
  type Asked,
  CID,
  type GivenGraphqlApi,
  MAX,
  openGivenGraphqlApi,
  SCROLL_PATH,
} from './given-nft-graphql.ts'

let given: GivenGraphqlApi
beforeAll(async () => {
  given = await openGivenGraphqlApi()
})
afterAll(() => given[Symbol.asyncDispose]())
const ask: GivenGraphqlApi['ask'] = (...asked) => given.ask(...asked)
const rest: GivenGraphqlApi['rest'] = (...asked) => given.rest(...asked)

/** A REST answer as GraphQL names things. */
function camel(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camel)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      camel(one),
    ]),
  )
}

/** What REST answers, of the fields that were asked for. */
function among(found: unknown, answer: unknown): unknown {
  if (Array.isArray(found) && Array.isArray(answer)) return answer.map((one, i) => among(found[i], one))
  if (typeof found !== 'object' || found === null || typeof answer !== 'object' || answer === null) return answer
  const members = answer as Record<string, unknown>
  return Object.fromEntries(Object.entries(found).map(([name, one]) => [name, among(one, members[name])]))
}

const STATE = 'metadataState { status error attempts lastAttempt nextRetry }'
const CONTRACT = `contractAddress name symbol tokenType totalSupply totalSupplyBlockNumber deployer deployBlockNumber deployReason ${STATE}`
const SAID = `contractAddress tokenId tokenType tokenUri metadataJson shortened error ${STATE}
  metadata { title description media mediaType mediaExternal attributes } contract { ${CONTRACT} }`
const PAGE = 'pageKey totalCount coverage { fromBlock toBlock check isWhole reason }'
const HELD = 'isAmountWhole isInconsistent acquired { blockNumber blockTimestamp } finality'
const REASONS = 'reasons unknownReasons'
const OWNERS = `owners { ownerAddress amount ${HELD} } ${PAGE}`
const TRANSFERS = `transfers { contractAddress tokenId tokenType tokenIndex amount eventType from to sender reasons blockNumber
  blockHash blockTimestamp txHash txIndex logIndex finality } ${PAGE}`
describe('answers what REST answers', () => {
  test.each([
    [
      'tokens that somebody holds',
      `owner(address: "${ANN}") { tokens(withArrival: true) { ownerNfts { balance ${HELD} ${REASONS} arrival { blockNumber txHash logIndex from sender }
         token { ${SAID} lastMetadataSyncTime lastTokenUriSyncTime } } ${PAGE} } }`,
      ['getNFTsForOwner', `owner=${ANN}&with_arrival=true`],
      ({ owner }: Asked['body']) => ({
        ...owner.tokens,
        ownerNfts: owner.tokens.ownerNfts.map(({ token, ...held }: { token: object }) => ({ ...token, ...held })),
      }),
    ],
    [
      'contracts of whose tokens somebody holds some',
      `owner(address: "${ANN}") { contracts { contracts { totalBalance numDistinctTokensOwned finality acquired { blockNumber blockTimestamp } ${REASONS} contract { ${CONTRACT} } } ${PAGE} } }`,
      ['getContractsForOwner', `owner=${ANN}`],
      ({ owner }: Asked['body']) => ({
        ...owner.contracts,
        contracts: owner.contracts.contracts.map(({ contract, ...held }: { contract: object }) => ({
          ...contract,
          ...held,
        })),
      }),
    ],
    [
      'tokens without those that are odd',
      `owner(address: "${ANN}") { tokens(withoutReasons: ["any"]) { ownerNfts { ${REASONS} token { tokenId } } ${PAGE} } }`,
      ['getNFTsForOwner', `owner=${ANN}&without_reasons=any`],
      ({ owner }: Asked['body']) => ({
        ...owner.tokens,
        ownerNfts: owner.tokens.ownerNfts.map(({ token, ...held }: { token: object }) => ({ ...token, ...held })),
      }),
    ],
    [
      'owners of a contract',
      `contract(address: "${ART}") { owners { ${OWNERS} } }`,
      ['getOwnersForContract', `contract_address=${ART}`],
      ({ contract }: Asked['body']) => contract.owners,
    ],
    [
      'owners of a token',
      `token(contractAddress: "${COINS}", tokenId: "0x7") { owners { ${OWNERS} } }`,
      ['getOwnersForNFT', `contract_address=${COINS}&token_id=7`],
      ({ token }: Asked['body']) => token.owners,
    ],
    [
      'contracts',
      `contracts(addresses: ["${COINS}", "${CID}", "${ART.toUpperCase().replace('X', 'x')}"]) { ${CONTRACT} }`,
      ['getContractMetadataBatch', `contract_addresses=${COINS},${CID},${ART}`],
      ({ contracts }: Asked['body']) => contracts,
    ],
    [
      'a token',
      `token(contractAddress: "${ART}", tokenId: "1") { ${SAID} }`,
      ['getNFTMetadata', `contract_address=${ART}&token_id=1`],
      ({ token }: Asked['body']) => token,
    ],
    [
      'tokens',
      `tokens(tokens: [{ contractAddress: "${ART}", tokenId: "${MAX}" }, { contractAddress: "${CID}", tokenId: "1" }]) { ${SAID} }`,
      [
        'getNFTMetadataBatch',
        `tokens=${encodeURIComponent(`[{"contract_address":"${ART}","token_id":${MAX}},{"contract_address":"${CID}","token_id":1}]`)}`,
      ],
      ({ tokens }: Asked['body']) => tokens,
    ],
    ['transfers', `transfers { ${TRANSFERS} }`, ['getAssetsTransfer', ''], ({ transfers }: Asked['body']) => transfers],
    [
      'transfers by every filter',
      `transfers(category: ["ERC721"], contractAddresses: ["${ART}", "${COINS}"], fromAddress: "${NOBODY}", toAddress: "${ANN}",
         fromBlock: 1, toBlock: 3, maxCount: 1, order: "asc", withoutReasons: ["no_amount"]) { ${TRANSFERS} }`,
      [
        'getAssetsTransfer',
        `category=ERC721&contract_addresses=${ART},${COINS}&from_address=${NOBODY}&to_address=${ANN}&from_block=1&to_block=3&max_count=1&order=asc&without_reasons=no_amount`,
      ],
      ({ transfers }: Asked['body']) => transfers,
    ],
    [
      'contracts by name',
      `search(query: "lantrens") { ${CONTRACT} }`,
      ['searchContractMetadata', 'query=lantrens'],
      ({ search }: Asked['body']) => search,
    ],
    [
      'whether somebody is a holder',
      `isHolder(contractAddress: "${ART}", wallet: "${CID}") { isHolderOfContract finality coverage { isWhole reason } }`,
      ['isHolderOfContract', `contract_address=${ART}&wallet=${CID}`],
      ({ isHolder }: Asked['body']) => isHolder,
    ],
  ] as const)('of %s', async (_, fields, [operation, query], toRest) => {
    for (const block of ['latest', '2']) {
      const found = toRest(await ask(`validAt { blockNumber } ${fields}`, block))
      const answer = camel(await rest(operation, `${query}&block=${block}`))
      // Keys of pages are signed for the question with its block, which GraphQL has elsewhere.
      const expected = among(found, answer) as Record<string, unknown>
      if (typeof found.pageKey === 'string') Object.assign(expected, { pageKey: expect.any(String) })
      expect(found, block).toEqual(expected)
      expect(JSON.stringify(found)).not.toBe('{}')
    }
  })

  test('with every number as it is written', async () => {
    const query = `{ nft { token(contractAddress: "${ART}", tokenId: "1") { metadata { attributes } } } }`
    const body = JSON.stringify({ query })
    const response = await fetch(`${given.api.url}/${SCROLL_PATH}/${TOKEN}/graphql`, { method: 'POST', body })
    expect(await response.text()).toContain('[{"value":9007199254740993}]')
  })
})

describe('rows of one page', () => {
  test('are looked up together, however many they are', async () => {
    const count = async (size: number) => {
      const before = given.statements.length
      const found =
        await ask(`owner(address: "${CID}") { tokens(pageSize: ${size}) { ownerNfts { token { metadata { title } contract { name } } } } }
        transfers(maxCount: ${size}, contractAddresses: ["${COINS}"]) { transfers { token { metadata { title } } contract { name } } }`)
      expect([found.owner.tokens.ownerNfts, found.transfers.transfers].flat().length).toBeGreaterThan(size)
      return given.statements.slice(before).filter((sql) => /FROM (nft_token_told|nft_contracts)\s/.test(sql)).length
    }
    // Documents and contracts of each list at most: lookups of both lists may be one.
    const lookups = await count(4)
    expect(lookups).toBeGreaterThan(0)
    expect(lookups).toBeLessThanOrEqual(4)
  })
})

test('the header says which block the answer is of, of one from memory too, and nothing where nothing of tokens was asked for', async () => {
  const headerOf = async (query: string) => {
    const url = `${given.api.url}/${SCROLL_PATH}/${TOKEN}/graphql?query=${encodeURIComponent(query)}`
    const response = await fetch(url)
    await response.text()
    return response.headers.get('x-valid-at')
  }
  const { validAt } = await ask('validAt { blockNumber blockHash blockTimestamp }', '2')
  const header = `block_number=2, block_hash="${validAt.blockHash}", block_timestamp=${validAt.blockTimestamp}`
  const query = '{ nft(block: "2") { validAt { blockNumber } } }'
  expect([await headerOf(query), await headerOf(query)]).toEqual([header, header])
  expect(await headerOf('{ __typename }')).toBeNull()
  expect(await headerOf('{ nft(block: "1000") { validAt { blockNumber } } }')).toBeNull()
})
