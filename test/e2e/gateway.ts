import { once } from 'node:events'
import { createServer, type IncomingMessage, request as requestOf, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What a provider wants to be shown: a user with a password, and a key in the path. */
export interface Credential {
  readonly user: string
  readonly password: string
  readonly pathKey: string
}

/** A provider's door to a server: nobody comes in without the credential. */
export interface Gateway extends AsyncDisposable {
  /** With the credential in it. */
  readonly url: string
  /** While it is so, it lets nobody in, and repeats all that it was shown: in refusals, and in faults of its own. */
  isTalkative: boolean
  /** Answers that repeated what it was shown. */
  readonly repeated: number
}

export async function openGateway(target: string, { user, password, pathKey }: Credential): Promise<Gateway> {
  let isTalkative = false
  let repeated = 0
  const authorization = `Basic ${btoa(`${user}:${password}`)}`
  const server = createServer((request, response) => {
    const { url = '', headers } = request
    const [, key, path = ''] = /^\/([^/]+)(.*)$/.exec(url) ?? []
    if (!isTalkative && headers.authorization === authorization && key === pathKey)
      return pass(request, response, `${target}${path}`)
    repeated++
    const said = `${user}:${password} asked for ${url} with ${headers.authorization}`
    request.resume()
    response.writeHead(repeated % 2 === 0 ? 500 : 401, { 'content-type': 'application/json', 'x-asked': said })
    response.end(JSON.stringify({ code: 500, message: said }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${user}:${encodeURIComponent(password)}@127.0.0.1:${port}/${pathKey}`,
    get isTalkative() {
      return isTalkative
    },
    set isTalkative(is: boolean) {
      isTalkative = is
    },
    get repeated() {
      return repeated
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function pass(asked: IncomingMessage, response: ServerResponse, url: string): void {
  const { host: _, authorization: __, ...headers } = asked.headers
  const passed = requestOf(url, { method: asked.method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 500, answer.headers)
    answer.pipe(response)
  })
  // Whoever asks has gone, or the server has: the other side hears of it.
  passed.on('error', () => response.destroy())
  response.on('close', () => passed.destroy())
  asked.pipe(passed)
}
