import type { ClientRequest } from './client-exchange.ts'
import { PlainRequest } from './plain/plain-request.ts'

/** Of JSON-RPC calls, which are looked into: transactions with blobs are the longest. */
export const RPC_BODY_BYTES_MAX = 10 * 1024 * 1024

/** Of those of clients without a key: a transaction with six blobs, the longest of what they may call, is 1.7 MB of hex. */
export const PUBLIC_BODY_BYTES_MAX = 2 * 1024 * 1024

/** Of native requests, which are passed on as they come: a block with all its blobs, or a list of all validators, is shorter. */
export const NATIVE_BODY_BYTES_MAX = 64 * 1024 * 1024

type Body = Buffer | 'too-large'

/**
 * Tells the whole body, or `too-large` as soon as that is known, and nothing where the client has gone before. By a callback: a promise for
 * each call is a twentieth of what a call takes.
 */
export function readBody(request: ClientRequest, bytesMax: number, onRead: (body: Body) => void): void {
  if (request instanceof PlainRequest) {
    onRead(request.body)
    return
  }
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) {
    onRead('too-large')
    return
  }
  const chunks: Buffer[] = []
  let bytes = 0
  let isTooLarge = false
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (isTooLarge) return
    if (bytes <= bytesMax) {
      chunks.push(chunk)
      return
    }
    isTooLarge = true
    onRead('too-large')
  })
  request.on('end', () => {
    if (!isTooLarge) onRead(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes))
  })
}
