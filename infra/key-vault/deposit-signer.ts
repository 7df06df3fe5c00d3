import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { SecretKey } from '@chainsafe/blst'
import type { DepositTerms } from '../ports/key-vault.ts'
import { signDeposits, type VerifiedDeposits } from './sign-deposit.ts'

/** A hundred keys are a good hundred milliseconds of arithmetic; more threads than this would take the cores of who asks. */
const THREADS_MAX = 4
/** Fewer keys are signed sooner than they are handed over: a key takes a millisecond. */
const SHARE_KEYS_MIN = 4

export interface SigningTask {
  readonly id: number
  readonly indices: readonly number[]
  readonly terms: DepositTerms
}

export interface SignedTask extends VerifiedDeposits {
  readonly id: number
}

/** Signs deposits with the keys of one seed, on all cores; its threads start with the first deposits. A thread that fails ends the process. */
export class DepositSigner {
  readonly #commonKey: SecretKey
  readonly #threadsMax = Math.min(availableParallelism(), THREADS_MAX) - 1
  #threads: readonly Worker[] = []
  readonly #waiting = new Map<number, (signed: VerifiedDeposits) => void>()
  #asked = 0

  /** `commonKey` is the seed's key at m/12381/3600. */
  constructor(commonKey: SecretKey) {
    this.#commonKey = commonKey
  }

  /** A deposit for the key at each index, in their order; each thread verifies, in one batch, what it has signed. */
  async sign(indices: readonly number[], terms: DepositTerms): Promise<VerifiedDeposits> {
    const shares = Math.max(1, Math.min(this.#threadsMax + 1, Math.floor(indices.length / SHARE_KEYS_MIN)))
    // Not only for a list that is worth it: the first long one would wait for them.
    if (this.#threads.length === 0) this.#threads = Array.from({ length: this.#threadsMax }, () => this.#startThread())
    const shareKeys = Math.ceil(indices.length / shares)
    const elsewhere = this.#threads
      .slice(0, shares - 1)
      .map((thread, i) => this.#signIn(thread, indices.slice((i + 1) * shareKeys, (i + 2) * shareKeys), terms))
    const here = signDeposits(this.#commonKey, indices.slice(0, shareKeys), terms)
    const signed = [here, ...(await Promise.all(elsewhere))]
    return { deposits: signed.flatMap(({ deposits }) => deposits), hold: signed.every(({ hold }) => hold) }
  }

  #startThread(): Worker {
    const key = new Uint8Array(this.#commonKey.toBytes())
    const thread = new Worker(new URL('./signing-thread.ts', import.meta.url), {
      workerData: key,
      transferList: [key.buffer],
    })
    thread.on('message', ({ id, ...signed }: SignedTask) => {
      this.#waiting.get(id)?.(signed)
      this.#waiting.delete(id)
    })
    thread.on('error', (error) => {
      throw error
    })
    return thread
  }

  #signIn(thread: Worker, indices: readonly number[], terms: DepositTerms): Promise<VerifiedDeposits> {
    const id = this.#asked++
    const task: SigningTask = { id, indices, terms }
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve)
      thread.postMessage(task)
    })
  }
}
