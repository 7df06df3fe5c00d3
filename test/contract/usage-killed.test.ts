import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { usageCounted } from '../../schemas/events/usage.ts'
import { openStub, rpcAnswer } from './given-gateway.ts'

/** Of a quota of a thousand. */
const LEASE = 10
const never = new AbortController().signal

test('of a process that is killed the quota has no more than what was not told yet, what was under way, and a lease', async () => {
  await using open = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), 'epochline-killed-'))
  open.defer(() => rm(directory, { recursive: true }))
  const [logFile, quotaFile] = [join(directory, 'log.sqlite'), join(directory, 'quota')]
  await using node = await openStub('ethereum', 'mainnet')
  node.answer = (got, response) => {
    if (!got.body.includes('eth_call')) rpcAnswer(got, response)
  }
  const script = join(import.meta.dirname, 'usage-process.ts')
  const child = spawn(process.execPath, [script, node.url, logFile, quotaFile], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  open.defer(() => void child.kill('SIGKILL'))
  const [port] = await once(child.stdout, 'data')
  const ask = (method: string) =>
    fetch(`http://127.0.0.1:${Number(port)}/ethereum/mainnet/key`, {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method }),
    })
  const askMany = async (calls: number): Promise<void> => {
    for (const response of await Promise.all(Array.from({ length: calls }, () => ask('eth_chainId'))))
      expect([response.status, (await response.text()).length > 0]).toEqual([200, true])
  }
  await expect.poll(async () => (await ask('eth_chainId')).status).toBe(200)
  await askMany(29)
  const eventLog = open.use(await openSqliteEventLog({ file: logFile }))
  const billed = async (): Promise<number> => {
    // Of one part the newest event counts.
    const parts = new Map<string, number>()
    for await (const { event } of eventLog.read({ topic: 'usage', signal: never })) {
      const { columns } = decodeEvent(usageCounted, event)
      parts.set(
        event.key,
        columns.billed.reduce((sum, units) => sum + units, 0),
      )
    }
    return [...parts.values()].reduce((sum, units) => sum + units, 0)
  }
  await expect.poll(billed).toBe(30)

  const underWay = Promise.allSettled(Array.from({ length: 3 }, () => ask('eth_call')))
  await askMany(20)
  await expect.poll(() => node.got.filter(({ body }) => body.includes('eth_call')).length).toBe(3)
  child.kill('SIGKILL')
  await ended
  await underWay

  const taken = (await readFile(quotaFile, 'utf8')).trim().split('\n').map(Number)
  const quota = taken.reduce((sum, units) => sum + units, 0)
  // Calls that were answered since the last that is known to be told, those under way, and what the process had leased beside them.
  expect(quota - 53).toBeGreaterThanOrEqual(0)
  expect(quota - 53).toBeLessThan(LEASE)
  const told = await billed()
  expect(told).toBeGreaterThanOrEqual(30)
  expect(told).toBeLessThanOrEqual(50)
})
