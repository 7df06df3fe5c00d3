import { parentPort } from 'node:worker_threads'
import { SecretKey } from '@chainsafe/blst'
import type { Signed, ToSign } from './thread-signer.ts'

// The thread that thread-signer.ts starts: it signs, and knows nothing of what.

const port = parentPort
if (port === null) throw new Error('this file is the start of a thread')

const keys = new Map<number, SecretKey>()

function sign({ id, validator, secretKey, signingRoot }: ToSign): Signed {
  const key = keys.get(validator) ?? SecretKey.fromBytes(secretKey)
  keys.set(validator, key)
  return { id, signature: key.sign(signingRoot).toBytes() }
}

port.on('message', (all: readonly ToSign[]) => port.postMessage(all.map(sign)))
