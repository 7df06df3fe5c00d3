import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { Compile } from 'typebox/schema'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { URL_CHARACTERS_MAX } from '../../api/http/limits.ts'
import { openApi } from '../../api/http/server.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import { NUMBER_CHARACTERS_MAX } from '../../schemas/routes/nft/fields.ts'
import { NftError } from '../../schemas/routes/nft/nft-route.ts'
import { toTokenLimitsRow } from '../../schemas/tables/accounts.ts'
import { ART, COINS, timeOf } from '../unit/given-nft-chain.ts'
import { insertRows } from './api-fixture.ts'
import { TOKEN } from './given-api.ts'
import {
  ANN,
  amounts,
  BOB,
  base,
  CID,
  type GivenNftApi,
  HEAD,
  MAX,
  openGivenNftApi,
  tokens,
  ZED,
} from './given-nft-api.ts'

let nft: GivenNftApi
beforeAll(async () => {
  nft = await openGivenNftApi()
  await insertRows(nft.warehouse, 'access_tokens', [
    {
      token_hash: hashToken('of-rewards'),
      account: 'demo',
      ...toTokenLimitsRow({ scopes: ['read'], families: ['rewards'] }),
      version: 2,
    },
  ])
})
afterAll(() => nft[Symbol.asyncDispose]())
const get: GivenNftApi['get'] = (...asked) => nft.get(...asked)
const ask: GivenNftApi['ask'] = (...asked) => nft.ask(...asked)

/** Hex digits of an address in either case. */
const mixedCase = (address: string) => `0x${address.slice(2, 12).toUpperCase()}${address.slice(12)}`

/** Fetch refuses some methods to its callers. */
async function askBy(method: string, path: string, { body, headers = {} }: { body?: Buffer; headers?: object } = {}) {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  request(`${nft.api.url}${path}`, { method, headers: { ...headers } }, resolve)
    .on('error', reject)
    .end(body)
  const response = await promise
  return { status: response.statusCode, headers: response.headers, body: JSON.parse(await text(response)) }
}

describe('paths and requests', () => {
  const question = `isHolderOfContract?contract_address=${ART}&wallet=${ANN}`

  test.each(['GET', 'POST'])('are refused with a body that is compressed: %s', async (method) => {
    const body = gzipSync('{}')
    const headers = { 'content-encoding': 'gzip', 'content-length': body.length }
    const answer = await askBy(method, `${base()}/getAssetTransfers`, { body, headers })
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual({
      ...{ code: 400, message: 'Param error', data: null },
      detail: 'the body is compressed: send it without Content-Encoding',
    })
  })

  test('are the same at all forms of the path', async () => {
    const answers = await Promise.all(
      [`/nft/eth_mainnet/${TOKEN}/`, `/nft/eth_mainnet/${TOKEN}/v1/`, `/eth_mainnet/${TOKEN}/v1/`].map((path) =>
        ask(`${path}${question}`),
      ),
    )
    for (const { status, body } of answers) {
      expect(status).toBe(200)
      expect(body).toEqual(answers[0]?.body)
    }
  })

  test.each([
    [404, 'Path Not Found', `/nft/eth_sepolia/${TOKEN}/${question}`],
    [404, 'Path Not Found', `/nft/eth_mainnet/${TOKEN}/getEverything`],
    [401, 'Authentication failed', `/nft/eth_mainnet/nobody/${question}`],
    [401, 'Authentication failed', `/nft/eth_mainnet/of-rewards/${question}`],
    [503, 'Service not ready', `/nft/eth_holesky/${TOKEN}/${question}`],
    [400, 'Param error', `/nft/eth_mainnet/${TOKEN}/isHolderOfContract?contract_address=${ART}`],
    [400, 'Param error', `/nft/eth_mainnet/${TOKEN}/isHolderOfContract?contract_address=0x12&wallet=${ANN}`],
    [400, 'Param error', `/nft/eth_mainnet/${TOKEN}/getNFTsForOwner?owner=${ANN}&page_size=101`],
    [
      400,
      'Param error',
      `/nft/eth_mainnet/${TOKEN}/getNFTsForOwner?owner=${ANN}&contract_adresses=${ART}`.replace(
        'adresses',
        'addresses_',
      ),
    ],
  ])('are refused with %i as %s: %s', async (status, message, path) => {
    const { status: found, body } = await ask(path)
    expect(found).toBe(status)
    expect(body).toMatchObject({ code: status, message, data: null })
    expect(Compile(NftError).Errors(body)).toEqual([true, []])
  })

  test('tell by which methods they can be asked', async () => {
    const { status, headers, body } = await ask(`${base()}/${question}`, { method: 'DELETE' })
    expect(status).toBe(405)
    expect(headers.get('allow')).toBe('GET, HEAD')
    expect(body).toEqual({ code: 405, message: 'Method Not Allowed', data: null, detail: null })
    expect((await ask(`${base()}/${question}`, { method: 'HEAD' })).status).toBe(200)
  })

  const known = ['getNFTsForOwner', 'v1/getNFTsForOwner'].map((path) => `${base()}/${path}`)
  const alone = `/eth_mainnet/${TOKEN}/v1`
  const NOT_ALLOWED = { code: 405, message: 'Method Not Allowed', data: null, detail: null }
  const NOT_FOUND = { code: 404, message: 'Path Not Found', data: null, detail: null }

  test.each(['OPTIONS', 'TRACE', 'PUT'])('are refused in this family’s words, asked by %s', async (method) => {
    for (const path of [...known, `${alone}/getNFTsForOwner`]) {
      const { status, headers, body } = await askBy(method, path)
      expect(status, path).toBe(405)
      expect(headers.allow, path).toBe('GET, HEAD')
      expect(body, path).toEqual(NOT_ALLOWED)
    }
  })

  test.each(['GET', 'OPTIONS', 'PROPFIND'])(
    'that nobody has are not found in its words, asked by %s',
    async (method) => {
      for (const path of ['/nft', '/nft/', '/nft?a=/b', `${base()}/`, `${base()}/getAll?a=1`, `${alone}/getAll`]) {
        const { status, body } = await askBy(method, path)
        expect(status, path).toBe(404)
        expect(body, path).toEqual(NOT_FOUND)
      }
      const { body } = await askBy(method, '/nftx')
      expect(body).toEqual({ code: '404', msg: 'Path Not Found', data: null })
    },
  )

  test('that cannot be read are refused in its words', async () => {
    expect((await askBy('GET', `${base()}/%zz`)).body).toEqual(NOT_FOUND)
    const { status, body } = await askBy('GET', `${known[0]}?owner=${'a'.repeat(URL_CHARACTERS_MAX)}`)
    expect(status).toBe(400)
    expect(Compile(NftError).Errors(body)).toEqual([true, []])
  })

  test('may be asked by pages of other origins, with the methods of each', async () => {
    const origin = 'https://dashboard.example'
    await using forPages = await openApi({ ...nft.parts, corsOrigins: [origin], host: '127.0.0.1', port: 0 })
    for (const [operation, methods] of [
      ['getNFTsForOwner', 'GET, HEAD'],
      ['getAssetsTransfer', 'GET, HEAD, POST'],
    ]) {
      const headers = {
        origin,
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'if-none-match',
      }
      const preflight = await fetch(`${forPages.url}${base()}/${operation}`, { method: 'OPTIONS', headers })
      expect(preflight.status).toBe(204)
      expect(preflight.headers.get('access-control-allow-origin')).toBe(origin)
      expect(preflight.headers.get('access-control-allow-methods')).toBe(methods)
      expect(preflight.headers.get('access-control-allow-headers')).toBe('if-none-match')
    }
    const answer = await fetch(`${forPages.url}${base()}/${question}`, { headers: { origin } })
    expect(answer.headers.get('access-control-expose-headers')).toBe('*')
    for (const path of [`${base()}/getAll`, `${alone}/getAll`, '/nowhere']) {
      const { status, headers } = await fetch(`${forPages.url}${path}`, { headers: { origin } })
      expect(status, path).toBe(404)
      expect(headers.get('access-control-allow-origin'), path).toBe(origin)
    }
  })

  test('may have their parameters in a JSON body, with numbers that JavaScript would round', async () => {
    const body = `{"contract_address": "${ART.toUpperCase().replace('0X', '0x')}", "token_id": ${MAX}}`
    const answer = await new Promise<string>((resolve, reject) => {
      const headers = { 'content-length': body.length, 'content-type': 'application/x-www-form-urlencoded' }
      const asked = request(`${nft.api.url}${base()}/getOwnersForNFT`, { method: 'GET', headers }, (response) => {
        let text = ''
        response.on('data', (chunk) => {
          text += chunk
        })
        response.on('end', () => resolve(text))
      })
      asked.on('error', reject)
      asked.end(body)
    })
    expect(JSON.parse(answer)).toMatchObject({ owners: [{ owner_address: CID, amount: '1' }], total_count: 1 })
  })

  test('may be of transfers by either name and method, whatever a body says that it is', async () => {
    const body = '{"category": ["ERC721"], "max_count": "0x2", "contract_addresses": null}'
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const asked = await ask(`${base()}/getAssetsTransfer?category=ERC721&max_count=2`)
    expect(asked.body.transfers).toHaveLength(2)
    for (const name of ['getAssetsTransfer', 'getAssetTransfers'])
      for (const path of [base(), `${base()}/v1`, `/eth_mainnet/${TOKEN}/v1`]) {
        const posted = await ask(`${path}/${name}`, { method: 'POST', headers, body })
        expect({ name, path, body: posted.body }).toEqual({ name, path, body: asked.body })
      }
  })

  test('may be of tokens whose ids are numbers that JavaScript would round', async () => {
    const body = `{"tokens": [{"contract_address": "${ART}", "token_id": ${MAX}}, {"contract_address": "${ART}", "token_id": "0x1"}]}`
    const answer = await ask(`${base()}/getNFTMetadataBatch`, { method: 'POST', body })
    expect(answer.body.map((token: { token_id: string }) => token.token_id)).toEqual([MAX.toString(), '1'])
    expect(answer.body[0].token_type).toBe('ERC721')
  })

  test.each([
    MAX.toString(),
    `0x${MAX.toString(16)}`,
    MAX.toString().padStart(NUMBER_CHARACTERS_MAX, '0'),
    `0x${MAX.toString(16).padStart(NUMBER_CHARACTERS_MAX - 2, '0')}`,
  ])('take a token id as %s', async (id) => {
    expect(amounts(await get('getOwnersForNFT', `contract_address=${ART}&token_id=${id}`))).toEqual({ [CID]: '1' })
  })

  test.each([
    MAX.toString().padStart(NUMBER_CHARACTERS_MAX + 1, '0'),
    `0x${MAX.toString(16).padStart(NUMBER_CHARACTERS_MAX - 1, '0')}`,
    (MAX + 1n).toString(),
    `0x${(MAX + 1n).toString(16)}`,
    '0x',
    '-1',
    '1.0',
  ])('take no token id as %s', async (id) => {
    expect(await get('getOwnersForNFT', `contract_address=${ART}&token_id=${id}`)).toMatchObject({
      status: 400,
      body: { detail: 'token_id is not an integer from 0 to 2^256 - 1' },
    })
  })

  test.each([
    `contract_addresses=${ART},${COINS}`,
    `contract_addresses=${ART}&contract_addresses=${COINS}`,
    `contract_addresses[]=${ART}&contract_addresses[]=${COINS}`,
  ])('take lists as %s', async (list) => {
    const { body } = await get('getNFTsForOwner', `owner=${CID}&${list}`)
    expect(body.total_count).toBe(2)
  })
})

test.each([
  ['getAssetsTransfer', `from=${ANN}`, 'from is no parameter of it'],
  [
    'getAssetsTransfer',
    `contract_address=${ART}`,
    'contract_address is no parameter of it: did you mean contract_addresses?',
  ],
  ['getOwnersForContract', `contract_address=${ART}&at_block=1`, 'at_block is no parameter of it'],
  ['getOwnersForContract', `contract_address=${ART}&block=`, 'block is empty'],
  ['getNFTsForOwner', `owner=${ANN}&contract_addresses=`, 'contract_addresses is empty'],
  ['getNFTsForOwner', `owner=${ANN}&page_size=-1`, 'page_size is not an integer from 0 to 2^53 - 1'],
  // Text that would be JSON within something else.
  ['getNFTsForOwner', `owner=${ANN}&contract_addresses=["${ART}"],"x":[]`, 'contract_addresses is not an address'],
  ['getNFTsForOwner', `owner=${ANN}&contract_addresses=[]`, 'contract_addresses is empty'],
])('%s?%s is not answered as another question', async (operation, query, detail) => {
  expect(await get(operation, query)).toMatchObject({ status: 400, body: { detail } })
})

test('the first page may be asked for by no key', async () => {
  expect((await get('getNFTsForOwner', `owner=${ANN}&page_key=`)).status).toBe(200)
})

test('a token that asks more often than it may is told when to come back', async () => {
  await using limited = await openApi({ ...nft.parts, nftRequestsPerSecond: 1, host: '127.0.0.1', port: 0 })
  const url = `${limited.url}${base()}/isHolderOfContract?contract_address=${ART}&wallet=${ANN}`
  const answers = [await fetch(url), await fetch(url), await fetch(url)]
  expect(answers[0]?.status).toBe(200)
  const refused = answers.find(({ status }) => status === 429)
  expect(refused?.headers.get('retry-after')).toBe('1')
  expect(await refused?.json()).toMatchObject({ code: 429, message: 'Too Many Requests', data: null })
})

describe('pages', () => {
  test('have everything once, and stay as of their block', async () => {
    const found: string[] = []
    let key = ''
    do {
      const answer = await get('getNFTsForOwner', `owner=${ANN}&block=1&page_size=1${key}`)
      found.push(...tokens(answer))
      expect(answer.body.total_count).toBe(3)
      key = answer.body.page_key === null ? '' : `&page_key=${answer.body.page_key}`
    } while (key !== '')
    expect(found).toEqual(['art 1: 1', 'art 2: 1', 'coins 7: 10'])
  })

  test.each([
    ['finalized', 'finalized', 200],
    ['finalized', 'latest', 200],
    ['finalized', '4', 200],
    ['latest', 'finalized', 400],
    ['3', 'safe', 200],
    ['3', '4', 400],
  ])('of block %s go on where they are asked for as of %s: %i', async (first, then, status) => {
    const { body } = await get('getNFTsForOwner', `owner=${ANN}&page_size=1&block=${first}`)
    const next = await get('getNFTsForOwner', `owner=${ANN}&page_size=1&block=${then}&page_key=${body.page_key}`)
    expect(next.status).toBe(status)
    if (status === 200) expect(next.body.valid_at).toEqual(body.valid_at)
  })

  test('refuse a key that was changed, or belongs to another question', async () => {
    const { body } = await get('getNFTsForOwner', `owner=${ANN}&page_size=1`)
    const key = body.page_key as string
    const statusOf = async (query: string) => (await get('getNFTsForOwner', `${query}&page_size=1`)).status
    expect(await statusOf(`owner=${ANN}&page_key=${key}`)).toBe(200)
    expect(await statusOf(`owner=${BOB}&page_key=${key}`)).toBe(400)
    for (let i = 0; i < key.length; i += 7) {
      const changed = `${key.slice(0, i)}${key[i] === 'A' ? 'B' : 'A'}${key.slice(i + 1)}`
      expect(await statusOf(`owner=${ANN}&page_key=${changed}`), changed).toBe(400)
    }
  })

  test.each([
    ['getAssetsTransfer', 'order=asc', 'order=aesc'],
    ['getAssetsTransfer', `contract_addresses=${ART},${COINS}`, `contract_addresses=${mixedCase(COINS)},${ART},${ART}`],
    ['getAssetsTransfer', '', 'category=ERC1155,ERC721&from_block=0&without_reasons=false&order=desc'],
    ['getAssetsTransfer', 'without_reasons=true', 'without_reasons=no_amount,any'],
    ['getAssetsTransfer', 'without_reasons=no_amount,minted_again', 'without_reasons=minted_again,no_amount'],
    ['getNFTsForOwner', `owner=${ANN}&contract_address=${ART}`, `owner=${mixedCase(ANN)}&contract_addresses=${ART}`],
    ['getOwnersForNFT', `contract_address=${COINS}&token_id=7`, `contract_address=${mixedCase(COINS)}&token_id=0x07`],
  ])('of %s?%s go on where they are asked for by %s', async (operation, first, then) => {
    const size = operation === 'getAssetsTransfer' ? 'max_count=1' : 'page_size=1'
    const page = (query: string, key: string) => get(operation, `${query}&${size}&page_key=${key}`)
    const { page_key: key } = (await page(first, '')).body
    const [next, same] = [await page(then, key), await page(first, key)]
    expect(next.status).toBe(200)
    // Where this page ends may be said in two ways.
    for (const { body } of [next, same]) Object.assign(body, { page_key: null, pageKey: null })
    expect(next.body).toEqual(same.body)
  })

  test.each([
    ['getAssetsTransfer', 'order=asc', 'order=desc'],
    ['getAssetsTransfer', `contract_addresses=${ART}`, `contract_addresses=${ART},${COINS}`],
    ['getAssetsTransfer', '', 'category=ERC721'],
    ['getAssetsTransfer', '', 'from_block=1'],
    ['getAssetsTransfer', '', 'without_reasons=no_amount'],
    ['getNFTsForOwner', `owner=${ANN}`, `owner=${ANN}&contract_address=${ART}`],
    ['getNFTsForOwner', `owner=${ANN}`, `owner=${ANN}&without_reasons=any`],
  ])('of %s?%s do not go on by %s', async (operation, first, then) => {
    const size = operation === 'getAssetsTransfer' ? 'max_count=1' : 'page_size=1'
    const { page_key: key } = (await get(operation, `${first}&${size}`)).body
    expect(await get(operation, `${then}&${size}&page_key=${key}`)).toMatchObject({
      status: 400,
      body: { detail: 'page_key is none of this question' },
    })
  })
})

describe('a snapshot of all owners', () => {
  test('is a line for each, of the block that is asked for', async () => {
    const response = await fetch(`${nft.api.url}${base()}/owners.csv?contract_address=${ART}&block=2`)
    expect(response.headers.get('content-type')).toMatch(/^text\/csv/)
    expect(response.headers.get('x-valid-at')).toMatch(/^block_number=2, /)
    expect(await response.text()).toBe(
      `owner_address,amount,tokens,last_change_block,is_amount_whole\n${ANN},1,1,2,true\n${BOB},2,2,2,true\n`,
    )
  })
})

test('a stream that has ended is not answered once more', async () => {
  await using other = await openApi({ ...nft.parts, standingAgeMsMax: 0, host: '127.0.0.1', port: 0 })
  nft.logged.length = 0
  const path = `${other.url}${base()}/owners.csv?contract_address=${ART}`
  await (await fetch(path)).text()
  const abandon = new AbortController()
  const headers = { accept: 'text/event-stream' }
  const response = await fetch(`${other.url}${base()}/changes`, { headers, signal: abandon.signal })
  await (response.body as ReadableStream).getReader().read()
  abandon.abort()
  // Whatever is done after the ends of streams is done before these are answered.
  for (let i = 0; i < 5; i++) await (await fetch(path)).text()
  expect(nft.logged).toEqual([])
})

describe('what contracts and tokens say of themselves', () => {
  test('has its whole shape where nothing is known, and what their logs tell', async () => {
    const tokens = JSON.stringify([
      { contract_address: COINS, token_id: 7 },
      { contract_address: ART, token_id: '1' },
      { contract_address: ZED, token_id: MAX.toString() },
    ])
    const { body } = await get('getNFTMetadataBatch', `tokens=${encodeURIComponent(tokens)}&with_metadata=false`)
    expect(body).toMatchObject([
      { contract_address: COINS, token_id: '7', token_type: 'ERC1155', metadata_state: { status: 'left_out' } },
      { contract_address: ART, token_id: '1', token_type: 'ERC721' },
      { contract_address: ZED, token_id: MAX.toString(), token_type: null },
    ])
    expect((await get('getNFTMetadata', `contract_address=${ART}&token_id=1`)).body.token_type).toBe('ERC721')
  })

  test('is refused where a token of a list has a member that none has', async () => {
    const tokens = JSON.stringify([{ contract_address: ART, token_id: 1, bogus: 2 }])
    expect(await get('getNFTMetadataBatch', `tokens=${encodeURIComponent(tokens)}`)).toMatchObject({
      status: 400,
      body: { detail: 'tokens.bogus is no parameter of it' },
    })
  })

  test('is asked for many by POST, in the order of the question', async () => {
    const body = JSON.stringify({ contract_addresses: [COINS, ZED, ART] })
    const answer = await ask(`${base()}/getContractMetadataBatch`, { method: 'POST', body })
    expect(answer.body).toMatchObject([
      { contract_address: COINS, token_type: 'ERC1155' },
      { contract_address: ZED, token_type: null, name: null },
      { contract_address: ART, token_type: 'ERC721' },
    ])
    expect(answer.headers.get('x-valid-at')).toMatch(/^block_number=6, /)
    const many = Array.from({ length: 101 }, (_, i) => `0x${i.toString(16).padStart(40, '0')}`)
    expect((await get('getContractMetadataBatch', `contract_addresses=${many}`)).status).toBe(400)
  })

  test('is found by address', async () => {
    expect((await get('searchContractMetadata', `query=${ART.toUpperCase().replace('X', 'x')}`)).body).toMatchObject([
      { contract_address: ART },
    ])
    expect((await get('searchContractMetadata', 'query=kitties')).body).toEqual([])
  })
})

describe('answers that nothing has changed since', () => {
  test('of a block of the past are the same ones at the next state of the chain', async () => {
    const path = `${base()}/isHolderOfContract?contract_address=${ART}&wallet=${ANN}&block=${HEAD - 1}`
    const first = await ask(path)
    const etag = first.headers.get('etag') as string
    await nft.warehouse.command(
      `INSERT INTO nft_metadata_positions (chain, kind, bucket, version) SELECT DISTINCT chain, 'tokens', 7, 1 FROM nft_blocks`,
    )
    // Answers are made anew when the state has moved, which is looked at now and then.
    await vi.waitFor(async () => {
      await ask(`${base()}/isHolderOfContract?contract_address=${ART}&wallet=${ANN}`)
      expect(await ask(path, { headers: { 'if-none-match': etag } })).toMatchObject({ status: 304, body: undefined })
    })
    expect((await ask(path)).headers.get('etag')).toBe(etag)
  })

  test('are not sent again', async () => {
    const path = `${base()}/isHolderOfContract?contract_address=${ART}&wallet=${ANN}`
    const first = await ask(path)
    const etag = first.headers.get('etag') as string
    expect(etag).toMatch(/^W\/".+"$/)
    const again = await ask(path, { headers: { 'if-none-match': etag } })
    expect(again).toMatchObject({ status: 304, body: undefined })
    expect(again.headers.get('x-valid-at')).toBe(first.headers.get('x-valid-at'))
    expect((await ask(path, { headers: { 'if-none-match': 'W/"other"' } })).status).toBe(200)
    const list = `${base()}/getAssetsTransfer`
    const init = { method: 'POST', body: JSON.stringify({ to_address: ANN }) }
    const posted = (await ask(list, init)).headers.get('etag') as string
    expect((await ask(list, { ...init, headers: { 'if-none-match': posted } })).status).toBe(200)
  })
})

test.each([
  ['', '{"max_count":1,"max_count":2}', 'max_count'],
  ['', '{"category":["ERC721"],"category":["ERC1155"]}', 'category'],
  ['', '{"cat\\u0065gory":["ERC721"],"category":["ERC1155"]}', 'category'],
  ['?max_count=1', '{"max_count":1}', 'max_count'],
  ['?category=ERC721', '{"category":["ERC1155"]}', 'category'],
  ['?order=asc&order=asc', '', 'order'],
])('what is given more than once is refused: %s %s', async (query, body, name) => {
  const method = 'POST'
  expect(await ask(`${base()}/getAssetsTransfer${query}`, { method, ...(body === '' ? {} : { body }) })).toMatchObject({
    status: 400,
    body: { detail: `${name} is given more than once` },
  })
})

test('lists of a query are joined', async () => {
  const ofBoth = await get('getContractMetadataBatch', `contract_addresses=${ART}&contract_addresses=${COINS}`)
  expect(ofBoth.body.map(({ contract_address }: { contract_address: string }) => contract_address)).toEqual([
    ART,
    COINS,
  ])
})

test.each(['GET', 'POST'])('a body of %s may have a byte order mark before it', async (method) => {
  const body = Buffer.from('\ufeff{"max_count":1}')
  const answer = await askBy(method, `${base()}/getAssetsTransfer`, {
    body,
    headers: { 'content-length': body.length },
  })
  expect(answer.status).toBe(200)
  expect(answer.body.transfers).toHaveLength(1)
})

test.each(['1', '[]', '"text"', 'true'])('a body that is %s is none', async (body) => {
  expect(await ask(`${base()}/getAssetsTransfer`, { method: 'POST', body })).toMatchObject({
    status: 400,
    body: { detail: 'the body is not a JSON object' },
  })
})

const OF_ART = `contract_address=${ART}`

test.each([
  ['getAssetsTransfer', ''],
  ['getContractMetadata', OF_ART],
  ['getContractMetadataBatch', `contract_addresses=${ART}`],
  ['getNFTMetadata', `${OF_ART}&token_id=1`],
  ['getNFTMetadataBatch', `tokens=${encodeURIComponent(`[{"contract_address":"${ART}","token_id":1}]`)}`],
  ['searchContractMetadata', `query=${ART}`],
  ['getContractsForOwner', `owner=${ANN}`],
  ['getNFTsForOwner', `owner=${ANN}`],
  ['getOwnersForContract', OF_ART],
  ['getOwnersForNFT', `${OF_ART}&token_id=1`],
  ['isHolderOfContract', `${OF_ART}&wallet=${ANN}`],
] as const)(
  '%s says of which block it is, in a header and in objects, at the head and before',
  async (operation, query) => {
    for (const number of [HEAD, 2]) {
      const { hash } = nft.blocks[number - 1] as (typeof nft.blocks)[number]
      const { headers, body } = await get(operation, number === HEAD ? query : `${query}&block=${number}`)
      const [block_number, block_hash, block_timestamp] = [number, hash, timeOf(number)]
      expect(headers.get('x-valid-at')).toBe(
        `block_number=${block_number}, block_hash="${block_hash}", block_timestamp=${block_timestamp}`,
      )
      if (!Array.isArray(body)) expect(body.valid_at).toEqual({ block_number, block_hash, block_timestamp })
    }
  },
)

const addresses = (count: number) =>
  Array.from({ length: count }, (_, i) => `0x${(i + 1).toString(16).padStart(40, '0')}`)
const tokensOf = (count: number) =>
  encodeURIComponent(JSON.stringify(addresses(count).map((contract_address) => ({ contract_address, token_id: 1 }))))

test.each([
  [
    'contracts of a batch',
    'getContractMetadataBatch',
    (count: number) => `contract_addresses=${addresses(count)}`,
    100,
  ],
  ['tokens of a batch', 'getNFTMetadataBatch', (count: number) => `tokens=${tokensOf(count)}`, 100],
  [
    'contracts that tokens are of',
    'getNFTsForOwner',
    (count: number) => `owner=${ANN}&contract_addresses=${addresses(count)}`,
    45,
  ],
  [
    'contracts that transfers are of',
    'getAssetsTransfer',
    (count: number) => `contract_addresses=${addresses(count)}`,
    45,
  ],
  ['owners of a contract', 'getOwnersForContract', (count: number) => `${OF_ART}&page_size=${count}`, 1_000],
  ['owners of a token', 'getOwnersForNFT', (count: number) => `${OF_ART}&token_id=1&page_size=${count}`, 1_000],
  ['tokens of an owner', 'getNFTsForOwner', (count: number) => `owner=${ANN}&page_size=${count}`, 100],
  ['contracts of an owner', 'getContractsForOwner', (count: number) => `owner=${ANN}&page_size=${count}`, 100],
  ['transfers', 'getAssetsTransfer', (count: number) => `max_count=0x${count.toString(16)}`, 1_000],
  ['changes', 'getChanges', (count: number) => `limit=${count}`, 5_000],
] as const)('%s are refused beyond so many, and none are left out', async (_, operation, query, most) => {
  expect((await get(operation, query(most))).status).toBe(200)
  expect((await get(operation, query(most + 1))).status).toBe(400)
})
