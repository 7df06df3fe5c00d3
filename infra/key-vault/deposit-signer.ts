import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { SecretKey } from '@chainsafe/blst'
import type { DepositTerms, SignedDeposit } from '../ports/key-vault.ts'
import { signDeposits } from './sign-deposit.ts'

/** A hundred keys are a good hundred milliseconds of arithmetic; more threads than this would take the cores of who asks. */
const THREADS_MAX = 4
/** Fewer keys are signed sooner than they are handed over: a key takes a millisecond. */
const SHARE_KEYS_MIN = 4

export interface SigningTask {
  readonly id: number
  readonly indices: readonly number[]
  readonly terms: DepositTerms
}

export interface SignedTask {
  readonly id: number
  readonly deposits: readonly SignedDeposit[]
}

/** Signs deposits with the keys of one seed, on all cores from the first list that is worth it. A thread that fails ends the process. */
export class DepositSigner {
  readonly #commonKey: SecretKey
  readonly #threadsMax = Math.min(availableParallelism(), THREADS_MAX) - 1
  #threads: readonly Worker[] = []
  readonly #waiting = new Map<number, (deposits: readonly SignedDeposit[]) => void>()
  #asked = 0

  /** `commonKey` is the seed's key at m/12381/3600. */
  constructor(commonKey: SecretKey) {
    this.#commonKey = commonKey
  }

  /** A deposit for the key at each index, in their order; their signatures are not verified yet. */
  async sign(indices: readonly number[], terms: DepositTerms): Promise<readonly SignedDeposit[]> {
    const shares = Math.max(1, Math.min(this.#threadsMax + 1, Math.floor(indices.length / SHARE_KEYS_MIN)))
    if (shares > 1 && this.#threads.length === 0)
      this.#threads = Array.from({ length: this.#threadsMax }, () => this.#startThread())
    const shareKeys = Math.ceil(indices.length / shares)
    const elsewhere = this.#threads
      .slice(0, shares - 1)
      .map((thread, i) => this.#signIn(thread, indices.slice((i + 1) * shareKeys, (i + 2) * shareKeys), terms))
    const here = signDeposits(this.#commonKey, indices.slice(0, shareKeys), terms)
    return [here, ...(await Promise.all(elsewhere))].flat()
  }

  #startThread(): Worker {
    const key = new Uint8Array(this.#commonKey.toBytes())
    const thread = new Worker(new URL('./signing-thread.ts', import.meta.url), {
      workerData: key,
      transferList: [key.buffer],
    })
    thread.on('message', ({ id, deposits }: SignedTask) => {
      this.#waiting.get(id)?.(deposits)
      this.#waiting.delete(id)
    })
    thread.on('error', (error) => {
      throw error
    })
    return thread
  }

  #signIn(thread: Worker, indices: readonly number[], terms: DepositTerms): Promise<readonly SignedDeposit[]> {
    const id = this.#asked++
    const task: SigningTask = { id, indices, terms }
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve)
      thread.postMessage(task)
    })
  }
}
