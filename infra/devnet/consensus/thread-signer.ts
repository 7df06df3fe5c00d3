import { Worker } from 'node:worker_threads'
import { secretKeyOf } from './keys.ts'

export interface ToSign {
  readonly id: number
  readonly validator: number
  /** Only the devnet's publicly known keys get here. */
  readonly secretKey: Uint8Array
  readonly signingRoot: Uint8Array
}

export interface Signed {
  readonly id: number
  readonly signature: Uint8Array
}

/** Waking the thread costs the chain as much as much of its work, so what nobody waits for goes with others. */
export type Urgency = 'waited for' | 'nobody waits'

/** Signs beside the chain, whose own thread would be busy with it for a quarter of its time. In the order of the calls. */
export interface ThreadSigner extends AsyncDisposable {
  sign(validator: number, signingRoot: Uint8Array, urgency: Urgency): Promise<Uint8Array>
  /** Resolves when few signatures are outstanding, so that a chain that is faster than the thread does not run away from it. */
  keepsUp(): Promise<unknown>
}

/** More than the reveals of an epoch, which are asked for at once. */
const OUTSTANDING_MAX = 128

/** What nobody waits for goes when it is this many, or this old. */
const TOGETHER = 16
const TOGETHER_MS = 20

interface Outstanding {
  readonly resolve: (signature: Uint8Array) => void
  readonly reject: (error: unknown) => void
  readonly signature: Promise<Uint8Array>
}

export function openThreadSigner(): ThreadSigner {
  const worker = new Worker(new URL('./signing-thread.ts', import.meta.url))
  const outstanding = new Map<number, Outstanding>()
  const secretKeys = new Map<number, Uint8Array>()
  let failure: unknown
  let lastId = 0

  let unsent: ToSign[] = []
  let sending: NodeJS.Timeout | undefined

  function send(): void {
    clearTimeout(sending)
    sending = undefined
    if (unsent.length > 0) worker.postMessage(unsent)
    unsent = []
  }
  worker.on('message', (all: readonly Signed[]) => {
    for (const { id, signature } of all) {
      outstanding.get(id)?.resolve(signature)
      outstanding.delete(id)
    }
  })
  const fail = (error: unknown): void => {
    failure ??= error
    for (const { reject } of outstanding.values()) reject(failure)
    outstanding.clear()
  }
  worker.on('error', fail)
  worker.on('exit', () => fail(new Error('the thread that signs has ended')))

  function secretKeyBytes(validator: number): Uint8Array {
    const known = secretKeys.get(validator) ?? secretKeyOf(validator).toBytes()
    secretKeys.set(validator, known)
    return known
  }

  return {
    sign(validator, signingRoot, urgency) {
      if (failure !== undefined) return Promise.reject(failure)
      const id = ++lastId
      const { promise: signature, resolve, reject } = Promise.withResolvers<Uint8Array>()
      outstanding.set(id, { resolve, reject, signature })
      unsent.push({ id, validator, secretKey: secretKeyBytes(validator), signingRoot })
      if (unsent.length >= TOGETHER) send()
      else if (urgency === 'waited for') queueMicrotask(send)
      else sending ??= setTimeout(send, TOGETHER_MS)
      return signature
    },
    async keepsUp() {
      if (outstanding.size <= OUTSTANDING_MAX) return
      const ids = [...outstanding.keys()]
      await outstanding.get(ids[ids.length - OUTSTANDING_MAX - 1] ?? 0)?.signature
    },
    async [Symbol.asyncDispose]() {
      clearTimeout(sending)
      await worker.terminate()
    },
  }
}
