import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

/** An execution node in front of another one: what it is told to hold is neither passed on nor answered. */
export interface HoldingNode extends AsyncDisposable {
  readonly url: string
  /** Passes everything on again; what is held stays so. */
  passOn(): void
  /** Resolves when it has been asked by this method, which it holds from now on. */
  hold(method: string): Promise<void>
  /** How often it has passed the method on. */
  passed(method: string): number
}

export async function openHoldingNode(url: () => string): Promise<HoldingNode> {
  const passed: string[] = []
  let held: { readonly method: string; readonly onAsked: () => void } | undefined
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request)
    const methods = [JSON.parse(body)].flat().map(({ method }: { readonly method: string }) => method)
    if (held !== undefined && methods.includes(held.method)) return held.onAsked()
    passed.push(...methods)
    const answer = await fetch(url(), { method: 'POST', body, headers: { 'content-type': 'application/json' } })
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passOn() {
      held = undefined
    },
    hold(method) {
      const { promise, resolve } = Promise.withResolvers<void>()
      held = { method, onAsked: resolve }
      return promise
    },
    passed: (method) => passed.filter((one) => one === method).length,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece)
  return Buffer.concat(pieces).toString('utf8')
}
