import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { JobQueue } from '../../infra/ports/job-queue.ts'
import {
  killWhenTaken,
  LIMITS,
  LONG_MS,
  type NewPlace,
  openAt,
  openPlace,
  PATIENT_LIMITS,
  startJobProcess,
  startWork,
} from './job-queue-place.ts'
import { readRuns } from './job-runs.ts'

/** What every job queue must do with requests: the guarantees of infra/ports/job-queue.ts, each as a test. */
export function jobRequestsContract(name: string, newPlace: NewPlace): void {
  async function openQueue(): Promise<JobQueue> {
    return openAt(await openPlace(newPlace))
  }

  /** Resolves when nothing is wanted any more. */
  async function untilDone(queue: JobQueue): Promise<void> {
    await expect.poll(() => queue.pending('exit'), { timeout: LONG_MS, interval: 10 }).toBe(0)
  }

  /** A handler that keeps the inputs of its runs, and whose first run waits for `release`. */
  function heldHandler() {
    const inputs: unknown[] = []
    const started = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    const handle = async ({ input }: { input: unknown }) => {
      inputs.push(input)
      if (inputs.length > 1) return
      started.resolve()
      await release.promise
    }
    return { inputs, started: started.promise, release: release.resolve, handle }
  }

  describe(`job requests contract: ${name}`, () => {
    test('does a requested job and forgets it', async () => {
      const queue = await openQueue()
      const runs: unknown[] = []
      startWork(queue, async ({ id, input, attempt }) => runs.push({ id, input, attempt }))
      await queue.request('exit', 'a', { day: 7 })
      await untilDone(queue)
      expect(runs).toEqual([{ id: 'a', input: { day: 7 }, attempt: 1 }])
      expect(await queue.state('exit', 'a')).toEqual({ status: 'unknown' })
    })

    test.each(['0x8f:exit', '12345', 'mainnet/2026-11-18 ü', '%3A'])(
      'takes %s as an id and as an input',
      async (id) => {
        const queue = await openQueue()
        const runs: unknown[] = []
        startWork(queue, async (job) => runs.push([job.id, job.input]))
        await queue.request('exit', id, id)
        await untilDone(queue)
        expect(runs).toEqual([[id, id]])
      },
    )

    test.each([null, 0, '', false, { nested: [1, 'ä€ 🗝'] }])('carries the input %j', async (input) => {
      const queue = await openQueue()
      const inputs: unknown[] = []
      startWork(queue, async (job) => inputs.push(job.input))
      await queue.request('exit', 'a', input)
      await untilDone(queue)
      expect(inputs).toEqual([input])
    })

    test('merges requests that wait into one run with the newest input', async () => {
      const queue = await openQueue()
      for (const input of [1, 2, 3]) await queue.request('exit', 'a', input)
      expect(await queue.pending('exit')).toBe(1)
      expect(await queue.state('exit', 'a')).toEqual({ status: 'waiting' })
      const inputs: unknown[] = []
      startWork(queue, async ({ input }) => inputs.push(input))
      await untilDone(queue)
      expect(inputs).toEqual([3])
    })

    test('runs once more, with the newest input, after a run during which it was requested', async () => {
      const queue = await openQueue()
      const { inputs, started, release, handle } = heldHandler()
      startWork(queue, handle, 'exit', 4)
      await queue.request('exit', 'a', 1)
      await started
      for (const input of [2, 3, 4]) await queue.request('exit', 'a', input)
      expect(await queue.pending('exit')).toBe(1)
      expect(await queue.state('exit', 'a')).toEqual({ status: 'active' })
      release()
      await untilDone(queue)
      expect(inputs).toEqual([1, 4])
    })

    test('runs again when it is requested after the end', async () => {
      const queue = await openQueue()
      const inputs: unknown[] = []
      startWork(queue, async ({ input }) => inputs.push(input))
      for (const input of [1, 2, 3]) {
        await queue.request('exit', 'a', input)
        await untilDone(queue)
      }
      expect(inputs).toEqual([1, 2, 3])
    })

    test('runs other ids while one runs, and gives names to their own workers only', async () => {
      const queue = await openQueue()
      const { inputs, started, release, handle } = heldHandler()
      startWork(queue, handle, 'exit', 2)
      await queue.request('exit', 'a', 'a')
      await started
      await queue.request('create', 'b', 'not for us')
      await queue.request('exit', 'b', 'b')
      await expect.poll(() => queue.state('exit', 'b'), { timeout: LONG_MS }).toEqual({ status: 'unknown' })
      release()
      await untilDone(queue)
      expect(inputs).toEqual(['a', 'b'])
      expect(await queue.pending('create')).toBe(1)
    })

    test('counts jobs that are still to be done, of both kinds', async () => {
      const queue = await openQueue()
      expect(await queue.pending('exit')).toBe(0)
      await queue.add('exit', 'added', null)
      await queue.request('exit', 'requested', null)
      await queue.request('exit', 'later', null, { delayMs: 60_000 })
      expect(await queue.pending('exit')).toBe(3)
      expect(await queue.pending('exit', 'requ')).toBe(1)
      expect(await queue.pending('exit', 'added')).toBe(1)
      expect(await queue.pending('exit', 'a%')).toBe(0)
      const done: string[] = []
      startWork(queue, async ({ id }) => done.push(id))
      await expect.poll(() => queue.pending('exit'), { timeout: LONG_MS }).toBe(1)
      expect(done.toSorted()).toEqual(['added', 'requested'])
      expect(await queue.state('exit', 'later')).toEqual({ status: 'waiting' })
    })

    describe('delay', () => {
      test('waits from the first request on, and a steady stream of requests does not put it off', async () => {
        const DELAY_MS = 400
        const queue = await openQueue()
        const runs: { readonly atMs: number; readonly input: unknown }[] = []
        startWork(queue, async ({ input }) => runs.push({ atMs: Date.now(), input }))
        const firstMs = Date.now()
        let requested = 0
        for (; runs.length === 0; requested++) {
          await queue.request('exit', 'a', requested, { delayMs: DELAY_MS })
          await delay(20)
        }
        expect(runs[0]?.atMs).toBeGreaterThanOrEqual(firstMs + DELAY_MS)
        expect(requested).toBeGreaterThan(1)
        await untilDone(queue)
        expect(runs.at(-1)?.input).toBe(requested - 1)
      })

      test('holds for a run that was requested during a run', async () => {
        const DELAY_MS = 300
        const queue = await openQueue()
        const startsMs: number[] = []
        let requestedMs = 0
        startWork(queue, async () => {
          startsMs.push(Date.now())
          if (startsMs.length > 1) return
          requestedMs = Date.now()
          await queue.request('exit', 'a', null, { delayMs: DELAY_MS })
        })
        await queue.request('exit', 'a', null)
        await untilDone(queue)
        expect(startsMs.length).toBe(2)
        expect(startsMs[1]).toBeGreaterThanOrEqual(requestedMs + DELAY_MS)
      })
    })

    describe('failures', () => {
      test('is tried again after growing pauses, and says why', async () => {
        const queue = await openQueue()
        const attempts: number[] = []
        const states: unknown[] = []
        startWork(queue, async ({ attempt }) => {
          attempts.push(attempt)
          states.push(await queue.state('exit', 'a'))
          if (attempts.length < 3) throw new Error(`warehouse away, ${attempt}`)
        })
        await queue.request('exit', 'a', null)
        await untilDone(queue)
        expect(attempts).toEqual([1, 2, 3])
        expect(states).toEqual([
          { status: 'active' },
          { status: 'active', reason: 'warehouse away, 1' },
          { status: 'active', reason: 'warehouse away, 2' },
        ])
      })

      test('is never given up: after attemptsMax attempts it rests, is told of, and goes on with the newest input', async () => {
        const { attemptsMax, restMs } = LIMITS
        const told: object[] = []
        const ignore = () => {}
        const log = { debug: ignore, info: ignore, warn: ignore, error: (fields: object) => void told.push(fields) }
        const queue = await openAt(await openPlace(newPlace), { log })
        const runs: { readonly atMs: number; readonly input: unknown }[] = []
        startWork(queue, async ({ input }) => {
          runs.push({ atMs: Date.now(), input })
          if (runs.length < attemptsMax + 2) throw new Error('warehouse away')
        })
        await queue.request('exit', 'a', 'old')
        const resting = { status: 'waiting', reason: 'warehouse away' }
        await expect.poll(() => runs.length, { timeout: LONG_MS, interval: 5 }).toBe(attemptsMax)
        await expect.poll(() => queue.state('exit', 'a'), { timeout: LONG_MS, interval: 5 }).toEqual(resting)
        await queue.request('exit', 'a', 'new')
        await untilDone(queue)
        expect(runs.map(({ input }) => input)).toEqual([...Array(attemptsMax).fill('old'), 'new', 'new'])
        const pausesMs = runs.slice(1).map(({ atMs }, i) => atMs - (runs[i]?.atMs ?? 0))
        for (const pauseMs of pausesMs.slice(attemptsMax - 1)) expect(pauseMs).toBeGreaterThanOrEqual(restMs)
        expect(told).toEqual(
          [attemptsMax, attemptsMax + 1].map((attempt) => ({
            job: 'exit',
            id: 'a',
            attempt,
            reason: 'warehouse away',
          })),
        )
      })

      test('begins to count attempts anew with the next request', async () => {
        const queue = await openQueue()
        const attempts: number[] = []
        startWork(queue, async ({ attempt }) => {
          attempts.push(attempt)
          if (attempts.length === 1) throw new Error('once')
        })
        for (const _ of [1, 2]) {
          await queue.request('exit', 'a', null)
          await untilDone(queue)
        }
        expect(attempts).toEqual([1, 2, 1])
      })
    })

    describe('processes', () => {
      test('a request of a process that is killed afterwards is done by another', async () => {
        const place = await openPlace(newPlace)
        const queue = await openAt(place)
        const { line, kill } = await startJobProcess(place, {
          kind: 'request',
          id: 'a',
          input: 'from the other process',
        })
        expect(line).toBe('requested')
        await kill()
        const inputs: unknown[] = []
        startWork(queue, async ({ input }) => inputs.push(input))
        await untilDone(queue)
        expect(inputs).toEqual(['from the other process'])
      })

      test('a run whose worker was killed is started again, with what was requested meanwhile', async () => {
        const place = await openPlace(newPlace)
        const queue = await openAt(place)
        await queue.request('exit', 'a', 'old')
        await killWhenTaken(place)
        await queue.request('exit', 'a', 'new')
        const runs: { readonly input: unknown; readonly attempt: number }[] = []
        startWork(queue, async ({ input, attempt }) => runs.push({ input, attempt }))
        await untilDone(queue)
        expect(runs[0]).toEqual({ input: 'new', attempt: 2 })
        for (const { input } of runs) expect(input).toBe('new')
      })

      test('a request that kills its workers rests, and is done in the end', async () => {
        const place = await openPlace(newPlace)
        const told: object[] = []
        const ignore = () => {}
        const log = { debug: ignore, info: ignore, warn: ignore, error: (fields: object) => void told.push(fields) }
        const queue = await openAt(place, { log })
        await queue.request('exit', 'a', null)
        for (let i = 0; i < LIMITS.attemptsMax; i++) await killWhenTaken(place)
        const attempts: number[] = []
        startWork(queue, async ({ attempt }) => attempts.push(attempt))
        await expect.poll(() => told, { timeout: LONG_MS, interval: 10 }).toHaveLength(1)
        expect(attempts).toEqual([])
        expect(await queue.state('exit', 'a')).toEqual({ status: 'waiting', reason: 'its worker died' })
        await untilDone(queue)
        expect(attempts).toEqual([LIMITS.attemptsMax + 1])
      })

      test('no two runs of one id overlap, and the last one has the newest input, with processes that are killed', async () => {
        const directory = await mkdtemp(join(tmpdir(), 'epochline-job-runs-'))
        onTestFinished(() => rm(directory, { recursive: true, force: true }))
        const place = await openPlace(newPlace)
        const queue = await openAt(place, PATIENT_LIMITS)
        const task = { kind: 'work', directory } as const
        const processes = await Promise.all([
          startJobProcess(place, task, PATIENT_LIMITS),
          startJobProcess(place, task, PATIENT_LIMITS),
        ])
        const ids = ['a', 'b', 'c']
        const ROUNDS = 100
        for (let input = 0; input < ROUNDS; input++) {
          await Promise.all(ids.map((id) => queue.request('exit', id, input)))
          await delay(5)
          if (input === ROUNDS / 2) await processes[0].kill()
        }
        await untilDone(queue)
        const runs = readRuns(directory)
        expect(runs.filter(({ overlaps }) => overlaps)).toEqual([])
        for (const id of ids) {
          const inputs = runs.filter((run) => run.id === id).map(({ input }) => Number(input))
          expect(inputs.at(-1), id).toBe(ROUNDS - 1)
          expect(inputs, id).toEqual(inputs.toSorted((a, b) => a - b))
          expect(inputs.length, id).toBeGreaterThan(2)
        }
      })
    })

    test('a worker that is told to stop ends after its run, and leaves what was requested meanwhile to the next', async () => {
      const place = await openPlace(newPlace)
      const queue = await openAt(place)
      const first = heldHandler()
      const work = startWork(queue, first.handle)
      await queue.request('exit', 'a', 1)
      await first.started
      await queue.request('exit', 'a', 2)
      let ended = false
      const stopped = work.stop().then(() => {
        ended = true
      })
      await delay(50) // time in which it must not end
      expect(ended).toBe(false)
      first.release()
      await stopped
      expect(first.inputs).toEqual([1])
      expect(await queue.state('exit', 'a')).toEqual({ status: 'waiting' })
      const inputs: unknown[] = []
      startWork(queue, async ({ input }) => inputs.push(input))
      await untilDone(queue)
      expect(inputs).toEqual([2])
    })

    test('keeps requests when it is closed and opened', async () => {
      const place = await openPlace(newPlace)
      const before = await openAt(place)
      await before.request('exit', 'a', 'input')
      await before[Symbol.asyncDispose]()
      const after = await openAt(place)
      const inputs: unknown[] = []
      startWork(after, async ({ input }) => inputs.push(input))
      await untilDone(after)
      expect(inputs).toEqual(['input'])
    })
  })
}
