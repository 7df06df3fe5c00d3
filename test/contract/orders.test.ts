import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import {
  acceptOrder,
  cancelOrder,
  extendOrder,
  listOrders,
  provisionOrder,
  startOrder,
} from '../../commands/admin/orders.ts'
import { findUnwell } from '../../commands/admin/unwell-nodes.ts'
import { readConfig } from '../../infra/config/config.ts'
import type { EmbeddedMode } from '../../infra/config/types.ts'
import { openEventLog } from '../../infra/open-ports.ts'
import { type OpenUpstreams, openUpstreams } from '../../infra/upstreams/upstreams.ts'
import { readOrderBook, toOrderView } from '../../processors/users/order-book.ts'
import { refusal } from '../unit/refusal.ts'
import { settingsOfFile, type TestSetting } from '../unit/setting-of-file.ts'
import { silentLog } from '../unit/silent-log.ts'
import { Browser, type GivenAccounts, newUser, openGivenAccounts, until } from './given-accounts.ts'
import { type GivenApi, openGivenApi } from './given-api.ts'
import { networkOn, openStub, type Stub, untilHealthy } from './given-gateway.ts'

// Customers at two listeners, an operator with the commands of another process, and a gateway before nodes that answer.

const PASSWORD = 'correct horse battery'
const ETHEREUM = 'ethereum/mainnet'
const WANTED = { name: 'indexer', blockchain: ETHEREUM, node_type: 'archive', location: 'eu-central', days: 90 }
const CREDENTIAL = 'Bearer hunter2'
const DAY_MS = 86_400_000
const never = new AbortController().signal

const settings = settingsOfFile()
const clock = { aheadMs: 0 }
const wallNow = () => Date.now() + clock.aheadMs
const directory = mkdtempSync(join(tmpdir(), 'epochline-orders-'))

/** Of a log whose making nobody has told. */
const OF_NO_LOG = ''
let tables: GivenApi
let setting: TestSetting
let shared: Stub
let own: Stub
let upstreams: OpenUpstreams
let given: GivenAccounts
beforeAll(async () => {
  tables = await openGivenApi()
  setting = settings()
  shared = await openStub('ethereum', 'mainnet')
  own = await openStub('ethereum', 'mainnet')
  upstreams = openUpstreams({
    networks: [networkOn(ETHEREUM, shared)],
    log: silentLog,
    secret: OF_NO_LOG,
    probeMs: 100,
  })
  await untilHealthy({ upstreams }, ETHEREUM)
  const files = setting.config.mode as EmbeddedMode
  given = await openGivenAccounts(tables, { api: { upstreams }, files, wallNow })
})
afterAll(async () => {
  await given[Symbol.asyncDispose]()
  await upstreams[Symbol.asyncDispose]()
  for (const stub of [shared, own]) await stub[Symbol.asyncDispose]()
  await tables[Symbol.asyncDispose]()
  rmSync(directory, { recursive: true })
})

/** What the operator's next command reads, and what the program takes over: the nodes of an order, by a reference. */
async function provideFor(
  orderId: string,
  {
    withShared = false,
    place = ETHEREUM,
    node = own,
  }: { readonly withShared?: boolean; readonly place?: string; readonly node?: Stub } = {},
): Promise<void> {
  const file = join(directory, 'epochline.yaml')
  const first = '{ url: env:ORDER_NODE, headers: { authorization: env:ORDER_KEY } }'
  const all = [first, ...(withShared ? ['{ url: env:SHARED_NODE }'] : [])].join()
  writeFileSync(file, `gateway: { orders: { ${orderId}: { ${place}: { upstreams: [${all}] } } } }`)
  const nodes = { BEACON_URL: 'http://127.0.0.1:9', EXECUTION_URL: 'http://127.0.0.1:9' }
  const secrets = { ORDER_NODE: node.url, SHARED_NODE: shared.url, ORDER_KEY: CREDENTIAL }
  const config = readConfig({
    ...{ ...nodes, ...secrets },
    ...{ EPOCHLINE_CONFIG: file, EPOCHLINE_DATA: setting.config.dataDirectory },
  })
  setting = { ...setting, config }
  upstreams.replace([networkOn(ETHEREUM, shared), ...config.gateway.networks])
  await untilHealthy({ upstreams }, place, { order: orderId })
}

async function place(user: Browser, wanted: object = WANTED): Promise<string> {
  const { status, body, text } = await user.post('/orders', wanted)
  expect(status, text).toBe(200)
  return body.data.order_id
}

const orderOf = async (user: Browser, orderId: string) => {
  const { body } = await user.get('/orders')
  return body.data.find(({ order_id }: { order_id: string }) => order_id === orderId)
}

/** Calls with a key: the status, and what it says where it is refused. */
async function call(key: string, place = ETHEREUM, method = 'eth_blockNumber') {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method, params: [] })
  const response = await fetch(`${given.urls[0]}/${place}/${key}`, { method: 'POST', body })
  const { error } = (await response.json()) as { readonly error?: { readonly message: string } }
  return { status: response.status, why: error?.message }
}

async function newKey(user: Browser, wanted: object): Promise<string> {
  const { status, body, text } = await user.post('/keys', wanted)
  expect(status, text).toBe(200)
  await given.fill()
  return body.data.key
}

async function running(user: Browser): Promise<string> {
  const orderId = await place(user)
  await acceptOrder(setting, orderId, {})
  await provisionOrder(setting, orderId)
  await provideFor(orderId)
  await startOrder(setting, orderId)
  setting.printed()
  return orderId
}

describe('an order', () => {
  test('goes its way from being ordered to its end, and has a node that its keys alone reach', async () => {
    const ann = await newUser(given, 'ann@example.org', PASSWORD)
    const placed = await ann.post('/orders', WANTED)
    const orderId: string = placed.body.data.order_id
    expect(placed.body.data).toEqual({
      ...{ ...WANTED, order_id: expect.stringMatching(/^ord_[0-9a-f]{16}$/), state: 'ordered', expires_at: null },
      ...{ ordered_at: expect.stringMatching(/^\d{4}-/), changed_at: placed.body.data.ordered_at },
    })
    const early = { status: 400, body: { reason: 'wrong_state', msg: 'Param error: the order is ordered' } }
    expect(await ann.post('/keys', { order_id: orderId })).toMatchObject(early)
    expect(await refusal(provisionOrder(setting, orderId))).toBe(
      `${orderId} is ordered, and does not come to provisioning from there: nothing was changed.`,
    )

    await acceptOrder(setting, orderId, { days: '30' })
    expect(await orderOf(ann, orderId)).toMatchObject({ state: 'accepted', days: 30 })
    expect(await refusal(acceptOrder(setting, orderId, { days: '60' }))).toMatch(/is accepted, and does not come to/)
    await provisionOrder(setting, orderId)
    expect(await refusal(startOrder(setting, orderId))).toBe(
      `${orderId} has no upstream of ethereum/mainnet, which its calls would go to: name one below gateway.orders.${orderId} of the configuration; nothing was changed.`,
    )
    await provideFor(orderId)
    await startOrder(setting, orderId)
    await listOrders(setting)
    expect(setting.printed()).toMatch(
      new RegExp(
        `^${orderId} was accepted for 30 days\\.\n${orderId} is being provided for\\.\n${orderId} runs\\.\n` +
          `${orderId}  u-\\w+  "indexer"  ethereum/mainnet  archive  eu-central  30 days  running \\S+Z  ordered \\S+Z  ends \\S+Z\n$`,
      ),
    )
    const runs = await orderOf(ann, orderId)
    expect(Date.parse(runs.expires_at) - Date.parse(runs.changed_at)).toBe(30 * DAY_MS)

    const dedicated = await newKey(ann, { name: 'mine', order_id: orderId })
    const common = await newKey(ann, { name: 'all' })
    expect(await call(dedicated)).toEqual({ status: 200, why: undefined })
    expect(own.got.map(({ headers }) => headers.authorization)).toEqual([CREDENTIAL])
    expect(shared.got).toEqual([])
    expect(await call(common)).toEqual({ status: 200, why: undefined })
    expect([own.got.length, shared.got.length]).toEqual([1, 1])
    expect(await call(dedicated, 'ethereum/sepolia')).toEqual({
      status: 401,
      why: 'Authentication failed: the token is not for the chain sepolia',
    })
    const rest = await fetch(`${given.urls[0]}/${ETHEREUM}/${dedicated}/api/v1/validator/daliy-rewards`)
    expect(await rest.json()).toMatchObject({ code: '401', msg: expect.stringContaining('the family rewards') })
    const keys = async () => (await ann.get('/keys')).body.data
    expect(await keys()).toMatchObject([
      { name: 'mine', blockchain: ETHEREUM, order_id: orderId, is_working: true },
      { name: 'all', blockchain: null, order_id: null, is_working: true },
    ])

    // What is kept says the same to whoever decides next, and to who reads it for the first time.
    const told = (await ann.get('/orders')).body.data
    await given.restart()
    expect((await ann.get('/orders')).body.data).toEqual(told)
    const everything = [
      ...[await given.log(), given.logged(), setting.printed()],
      ...[JSON.stringify(told), JSON.stringify(await keys())],
    ].join('\n')
    for (const secret of [CREDENTIAL, 'hunter2', `127.0.0.1:${own.port}`, dedicated])
      expect(everything).not.toContain(secret)

    clock.aheadMs = 30 * DAY_MS
    onTestFinished(() => {
      clock.aheadMs = 0
    })
    expect(await call(dedicated)).toEqual({
      status: 401,
      why: 'Authentication failed: the order of the token has expired',
    })
    expect(await call(common)).toMatchObject({ status: 200 })
    expect([own.got.length, shared.got.length]).toEqual([1, 2])
    await ann.post('/log-in', { email: 'ann@example.org', password: PASSWORD })
    expect(await orderOf(ann, orderId)).toMatchObject({ state: 'expired', changed_at: runs.expires_at })
    expect((await keys()).map(({ is_working }: { is_working: boolean }) => is_working)).toEqual([false, true])
    expect(await ann.post('/keys', { order_id: orderId })).toMatchObject({ body: { reason: 'wrong_state' } })
  })

  test.each(['ethereum2/mainnet', ETHEREUM])(
    'of a hosted validator of %s passes through the same states, and has a node that its keys alone reach',
    async (place) => {
      const [protocol = '', network = ''] = place.split('/')
      await using node = await openStub(protocol, network)
      const val = await newUser(given, `val-${protocol}@example.org`, PASSWORD)
      const { body } = await val.post('/orders', { ...WANTED, blockchain: place, node_type: 'validator', days: 365 })
      const orderId: string = body.data.order_id
      const states: unknown[] = []
      const look = async () => states.push((await orderOf(val, orderId)).state)
      await look()
      await acceptOrder(setting, orderId, {})
      await look()
      await provisionOrder(setting, orderId)
      await look()
      await provideFor(orderId, { place, node })
      await startOrder(setting, orderId)
      await look()
      expect(states).toEqual(['ordered', 'accepted', 'provisioning', 'running'])
      const key = await newKey(val, { order_id: orderId })
      const path = protocol === 'ethereum2' ? '/eth/v1/node/version' : ''
      const init = path === '' ? { method: 'POST', body: '{"id":7,"method":"eth_gasPrice"}' } : {}
      const ask = async () => (await fetch(`${given.urls[0]}/${place}/${key}${path}`, init)).status
      expect(await ask()).toBe(200)
      expect(node.got.map((got) => got.headers.authorization)).toEqual([CREDENTIAL])
      await cancelOrder(setting, orderId, { yes: true })
      await given.fill()
      expect(await until(async () => (await ask()) === 401)).toBe(true)
      await look()
      expect(states.at(-1)).toBe('cancelled')
      setting.printed()
    },
  )

  test('starts where a node of its network is well, or the operator says so all the same', async () => {
    const kim = await newUser(given, 'kim@example.org', PASSWORD)
    const [orderId, onDevnet, forced] = [await place(kim), await place(kim), await place(kim)]
    for (const id of [orderId, onDevnet, forced]) {
      await acceptOrder(setting, id, {})
      await provisionOrder(setting, id)
      await provideFor(id)
    }
    const group = (order: string) => upstreams.groupOf({ protocol: 'ethereum', network: 'mainnet', order })
    const node = group(forced)?.choose({ tried: [] })?.id
    const { identity } = own
    onTestFinished(() => {
      own.identity = identity
    })
    own.identity = '0x5'
    const unwell = `has no node that is well of ethereum/mainnet (node ${node}: it follows another chain)`
    expect(await refusal(startOrder(setting, forced))).toBe(
      `${forced} ${unwell}; --force starts it all the same. Nothing was changed.`,
    )
    expect(await orderOf(kim, forced)).toMatchObject({ state: 'provisioning' })
    await startOrder(setting, forced, { force: true })
    expect(await orderOf(kim, forced)).toMatchObject({ state: 'running' })
    // What runs already is asked for nothing.
    await startOrder(setting, forced)

    // Nobody has said which chain the node is to follow: it is the one of the nodes that all share, the devnet's on the devnet.
    own.identity = identity
    await provideFor(onDevnet)
    const { chains } = readConfig({ EPOCHLINE_CONFIG: '/dev/null' })
    const devnet = { ...setting, config: { ...setting.config, chains } }
    expect(await refusal(startOrder(devnet, onDevnet))).toContain('it follows another chain')
    own.identity = '0x6b1239'
    await startOrder(devnet, onDevnet)
    expect(await orderOf(kim, onDevnet)).toMatchObject({ state: 'running' })
    own.identity = '0x5'

    await provideFor(orderId, { withShared: true })
    await startOrder(setting, orderId)
    expect(await orderOf(kim, orderId), 'one of two is well').toMatchObject({ state: 'running' })
  })

  test('is its account’s: to another one it is not there, nor are its keys', async () => {
    const bob = await newUser(given, 'bob@example.org', PASSWORD)
    const orderId = await running(bob)
    const key = await newKey(bob, { order_id: orderId })
    const eve = await newUser(given, 'eve@example.org', PASSWORD)
    const gone = { status: 404, body: { reason: 'no_such_order' } }
    expect((await eve.get('/orders')).body.data).toEqual([])
    expect(await eve.post(`/orders/${orderId}/cancel`)).toMatchObject(gone)
    expect(await eve.post('/keys', { order_id: orderId })).toMatchObject(gone)
    // Another order’s key goes to that order’s node, of which there is none here.
    const ofEve = await place(eve)
    await acceptOrder(setting, ofEve, {})
    await provisionOrder(setting, ofEve)
    await provideFor(ofEve)
    await startOrder(setting, ofEve)
    upstreams.replace([networkOn(ETHEREUM, shared), { ...networkOn(ETHEREUM, own), order: orderId }])
    await untilHealthy({ upstreams }, ETHEREUM, { order: orderId })
    const evesKey = await newKey(eve, { order_id: ofEve })
    const before = [own.got.length, shared.got.length]
    expect(await call(evesKey)).toMatchObject({ status: 503 })
    expect([own.got.length, shared.got.length]).toEqual(before)
    expect(await call(key)).toMatchObject({ status: 200 })
    expect([own.got.length, shared.got.length]).toEqual([(before[0] ?? 0) + 1, before[1]])
  })

  test('is cancelled by its customer while nobody works on it, later by the operator, and then its keys stop', async () => {
    const cat = await newUser(given, 'cat@example.org', PASSWORD)
    const first = await place(cat)
    await acceptOrder(setting, first, {})
    for (const _ of ['once', 'twice']) expect(await cat.post(`/orders/${first}/cancel`)).toMatchObject({ status: 200 })
    expect(await orderOf(cat, first)).toMatchObject({ state: 'cancelled', expires_at: null })
    expect(await refusal(acceptOrder(setting, first, {}))).toMatch(/is cancelled, and does not come to accepted/)

    const second = await running(cat)
    const keys = [await newKey(cat, { order_id: second }), await newKey(cat, { order_id: second })]
    for (const key of keys) expect(await call(key)).toMatchObject({ status: 200 })
    expect(await cat.post(`/orders/${second}/cancel`)).toMatchObject({
      status: 400,
      body: { msg: 'Param error: the order is running', reason: 'wrong_state' },
    })
    await listOrders(setting, { state: 'running' })
    const line = setting
      .printed()
      .split('\n')
      .find((one) => one.startsWith(second))
    expect(await refusal(cancelOrder(setting, second)), 'it is paid').toBe(
      `${line}\nIt is paid. Cancelled it has ended for good, and its keys (2) work no more.\nSay --yes to cancel it; nothing was changed.`,
    )
    for (const key of keys) expect(await call(key)).toMatchObject({ status: 200 })
    await cancelOrder(setting, second, { yes: true })
    await cancelOrder(setting, second)
    await given.fill()
    for (const key of keys)
      expect(await until(async () => (await call(key)).status === 401), 'a cancelled order has no key').toBe(true)
    expect((await cat.get('/keys')).body.data).toMatchObject([{ is_working: false }, { is_working: false }])
    expect(await orderOf(cat, second)).toMatchObject({ state: 'cancelled', expires_at: null })
    const unpaid = await place(cat)
    await cancelOrder(setting, unpaid)
    expect(await orderOf(cat, unpaid)).toMatchObject({ state: 'cancelled' })
  })

  test('is one, however often its request is sent under one name, and is told to its account alone', async () => {
    const gus = await newUser(given, 'gus@example.org', PASSWORD)
    const named = { 'idempotency-key': 'order-7' }
    const sent = await Promise.all([1, 2, 3].map(() => gus.post('/orders', WANTED, named)))
    const [{ order_id: orderId }] = sent.map(({ body }) => body.data)
    expect(new Set(sent.map(({ text }) => text)).size).toBe(1)
    await acceptOrder(setting, orderId, { days: '30' })
    await given.restart()
    const again = await gus.post('/orders', WANTED, named)
    expect(again.body.data, 'as it stands').toMatchObject({ order_id: orderId, state: 'accepted', days: 30 })
    expect((await gus.get('/orders')).body.pagination).toEqual({ page: 1, limit: 100, total: 1 })
    expect(await gus.post('/orders', { ...WANTED, days: 30 }, named)).toMatchObject({
      status: 400,
      body: { reason: 'other_request', msg: 'Param error: Idempotency-Key was used for another request' },
    })
    expect((await gus.post('/orders', WANTED, { 'idempotency-key': 'a b' })).body.msg).toContain('Idempotency-Key is')
    expect(given.logged().split(orderId).length - 1, 'its operator finds it in the log, once').toBe(1)

    const hal = await newUser(given, 'hal@example.org', PASSWORD)
    const ofHal = await hal.post('/orders', WANTED, named)
    expect(ofHal.body.data.order_id, 'a name is its account’s').not.toBe(orderId)
    expect((await gus.get(`/orders/${orderId}`)).body).toEqual(again.body)
    const foreign = await hal.get(`/orders/${orderId}`)
    expect(foreign).toMatchObject({ status: 404, body: { reason: 'no_such_order' } })
    for (const none of [`ord_${'0'.repeat(16)}`, 'ord_1'])
      expect((await hal.get(`/orders/${none}`)).text, none).toBe(foreign.text)

    const newest = await place(gus)
    const page = async (number: number) => (await gus.get(`/orders?page=${number}&limit=1`)).body
    expect((await page(1)).data).toMatchObject([{ order_id: newest }])
    expect(await page(2)).toMatchObject({ data: [{ order_id: orderId }], pagination: { page: 2, limit: 1, total: 2 } })
    expect((await page(3)).data).toEqual([])
    setting.printed()
    await listOrders(setting, { state: 'accepted', account: ofHal.body.data.account })
    expect(setting.printed()).toMatch(new RegExp(`^(?!.*${newest}).*${orderId}`, 's'))
  })

  test('is paid for longer, and its keys work as long, but for those that were revoked', async () => {
    const ida = await newUser(given, 'ida@example.org', PASSWORD)
    const orderId = await running(ida)
    const [key, deleted] = [await newKey(ida, { order_id: orderId }), await newKey(ida, { order_id: orderId })]
    const keys = (await ida.get('/keys')).body.data
    await ida.ask('DELETE', `/keys/${keys[1].key_id}`)
    const { changed_at } = await orderOf(ida, orderId)
    expect(await refusal(extendOrder(setting, orderId, { days: '89' }))).toBe(
      `--days counts from when ${orderId} began to run, and has to be 91 or more for it to run longer: nothing was changed.`,
    )
    const other = await place(ida)
    expect(await refusal(extendOrder(setting, other, { days: '91' }))).toBe(
      `${other} is ordered; only one that is running, or expired less than 7 days ago, can be extended: nothing was changed.`,
    )
    const { identity } = own
    onTestFinished(() => {
      own.identity = identity
    })
    own.identity = '0x5'
    expect(await refusal(extendOrder(setting, orderId, { days: '120' }))).toMatch(
      /has no node that is well of ethereum\/mainnet \(node \w+: it follows another chain\); --force extends it all the same\. Nothing was changed\.$/,
    )
    const nodeless = { ...setting.config, gateway: { ...setting.config.gateway, networks: [] } }
    const onNothing = extendOrder({ ...setting, config: nodeless }, orderId, { days: '120', force: true })
    expect(await refusal(onNothing)).toMatch(/has no upstream of ethereum\/mainnet, /)
    await extendOrder(setting, orderId, { days: '110', force: true })
    own.identity = identity
    for (const _ of ['once', 'twice']) await extendOrder(setting, orderId, { days: '120' })
    expect((await given.log()).split(`account.order-extended:${orderId}:120`)).toHaveLength(2)
    await given.fill()
    const ends = Date.parse(changed_at) + 120 * DAY_MS
    expect(await orderOf(ida, orderId)).toMatchObject({ days: 120, expires_at: new Date(ends).toISOString() })
    onTestFinished(() => {
      clock.aheadMs = 0
    })
    clock.aheadMs = 100 * DAY_MS
    expect(await until(async () => (await call(key)).status === 200)).toBe(true)
    expect(await call(deleted)).toMatchObject({ status: 401 })
    clock.aheadMs = 120 * DAY_MS
    expect(await call(key)).toEqual({ status: 401, why: 'Authentication failed: the order of the token has expired' })
  })

  test('ends with its account', async () => {
    const dan = await newUser(given, 'dan@example.org', PASSWORD)
    const [open, ended] = [await place(dan), await place(dan)]
    await dan.post(`/orders/${ended}/cancel`)
    await dan.post('/close', { email: 'dan@example.org', password: PASSWORD })
    expect(await refusal(acceptOrder(setting, open, {}))).toBe(
      `The account of ${open} was closed, so nobody could use the order: nothing was changed.`,
    )
    await using eventLog = await openEventLog(setting.config, silentLog)
    const book = await readOrderBook(eventLog, silentLog, never)
    expect([open, ended].map((id) => book.get(id)?.step)).toEqual(['cancelled', 'cancelled'])
    const events = await Array.fromAsync(eventLog.read({ topic: 'accounts', signal: never }))
    const ids = events.map(({ event }) => event.id).filter((id) => id.startsWith(`account.order-moved:${ended}`))
    expect(ids, 'told once').toEqual([`account.order-moved:${ended}:cancelled`])
    expect(book.of().map((order) => toOrderView(order, 0).state)).not.toContain('expired')
  })

  test('is refused with a reason where it is for nothing that there is', async () => {
    const fay = await newUser(given, 'fay@example.org', PASSWORD)
    const refused = async (change: object) => (await fay.post('/orders', { ...WANTED, ...change })).body
    expect(await refused({ blockchain: 'ethereum/nowhere' })).toMatchObject({ reason: 'no_such_blockchain' })
    expect(await refused({ blockchain: 'ethereum/mainnet/x' })).toMatchObject({ reason: 'no_such_blockchain' })
    for (const blockchain of ['ipfs/pub', 'ton/mainnet'])
      expect(await refused({ blockchain, node_type: 'validator' })).toMatchObject({
        ...{ reason: 'no_validators', msg: expect.stringContaining('is for networks of ethereum and ethereum2') },
      })
    for (const blockchain of [ETHEREUM, 'ethereum2/mainnet'])
      expect(await refused({ blockchain, node_type: 'validator' })).toMatchObject({ code: '200' })
    for (const asked of ['/usage?key_id=', '/usage?by=', '/usage?by=key,&by=', '/keys?state=', '/orders?limit=']) {
      const name = /(\w+)=$/.exec(asked)?.[1]
      const msg = `Param error: ${name} has no value: leave it out`
      expect(await fay.get(asked), asked).toMatchObject({ status: 400, body: { code: '400', msg } })
    }
    expect(await refused({ node_type: 'light' })).toMatchObject({
      code: '400',
      msg: expect.stringContaining('node_type'),
    })
    expect(await refused({ location: 'EU\n' })).toMatchObject({ msg: expect.stringContaining('location') })
    expect(await refused({ days: 0 })).toMatchObject({ msg: expect.stringContaining('days') })
    expect(await refused({ name: 'a\u202eb' })).toMatchObject({ msg: expect.stringContaining('name') })
    const both = await fay.post('/keys', { order_id: `ord_${'0'.repeat(16)}`, blockchain: ETHEREUM })
    expect(both.body.msg).toContain('leave blockchain out')
    expect(await new Browser(given.urls[0]).post('/orders', WANTED)).toMatchObject({ status: 401 })
  })
})

test('nodes that do not answer are asked for a while, and those of each network by themselves', async () => {
  await using gone = await openStub('ethereum', 'mainnet')
  await gone[Symbol.asyncDispose]()
  const ton = await openStub('ton', 'mainnet', 'v3')
  onTestFinished(() => ton[Symbol.asyncDispose]())
  const networks = [networkOn('ton/mainnet/v2', gone), networkOn('ton/mainnet/v3', ton), networkOn(ETHEREUM, gone, own)]
  const unwell = await findUnwell(networks, { log: silentLog, secret: 'secret', signal: never }, 200)
  const fault = { id: expect.stringMatching(/^[0-9a-f]{8}$/), answers: false, fault: 'it does not answer' }
  expect(unwell).toMatchObject([{ name: 'ton/mainnet/v2', upstreams: [fault] }])
})

test('an operator is told what no order is, and what no number of days is', async () => {
  const unknown = `ord_${'0'.repeat(16)}`
  const days = '30'
  const accept = (of: TestSetting, orderId: string) => acceptOrder(of, orderId, { days })
  const extend = (of: TestSetting, orderId: string) => extendOrder(of, orderId, { days })
  for (const id of [unknown, 'ord_7'])
    for (const step of [acceptOrder, accept, provisionOrder, startOrder, extend, cancelOrder])
      expect(await refusal(step(setting, id))).toMatch(/^There is no order with this id/)
  expect(await refusal(acceptOrder(setting, unknown, { days: '1e2' }))).toMatch(/^--days is not a whole number from 1/)
  expect(await refusal(listOrders(setting, { account: 'nobody' }))).toMatch(/^There is no account nobody: nothing/)
  const leo = await newUser(given, 'leo@example.org', PASSWORD)
  await newKey(leo, { name: 'any' })
  setting.printed()
  await listOrders(setting, { account: (await leo.get('/me')).body.data.account })
  expect(setting.printed()).toBe('There are no orders.\n')
})
