import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

const PIECE_EVERY_MS = 20

type Headers = Readonly<Record<string, string>>

/**
 * What a node answers to one request; `cut` ends the connection after the body's first half, `pieceBytes` sends it in pieces of so
 * many bytes, 20 ms apart, `hang` never answers.
 */
export type NodeReply =
  | {
      readonly status?: number
      readonly json: unknown
      readonly headers?: Headers
      readonly cut?: boolean
      readonly pieceBytes?: number
    }
  | { readonly status?: number; readonly body: Uint8Array; readonly headers?: Headers }
  | { readonly hang: true }
  | { readonly reset: true }

export interface NodeRequestSeen {
  readonly method: string
  readonly path: string
  readonly body: string
  readonly headers: IncomingMessage['headers']
}

export interface SyntheticNode extends AsyncDisposable {
  readonly url: string
  readonly seen: readonly NodeRequestSeen[]
}

/** An HTTP node on loopback whose answers the test decides, request by request. */
export async function openSyntheticNode(
  answer: (request: NodeRequestSeen, response: ServerResponse) => NodeReply | undefined,
): Promise<SyntheticNode> {
  const seen: NodeRequestSeen[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const { method = '', url: path = '', headers } = request
    const noted = { method, path, body: Buffer.concat(chunks).toString(), headers }
    seen.push(noted)
    const reply = answer(noted, response)
    if (reply !== undefined) send(response, reply)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port')
  return {
    url: `http://user:secret@127.0.0.1:${address.port}/base?key=hidden`,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function send(response: ServerResponse, reply: NodeReply): void {
  if ('hang' in reply) return
  if ('reset' in reply) {
    response.destroy()
    return
  }
  if ('body' in reply) {
    response.writeHead(reply.status ?? 200, { 'content-type': 'application/octet-stream', ...reply.headers })
    response.end(reply.body)
    return
  }
  const text = JSON.stringify(reply.json)
  response.writeHead(reply.status ?? 200, { 'content-type': 'application/json', ...reply.headers })
  if (reply.pieceBytes !== undefined) sendPieces(response, text, reply.pieceBytes)
  else response.end(reply.cut === true ? text.slice(0, text.length / 2) : text)
}

function sendPieces(response: ServerResponse, text: string, pieceBytes: number): void {
  let sent = 0
  const timer = setInterval(() => {
    response.write(text.slice(sent, sent + pieceBytes))
    sent += pieceBytes
    if (sent >= text.length) response.end()
  }, PIECE_EVERY_MS)
  response.on('close', () => clearInterval(timer))
}
