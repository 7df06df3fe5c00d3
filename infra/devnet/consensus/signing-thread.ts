import { parentPort } from 'node:worker_threads'
import { SecretKey } from '@chainsafe/blst'
import type { Signed, ToSign } from './thread-signer.ts'

// The thread that thread-signer.ts starts: it signs, and knows nothing of what.

const port = parentPort
if (port === null) throw new Error('this file is the start of a thread')

const keys = new Map<number, SecretKey>()

port.on('message', ({ id, validator, secretKey, signingRoot }: ToSign) => {
  const key = keys.get(validator) ?? SecretKey.fromBytes(secretKey)
  keys.set(validator, key)
  port.postMessage({ id, signature: key.sign(signingRoot).toBytes() } satisfies Signed)
})
