import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type GivenGateway, networkOn, openGivenGateway, openStub, type Stub, sendJson } from './given-gateway.ts'

const place = 'ethereum/mainnet'

interface Rpc {
  readonly id: number
  readonly method: string
}

describe('a signed transaction of whose nodes one alone is well', () => {
  const raw = '0x00'
  /** keccak-256 of one zero byte. */
  const hash = '0xbc36789e7a1e281436464229828f817d6612f7b477d66591ff96a9e064bcc98a'
  const send = { jsonrpc: '2.0', id: 'a', method: 'eth_sendRawTransaction', params: [raw] }
  const taken = { jsonrpc: '2.0', id: 'a', result: hash }
  const known = { jsonrpc: '2.0', id: 'a', error: { code: -32000, message: 'already known' } }
  let [isThere, isLost] = [true, true]
  const answerTo = ({ id, method }: Rpc) => {
    if (method === 'eth_getTransactionByHash') return { jsonrpc: '2.0', id, result: isThere ? { hash } : null }
    return method === 'eth_sendRawTransaction' ? { ...known, id } : { jsonrpc: '2.0', id, result: '0x2a' }
  }
  const open = new AsyncDisposableStack()
  let [dying, lagging] = [] as unknown as [Stub, Stub]
  let one: GivenGateway
  beforeAll(async () => {
    dying = open.use(await openStub('ethereum', 'mainnet'))
    lagging = open.use(await openStub('ethereum', 'mainnet'))
    dying.head = 1_000
    one = open.use(await openGivenGateway([networkOn(place, dying, lagging)]))
  })
  afterAll(() => open.disposeAsync())
  beforeEach(async () => {
    const group = () => one.upstreams.groupOf({ protocol: 'ethereum', network: 'mainnet' })
    await expect.poll(() => [group()?.all().length, group()?.head], { timeout: 10_000 }).toEqual([1, 1_000])
    isThere = true
    isLost = true
    dying.answer = ({ body }, response) => {
      if (isLost) response.destroy()
      else sendJson(response, answerTo(JSON.parse(body) as Rpc))
    }
    lagging.answer = ({ body }, response) => {
      const asked = JSON.parse(body) as Rpc | readonly Rpc[]
      sendJson(response, Array.isArray(asked) ? asked.map(answerTo) : answerTo(asked as Rpc))
    }
  })
  const ask = async (body: unknown): Promise<unknown> =>
    (await one.ask(place, { method: 'POST', body: JSON.stringify(body) })).json()

  test('is looked for where it was taken, perhaps, and another node refuses it', async () => {
    expect(await ask(send)).toEqual(taken)
    // The same, as the node writes it.
    const escaped = JSON.stringify(send).replace('"a"', '"\\u0061"')
    expect(await (await one.ask(place, { method: 'POST', body: escaped })).json()).toEqual(taken)
    isThere = false
    expect(await ask(send)).toEqual(known)
  })

  test('is refused where no node was lost', async () => {
    isLost = false
    expect(await ask(send)).toEqual(known)
  })

  test('is looked for in a batch, and the other answers stay', async () => {
    const batch = [{ jsonrpc: '2.0', id: 2, method: 'eth_chainId' }, send, { ...send, id: 3, params: ['0x01'] }]
    expect(await ask(batch)).toEqual([{ jsonrpc: '2.0', id: 2, result: '0x2a' }, taken, { ...known, id: 3 }])
    const alike = [send, send]
    expect(await ask(alike), 'nobody can tell which one an answer is of').toEqual([known, known])
  })
})
