import { expect, test } from 'vitest'
import { whileLeased } from '../../commands/while-leased.ts'
import type { Lease } from '../../infra/ports/event-log.ts'
import { AppError } from '../../schemas/errors.ts'
import { untilAborted } from '../../schemas/wait.ts'
import { silentLog } from './silent-log.ts'

const PASSES = () => new AppError('event_log', 'Kafka: no coordinator', { retryable: true })

/** What happens, in order, and a log whose leases fail as long as `failing` has errors. */
function given(failing: Error[] = []) {
  const told: string[] = []
  const stop = new AbortController()
  const lost = new AbortController()
  const lease = async (name: string): Promise<Lease> => {
    const error = failing.shift()
    if (error !== undefined) throw error
    told.push(`has ${name}`)
    return {
      lost: lost.signal,
      append: async () => [],
      [Symbol.asyncDispose]: async () => void told.push(`gives ${name} back`),
    }
  }
  const leased = {
    ...{ eventLog: { lease }, log: silentLog, lease: 'one', what: 'the work' },
    onLost: (reason: string) => void told.push(`lost: ${reason}`),
  }
  return { told, stop, lost, leased }
}

test('work goes on until the signal aborts, and gives its lease back', async () => {
  const { told, stop, leased } = given()
  const working = whileLeased(leased, (_lease, signal) => untilAborted(signal), stop.signal)
  await expect.poll(() => told).toEqual(['has one'])
  stop.abort()
  await working
  expect(told).toEqual(['has one', 'gives one back'])
})

test('a log that is away when the lease is asked for is waited out', async () => {
  const { told, stop, leased } = given([PASSES()])
  await whileLeased(leased, async () => stop.abort(), stop.signal)
  expect(told).toEqual(['has one', 'gives one back'])
})

test('work that fails of what passes begins anew', async () => {
  const { told, stop, leased } = given()
  let times = 0
  const work = async (): Promise<void> => {
    if (++times === 1) throw PASSES()
    stop.abort()
  }
  await whileLeased(leased, work, stop.signal)
  expect(told).toEqual(['has one', 'gives one back', 'has one', 'gives one back'])
})

test('a lease that another process has taken over is said, and asked for again', async () => {
  const { told, stop, leased } = given()
  let times = 0
  const work = async (): Promise<void> => {
    if (++times === 1) throw new AppError('lease_lost', 'gone')
    stop.abort()
  }
  await whileLeased(leased, work, stop.signal)
  expect(told).toEqual(['has one', 'gives one back', 'lost: gone', 'has one', 'gives one back'])
})

test('work that stops with whatever its lease was lost of asks for it again', async () => {
  const { told, stop, lost, leased } = given()
  let times = 0
  const work = async (): Promise<void> => {
    if (++times === 2) return stop.abort()
    lost.abort(new AppError('event_log', 'Kafka: the group is gone'))
    throw lost.signal.reason
  }
  await whileLeased(leased, work, stop.signal)
  expect(told).toEqual(['has one', 'gives one back', 'lost: Kafka: the group is gone', 'has one', 'gives one back'])
})

test('a lease that is long in coming is said to be waited for', async () => {
  const { stop, leased } = given()
  const said: string[] = []
  const log = { ...silentLog, info: (_fields: object, text: string) => void said.push(text) }
  const coming = Promise.withResolvers<void>()
  const eventLog = { lease: (name: string) => coming.promise.then(() => leased.eventLog.lease(name)) }
  const working = whileLeased({ ...leased, log, eventLog, waitingMs: 1 }, async () => stop.abort(), stop.signal)
  await expect.poll(() => said).toEqual(['the work waits for its lease: another process may have it'])
  coming.resolve()
  await working
})

test.each([
  ['of the work', [], new AppError('usage', 'wrong')],
  ['of the log', [new AppError('usage', 'wrong')], undefined],
  ['that nobody expects', [], new TypeError('wrong')],
])('an error %s that does not pass ends it', async (_what, failing, error) => {
  const { leased, stop } = given([...failing])
  const work = async (): Promise<void> => {
    if (error !== undefined) throw error
  }
  await expect(whileLeased(leased, work, stop.signal)).rejects.toThrow('wrong')
})
