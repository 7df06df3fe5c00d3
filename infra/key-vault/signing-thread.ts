import { parentPort, workerData } from 'node:worker_threads'
import { SecretKey } from '@chainsafe/blst'
import type { SigningTask } from './deposit-signer.ts'
import { signDeposits } from './sign-deposit.ts'

// A thread of the vault's process: the key at m/12381/3600 came over without a copy, and is overwritten once it is read.

const port = parentPort
if (port === null) throw new Error('this file is the start of a thread')
const commonKeyBytes = workerData as Uint8Array
const commonKey = SecretKey.fromBytes(commonKeyBytes)
commonKeyBytes.fill(0)

port.on('message', ({ id, indices, terms }: SigningTask) => {
  port.postMessage({ id, ...signDeposits(commonKey, indices, terms) })
})
