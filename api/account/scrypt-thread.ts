import { scryptSync } from 'node:crypto'
import { getPriority, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import type { ScryptAsked, ScryptStart } from './scrypt-threads.ts'

/** Steps of niceness behind the rest of the program: beside a thread that has much to do it gets a quarter of a core. */
const STEPS_BEHIND = 5
const NICENESS_MAX = 19

const { bytes, options } = workerData as ScryptStart
// A thread has a priority of its own on Linux; elsewhere it would be the whole program's.
if (process.platform === 'linux') setPriority(0, Math.min(getPriority(0) + STEPS_BEHIND, NICENESS_MAX))
parentPort?.on('message', ({ password, salt }: ScryptAsked) =>
  parentPort?.postMessage(scryptSync(password, salt, bytes, options)),
)
