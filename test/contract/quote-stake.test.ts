import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getAddress } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import { openLocalKeyVault } from '../../infra/key-vault/open-local.ts'
import type { LoggedDeposit } from '../../infra/ports/broadcast-node.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import type { KeyVault } from '../../infra/ports/key-vault.ts'
import type { Simulation, StakingNode } from '../../infra/ports/staking-node.ts'
import { DepositedKeys } from '../../processors/validators/deposited-keys.ts'
import { QUOTE_EPOCHS, type QuotedChain, quoteForAddress } from '../../processors/validators/quote-stake.ts'
import { type KeyLimits, QUOTED_KEYS_MAX, QuotedKeys } from '../../processors/validators/quoted-keys.ts'
import { readStakingBook, type StakingBook } from '../../processors/validators/staking-book.ts'
import { UnfundedRoom } from '../../processors/validators/unfunded-room.ts'
import { AppError } from '../../schemas/errors.ts'
import { gasOf } from '../../schemas/eth/staking-transaction.ts'
import { ACCOUNTS_KEY } from '../../schemas/events/accounts.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { type StakingEnd, stakingBroadcast, stakingEnded } from '../../schemas/events/staking-broadcast.ts'
import type { QuoteStakeInput } from '../../schemas/jobs/quote-stake.ts'
import { DEFAULT_UNFUNDED_RULES, type UnfundedRules } from '../../schemas/validator-lifecycle.ts'
import { silentLog } from '../unit/silent-log.ts'

const CLOCK = { genesisTimeSec: 1_700_000_000, secondsPerSlot: 12, slotsPerEpoch: 32 }
const NOW_SLOT = 5_000_000
const NOW_SEC = CLOCK.genesisTimeSec + 12 * NOW_SLOT
/** The machine's clock, where the chain's was led days ahead of it. */
const WALL_MS = NOW_SEC * 1_000 - 5 * 86_400_000
/** The first slot of the span of epochs that the present lies in. */
const SPAN_SLOTS = QUOTE_EPOCHS * CLOCK.slotsPerEpoch
const CONTRACT = '0xba7c000000000000000000000000000000004242'

let folder: string
let vault: KeyVault
let eventLog: EventLog

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'epochline-quotes-'))
  const keySource = { kind: 'file', file: join(folder, 'key'), mayCreate: true } as const
  vault = await openLocalKeyVault({ directory: join(folder, 'vault'), keySource })
  eventLog = await openSqliteEventLog({ file: join(folder, 'log.sqlite') })
})
afterAll(async () => {
  await vault[Symbol.asyncDispose]()
  await eventLog[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

/** A node as it is now; a test changes what it answers. */
class Node implements StakingNode {
  slot = NOW_SLOT
  nonce = 0
  isAway = false
  /** How often it was asked. */
  questions = 0
  simulation: Simulation = { status: 'done', gas: 100_000n }

  #answer<Value>(value: Value): Promise<Value> {
    this.questions++
    if (this.isAway) return Promise.reject(new AppError('node_unreachable', 'away', { retryable: true }))
    return Promise.resolve(value)
  }
  facts = () =>
    this.#answer({
      chainId: 7_017_017,
      genesisForkVersion: new Uint8Array(4),
      depositContract: `0x${'42'.repeat(20)}`,
      clock: CLOCK,
    })
  hasCode = () => this.#answer(true)
  terms = () => this.#answer({ nonce: this.nonce, maxFeePerGasWei: 2n, maxPriorityFeePerGasWei: 1n })
  headSlot = () => this.#answer(this.slot)
  storageAt = () => this.#answer(0n)
  simulate = () => this.#answer(this.simulation)
  async [Symbol.asyncDispose]() {}
}

let accounts = 0

/** Quotes for an account of their own. */
async function openQuotes({ limits = {}, inAll = 1_000 }: { limits?: Partial<KeyLimits>; inAll?: number } = {}) {
  const node = new Node()
  const book: StakingBook = await readStakingBook(eventLog, silentLog, AbortSignal.timeout(10_000))
  const contract = { kind: 'abyss', address: CONTRACT, feeWei: 0n } as const
  const deposits: LoggedDeposit[] = []
  const broadcast = { recentDeposits: async () => deposits }
  const chain: QuotedChain = {
    ...{ name: 'mainnet', network: 'mainnet', node, contract, broadcast },
    registered: async () => [],
  }
  const rules: UnfundedRules = { ...DEFAULT_UNFUNDED_RULES, unfundedMax: inAll }
  const known = new Set<string>()
  const told = new Set<string>()
  const registered = {
    has: (_chain: string, pubkey: string) => known.has(pubkey),
    readOn: async () => {
      for (const pubkey of told) known.add(pubkey)
    },
  }
  const funded = new DepositedKeys({ registered, sent: book.sent })
  const room = new UnfundedRoom({ book, funded, rules })
  const keys = new QuotedKeys({ created: book.created, funded, rules, limits: { ...QUOTED_KEYS_MAX, ...limits } })
  const fund = () => {
    const made = book.created.ofAccount('mainnet', account)
    for (const pubkey of made.flatMap(({ pubkeys }) => pubkeys)) told.add(pubkey)
  }
  const parts = {
    vault,
    writer: eventLog,
    log: silentLog,
    book,
    room,
    now: () => NOW_SEC * 1_000,
    wallNow: () => WALL_MS,
    keys,
  }
  const account = `quotes-${++accounts}`
  const ask = (change: Partial<QuoteStakeInput> = {}) =>
    quoteForAddress(parts, chain, {
      ...{ chain: 'mainnet', account, strategyId: '32x', source: 'xxx', address: `0x${'ad'.repeat(20)}`, count: 1 },
      ...{ client: 'c'.repeat(64), deposited: [], notAfterMs: WALL_MS },
      ...change,
    })
  const dataOf = async (change: Partial<QuoteStakeInput> = {}) => {
    const quoted = await ask(change)
    return quoted.status === 'quoted' ? quoted.transaction.data : quoted.status
  }
  const newest = () => {
    const set = book.created.ofAccount('mainnet', account).at(-1)
    if (set === undefined) throw new Error('keys were made before')
    return set
  }
  return { node, ask, dataOf, fund, keyCount: () => created(account), book, account, deposits, newest }
}

/** Keys of the account that the log knows. */
async function created(account: string): Promise<number> {
  const book = await readStakingBook(eventLog, silentLog, AbortSignal.timeout(10_000))
  return book.created.ofAccount('mainnet', account).flatMap(({ pubkeys }) => pubkeys).length
}

test('answers a transaction in hex quantities, with a fifth more gas than it takes', async () => {
  const { ask } = await openQuotes()
  expect(await ask({ count: 2 })).toEqual({
    status: 'quoted',
    transaction: {
      gas: `0x${(120_000).toString(16)}`,
      to: '0xBA7C000000000000000000000000000000004242',
      from: getAddress(`0x${'ad'.repeat(20)}`),
      value: `0x${(64n * 10n ** 18n).toString(16)}`,
      data: expect.stringMatching(/^0x4f498c73/),
      chainId: '0x6b1239',
    },
  })
})

test.each<[string, Simulation, bigint]>([
  ['all the gas that a transaction may have', { status: 'done', gas: 16_000_000n }, 16_777_216n],
  ['what is always enough, where no node simulates it', { status: 'unknown' }, gasOf(1)],
])('gives %s', async (_, simulation, gas) => {
  const { node, ask } = await openQuotes()
  node.simulation = simulation
  expect(await ask()).toMatchObject({ transaction: { gas: `0x${gas.toString(16)}` } })
})

test('answers an equal question with the same keys, until its span ends or its address has sent a transaction', async () => {
  const { node, dataOf, keyCount } = await openQuotes()
  node.slot = SPAN_SLOTS * 1_000
  const first = await dataOf()
  node.slot += SPAN_SLOTS - 1
  expect(await dataOf()).toBe(first)
  expect(await dataOf({ client: 'd'.repeat(64) })).toBe(first)
  expect(await keyCount()).toBe(1)
  const others = [await dataOf({ source: 'wallet' }), await dataOf({ count: 2 })]
  others.push(await dataOf({ address: `0x${'ae'.repeat(20)}` }))
  node.nonce = 1
  others.push(await dataOf())
  node.slot++
  others.push(await dataOf())
  expect(new Set([first, ...others]).size).toBe(6)
  expect(await keyCount()).toBe(7)
})

test('answers a question whose keys are funded with others, whatever the address has sent', async () => {
  const { dataOf, fund, keyCount } = await openQuotes()
  const first = await dataOf()
  fund()
  const second = await dataOf()
  expect(second).not.toBe(first)
  expect(await dataOf()).toBe(second)
  expect(await keyCount()).toBe(2)
})

test('answers a question whose keys have just been deposited with others: a contract’s nonce does not move', async () => {
  const { dataOf, newest, deposits } = await openQuotes()
  const first = await dataOf()
  const [pubkey = ''] = newest().pubkeys
  const [depositDataRoot = ''] = newest().depositDataRoots
  const at = { transactionHash: `0x${'0e'.repeat(32)}`, blockNumber: 1 }
  deposits.push({ pubkey, depositDataRoot: `0x${'99'.repeat(32)}`, ...at }) // a stranger's
  expect(await dataOf()).toBe(first)
  deposits.push({ pubkey, depositDataRoot, ...at })
  const second = await dataOf()
  expect(second).not.toBe(first)
  deposits.splice(0) // the node's newest blocks are others now
  expect(await dataOf()).toBe(second)
})

test('answers a question whose keys the index knows as deposited with others', async () => {
  const { dataOf, newest, keyCount } = await openQuotes({ limits: { perAddress: 1, perClient: 1 } })
  const first = await dataOf()
  const second = await dataOf({ deposited: [...newest().pubkeys] })
  expect(second).toMatch(/^0x/)
  expect(second).not.toBe(first)
  expect(await keyCount()).toBe(2)
})

test.each<[StakingEnd | undefined, boolean]>([
  [undefined, true],
  ['mined', true],
  ['unsent', true],
  ['failed', false],
  ['replaced', false],
])('knows that keys are used by a transaction that was broadcast: with the end %s %s', async (status, isUsed) => {
  const { dataOf, newest, book, account } = await openQuotes()
  const first = await dataOf()
  const name = { chain: 'mainnet', account, txHash: `0x${'7a'.repeat(32)}` }
  const { depositFrom: sender, pubkeys } = newest()
  const event = { key: ACCOUNTS_KEY, time: '2026-11-20T00:00:00.000Z' }
  const sent = { ...name, sender, nonce: 0, pubkeys, rawTransaction: '0x02' }
  book.add(encodeEvent(stakingBroadcast, { ...event, id: 'sent', data: sent }))
  if (status !== undefined) book.add(encodeEvent(stakingEnded, { ...event, id: 'ended', data: { ...name, status } }))
  expect((await dataOf()) !== first).toBe(isUsed)
})

test('asks no node for who does not wait any more', async () => {
  const { node, ask } = await openQuotes()
  expect(await ask({ notAfterMs: WALL_MS - 1 })).toEqual({ status: 'unavailable' })
  expect(node.questions).toBe(0)
})

test('answers questions of one moment with the same keys', async () => {
  const { dataOf, keyCount } = await openQuotes()
  const answers = await Promise.all([dataOf(), dataOf(), dataOf()])
  expect(new Set(answers).size).toBe(1)
  expect(await keyCount()).toBe(1)
})

test.each<[string, Partial<KeyLimits>, Partial<QuoteStakeInput>, Partial<QuoteStakeInput>]>([
  ['an address', { perAddress: 3 }, { client: 'e'.repeat(64) }, { address: `0x${'ae'.repeat(20)}` }],
  ['a client', { perClient: 3 }, { address: `0x${'ae'.repeat(20)}` }, { client: 'e'.repeat(64) }],
])('makes no more keys for %s than may wait, nor for questions of one moment', async (_, limits, same, other) => {
  const { ask, keyCount } = await openQuotes({ limits })
  const first = await ask({ count: 2 })
  expect(first.status).toBe('quoted')
  const both = await Promise.all([ask({ ...same, source: 'a' }), ask({ ...same, source: 'b' })])
  expect(both.map(({ status }) => status).sort()).toEqual(['limited', 'quoted'])
  expect(await keyCount()).toBe(3)
  expect(await ask({ count: 2 })).toEqual(first) // it is known
  expect((await ask(other)).status).toBe('quoted')
})

test('makes no more keys in all than may wait, and others once these are expired', async () => {
  const { node, ask, keyCount } = await openQuotes({ inAll: 2 })
  expect((await ask({ count: 2 })).status).toBe('quoted')
  const stranger = { address: `0x${'af'.repeat(20)}`, client: 'f'.repeat(64) }
  expect((await ask(stranger)).status).toBe('limited')
  node.slot = NOW_SLOT + DEFAULT_UNFUNDED_RULES.expiryEpochs * CLOCK.slotsPerEpoch
  expect((await ask(stranger)).status).toBe('quoted')
  expect(await keyCount()).toBe(3)
})

test('makes others once keys are funded, for the same client and address', async () => {
  const { ask, fund } = await openQuotes({ limits: { perAddress: 2, perClient: 2 } })
  expect((await ask({ count: 2 })).status).toBe('quoted')
  expect((await ask({ source: 'a' })).status).toBe('limited')
  fund()
  expect((await ask({ source: 'a', count: 2 })).status).toBe('quoted')
  expect((await ask({ source: 'b' })).status).toBe('limited')
})

test('makes no keys where no node answers, and counts none', async () => {
  const { node, ask, keyCount } = await openQuotes({ limits: { perClient: 1 } })
  node.isAway = true
  expect(await ask()).toEqual({ status: 'unavailable' })
  expect(await keyCount()).toBe(0)
  node.isAway = false
  expect(await ask({ notAfterMs: WALL_MS - 1 })).toEqual({ status: 'unavailable' })
  expect((await ask()).status).toBe('quoted')
})

test('quotes nothing that the staking contract would not take', async () => {
  const { node, ask } = await openQuotes()
  node.simulation = { status: 'reverted' }
  expect(await ask()).toEqual({ status: 'unavailable' })
})
