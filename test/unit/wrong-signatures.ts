import { isMainThread } from 'node:worker_threads'
import { SecretKey } from '@chainsafe/blst'

// Preloaded into a process that has a vault (`node --import`), and so into its threads. The third signature that is made in the process's own
// thread, or in each other one, is another key's: WRONG_IN says where.

const WRONG_AT = 3
const OTHER = SecretKey.fromKeygen(new Uint8Array(32).fill(9))

if (process.env.WRONG_IN === (isMainThread ? 'process' : 'thread')) {
  const { sign } = SecretKey.prototype
  let signed = 0
  SecretKey.prototype.sign = function (message) {
    return sign.call(++signed === WRONG_AT ? OTHER : this, message)
  }
}
