import { once } from 'node:events'
import { Agent, createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import fastifyProxy from '@fastify/http-proxy'
import fastProxy from 'fast-proxy'
import Fastify from 'fastify'
import { createProxyServer } from 'http-proxy-3'
import { prepareRuntime } from '../../infra/runtime.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import { insertRows } from '../contract/api-fixture.ts'
import { networkOn, openGivenGateway, untilHealthy } from '../contract/given-gateway.ts'

// One proxy in a process of its own, before one node: `node gateway-proxies.ts <name> <url of the node>`. It tells its port.

const KEYS = 10_000
const CONNECTIONS_MAX = 128

type Open = (url: string) => Promise<number>

const PROXIES: Readonly<Record<string, Open>> = {
  epochline: async (url) => {
    const gateway = await openGivenGateway([
      { ...networkOn('ethereum/mainnet'), identity: '0x1234', upstreams: [{ url, headers: {}, weight: 1 }] },
    ])
    const rows = Array.from({ length: KEYS }, (_, i) => ({
      token_hash: hashToken(`key-${i}`),
      account: `account ${i}`,
      version: i + 2,
      is_deleted: 0,
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
