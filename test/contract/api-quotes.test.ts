import { getAddress } from 'viem'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Meter } from '../../api/gateway/meter.ts'
import { clientOf } from '../../api/http/client.ts'
import { type Api, openApi } from '../../api/http/server.ts'
import { QUOTES_PER_MINUTE } from '../../api/quotes/quote.ts'
import { openMemoryCounters } from '../../infra/counters/memory.ts'
import type { Counters } from '../../infra/ports/counters.ts'
import type { JobState } from '../../infra/ports/job-queue.ts'
import type { QueryLimits, QueryParams, WordsReader } from '../../infra/ports/warehouse.ts'
import { AppError } from '../../schemas/errors.ts'
import { type QuoteStakeInput, quoteStake } from '../../schemas/jobs/quote-stake.ts'
import { quoteUnstake } from '../../schemas/jobs/quote-unstake.ts'
import { stakeQuoteRoute } from '../../schemas/routes/quotes/stake-quote.ts'
import { unstakeQuoteRoute } from '../../schemas/routes/quotes/unstake-quote.ts'
import { noCounters } from '../unit/no-counters.ts'
import { noWords } from '../unit/no-words.ts'
import { silentLog } from '../unit/silent-log.ts'
import { type ApiFixture, addressOf, dailyRow, epochRow, insertRows, openApiFixture, pubkeyOf } from './api-fixture.ts'
import { AskedJobs } from './asked-jobs.ts'

const ADDRESS = `0x${'ad'.repeat(20)}`
const CHECKSUMMED = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const WRONG_CHECKSUM = '0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const STAKE = 'quote/stake'
/** The fixture's first complete epoch of each closed day. */
const DAYS = { '2026-11-18': 0, '2026-11-19': 225 } as const
const VALIDATORS = Array.from({ length: 32 }, (_, i) => 1_000 + i)

let fixture: ApiFixture
let api: Api
/** What was asked of the queue, and what becomes of it. */
const queue = new AskedJobs<QuoteStakeInput>()

const quotes = { chain: 'mainnet', account: 'demo' }
const { example } = stakeQuoteRoute
const done = (output: unknown): JobState => ({ status: 'completed', output })
const quoted = done({ status: 'quoted', transaction: example.transaction })

beforeAll(async () => {
  fixture = await openApiFixture()
  // What the fixture's validators were paid is next to nothing: this one did all its duties in the newest epoch.
  await insertRows(fixture.warehouse, 'validator_epochs', [
    epochRow(451, '2026-11-20', 40, { source_gwei: 2_500, target_gwei: 4_600, head_gwei: 2_468 }),
  ])
  api = await openApi({ ...fixture.parts, jobs: queue.jobs, quotes, host: '127.0.0.1', port: 0 })
})
beforeEach(() => {
  queue.begin(quoted)
})
afterAll(async () => {
  await api[Symbol.asyncDispose]()
  await fixture[Symbol.asyncDispose]()
})

interface Answer {
  readonly status: number
  readonly text: string
  readonly headers: Headers
}

async function ask(path: string, headers: Readonly<Record<string, string>> = {}, url = api.url): Promise<Answer> {
  const response = await fetch(`${url}/aggregator/api/v1/${path}`, { headers })
  return { status: response.status, text: await response.text(), headers: response.headers }
}
const stake = (query: string, headers?: Readonly<Record<string, string>>) => ask(`${STAKE}?${query}`, headers)
const GOOD = `address=${CHECKSUMMED}&amount=64000000000`

/** Counts clients, behind a trusted proxy; its clock stands still. */
async function openLimited(counters: Counters): Promise<Api> {
  const trustedProxies = ['127.0.0.0/8']
  const meter = new Meter({
    ...{ counters, clientCounters: counters, trustedProxies, log: silentLog },
    ...{ planOf: () => ({ name: 'whatever' }), now: () => Date.UTC(2026, 10, 22) },
  })
  return await openApi({
    ...fixture.parts,
    jobs: queue.jobs,
    quotes,
    meter,
    trustedProxies,
    host: '127.0.0.1',
    port: 0,
  })
}

describe('a stake quote', () => {
  test('hands on what was asked for, and answers it without an envelope', async () => {
    const { status, text, headers } = await stake(GOOD)
    expect(status, text + fixture.logged().slice(-3000)).toBe(200)
    expect(headers.get('content-type')).toMatch(/^application\/json/)
    const consensus = '2.91%' // (2500 + 4600 + 2468) gwei of 32 ETH in an epoch, by 64 of 54 parts, 82181.25 times
    expect(JSON.parse(text)).toEqual({
      strategyId: '32x',
      routes: ['ethereum-solo'],
      weights: ['100%'],
      yieldsBreakdown: [consensus, '0.00%'],
      totalYield: consensus,
      yieldSource: 'formula',
      transaction: example.transaction,
    })
    const [{ name, input }] = queue.asked as [(typeof queue.asked)[number]]
    expect(name).toBe(quoteStake.name)
    expect(quoteStake.parse(input)).toEqual({
      chain: 'mainnet',
      account: 'demo',
      strategyId: '32x',
      source: 'xxx',
      address: CHECKSUMMED.toLowerCase(),
      count: 2,
      client: clientOf('127.0.0.1'),
      deposited: [],
      notAfterMs: fixture.parts.wallNow() + 20_000,
    })
  })

  test.each([
    ['gwei', '3200000000000', 100],
    ['wei', '32000000000000000000', 1],
    ['wei', '3200000000000000000000', 100],
  ])('reads an amount in %s: %s', async (_, amount, count) => {
    expect((await stake(`address=${ADDRESS}&amount=${amount}`)).status).toBe(200)
    expect(queue.asked[0]?.input.count).toBe(count)
  })

  test('names the validators of the address whose own deposits are on chain, and no others', async () => {
    const [address, other] = [addressOf(78), addressOf(79)]
    const keyOf = (byte: string) => `0x${byte.repeat(48)}`
    const [own, strangers, waiting, others] = [keyOf('78'), keyOf('79'), keyOf('7a'), keyOf('7b')]
    const root = (pubkey: string) => `0x${pubkey.slice(2, 66)}`
    const block = { block_hash: `0x${'b7'.repeat(32)}`, block_number: 900_000, time: '2026-11-20 00:00:11', version: 1 }
    const deposit = (pubkey: string, depositDataRoot = root(pubkey)) => ({
      ...{ ...block, pubkey, deposit_index: 0, contract: addressOf(42) },
      transaction_hash: `0x${'b8'.repeat(32)}`,
      ...{ withdrawal_credentials: `0x01${'00'.repeat(31)}`, amount_gwei: 32_000_000_000n },
      deposit_data_root: depositDataRoot,
    })
    const created = (pubkey: string, from: string) => ({
      ...{ account: 'demo', pubkey, version: 9, withdrawal_credentials: `0x01${'00'.repeat(11)}${from.slice(2)}` },
      ...{ deposit_from: from, fee_recipient: from, amount_gwei: 32_000_000_000, deposit_data_root: root(pubkey) },
    })
    const keys = [own, strangers, waiting, others]
    await insertRows(
      fixture.warehouse,
      'account_validators',
      keys.map((pubkey) => ({ account: 'demo', pubkey, version: 9 })),
    )
    await insertRows(
      fixture.warehouse,
      'created_validators',
      keys.map((pubkey) => created(pubkey, pubkey === others ? other : address)),
    )
    await insertRows(fixture.warehouse, 'deposit_contracts', [{ address: addressOf(42), version: 1 }])
    const found = [deposit(own), deposit(strangers, root(own)), deposit(others)]
    await insertRows(
      fixture.warehouse,
      'deposits',
      found.map((row, i) => ({ ...row, log_index: i })),
    )
    await insertRows(fixture.warehouse, 'execution_blocks', [
      {
        ...{ ...block, coinbase: address, transactions: 1, base_fee_per_gas_wei: 7, priority_fees_wei: 0 },
        is_deleted: 0,
      },
    ])
    await stake(`address=${address}&amount=32000000000`)
    expect(queue.asked.map(({ input }) => input.deposited)).toEqual([[own]])
  })

  test('is made for nobody who only asks for its headers, and answers as the other paths do', async () => {
    const headOf = async (path: string) => {
      const { status, headers } = await fetch(`${api.url}${path}`, { method: 'HEAD' })
      return { status, type: headers.get('content-type'), allow: headers.get('allow') }
    }
    const json = { status: 200, type: 'application/json; charset=utf-8', allow: null }
    const refused = { status: 405, type: 'text/plain; charset=utf-8', allow: 'GET, HEAD' }
    const base = '/aggregator/api/v1'
    expect(await headOf('/health')).toEqual(json)
    expect(await headOf(`${base}/quote/routes`)).toEqual(json)
    expect(await headOf(`${base}/${STAKE}?${GOOD}`)).toEqual(json)
    expect(await headOf(`${base}/address/balance?address=${ADDRESS}`)).toEqual(json)
    expect(await headOf(`${base}/${STAKE}?address=${ADDRESS}`)).toEqual(refused)
    expect(await headOf(`${base}/quote/unstake?address=${ADDRESS}`)).toEqual(refused)
    expect(queue.asked).toEqual([])
    // Nothing is made for it, so it is asked as by GET.
    queue.begin(done({ status: 'quoted', transaction: unstakeQuoteRoute.example }))
    expect(await headOf(`${base}/quote/unstake?address=${ADDRESS}&pubkeys=0x${'ab'.repeat(48)}`)).toEqual(json)
    expect(queue.asked.map(({ name }) => name)).toEqual([quoteUnstake.name])
  })

  test('hands on source and strategy', async () => {
    await stake(`${GOOD}&source=wallet%201&StrategyId=32x`)
    expect(queue.asked[0]?.input).toMatchObject({ source: 'wallet 1', strategyId: '32x' })
  })

  test.each([
    ['no address', 'amount=32000000000'],
    ['no amount', `address=${ADDRESS}`],
    ['nothing', ''],
    ['an empty address', 'address=&amount=32000000000'],
    ['an empty amount', `address=${ADDRESS}&amount=`],
    ['an address without 0x', `address=${ADDRESS.slice(2)}&amount=32000000000`],
    ['an address that is too short', `address=${ADDRESS.slice(0, -2)}&amount=32000000000`],
    ['an address that is too long', `address=${ADDRESS}ad&amount=32000000000`],
    ['an address that is no hex', `address=0x${'zz'.repeat(20)}&amount=32000000000`],
    ['an address of another checksum', `address=${WRONG_CHECKSUM}&amount=32000000000`],
    ['the zero address', `address=0x${'00'.repeat(20)}&amount=32000000000`],
    ['two addresses', `address=${ADDRESS}&address=${ADDRESS}&amount=32000000000`],
    ['a name', 'address=vitalik.eth&amount=32000000000'],
    ['an amount of nothing', `address=${ADDRESS}&amount=0`],
    ['an amount below zero', `address=${ADDRESS}&amount=-32000000000`],
    ['ETH', `address=${ADDRESS}&amount=32`],
    ['a fraction', `address=${ADDRESS}&amount=32000000000.0`],
    ['an exponent', `address=${ADDRESS}&amount=32e9`],
    ['hex', `address=${ADDRESS}&amount=0x773594000`],
    ['a zero in front', `address=${ADDRESS}&amount=032000000000`],
    ['a blank in front', `address=${ADDRESS}&amount=%2032000000000`],
    ['half a validator', `address=${ADDRESS}&amount=16000000000`],
    ['a validator and a half', `address=${ADDRESS}&amount=48000000000`],
    ['a gwei too much', `address=${ADDRESS}&amount=32000000001`],
    ['a wei too much', `address=${ADDRESS}&amount=32000000000000000001`],
    ['101 validators in gwei', `address=${ADDRESS}&amount=3232000000000`],
    ['101 validators in wei', `address=${ADDRESS}&amount=3232000000000000000000`],
    ['more than a uint256', `address=${ADDRESS}&amount=${'9'.repeat(79)}`],
    ['words', `address=${ADDRESS}&amount=all`],
    ['two amounts', `address=${ADDRESS}&amount=32000000000&amount=32000000000`],
    ['an unknown strategy', `${GOOD}&StrategyId=2048x`],
    ['a strategy of another case', `${GOOD}&StrategyId=32X`],
    ['a misspelt parameter', `${GOOD}&strategyId=32x`],
    ['another misspelt one', `Address=${ADDRESS}&amount=32000000000`],
    ['a source that is too long', `${GOOD}&source=${'s'.repeat(65)}`],
    ['a source with a line break', `${GOOD}&source=a%0Ab`],
  ])('is refused for %s, and nothing is asked for', async (_, query) => {
    const { status, text, headers } = await stake(query)
    expect({ status, text }).toEqual({ status: 405, text: 'Invalid input' })
    expect(headers.get('content-type')).toBe('text/plain; charset=utf-8')
    expect(headers.get('x-reason')).toMatch(/\w/)
    expect(headers.get('allow')).toBe('GET, HEAD')
    expect(queue.asked).toEqual([])
  })

  test('says what is wrong in a header, whatever the wrong text is', async () => {
    const { headers } = await stake(`${GOOD}&sourcé=x%0d%0aset-cookie:a`)
    expect(headers.get('x-reason')).toBe('sourc? is not understood: did you mean source?')
    expect((await stake(`address=${ADDRESS}&amount=1`)).headers.get('x-reason')).toBe(
      'amount is not that of 1 to 100 whole validators',
    )
  })

  test.each<[string, JobState, number, string]>([
    ['that there are too many keys', done({ status: 'limited', reason: 'enough' }), 429, 'Too Many Requests'],
    ['that no node answers', done({ status: 'unavailable' }), 500, 'Server error'],
    ['that nothing can be made', done({ status: 'refused', reason: 'not so' }), 500, 'Server error'],
    ['that nobody does it', { status: 'waiting' }, 500, 'Server error'],
    ['that it failed', { status: 'failed', reason: 'secret' }, 500, 'Server error'],
  ])('tells %s', async (_, state, httpStatus, body) => {
    queue.outcome = state
    const { status, text, headers } = await stake(GOOD)
    expect({ status, text }).toEqual({ status: httpStatus, text: body })
    expect(headers.get('x-reason')).not.toContain('secret')
  })

  test('takes nobody’s word on who asks, but that of trusted proxies', async () => {
    const forwarded = { 'x-forwarded-for': '203.0.113.7, 198.51.100.9' }
    await stake(GOOD, forwarded)
    await using trusting = await openApi({
      ...fixture.parts,
      ...{ jobs: queue.jobs, quotes, host: '127.0.0.1', port: 0, trustedProxies: ['127.0.0.0/8'] },
    })
    await ask(`${STAKE}?${GOOD}`, forwarded, trusting.url)
    expect(queue.asked.map(({ input }) => input.client)).toEqual(['127.0.0.1', '198.51.100.9'].map(clientOf))
  })

  test('is refused to a client that asks too often in a minute, whatever it asks for, and to nobody else', async () => {
    await using counters = await openMemoryCounters()
    await using limited = await openLimited(counters)
    const of = (client: string) => ({ 'x-forwarded-for': client })
    const paths = [`${STAKE}?${GOOD}`, 'quote/unstake', 'quote/routes', 'address/balance', 'address/validator']
    for (let i = 0; i < QUOTES_PER_MINUTE; i++)
      expect((await ask(paths[i % 5] as string, of('203.0.113.7'), limited.url)).status).not.toBe(429)
    queue.begin(quoted)
    for (const path of paths) {
      const { status, text, headers } = await ask(path, of('203.0.113.7'), limited.url)
      expect({ status, text, type: headers.get('content-type') }).toEqual({
        ...{ status: 429, text: 'Too Many Requests', type: 'text/plain; charset=utf-8' },
      })
      const told = ['x-reason', 'retry-after', 'ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset']
      const minute = ['the address asks too often in a minute', '60', '60', '0', '60']
      expect(told.map((name) => headers.get(name))).toEqual(minute)
    }
    expect(queue.asked).toEqual([])
    expect((await ask(paths[0] as string, of('203.0.113.8'), limited.url)).status).toBe(200)
  })

  test('is not made while clients cannot be counted', async () => {
    const away = () => Promise.reject(new AppError('counters', 'away', { retryable: true }))
    await using limited = await openLimited({ ...noCounters, take: away })
    const { status, text, headers } = await ask(`${STAKE}?${GOOD}`, {}, limited.url)
    expect([status, text, headers.get('retry-after')]).toEqual([503, 'Service Unavailable', '5'])
    expect(headers.get('x-reason')).toBe('requests cannot be counted at the moment')
    expect(queue.asked).toEqual([])
  })

  test.each([
    ['the tables cannot be read', 'warehouse', 'the tables cannot be read at the moment'],
    ['the queue does not answer', 'job_queue', 'the job queue does not answer at the moment'],
  ] as const)('is not made while %s, and says when to come back', async (_, code, reason) => {
    const away = () => Promise.reject(new AppError(code, 'secret', { retryable: true }))
    const parts =
      code === 'warehouse' ? { warehouse: { query: away, ...noWords } } : { jobs: { ...queue.jobs, add: away } }
    await using without = await openApi({
      ...fixture.parts,
      ...{ jobs: queue.jobs, quotes, host: '127.0.0.1', port: 0, ...parts },
    })
    const { status, text, headers } = await ask(`${STAKE}?${GOOD}`, {}, without.url)
    expect([status, text, headers.get('retry-after')]).toEqual([503, 'Service Unavailable', '5'])
    expect(headers.get('x-reason')).toBe(reason)
  })

  test('is not there where nothing is configured for it, or its chain is not', async () => {
    const notThere = { code: '404', msg: 'Path Not Found', data: null }
    for (const other of [
      {},
      { quotes: { ...quotes, chain: 'sepolia' } },
      { quotes: { ...quotes, chain: 'scroll_mainnet' } },
    ]) {
      await using without = await openApi({ ...fixture.parts, jobs: queue.jobs, ...other, host: '127.0.0.1', port: 0 })
      const { status, text } = await ask(`${STAKE}?${GOOD}`, {}, without.url)
      expect(status).toBe(404)
      expect(JSON.parse(text)).toMatchObject(notThere)
    }
    expect(queue.asked).toEqual([])
  })

  test('is 500 where the index knows nobody who is paid, and makes no keys', async () => {
    await using hoodi = await openApi({
      ...fixture.parts,
      ...{ jobs: queue.jobs, quotes, host: '127.0.0.1', port: 0, warehouse: { query: async () => [], ...noWords } },
    })
    expect(await ask(`${STAKE}?${GOOD}`, {}, hoodi.url)).toMatchObject({ status: 500, text: 'Server error' })
    expect(queue.asked).toEqual([])
  })
})

const UNSTAKE = 'quote/unstake'
const KEY = `0x${'a1'.repeat(48)}`
const OTHER_KEY = `0x${'B2'.repeat(48)}`
const unstake = (query: string) => ask(`${UNSTAKE}?${query}`)

describe('an unstake quote', () => {
  const example = unstakeQuoteRoute.example
  const askedOf = () => queue.asked.map(({ name, input }) => ({ name, input: quoteUnstake.parse(input) }))
  beforeEach(() => {
    queue.outcome = done({ status: 'quoted', transaction: example })
  })

  test('hands on what was asked for, and answers the transaction as it is', async () => {
    const { status, text } = await unstake(`address=${CHECKSUMMED}&pubkeys=${KEY}&amount=32000000000&source=wallet`)
    expect(status, text).toBe(200)
    expect(JSON.parse(text)).toEqual(example)
    expect(askedOf()).toEqual([
      {
        name: quoteUnstake.name,
        input: {
          chain: 'mainnet',
          address: CHECKSUMMED.toLowerCase(),
          pubkeys: [KEY],
          amountGwei: '32000000000',
          notAfterMs: fixture.parts.wallNow() + 20_000,
        },
      },
    ])
  })

  test.each<[string, string, readonly string[] | 'all']>([
    ['separated by a comma', `${KEY},${OTHER_KEY}`, [KEY, OTHER_KEY.toLowerCase()]],
    ['separated by %2C', `${KEY}%2C${OTHER_KEY}`, [KEY, OTHER_KEY.toLowerCase()]],
    ['of any case, without 0x, twice', `${KEY.slice(2).toUpperCase()},${KEY}`, [KEY]],
    ['as all', 'all', 'all'],
  ])('reads keys %s', async (_, pubkeys, read) => {
    expect((await unstake(`address=${ADDRESS}&pubkeys=${pubkeys}`)).status).toBe(200)
    expect(askedOf()[0]?.input).toMatchObject({ pubkeys: read })
    expect(askedOf()[0]?.input).not.toHaveProperty('amountGwei')
  })

  test.each([
    ['no address', `pubkeys=${KEY}`],
    ['no keys', `address=${ADDRESS}`],
    ['empty keys', `address=${ADDRESS}&pubkeys=`],
    ['an address of another checksum', `address=${WRONG_CHECKSUM}&pubkeys=${KEY}`],
    ['the zero address', `address=0x${'00'.repeat(20)}&pubkeys=${KEY}`],
    ['an address that is none', `address=${KEY}&pubkeys=${KEY}`],
    ['a key that is too short', `address=${ADDRESS}&pubkeys=${KEY.slice(0, -2)}`],
    ['a key that is too long', `address=${ADDRESS}&pubkeys=${KEY}a1`],
    ['a key that is no hex', `address=${ADDRESS}&pubkeys=0x${'zz'.repeat(48)}`],
    ['an index', `address=${ADDRESS}&pubkeys=7`],
    ['a list with a hole', `address=${ADDRESS}&pubkeys=${KEY},,${OTHER_KEY}`],
    ['a list that ends with a comma', `address=${ADDRESS}&pubkeys=${KEY},`],
    ['a list with a blank', `address=${ADDRESS}&pubkeys=${KEY},%20${OTHER_KEY}`],
    ['all and a key', `address=${ADDRESS}&pubkeys=all,${KEY}`],
    ['all in capitals', `address=${ADDRESS}&pubkeys=ALL`],
    ['keys given twice', `address=${ADDRESS}&pubkeys=${KEY}&pubkeys=${OTHER_KEY}`],
    ['101 keys', `address=${ADDRESS}&pubkeys=${Array.from({ length: 101 }, (_, i) => pubkeyOf(i)).join()}`],
    ['an amount of nothing', `address=${ADDRESS}&pubkeys=${KEY}&amount=0`],
    ['a fraction', `address=${ADDRESS}&pubkeys=${KEY}&amount=1.5`],
    ['an amount below zero', `address=${ADDRESS}&pubkeys=${KEY}&amount=-1`],
    ['an amount in words', `address=${ADDRESS}&pubkeys=${KEY}&amount=all`],
    ['more than eight bytes of gwei', `address=${ADDRESS}&pubkeys=${KEY}&amount=${2n ** 64n}`],
    ['a misspelt parameter', `address=${ADDRESS}&pubkeys=${KEY}&amounts=1`],
  ])('is refused for %s, and nothing is asked for', async (_, query) => {
    const { status, text } = await unstake(query)
    expect({ status, text }).toEqual({ status: 405, text: 'Invalid input' })
    expect(queue.asked).toEqual([])
  })

  test('says of a validator that the registry does not know yet that its deposit waits, where one to the address is on chain', async () => {
    const address = addressOf(88)
    const keyOf = (byte: string) => `0x${byte.repeat(48)}`
    const [own, strangers, revertedKey, elsewhere] = [keyOf('88'), keyOf('89'), keyOf('8a'), keyOf('8b')]
    const block = { block_hash: `0x${'c7'.repeat(32)}`, block_number: 900_100, time: '2026-11-20 00:00:23', version: 1 }
    const deposit = (pubkey: string, changes: object = {}) => ({
      ...{ ...block, pubkey, deposit_index: 0, log_index: 0, contract: addressOf(42) },
      transaction_hash: `0x${'c8'.repeat(32)}`,
      ...{ withdrawal_credentials: `0x02${'00'.repeat(11)}${address.slice(2)}`, amount_gwei: 32_000_000_000n },
      ...{ deposit_data_root: `0x${'c9'.repeat(32)}`, ...changes },
    })
    await insertRows(fixture.warehouse, 'deposit_contracts', [{ address: addressOf(42), version: 1 }])
    await insertRows(fixture.warehouse, 'deposits', [
      deposit(own),
      deposit(strangers, { withdrawal_credentials: `0x01${'00'.repeat(11)}${addressOf(89).slice(2)}` }),
      deposit(revertedKey, { block_hash: `0x${'ca'.repeat(32)}` }),
      deposit(elsewhere, { contract: addressOf(43) }),
    ])
    const paid = { coinbase: address, transactions: 1, base_fee_per_gas_wei: 7, priority_fees_wei: 0 }
    await insertRows(fixture.warehouse, 'execution_blocks', [{ ...block, ...paid, is_deleted: 0 }])
    const reasonOf = async (unknown?: string) => {
      queue.outcome = done({
        status: 'refused',
        reason: 'nobody knows it',
        ...(unknown === undefined ? {} : { unknown }),
      })
      const { status, text, headers } = await unstake(`address=${address}&pubkeys=${own}`)
      expect({ status, text }).toEqual({ status: 405, text: 'Invalid input' })
      return headers.get('x-reason')
    }
    expect(await reasonOf(own)).toBe(
      `nobody knows it: its deposit (transaction 0x${'c8'.repeat(32)}) is on chain and not credited yet, and a request is ` +
        'ignored until the validator has been active for long enough',
    )
    for (const other of [strangers, revertedKey, elsewhere, undefined])
      expect(await reasonOf(other), other).toBe('nobody knows it')
  })

  test.each<[string, JobState, number, string, string]>([
    [
      'that nothing would come of it',
      done({ status: 'refused', reason: 'it is exiting' }),
      405,
      'Invalid input',
      'it is exiting',
    ],
    [
      'that no node answers',
      done({ status: 'unavailable' }),
      500,
      'Server error',
      'no quote can be made at the moment',
    ],
    [
      'that it failed',
      { status: 'failed', reason: 'secret' },
      500,
      'Server error',
      'no quote can be made at the moment',
    ],
  ])('tells %s', async (_, state, httpStatus, body, reason) => {
    queue.outcome = state
    const { status, text, headers } = await unstake(`address=${ADDRESS}&pubkeys=${KEY}`)
    expect({ status, text, reason: headers.get('x-reason') }).toEqual({ status: httpStatus, text: body, reason })
  })
})

describe('an address', () => {
  const FIRST = addressOf(10)
  const OTHERS = addressOf(20)
  const WITHOUT_ADDRESS = addressOf(12)
  const json = async (path: string) => {
    const { status, text } = await ask(path)
    expect(status, text).toBe(200)
    return JSON.parse(text)
  }

  test('has the balances of its validators, as far as the account of the quotes has them', async () => {
    const nothing = { validators: 0, balance: '0', effectiveBalance: '0', epoch: '451' }
    expect(await json(`address/balance?address=${FIRST}`)).toEqual({
      address: getAddress(FIRST),
      validators: 1,
      balance: '32000000010',
      effectiveBalance: '32000000000',
      epoch: '451',
    })
    for (const address of [OTHERS, WITHOUT_ADDRESS, ADDRESS])
      expect(await json(`address/balance?address=${address}`)).toEqual({ address: getAddress(address), ...nothing })
  })

  test('has its validators, in pages', async () => {
    const found = await json(`address/validator?address=${FIRST}`)
    const validator = { pubkey: pubkeyOf(10), status: 'active_ongoing', balance: '32000000010' }
    expect(found.validators).toEqual([
      { ...validator, effectiveBalance: '32000000000', activationEpoch: '3', exitEpoch: '18446744073709551615' },
    ])
    expect(found.pagination).toEqual({ page: 1, limit: 10, total: 1 })
    expect((await json(`address/validator?address=${FIRST}&page=2&limit=1`)).validators).toEqual([])
    expect((await json(`address/validator?address=${OTHERS}`)).pagination.total).toBe(0)
  })

  test('has those that were prepared for it', async () => {
    const address = addressOf(77)
    const pubkey = `0x${'77'.repeat(48)}`
    const credentials = `0x01${'00'.repeat(11)}${address.slice(2)}`
    const claim = { account: 'demo', pubkey, version: 9 }
    await insertRows(fixture.warehouse, 'created_validators', [
      {
        ...claim,
        withdrawal_credentials: credentials,
        deposit_from: address,
        fee_recipient: address,
        amount_gwei: 32_000_000_000,
      },
    ])
    await insertRows(fixture.warehouse, 'validator_owners', [{ ...claim, from_day: '1970-01-01' }])
    await insertRows(fixture.warehouse, 'account_validators', [claim])
    const { validators } = await json(`address/validator?address=${address}`)
    expect(validators).toMatchObject([
      { pubkey, status: expect.stringMatching(/^(provisioned|expired)$/), balance: '0' },
    ])
    expect(await json(`address/balance?address=${address}`)).toMatchObject({ validators: 0, balance: '0' })
  })

  test.each([
    'address/balance',
    'address/balance?address=',
    `address/balance?address=${WRONG_CHECKSUM}`,
    `address/balance?address=0x${'00'.repeat(20)}`,
    'address/validator',
    'address/validator?address=0x12',
    `address/validator?address=${ADDRESS}&limit=1001`,
    `address/validator?address=${ADDRESS}&page=0`,
    `address/validator?address=${ADDRESS}&limit=ten`,
  ])('is refused as %s', async (path) => {
    expect(await ask(path)).toMatchObject({ status: 405, text: 'Invalid input' })
  })

  test('is asked for by nobody where there are no quotes', async () => {
    await using without = await openApi({ ...fixture.parts, host: '127.0.0.1', port: 0 })
    for (const path of ['address/balance', 'address/validator', 'quote/routes', UNSTAKE])
      expect((await ask(`${path}?address=${FIRST}`, {}, without.url)).status).toBe(404)
  })
})

test('all strategies are told with what they yield, and the best is marked', async () => {
  const { status, text } = await ask('quote/routes')
  expect(status, text).toBe(200)
  const { routes } = JSON.parse(text)
  const { transaction, ...first } = JSON.parse((await stake(GOOD)).text)
  expect(transaction).toBeDefined()
  expect(routes).toEqual([{ ...first, isBest: true }])
  expect(queue.asked).toHaveLength(1)
})

describe('the yield of a quote', () => {
  /** An API whose statement that has the text waits; `ran` tells how often it was asked. */
  async function openWaiting(text: string) {
    const released = Promise.withResolvers<void>()
    const asked = Promise.withResolvers<void>()
    const state = { ran: 0 }
    const warehouse: WordsReader = {
      ...noWords,
      async query<Row>(sql: string, params?: QueryParams, options?: QueryLimits): Promise<Row[]> {
        if (sql.includes(text)) {
          state.ran++
          asked.resolve()
          const { signal } = options ?? {}
          const gone = new Promise<never>((_, reject) =>
            signal?.addEventListener('abort', () => reject(signal.reason), { once: true }),
          )
          await Promise.race([released.promise, gone])
        }
        return await fixture.warehouse.query<Row>(sql, params, options)
      },
    }
    const waiting = await openApi({ ...fixture.parts, warehouse, jobs: queue.jobs, quotes, host: '127.0.0.1', port: 0 })
    return { waiting, state, release: released.resolve, asked: asked.promise }
  }

  test('is told to the second asker although the first one has gone', async () => {
    const { waiting, asked: begun, release } = await openWaiting('AS staked_gwei')
    await using _open = waiting
    const leaving = new AbortController()
    const url = `${waiting.url}/aggregator/api/v1/quote/routes`
    const first = fetch(url, { signal: leaving.signal })
    await begun
    const second = fetch(url)
    // Answered after statements of its own: by then the second one waits for the first one's.
    const isServed = async () => (await ask(`address/balance?address=${ADDRESS}`, {}, waiting.url)).status
    expect(await isServed()).toBe(200)
    leaving.abort()
    await expect(first).rejects.toThrow()
    expect(await isServed()).toBe(200) // and by then the first one's end is known
    release()
    expect((await second).status).toBe(200)
  })

  test('whose asker has gone before anything is known of the tables is no failure of ours', async () => {
    const { waiting, asked: begun, release } = await openWaiting('AS table_name')
    await using _open = waiting
    const leaving = new AbortController()
    const first = fetch(`${waiting.url}/aggregator/api/v1/quote/routes`, { signal: leaving.signal })
    await begun
    leaving.abort()
    await expect(first).rejects.toThrow()
    const before = fixture.logged().length
    release()
    expect((await ask(`address/balance?address=${ADDRESS}`, {}, waiting.url)).status).toBe(200)
    expect(fixture.logged().slice(before)).not.toContain('a quote failed')
  })

  test('of the formula is not asked for again while the tables stand', async () => {
    const { waiting, state, release } = await openWaiting('source_gwei + target_gwei + head_gwei')
    await using _open = waiting
    release()
    for (let i = 0; i < 3; i++) expect((await ask('quote/routes', {}, waiting.url)).status).toBe(200)
    expect(state.ran).toBe(1)
  })

  const yields = async () => {
    const { yieldsBreakdown, totalYield, yieldSource } = JSON.parse((await stake(GOOD)).text)
    return { yieldsBreakdown, totalYield, yieldSource }
  }

  test('is measured on closed days once they have validators enough, consensus and execution apart', async () => {
    const insert = async (validators: readonly number[]) => {
      for (const [day, epoch] of Object.entries(DAYS)) {
        await insertRows(
          fixture.warehouse,
          'daily_rewards',
          validators.map((index) => dailyRow(day, index, 2_500_000n, 500_000_000_000_000n)),
        )
        await insertRows(
          fixture.warehouse,
          'validator_epochs',
          validators.map((index) => epochRow(epoch, day, index, { activation_epoch: 0 })),
        )
      }
    }
    await insert(VALIDATORS.slice(1))
    expect(await yields()).toMatchObject({ yieldSource: 'formula' })
    await insert(VALIDATORS.slice(0, 1))
    // Rows that do not count: a day that is not whole, a validator that had left, one that was not there yet.
    const [notWhole, gone, later] = [2_000, 2_001, 2_002] as const
    for (const [day, epoch] of Object.entries(DAYS)) {
      const rows = [notWhole, gone, later].map((index) => ({
        ...dailyRow(day, index, 10n ** 12n, 10n ** 21n),
        is_whole: index === notWhole ? 0 : 1,
      }))
      await insertRows(fixture.warehouse, 'daily_rewards', rows)
      await insertRows(fixture.warehouse, 'validator_epochs', [
        epochRow(epoch, day, notWhole, { activation_epoch: 0 }),
        epochRow(epoch, day, gone, { activation_epoch: 0, exit_epoch: 0 }),
        epochRow(epoch, day, later, { activation_epoch: epoch + 1 }),
      ])
    }
    // The days were closed again with them.
    await insertRows(
      fixture.warehouse,
      'closed_days',
      Object.keys(DAYS).map((day, i) => ({
        ...{ day, first_slot: i * 7_184, last_slot: 7_183 + i * 7_200, validators: 36, validators_unexplained: 0 },
        version: 2,
      })),
    )
    // 2500000 gwei and 5e14 wei of 32 ETH a day, 365.25 times.
    expect(await yields()).toEqual({
      yieldsBreakdown: ['2.85%', '0.57%'],
      totalYield: '3.42%',
      yieldSource: 'measured',
    })
  })
})
