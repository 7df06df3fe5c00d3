import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { WebSocketServer } from 'ws'
import type { UpstreamGroup } from '../../infra/ports/upstreams.ts'
import { openUpstreams } from '../../infra/upstreams/upstreams.ts'
import { silentLog } from '../unit/silent-log.ts'
import { openStub } from './given-gateway.ts'
import { socketsOn, withSockets } from './given-socket.ts'

const PROBE_MS = 20
const SOON = { interval: 10 }

test('tells of each upstream how far it is and why it is left out, of its WebSocket too, and never where it is', async () => {
  await using open = new AsyncDisposableStack()
  const [wrong, right, lagging, stray] = [
    open.use(await openStub('ethereum', 'mainnet')),
    open.use(await openStub('ethereum', 'mainnet')),
    open.use(await openStub('ethereum', 'mainnet')),
    open.use(await openStub('ethereum', 'mainnet')),
  ]
  withSockets(right)
  lagging.head = 10
  stray.identity = '0x5'
  const said: string[] = []
  const say = (what: object, message: string) => void said.push(`${message} ${JSON.stringify(what)}`)
  const upstreams = open.use(
    openUpstreams({
      networks: [socketsOn('ethereum/mainnet', wrong, right, lagging, stray)],
      log: { ...silentLog, warn: say, info: say },
      secret: 'secret',
      probeMs: PROBE_MS,
    }),
  )
  const tell = () => upstreams.status()[0]?.upstreams.map(({ id: _, ...rest }) => rest)
  const unasked = { head: undefined, answers: false, fault: 'it was not asked yet', socketFault: undefined }
  expect(tell()).toEqual(Array(4).fill(unasked))
  const well = { head: 100, answers: true, fault: undefined, socketFault: undefined }
  const expected = [
    { ...well, socketFault: 'it does not connect' },
    well,
    { ...well, head: 10, fault: 'it is behind the others', socketFault: 'it does not connect' },
    { ...well, fault: 'it follows another chain' },
  ]
  await expect.poll(tell, SOON).toEqual(expected)
  // Tried again and again, and told once.
  const asked = wrong.got.length
  await expect.poll(() => wrong.got.length, SOON).toBeGreaterThan(asked + 2)
  const ofSockets = () => said.filter((line) => line.includes('WebSocket'))
  expect(ofSockets().map((line) => line.split(' {')[0])).toEqual(
    Array(2).fill('the WebSocket of an upstream does not connect: look at its ws_url'),
  )

  withSockets(wrong)
  await expect.poll(tell, SOON).toEqual(expected.with(0, well))
  await expect.poll(ofSockets, SOON).toHaveLength(3)
  expect(ofSockets()[2]).toMatch(/^the WebSocket of an upstream connects .*"upstream":1/)
  const connections: number[] = []
  for (const { server } of [wrong, right]) server.on('upgrade', () => connections.push(1))
  await wait(5 * PROBE_MS)
  expect(connections).toEqual([])
  const all = JSON.stringify([upstreams.status(), said])
  for (const { port } of [wrong, right, lagging, stray]) expect(all).not.toContain(String(port))
})

/** Which nodes so many new sockets are connected to. */
function chosen(group: UpstreamGroup, times = 20): ReadonlySet<string | undefined> {
  const handler = { onOpen() {}, onMessage() {}, onLost() {} }
  const sockets = Array.from({ length: times }, () => group.connect({ tried: [] }, handler))
  for (const socket of sockets) socket?.close()
  return new Set(sockets.map((socket) => socket?.id))
}

test('a node whose WebSocket does not connect is not chosen for sockets until it does, and no socket is given up for it', async () => {
  await using open = new AsyncDisposableStack()
  const [broken, lagging] = [
    open.use(await openStub('ethereum', 'mainnet')),
    open.use(await openStub('ethereum', 'mainnet')),
  ]
  const server = new WebSocketServer({ server: lagging.server })
  const networks = [socketsOn('ethereum/mainnet', broken, lagging)]
  const upstreams = open.use(openUpstreams({ networks, log: silentLog, secret: 'secret', probeMs: PROBE_MS }))
  const group = upstreams.groupOf({ protocol: 'ethereum', network: 'mainnet' }) as UpstreamGroup
  const tell = () => upstreams.status()[0]?.upstreams ?? []
  const [brokenId, laggingId] = tell().map(({ id }) => id)
  const faults = () => tell().map(({ fault, socketFault }) => [fault, socketFault])
  const unconnected = 'it does not connect'
  await expect.poll(faults, SOON).toEqual([
    [undefined, unconnected],
    [undefined, undefined],
  ])
  expect(chosen(group)).toEqual(new Set([laggingId]))

  // What is behind but connects is better than what does not.
  const opened = once(server, 'connection')
  let isLost = false
  const onLost = (): void => {
    isLost = true
  }
  const socket = group.connect({ tried: [] }, { onOpen() {}, onMessage() {}, onLost })
  await opened
  lagging.head = 10
  await expect.poll(faults, SOON).toEqual([
    [undefined, unconnected],
    ['it is behind the others', undefined],
  ])
  const asked = broken.got.length
  await expect.poll(() => broken.got.length, SOON).toBeGreaterThan(asked)
  expect(isLost).toBe(false)
  expect(chosen(group)).toEqual(new Set([laggingId]))

  withSockets(broken)
  await expect.poll(() => isLost, SOON).toBe(true)
  socket?.close()
  expect(chosen(group)).toEqual(new Set([brokenId]))
})

test('where no WebSocket connects the nodes are tried all the same, by clients too', async () => {
  await using open = new AsyncDisposableStack()
  const only = open.use(await openStub('ethereum', 'mainnet'))
  const networks = [socketsOn('ethereum/mainnet', only)]
  const upstreams = open.use(openUpstreams({ networks, log: silentLog, secret: 'secret', probeMs: PROBE_MS }))
  const group = upstreams.groupOf({ protocol: 'ethereum', network: 'mainnet' }) as UpstreamGroup
  const fault = () => upstreams.status()[0]?.upstreams[0]?.socketFault
  await expect.poll(fault, SOON).toBe('it does not connect')
  expect(chosen(group, 1)).toEqual(new Set([upstreams.status()[0]?.upstreams[0]?.id]))
})
