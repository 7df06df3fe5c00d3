import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openUpstreams } from '../../infra/upstreams/upstreams.ts'
import { silentLog } from '../unit/silent-log.ts'
import { openStub } from './given-gateway.ts'
import { socketsOn, withSockets } from './given-socket.ts'

const PROBE_MS = 20
const SOON = { timeout: 10_000, interval: 10 }

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
