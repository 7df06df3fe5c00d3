import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fastifyProxy from '@fastify/http-proxy'
import fastProxy from 'fast-proxy'
import Fastify from 'fastify'
import { createProxyServer } from 'http-proxy-3'
import { Meter } from '../../api/gateway/meter.ts'
import { Usage } from '../../api/gateway/usage.ts'
import { openMemoryCounters } from '../../infra/counters/memory.ts'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import { prepareRuntime } from '../../infra/runtime.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import { insertRows } from '../contract/api-fixture.ts'
import { networkOn, openGivenGateway, untilHealthy } from '../contract/given-gateway.ts'
import { silentLog } from '../unit/silent-log.ts'

// One proxy in a process of its own, before one node: `node gateway-proxies.ts <name> <url of the node>`. It tells its port.

const KEYS = 10_000
/** More than a run asks for. */
const PLAN = { name: 'bench', requestsPerDay: 1_000_000_000, requestsPerSecond: 1_000_000 }
const CONNECTIONS_MAX = 128

type Open = (url: string) => Promise<number>

const PROXIES: Readonly<Record<string, Open>> = {
  // With all that a call is checked and counted by.
  epochline: async (url) => {
    const directory = mkdtempSync(join(tmpdir(), 'bench-proxy-'))
    process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
    process.once('SIGTERM', () => process.exit())
    const eventLog = await openSqliteEventLog({ file: join(directory, 'log.sqlite') })
    const counters = await openMemoryCounters()
    const meter = new Meter({
      ...{ counters, clientCounters: counters, planOf: () => PLAN, log: silentLog },
      usage: new Usage({ eventLog, log: silentLog }),
    })
    const upstreams = [{ url, headers: {}, weight: 1 }]
    const network = { ...networkOn('ethereum/mainnet'), identity: '0x1234', upstreams }
    const gateway = await openGivenGateway([network], { meter })
    const rows = Array.from({ length: KEYS }, (_, i) => ({
      token_hash: hashToken(`key-${i}`),
      account: `account ${i}`,
      version: i + 2,
      is_deleted: 0,
      only_methods: 'eth_*,net_version',
      only_ips: '127.0.0.0/8,::1',
    }))
    await insertRows(gateway.given.warehouse, 'access_tokens', rows)
    await untilHealthy(gateway, 'ethereum/mainnet')
    return Number(new URL(gateway.api.url).port)
  },
  'http-proxy-3': async (url) => {
    const proxy = createProxyServer({ target: url, agent: new Agent({ keepAlive: true, maxSockets: CONNECTIONS_MAX }) })
    return await listen((request, response) => void proxy.web(request, response))
  },
  'fast-proxy': async (url) => {
    const { proxy } = fastProxy({ base: url, undici: { connections: CONNECTIONS_MAX, pipelining: 1 } })
    return await listen((request, response) => proxy(request, response, request.url ?? '', {}))
  },
  '@fastify/http-proxy': async (url) => {
    const app = Fastify()
    await app.register(fastifyProxy, { upstream: url, undici: { connections: CONNECTIONS_MAX, pipelining: 1 } })
    await app.listen({ host: '127.0.0.1', port: 0 })
    return (app.server.address() as AddressInfo).port
  },
}

async function listen(listener: RequestListener): Promise<number> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

prepareRuntime()
const [, , name = '', url = ''] = process.argv
const open = PROXIES[name]
if (open === undefined) throw new Error(`no proxy ${name}; there are ${Object.keys(PROXIES).join(', ')}`)
process.stdout.write(`${await open(url)}\n`)
