import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished } from 'vitest'
import type { JobLimits, JobQueueOptions } from '../../infra/job-queue/limits.ts'
import type { JobQueue, WorkOptions } from '../../infra/ports/job-queue.ts'

/** A place for one queue, empty at first. Every `open` is a further process's view of the same queue. */
export interface JobQueuePlace extends AsyncDisposable {
  open(options: JobLimits & JobQueueOptions): Promise<JobQueue>
  /** Arguments for job-process.ts, which opens the queue in a process that can be killed. */
  readonly childArguments: readonly string[]
}

export type NewPlace = () => Promise<JobQueuePlace>

export const LIMITS: JobLimits = { attemptsMax: 3, leaseMs: 1_000, retryDelayMs: 20, restMs: 400 }
/** For processes that must not be taken for dead when the machine is busy. */
export const PATIENT_LIMITS: JobLimits = { ...LIMITS, leaseMs: 2_500 }
export const LONG_MS = 20_000

export async function openPlace(newPlace: NewPlace): Promise<JobQueuePlace> {
  const place = await newPlace()
  onTestFinished(() => place[Symbol.asyncDispose]())
  return place
}

export async function openAt(place: JobQueuePlace, options: JobQueueOptions = {}): Promise<JobQueue> {
  const queue = await place.open({ ...LIMITS, ...options })
  onTestFinished(() => queue[Symbol.asyncDispose]())
  return queue
}

/** Works in the background until the test ends. */
export function startWork(queue: JobQueue, handle: WorkOptions['handle'], jobName = 'exit', concurrency = 1) {
  const controller = new AbortController()
  const ended = queue.work({ name: jobName, concurrency, signal: controller.signal, handle })
  const stop = () => {
    controller.abort()
    return ended
  }
  onTestFinished(stop)
  return { stop }
}

/** What a process of job-process.ts does with the jobs named `exit`. */
export type JobProcessTask =
  | { readonly kind: 'take' }
  | { readonly kind: 'request'; readonly id: string; readonly input: unknown }
  | { readonly kind: 'work'; readonly directory: string }

/** Starts job-process.ts; resolves when it has written its first line. It is killed when the test ends. */
export async function startJobProcess(place: JobQueuePlace, task: JobProcessTask, limits = LIMITS) {
  const script = join(import.meta.dirname, 'job-process.ts')
  const args = [script, JSON.stringify(limits), JSON.stringify(task), ...place.childArguments]
  const child: ChildProcess = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const kill = async () => {
    child.kill('SIGKILL')
    await exited
  }
  onTestFinished(kill)
  if (child.stdout === null) throw new Error('the child has no stdout')
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  return { line: String(line), kill }
}

/** A process that takes the next job and is killed while it holds it. */
export async function killWhenTaken(place: JobQueuePlace): Promise<void> {
  const { line, kill } = await startJobProcess(place, { kind: 'take' })
  expect(line).toBe('taken')
  await kill()
}
