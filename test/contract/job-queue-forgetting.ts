import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { LONG_MS, type NewPlace, openAt, openPlace, startWork } from './job-queue-place.ts'

/** Whole seconds: some queues count so. */
const KEEP_MS = 1_000
const keep = { keepMs: KEEP_MS }

async function done(): Promise<string> {
  return 'done'
}

async function fail(): Promise<never> {
  throw new Error('no')
}

/** What every job queue must do with jobs that are not kept for ever. */
export function jobForgettingContract(name: string, newPlace: NewPlace): void {
  describe(`jobs that are forgotten: ${name}`, () => {
    test.each([
      ['completed', done],
      ['failed', fail],
    ] as const)('a %s job is forgotten after its time, when another ends likewise', async (status, handle) => {
      const queue = await openAt(await openPlace(newPlace))
      startWork(queue, handle, 'exit')
      startWork(queue, handle, 'create')
      await queue.add('create', 'kept', null)
      expect(await queue.result('create', 'kept', LONG_MS)).toMatchObject({ status })
      expect(await queue.add('exit', 'a', null, keep)).toEqual({ status: 'added' })
      const ended = await queue.result('exit', 'a', LONG_MS)
      expect(ended).toMatchObject({ status })
      expect(await queue.add('exit', 'a', null, keep)).toEqual({ status: 'duplicate', existing: ended })
      // What is tested is the passing of time itself.
      await delay(KEEP_MS + 100)
      await queue.add('exit', 'b', null, keep)
      expect(await queue.result('exit', 'b', LONG_MS)).toMatchObject({ status })
      expect(await queue.state('exit', 'a')).toEqual({ status: 'unknown' })
      expect(await queue.add('exit', 'a', null, keep)).toEqual({ status: 'added' })
      expect(await queue.state('create', 'kept')).toMatchObject({ status })
    })

    test('a job that was withdrawn is forgotten, begun or not, but for one that is being done', async () => {
      const queue = await openAt(await openPlace(newPlace))
      await queue.add('exit', 'waiting', null, keep)
      await queue.withdraw('exit', 'waiting')
      expect(await queue.state('exit', 'waiting')).toEqual({ status: 'unknown' })
      const [begun, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      startWork(queue, async () => {
        begun.resolve()
        await goOn.promise
        return 'done'
      })
      await queue.add('exit', 'active', null, keep)
      await begun.promise
      await queue.withdraw('exit', 'active')
      expect(await queue.state('exit', 'active')).toEqual({ status: 'active' })
      goOn.resolve()
      expect(await queue.result('exit', 'active', LONG_MS)).toEqual({ status: 'completed', output: 'done' })
      await queue.withdraw('exit', 'active')
      expect(await queue.state('exit', 'active')).toEqual({ status: 'unknown' })
    })
  })
}
