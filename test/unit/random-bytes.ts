import { createCipheriv } from 'node:crypto'

/** Bytes that nothing compresses, the same ones in every run. */
export function randomBytes(length: number, seed = 0): Uint8Array {
  const counter = Buffer.alloc(16)
  counter.writeUInt32BE(seed)
  return new Uint8Array(createCipheriv('aes-128-ctr', Buffer.alloc(16), counter).update(Buffer.alloc(length)))
}
