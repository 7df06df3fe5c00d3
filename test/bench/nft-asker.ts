import { Agent, get } from 'node:http'

// A process of its own, as clients are: `node nft-asker.ts` asks each address that its parent sends, so many at once, and tells the milliseconds
// that each took, to the last byte of the answer.

/** What the parent sends. */
export interface Asked {
  readonly urls: readonly string[]
  readonly clients: number
}

/** What it is told: how long the answers took, in the order of their addresses, or what went wrong. */
export type Told = { readonly tookMs: readonly number[] } | { readonly failure: string }

process.on('message', async ({ urls, clients }: Asked) => {
  const agent = new Agent({ keepAlive: true, maxSockets: clients })
  const tookMs: number[] = []
  let next = 0
  const client = async (): Promise<void> => {
    while (next < urls.length) {
      const place = next++
      const begin = performance.now()
      await ask(urls[place] as string, agent)
      tookMs[place] = performance.now() - begin
    }
  }
  const told = await Promise.all(Array.from({ length: clients }, client)).then(
    (): Told => ({ tookMs }),
    (error: Error): Told => ({ failure: error.message }),
  )
  agent.destroy()
  process.send?.(told)
})

function ask(url: string, agent: Agent): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const asked = get(url, { agent }, (response) => {
    const { statusCode } = response
    response.on('end', () =>
      statusCode === 200 ? resolve() : reject(new Error(`${url} was answered with ${statusCode}`)),
    )
    response.on('error', reject)
    response.resume()
  })
  asked.on('error', reject)
  return promise
}
