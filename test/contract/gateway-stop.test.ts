import { once } from 'node:events'
import { Agent, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ANSWER_MS_MAX } from '../../api/http/limits.ts'
import { callOver } from '../call-over.ts'
import { TOKEN } from './given-api.ts'
import { type GivenGateway, openGivenGateway, openStub, type Stub, untilHealthy } from './given-gateway.ts'
import { handshake, openClient, parseRaw, socketsOn, socketUrl, withSockets } from './given-socket.ts'

// A gateway that is told to stop while clients call it.

const PLACE = 'ethereum/mainnet'
const SOON = { interval: 10 }
/** More than of an answer that is held until it is whole. */
const LONG_BYTES = 200_000
const STOP_MS = 300
const STOPS = { code: -32011, message: 'Service Unavailable: the service stops' }
const CALL = '{"jsonrpc":"2.0","id":7,"method":"eth_gasPrice"}'
const ANSWER = '{"jsonrpc":"2.0","id":7,"result":"0x2a"}'

let open: AsyncDisposableStack
let node: Stub
beforeEach(async () => {
  open = new AsyncDisposableStack()
  node = open.use(await openStub('ethereum', 'mainnet'))
  withSockets(node)
})
afterEach(() => open.disposeAsync())

async function openBefore(stopMsMax = ANSWER_MS_MAX): Promise<GivenGateway> {
  const gateway = open.use(await openGivenGateway([socketsOn(PLACE, node)], { stopMsMax }))
  await untilHealthy(gateway, PLACE)
  return gateway
}

test('clients that call without a pause over kept connections do not hold it up, and get all answers of the node', async () => {
  const gateway = await openBefore()
  const url = `${gateway.api.url}/${PLACE}/${TOKEN}`
  const answers: string[] = []
  const clients = Array.from({ length: 8 }, async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (let answer = ''; answer !== 'ECONNREFUSED'; answers.push(answer)) answer = await callOver(agent, url, CALL)
    agent.destroy()
  })
  await expect.poll(() => node.got.length, SOON).toBeGreaterThan(50)
  await gateway.api[Symbol.asyncDispose]()
  await Promise.all(clients)
  // A call may be on its way over a connection that is closed because none was there.
  const others = answers.filter((answer) => !answer.startsWith('ECONN'))
  expect(others).toEqual(Array(node.got.length).fill(ANSWER))
})

/** Of calls that the node answers when it is told to. */
function holdAnswers(): readonly ServerResponse[] {
  const held: ServerResponse[] = []
  node.answer = ({ body }, response) => {
    held.push(response)
    // One has begun to answer: with more than is held until it is whole.
    if (body.includes('eth_getLogs')) response.writeHead(200).write(`[${' '.repeat(LONG_BYTES)}`)
  }
  return held
}

test('what is under way ends, over sockets too, and nothing else is let in', async () => {
  const gateway = await openBefore()
  const idle = open.use(await openClient(socketUrl(gateway, PLACE)))
  const asking = open.use(await openClient(socketUrl(gateway, PLACE)))
  const held = holdAnswers()
  const waiting = gateway.call(PLACE, 'eth_call')
  const begun = await gateway.call(PLACE, 'eth_getLogs')
  asking.socket.send(CALL)
  await expect.poll(() => held.length, SOON).toBe(3)
  // A connection that is there already, and whose request for a socket is not whole yet.
  const { hostname, port } = new URL(gateway.api.url)
  const late = connect(Number(port), hostname)
  late.write(`GET /ws/${PLACE}/${TOKEN} HTTP/1.1\r\nHost: localhost\r\n`)
  await once(late, 'connect')
  const isStopped = gateway.api[Symbol.asyncDispose]()
  await expect(idle.closed).resolves.toEqual({ code: 1001, reason: 'the service stops' })
  await expect(gateway.call(PLACE, 'eth_chainId')).rejects.toThrow()
  late.write(`${handshake('', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13').slice(2).join('\r\n')}\r\n\r\n`)
  expect(parseRaw(await text(late))).toEqual([503, expect.objectContaining({ error: expect.objectContaining(STOPS) })])
  asking.socket.send(CALL)
  for (const answer of held) answer.end('[]')
  expect(await (await waiting).text()).toBe('[]')
  expect(await begun.text()).toHaveLength(LONG_BYTES + 3)
  expect(await asking.closed).toEqual({ code: 1001, reason: 'the service stops' })
  expect(asking.heard).toEqual(['[]'])
  await isStopped
})

test('what does not end is cut when the time for it is over', async () => {
  const gateway = await openBefore(STOP_MS)
  const client = open.use(await openClient(socketUrl(gateway, PLACE)))
  const held = holdAnswers()
  const waiting = gateway.call(PLACE, 'eth_call')
  const begun = await gateway.call(PLACE, 'eth_getLogs')
  client.socket.send(CALL)
  await expect.poll(() => held.length, SOON).toBe(3)
  const cut = [expect(waiting).rejects.toThrow(), expect(begun.text()).rejects.toThrow()]
  const beganMs = performance.now()
  await gateway.api[Symbol.asyncDispose]()
  expect(performance.now() - beganMs).toBeGreaterThanOrEqual(STOP_MS)
  await Promise.all(cut)
  expect((await client.closed).code).toBe(1001)
  expect(client.heard).toEqual([])
})
