import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Protocol, Service } from '../../schemas/protocols/protocol.ts'
import { identityOf, networkOf, PROTOCOLS } from '../../schemas/protocols/protocols.ts'
import { type GivenGateway, networkOn, openGivenGateway } from './given-gateway.ts'
import { RECORDED, type Recorded, type RecordedNode } from './recorded-nodes.ts'

// Every network of every protocol before a node that answers as its chain's do, and one of another chain.

const SOON = { interval: 50 }

interface Place {
  readonly name: string
  readonly protocol: Protocol
  readonly network: string
  readonly service: Service
  readonly node: RecordedNode
}

const PLACES: readonly Place[] = PROTOCOLS.flatMap((protocol) =>
  Object.keys(protocol.networks).flatMap((network) =>
    protocol.services.map((service) => ({
      name: [protocol.name, network, ...(service.name === '' ? [] : [service.name])].join('/'),
      ...{ protocol, network, service },
      node: RECORDED[service.name === '' ? protocol.name : `${protocol.name}/${service.name}`] as RecordedNode,
    })),
  ),
)

const toText = ({ body }: Recorded, { head = '' }: RecordedNode, identity: string, id: unknown): string =>
  body.replaceAll('$HEAD', head).replaceAll('$IDENTITY', identity).replaceAll('$ID', JSON.stringify(id))

interface Node {
  readonly url: string
  /** What clients have asked. */
  readonly got: string[]
}

const open = new AsyncDisposableStack()
const nodes = new Map<string, Node>()
let gateway: GivenGateway
beforeAll(async () => {
  const networks = []
  for (const place of PLACES) {
    const { name, protocol, network, service } = place
    const right = await openNode(place, identityOf(networkOf(protocol, network) ?? {}, service.name) ?? 'any')
    const another = await openNode(
      place,
      { hex: '0x539', number: '424242', text: 'another' }[service.identity?.as ?? 'text'],
    )
    nodes.set(name, right)
    networks.push(networkOn(name, right, another))
  }
  gateway = open.use(await openGivenGateway(networks))
})
afterAll(() => open.disposeAsync())

async function openNode({ node }: Place, identity: string): Promise<Node> {
  const { newest, identity: told, failed } = node
  const recorded = [newest, told, failed].filter((one) => one !== undefined)
  const got: string[] = []
  const server = createServer(async (request, response) => {
    const body = await text(request)
    if (request.headers['user-agent'] !== undefined) got.push(`${request.method} ${request.url} ${body}`)
    const { method, id } = body.startsWith('{') ? (JSON.parse(body) as { method?: string; id?: unknown }) : {}
    const found = recorded.find(
      (one) => one.verb === request.method && (one.nodePath ?? one.path) === request.url && one.method === method,
    )
    const [status, answer] =
      found === undefined ? [404, '404 page not found\n'] : [found.status, toText(found, node, identity, id)]
    const type = answer.startsWith('{') ? 'application/json' : 'text/plain'
    response.writeHead(status, { 'content-type': type }).end(answer)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  open.defer(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, got }
}

test('every protocol has a node here', () => {
  expect(PLACES.filter(({ node }) => node === undefined)).toEqual([])
  expect(new Set(PLACES.map(({ protocol }) => protocol)).size).toBe(36)
})

describe.each(PLACES)('$name', ({ name, protocol, network, service, node }) => {
  const place = `${protocol.name}/${network}`
  const identity = identityOf(networkOf(protocol, network) ?? {}, service.name) ?? 'any'
  const ask = async (one: Recorded) => {
    const sent =
      one.method === undefined ? one.sent : JSON.stringify({ id: 'a-7', method: one.method, params: one.params })
    const response = await gateway.ask(place, {
      method: one.verb,
      path: one.path,
      ...(sent === undefined ? {} : { body: sent }),
    })
    return [response.status, await response.text()]
  }

  test('is found to be its chain by what its nodes answer, with their newest block, and no other chain is', async () => {
    const isTold = networkOf(protocol, network)?.identity !== undefined
    const well = { head: node.number, answers: true, fault: undefined }
    const other = isTold ? { answers: true, fault: 'it follows another chain' } : well
    const statusOf = () => gateway.upstreams.status().find((one) => one.name === name)?.upstreams
    await expect.poll(statusOf, SOON).toMatchObject([well, other])
  })

  test('answers what its nodes do, byte for byte', async () => {
    const one = (node.newest ?? node.identity) as Recorded
    expect(await ask(one)).toEqual([200, toText(one, node, identity, 'a-7')])
  })

  test('passes on an error of its nodes as it is, whatever its status', async () => {
    const { failed } = node
    expect(await ask(failed)).toEqual([failed.status, toText(failed, node, identity, 'a-7')])
  })

  test('has nothing for anybody that administers a node', async () => {
    const { got } = nodes.get(name) as Node
    got.length = 0
    const { verb, path, method, status } = node.refused
    const body = verb === 'POST' ? { body: JSON.stringify(method === undefined ? {} : { id: 1, method }) } : {}
    const response = await gateway.ask(place, { method: verb, path, ...body })
    const answer = await response.text()
    expect(response.status).toBe(status)
    if (method !== undefined) expect(answer).toContain(`Method not allowed: ${method}`)
    expect(got).toEqual([])
  })
})
