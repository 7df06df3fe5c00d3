import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { Browser } from '../contract/given-accounts.ts'
import { eventually, type Running } from '../e2e/processes.ts'
import { openGatewayProgram, residentMb } from './gateway-program.ts'
import { Report } from './report.ts'

const MB = 1_000_000
/** Of a mainnet state as SSZ (gateway.md, section 10). */
const STATE_BYTES = 306 * MB
const ADDED_MB_MAX = 32
const STATE = '/eth/v2/debug/beacon/states/head'
const LOGINS = 200
const TIMES_MAX = 2
const SECONDS = 8
const CALLERS = 16
const LOOK_EVERY_MS = 5
export const START_MS_MAX = 60_000
export const IDENTITY = '0x1'

/** `npm run bench gateway-beside`: what large answers take of the gateway's memory, and logins of its calls' time. */
export async function benchGatewayBeside(): Promise<boolean> {
  const report = new Report()
  await using open = new AsyncDisposableStack()
  const upstreams = [{ url: open.use(await openNode()).url }]
  const { program, key } = open.use(
    await openGatewayProgram({
      'ethereum/mainnet': { upstreams, identity: IDENTITY },
      'ethereum2/mainnet': { upstreams, identity: IDENTITY },
    }),
  )
  const call = `${program.url}/ethereum/mainnet/${key}`
  const state = `${program.url}/ethereum2/mainnet/${key}${STATE}`
  await eventually('an answer', async () => (await callOnce(call)) || undefined, START_MS_MAX)

  report.heading(`a state of ${STATE_BYTES / MB} MB, read as it comes`)
  await timesOf(call, AbortSignal.timeout(2_000))
  const { addedMb, tookMs } = await memoryDuring(program, () => readAll(state))
  report.info('time', tookMs, 0, 'ms')
  report.limited('added memory', addedMb, { digits: 1, unit: 'MB', max: ADDED_MB_MAX })

  report.heading(`${CALLERS} callers, alone and beside ${LOGINS} logins at once`)
  const alone = await timesOf(call, AbortSignal.timeout(SECONDS * 1_000))
  const ended = new AbortController()
  const begin = performance.now()
  const logins = logInMany(program).finally(() => ended.abort())
  const beside = await timesOf(call, ended.signal)
  const statuses = await logins
  report.info('logins took', performance.now() - begin, 0, 'ms')
  for (const [status, count] of Map.groupBy(statuses, String)) report.info(`  answered ${status}`, count.length, 0)
  report.info('calls alone, p99', p99(alone), 1, 'ms')
  report.info('calls beside, p99', p99(beside), 1, 'ms')
  report.limited('times', p99(beside) / p99(alone), { digits: 2, unit: '', max: TIMES_MAX })
  return report.within
}

/** A node of `IDENTITY` in this process, that answers each call. */
export async function openNode(): Promise<AsyncDisposable & { readonly url: string }> {
  const node = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1')
  await once(node, 'listening')
  return {
    url: `http://127.0.0.1:${(node.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      node.closeAllConnections()
      node.close()
    },
  }
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url === STATE) {
    const chunk = Buffer.alloc(64 * 1024, 7)
    const chunks = function* (): Generator<Buffer> {
      for (let left = STATE_BYTES; left > 0; left -= chunk.length) yield chunk.subarray(0, left)
    }
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': STATE_BYTES })
    await pipeline(Readable.from(chunks()), response)
    return
  }
  const body = (await request.toArray()).join('')
  const result = body.includes('getBlock') ? { number: '0x64', timestamp: '0x1' } : IDENTITY
  response.writeHead(200, { 'content-type': 'application/json' })
  const beacon = {
    data: { head_slot: '100', sync_distance: '0', is_syncing: false, genesis_validators_root: IDENTITY },
  }
  response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result, ...beacon }))
}

async function readAll(url: string): Promise<void> {
  const response = await fetch(url, { headers: { accept: 'application/octet-stream' } })
  if (!response.ok || response.body === null) throw new Error(`${response.status}: ${await response.text()}`)
  let bytes = 0
  for await (const chunk of response.body) bytes += (chunk as Uint8Array).length
  if (bytes !== STATE_BYTES) throw new Error(`${bytes} bytes of ${STATE_BYTES}`)
}

async function memoryDuring(
  program: Running,
  work: () => Promise<void>,
): Promise<{ readonly addedMb: number; readonly tookMs: number }> {
  const before = residentMb(program)
  let most = before
  const looking = setInterval(() => {
    most = Math.max(most, residentMb(program))
  }, LOOK_EVERY_MS)
  const begin = performance.now()
  try {
    await work()
  } finally {
    clearInterval(looking)
  }
  return { addedMb: most - before, tookMs: performance.now() - begin }
}

export async function callOnce(url: string): Promise<boolean> {
  const body = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}'
  const response = await fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
  await response.text()
  return response.ok
}

/** Milliseconds of calls that go on until the signal aborts. */
export async function timesOf(url: string, signal: AbortSignal): Promise<readonly number[]> {
  const times: number[] = []
  const caller = async (): Promise<void> => {
    while (!signal.aborted) {
      const begin = performance.now()
      if (!(await callOnce(url))) throw new Error('a call has failed')
      times.push(performance.now() - begin)
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, caller))
  return times
}

/** People who mistake their passwords work as much as those who do not; each is another address. Statuses of the answers. */
async function logInMany({ url }: Running): Promise<readonly number[]> {
  const logIn = async (at: number): Promise<number> => {
    const person = { email: `person-${at}@example.org`, password: 'not the password' }
    return (await new Browser(url).post('/log-in', person)).status
  }
  await wait(500)
  return await Promise.all(Array.from({ length: LOGINS }, (_, at) => logIn(at)))
}

function p99(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] as number
}
