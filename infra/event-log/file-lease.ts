import { AppError } from '../../schemas/errors.ts'
import { tryLock } from '../directory-lock.ts'
import type { EventWriter, Lease } from '../ports/event-log.ts'
import type { WakeUps } from '../wake-ups.ts'

/** Releases by this log wake those who wait for them; those of other processes, and their deaths, are found by looking. */
const LOOK_MS = 500

export interface FileLeaseOptions extends EventWriter {
  readonly file: string
  /** For messages. */
  readonly name: string
  readonly signal: AbortSignal
  /** Woken by the file's name when the lease is given back. */
  readonly releases: WakeUps
  onRelease(lease: Lease): void
}

/** A lease that is a lock on a file. Rejects with the signal's reason when it aborts. */
export async function waitForFileLease(options: FileLeaseOptions): Promise<Lease> {
  const { file, signal, releases } = options
  for (;;) {
    signal.throwIfAborted()
    const lock = tryLock(file)
    if (lock !== undefined) return holdLease(lock, options)
    await releases.wait(file, LOOK_MS, signal)
  }
}

function holdLease(lock: Disposable, { file, name, releases, append, onRelease }: FileLeaseOptions): Lease {
  let held = true
  const lease: Lease = {
    lost: new AbortController().signal,
    async append(topic, events) {
      if (!held) throw new AppError('lease_lost', `the lease ${name} has been given back`)
      return append(topic, events)
    },
    async [Symbol.asyncDispose]() {
      if (!held) return
      held = false
      lock[Symbol.dispose]()
      onRelease(lease)
      releases.wake(file)
    },
  }
  return lease
}
