import { afterAll, beforeAll, expect, test } from 'vitest'
import { tries } from '../long-form.ts'
import { TOKEN } from './given-api.ts'
import { EvmChain, EvmNode } from './given-evm-chain.ts'
import { type GivenGateway, openGivenGateway, untilHealthy } from './given-gateway.ts'
import { openClient, socketsOn, socketUrl } from './given-socket.ts'
import { HOSTILE_CALLS, randomOf } from './hostile-calls.ts'

// Messages that nobody sends by mistake, over WebSockets, among calls and subscriptions, while the chain goes on.

const AT_ONCE = 16
const MESSAGES_PER_SOCKET_MAX = 40
const ANSWERS = { interval: 5 }
const SOON = { interval: 10 }
const BLOCK_EVERY_MS = 50
const REORG_DEPTH_MAX = 5
/** JSON-RPC's own failure, which is nobody's input. */
const INTERNAL_ERROR = -32603

let chain: EvmChain
let nodes: EvmNode[]
let gateway: GivenGateway
beforeAll(async () => {
  chain = new EvmChain()
  chain.append(REORG_DEPTH_MAX)
  nodes = [await EvmNode.open(chain), await EvmNode.open(chain)]
  gateway = await openGivenGateway([socketsOn('ethereum/mainnet', ...nodes)])
  await untilHealthy(gateway, 'ethereum/mainnet')
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  for (const node of nodes) await node[Symbol.asyncDispose]()
})

const IDS = ['1', '"a"', '"\\u0000"', 'null', '1e3', '-0', '18446744073709551616', '[1]', '{"a":1}', 'true']
const SUBSCRIBED = [
  ...['["newHeads"]', '["logs",{}]', '["logs",{"address":"0xa1"}]', '["logs",[]]', '["logs",null]', '["logs","x"]'],
  ...['["newPendingTransactions"]', '["syncing"]', '["refused"]', '[]', '{}', 'null', '"newHeads"', '[["newHeads"]]'],
  ...[
    '["newHeads",{"x":1}]',
    '["__proto__"]',
    '["constructor"]',
    '[1]',
    '["logs",{"topics":[[[[]]]]}]',
    '["newHeads","newHeads"]',
  ],
]
const UNSUBSCRIBED = [
  '["0x1"]',
  '["0x"]',
  '[]',
  '[1]',
  '[null]',
  '["0x0123456789abcdef0123456789abcdef"]',
  '{}',
  'null',
  '["__proto__"]',
]

/** What the ids of a socket have that those of no other one have. */
const marksIn = (text: string): readonly string[] => text.match(/mark-\d+/g) ?? []

/** Texts of one message: a call, one of a subscription, or what is none. */
function messageOf(random: (below: number) => number, mark: string): Buffer {
  const pick = (from: readonly string[]): string => from[random(from.length)] as string
  const call = (method: string, params: string) =>
    `{"jsonrpc":"2.0","id":${random(2) === 0 ? `"${mark}"` : pick(IDS)},"method":"${method}","params":${params}}`
  const one = (): string =>
    [
      () => call('eth_chainId', '[]'),
      () => call('eth_subscribe', pick(SUBSCRIBED)),
      () => call('eth_unsubscribe', pick(UNSUBSCRIBED)),
      () => pick(HOSTILE_CALLS),
    ][random(4)]?.() as string
  const bytes = Buffer.from(random(6) === 0 ? `[${one()},${one()}]` : one())
  // Now and then a few bytes are others, of ASCII: what is not UTF-8 ends the socket.
  for (let flips = random(8) === 0 ? random(6) : 0; flips > 0 && bytes.length > 0; flips--)
    bytes[random(bytes.length)] = 32 + random(95)
  return bytes
}

interface Said {
  readonly method?: unknown
  readonly error?: { readonly code: number }
}

test('hostile messages are each answered once, none of them by a failure of ours, and leave nothing at the nodes', async () => {
  const random = randomOf(20261125)
  const bad: string[] = []
  const codes = new Map<number | undefined, number>()
  let left = tries(2_000, 30_000)
  let lives = 0
  let marked = 0
  const socketLife = async (): Promise<void> => {
    const mark = `mark-${++lives}`
    /** A byte of it may be another one. */
    const own = new Set([mark])
    using client = await openClient(socketUrl(gateway, 'ethereum/mainnet'))
    let sent = 0
    let told = 0
    let isClosed = false
    client.socket.on('close', () => {
      isClosed = true
    })
    client.socket.on('message', (data) => {
      const text = data.toString()
      const said = JSON.parse(text) as Said | readonly Said[]
      if (text.includes(TOKEN) || nodes.some(({ url }) => text.includes(new URL(url).host))) bad.push(`told: ${text}`)
      marked += marksIn(text).length
      if (marksIn(text).some((one) => !own.has(one))) bad.push(`told ${mark}: ${text}`)
      if (!Array.isArray(said) && (said as Said).method !== undefined) return
      told++
      for (const { error } of [said].flat() as readonly Said[]) {
        codes.set(error?.code, (codes.get(error?.code) ?? 0) + 1)
        if (error?.code === INTERNAL_ERROR) bad.push(text)
      }
    })
    const messages: Buffer[] = []
    for (let i = random(MESSAGES_PER_SOCKET_MAX); i >= 0 && left > 0; i--, left--)
      messages.push(messageOf(random, mark))
    for (const one of messages.flatMap((message) => marksIn(message.toString()))) own.add(one)
    for (const message of messages) {
      client.socket.send(message, { binary: random(2) === 0, fin: true })
      sent++
    }
    // Some leave without waiting.
    if (random(4) === 0) return
    await expect
      .poll(() => told === sent || isClosed, { ...ANSWERS, message: messages.map(String).join('\n').slice(0, 4_000) })
      .toBe(true)
    if (told > sent) bad.push(`${told} answers to ${sent} messages`)
  }
  const life = async (): Promise<void> => {
    while (left > 0) await socketLife()
  }
  const clock = setInterval(() => {
    if (random(4) === 0) chain.reorg(1 + random(REORG_DEPTH_MAX))
    else chain.append()
  }, BLOCK_EVERY_MS)
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, life))
  } finally {
    clearInterval(clock)
  }
  expect(bad).toEqual([])
  expect(marked).toBeGreaterThan(300)
  for (const code of [undefined, -32700, -32600, -32601]) expect(codes.get(code), String(code)).toBeGreaterThan(0)
  await expect.poll(() => nodes.flatMap(({ subscribed }) => [...subscribed.values()]), SOON).toEqual([])
  using calm = await openClient(socketUrl(gateway, 'ethereum/mainnet'))
  expect(JSON.parse(await calm.ask('{"id":1,"method":"eth_chainId"}'))).toMatchObject({ result: '0x1' })
}, 600_000)
