import { describe, expect, test } from 'vitest'
import type { JobQueue } from '../../infra/ports/job-queue.ts'
import { killWhenTaken, LIMITS, LONG_MS, type NewPlace, openAt, openPlace, startWork } from './job-queue-place.ts'

/** What every job queue must do: the guarantees of infra/ports/job-queue.ts, each as a test. */
export function jobQueueContract(name: string, newPlace: NewPlace): void {
  async function openQueue(): Promise<JobQueue> {
    return openAt(await openPlace(newPlace))
  }

  describe(`job queue contract: ${name}`, () => {
    test('does an added job and keeps its output', async () => {
      const queue = await openQueue()
      startWork(queue, async ({ id, input }) => ({ id, doubled: (input as number) * 2 }))
      expect(await queue.add('exit', 'a', 21)).toEqual({ status: 'added' })
      const state = await queue.result('exit', 'a', LONG_MS)
      expect(state).toEqual({ status: 'completed', output: { id: 'a', doubled: 42 } })
      expect(await queue.state('exit', 'a')).toEqual(state)
    })

    test('does jobs that were added before anybody worked', async () => {
      const queue = await openQueue()
      await queue.add('exit', 'a', null)
      expect(await queue.state('exit', 'a')).toEqual({ status: 'waiting' })
      startWork(queue, async () => 'done')
      expect(await queue.result('exit', 'a', LONG_MS)).toEqual({ status: 'completed', output: 'done' })
    })

    test.each([
      ['an object', { nested: [1, 'two', null, true], text: 'ä€ 🗝' }],
      ['null', null],
      ['zero', 0],
      ['an empty string', ''],
      ['false', false],
      ['text that looks like JSON', '{"a":1}'],
    ])('carries %s as input and as output', async (_, value) => {
      const queue = await openQueue()
      startWork(queue, async ({ input }) => input)
      await queue.add('exit', 'a', value)
      expect(await queue.result('exit', 'a', LONG_MS)).toEqual({ status: 'completed', output: value })
    })

    test('keeps null as the output of a handler that returns nothing', async () => {
      const queue = await openQueue()
      startWork(queue, async () => undefined)
      await queue.add('exit', 'a', null)
      expect(await queue.result('exit', 'a', LONG_MS)).toEqual({ status: 'completed', output: null })
    })

    test.each(['0x8f:exit', '12345', 'with space/and ü', 'a:b:c:d', '%3A'])('takes %s as an id', async (id) => {
      const queue = await openQueue()
      startWork(queue, async (job) => job.id)
      expect(await queue.add('exit', id, null)).toEqual({ status: 'added' })
      expect(await queue.result('exit', id, LONG_MS)).toEqual({ status: 'completed', output: id })
    })

    test('knows nothing of a job that was not added, or was added under another name', async () => {
      const queue = await openQueue()
      await queue.add('exit', 'a', null)
      expect(await queue.state('exit', 'b')).toEqual({ status: 'unknown' })
      expect(await queue.state('create', 'a')).toEqual({ status: 'unknown' })
      expect(await queue.add('create', 'a', null)).toEqual({ status: 'added' })
    })

    test('gives jobs to the workers of their name only', async () => {
      const queue = await openQueue()
      startWork(queue, async () => 'exited', 'exit')
      startWork(queue, async () => 'created', 'create')
      await queue.add('create', 'a', null)
      await queue.add('exit', 'a', null)
      expect(await queue.result('create', 'a', LONG_MS)).toMatchObject({ output: 'created' })
      expect(await queue.result('exit', 'a', LONG_MS)).toMatchObject({ output: 'exited' })
    })

    describe('one id is one job', () => {
      test('a second add finds the waiting job and does not change it', async () => {
        const queue = await openQueue()
        await queue.add('exit', 'a', 'first')
        expect(await queue.add('exit', 'a', 'second')).toEqual({
          status: 'duplicate',
          existing: { status: 'waiting' },
        })
        startWork(queue, async ({ input }) => input)
        expect(await queue.result('exit', 'a', LONG_MS)).toEqual({ status: 'completed', output: 'first' })
      })

      test('a later add finds the output and does not do the job again', async () => {
        const queue = await openQueue()
        let runs = 0
        startWork(queue, async () => ++runs)
        await queue.add('exit', 'a', null)
        await queue.result('exit', 'a', LONG_MS)
        const existing = { status: 'completed', output: 1 }
        expect(await queue.add('exit', 'a', null)).toEqual({ status: 'duplicate', existing })
        await queue.add('exit', 'b', null)
        expect(await queue.result('exit', 'b', LONG_MS)).toEqual({ status: 'completed', output: 2 })
      })

      test('of many simultaneous adds one makes the job', async () => {
        const place = await openPlace(newPlace)
        const queues = [await openAt(place), await openAt(place)]
        const added = await Promise.all(
          Array.from({ length: 20 }, (_, i) => (queues[i % 2] as JobQueue).add('exit', 'a', i)),
        )
        expect(added.filter(({ status }) => status === 'added').length).toBe(1)
      })
    })

    describe('failures', () => {
      test('a job is tried again until its handler succeeds', async () => {
        const queue = await openQueue()
        const attempts: number[] = []
        startWork(queue, async ({ attempt }) => {
          attempts.push(attempt)
          if (attempts.length < 3) throw new Error('beacon node away')
          return 'broadcast'
        })
        await queue.add('exit', 'a', null)
        expect(await queue.result('exit', 'a', LONG_MS)).toEqual({ status: 'completed', output: 'broadcast' })
        expect(attempts).toEqual([1, 2, 3])
      })

      test('a job whose handler always rejects fails after attemptsMax attempts, with the last reason', async () => {
        const queue = await openQueue()
        let runs = 0
        startWork(queue, async () => {
          throw new Error(`no, ${++runs}`)
        })
        await queue.add('exit', 'a', null)
        const failed = { status: 'failed', reason: `no, ${LIMITS.attemptsMax}` }
        expect(await queue.result('exit', 'a', LONG_MS)).toEqual(failed)
        expect(await queue.add('exit', 'a', null)).toEqual({ status: 'duplicate', existing: failed })
        expect(runs).toBe(LIMITS.attemptsMax)
      })

      test('a failing job does not hold up the others', async () => {
        const queue = await openQueue()
        startWork(queue, async ({ id }) => {
          if (id === 'bad') throw new Error('no')
          return id
        })
        await queue.add('exit', 'bad', null)
        await queue.add('exit', 'good', null)
        expect(await queue.result('exit', 'good', LONG_MS)).toEqual({ status: 'completed', output: 'good' })
        expect(await queue.result('exit', 'bad', LONG_MS)).toMatchObject({ status: 'failed' })
      })
    })

    describe('result', () => {
      test('gives the state that the job has when the time is up', async () => {
        const queue = await openQueue()
        expect(await queue.result('exit', 'a', 10)).toEqual({ status: 'unknown' })
        await queue.add('exit', 'a', null)
        expect(await queue.result('exit', 'a', 10)).toEqual({ status: 'waiting' })
        const started = Promise.withResolvers<void>()
        const release = Promise.withResolvers<void>()
        startWork(queue, async () => {
          started.resolve()
          await release.promise
        })
        await started.promise
        expect(await queue.result('exit', 'a', 10)).toEqual({ status: 'active' })
        release.resolve()
        expect(await queue.result('exit', 'a', LONG_MS)).toMatchObject({ status: 'completed' })
      })

      test('is seen by another opening of the queue', async () => {
        const place = await openPlace(newPlace)
        const [one, other] = [await openAt(place), await openAt(place)]
        startWork(one, async () => 'done elsewhere')
        await other.add('exit', 'a', null)
        expect(await other.result('exit', 'a', LONG_MS)).toEqual({ status: 'completed', output: 'done elsewhere' })
      })
    })

    describe('work', () => {
      test('runs at most `concurrency` jobs at once, and that many if there are', async () => {
        const queue = await openQueue()
        let [running, runningMax] = [0, 0]
        const three = Promise.withResolvers<void>()
        startWork(
          queue,
          async () => {
            runningMax = Math.max(runningMax, ++running)
            if (running === 3) three.resolve()
            await three.promise
            running--
          },
          'exit',
          3,
        )
        const ids = Array.from({ length: 9 }, (_, i) => `job ${i}`)
        for (const id of ids) await queue.add('exit', id, null)
        for (const id of ids) expect(await queue.result('exit', id, LONG_MS), id).toMatchObject({ status: 'completed' })
        expect(runningMax).toBe(3)
      })

      test('does each job once although several processes work', async () => {
        const place = await openPlace(newPlace)
        const queues = [await openAt(place), await openAt(place)]
        const done: string[] = []
        for (const queue of queues) {
          startWork(
            queue,
            async ({ id }) => {
              done.push(id)
            },
            'exit',
            4,
          )
        }
        const ids = Array.from({ length: 30 }, (_, i) => `job ${i}`)
        await Promise.all(ids.map((id) => (queues[0] as JobQueue).add('exit', id, null)))
        for (const id of ids) await (queues[1] as JobQueue).result('exit', id, LONG_MS)
        expect(done.toSorted()).toEqual(ids.toSorted())
      })

      test('ends after the running job when the signal aborts, and keeps its output', async () => {
        const queue = await openQueue()
        const started = Promise.withResolvers<void>()
        const release = Promise.withResolvers<void>()
        const work = startWork(queue, async () => {
          started.resolve()
          await release.promise
          return 'finished'
        })
        await queue.add('exit', 'a', null)
        await queue.add('exit', 'b', null)
        await started.promise
        let ended = false
        const stopped = work.stop().then(() => {
          ended = true
        })
        expect(await queue.result('exit', 'a', 50)).toEqual({ status: 'active' })
        expect(ended).toBe(false)
        release.resolve()
        await stopped
        expect(await queue.state('exit', 'a')).toEqual({ status: 'completed', output: 'finished' })
        expect(await queue.state('exit', 'b')).toEqual({ status: 'waiting' })
      })

      test('a job that takes longer than the lease is not given to another worker', async () => {
        const place = await openPlace(newPlace)
        const queues = [await openAt(place), await openAt(place)]
        const attempts: number[] = []
        for (const queue of queues) {
          startWork(queue, async ({ attempt }) => {
            attempts.push(attempt)
            // What is tested is the passing of time itself: three leases.
            await new Promise((resolve) => setTimeout(resolve, 3 * LIMITS.leaseMs))
            return attempt
          })
        }
        const [queue] = queues as [JobQueue]
        await queue.add('exit', 'slow', null)
        expect(await queue.result('exit', 'slow', LONG_MS)).toEqual({ status: 'completed', output: 1 })
        expect(attempts).toEqual([1])
      })

      test('a job whose worker was killed is handed to another one', async () => {
        const place = await openPlace(newPlace)
        const queue = await openAt(place)
        await queue.add('exit', 'a', 'the input')
        await killWhenTaken(place)
        startWork(queue, async ({ input, attempt }) => ({ input, attempt }))
        expect(await queue.result('exit', 'a', LONG_MS)).toEqual({
          status: 'completed',
          output: { input: 'the input', attempt: 2 },
        })
      })

      test('a job that kills its worker every time fails in the end', async () => {
        const place = await openPlace(newPlace)
        const queue = await openAt(place)
        await queue.add('exit', 'a', null)
        for (let i = 0; i < LIMITS.attemptsMax; i++) await killWhenTaken(place)
        startWork(queue, async () => 'must not be reached')
        expect(await queue.result('exit', 'a', LONG_MS)).toMatchObject({ status: 'failed' })
      })
    })

    test('keeps jobs and results when it is closed and opened', async () => {
      const place = await openPlace(newPlace)
      const before = await openAt(place)
      startWork(before, async () => 'done', 'create')
      await before.add('create', 'done before', null)
      await before.result('create', 'done before', LONG_MS)
      await before.add('exit', 'added before', 'input')
      await before[Symbol.asyncDispose]()
      const after = await openAt(place)
      expect(await after.state('create', 'done before')).toEqual({ status: 'completed', output: 'done' })
      startWork(after, async ({ input }) => input)
      expect(await after.result('exit', 'added before', LONG_MS)).toEqual({ status: 'completed', output: 'input' })
    })
  })
}
