import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { eventually } from '../e2e/processes.ts'
import { openGatewayProgram, residentMb } from './gateway-program.ts'
import { Report } from './report.ts'

const ROUNDS = 5
const SECONDS = 3
const SOCKETS = 32
/** Messages of a socket that wait for their answers. */
const UNDER_WAY = 8
const OF_DIRECT_MIN = 0.5
const CONNECTS = 10_000
const AT_ONCE = 50
const ADDED_MB_MAX = 32
/** Until then the heap grows to what its collector is content with. */
const CONNECTS_BEFORE = 30_000
const QUIET_MS = 2_000
const START_MS_MAX = 60_000
const MESSAGE = '{"id":1,"command":"ledger","ledger_index":"validated"}'

/** `npm run bench gateway-sockets`: messages through the gateway and straight to the node, in turns, and what sockets leave behind. */
export async function benchGatewaySockets(): Promise<boolean> {
  const report = new Report()
  await using open = new AsyncDisposableStack()
  const node = fork(join(import.meta.dirname, 'sockets-node.ts'))
  open.defer(() => {
    node.kill()
  })
  const [port] = (await once(node, 'message')) as [number]
  const direct = `ws://127.0.0.1:${port}`
  const upstreams = [{ url: `http://127.0.0.1:${port}`, ws_url: direct }]
  const { program, key } = open.use(await openGatewayProgram({ 'xrp/mainnet': { upstreams } }))
  const relayed = `${program.url.replace('http', 'ws')}/ws/xrp/mainnet/${key}`
  const isAnswered = async () => (await comeAndGo(relayed).catch(() => false)) || undefined
  await eventually('an answer', isAnswered, START_MS_MAX)

  report.heading(`a message of ${MESSAGE.length} bytes and its answer, ${SOCKETS} sockets, ${ROUNDS} rounds in turns`)
  const rates: Record<'direct' | 'relayed', number[]> = { direct: [], relayed: [] }
  for (let round = 0; round < ROUNDS; round++) {
    rates.direct.push(await perSecond(direct))
    rates.relayed.push(await perSecond(relayed))
  }
  report.info('direct, per second', median(rates.direct), 0)
  report.info('relayed, per second', median(rates.relayed), 0)
  const share = median(rates.relayed) / median(rates.direct)
  report.atLeast('of direct', share, { digits: 2, unit: '', min: OF_DIRECT_MIN })

  report.heading(`${CONNECTS} sockets that come, ask and go, ${AT_ONCE} at once`)
  await manyComeAndGo(relayed, CONNECTS_BEFORE)
  await wait(QUIET_MS)
  const before = residentMb(program)
  await manyComeAndGo(relayed, CONNECTS)
  await wait(QUIET_MS)
  const added = residentMb(program) - before
  report.limited('added memory', added, { digits: 1, unit: 'MB', max: ADDED_MB_MAX })
  return report.within
}

async function perSecond(url: string): Promise<number> {
  const sockets = await Promise.all(Array.from({ length: SOCKETS }, () => connected(url)))
  let answers = 0
  for (const socket of sockets) {
    socket.on('message', () => {
      answers++
      socket.send(MESSAGE)
    })
    for (let i = 0; i < UNDER_WAY; i++) socket.send(MESSAGE)
  }
  await wait(1_000)
  const begin = performance.now()
  const before = answers
  await wait(SECONDS * 1_000)
  const rate = ((answers - before) / (performance.now() - begin)) * 1_000
  for (const socket of sockets) socket.terminate()
  return rate
}

async function connected(url: string): Promise<WebSocket> {
  const socket = new WebSocket(url)
  await once(socket, 'open')
  return socket
}

async function comeAndGo(url: string): Promise<true> {
  const socket = await connected(url)
  socket.send(MESSAGE)
  await once(socket, 'message')
  const closed = once(socket, 'close')
  socket.close()
  await closed
  return true
}

async function manyComeAndGo(url: string, count: number): Promise<void> {
  let left = count
  const client = async (): Promise<void> => {
    while (left-- > 0) await comeAndGo(url)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, client))
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number
}
