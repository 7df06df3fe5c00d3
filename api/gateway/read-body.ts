import type { IncomingMessage } from 'node:http'

/** Of JSON-RPC calls, which are looked into: transactions with blobs are the longest. */
export const RPC_BODY_BYTES_MAX = 10 * 1024 * 1024

/** The whole body; `too-large` as soon as that is known; undefined where the client has gone. */
export function readBody(request: IncomingMessage): Promise<Buffer | 'too-large' | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > RPC_BODY_BYTES_MAX) return Promise.resolve('too-large')
  const { promise, resolve } = Promise.withResolvers<Buffer | 'too-large' | undefined>()
  const chunks: Buffer[] = []
  let bytes = 0
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > RPC_BODY_BYTES_MAX) resolve('too-large')
    else chunks.push(chunk)
  })
  request.on('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes)))
  request.on('close', () => resolve(undefined))
  return promise
}
