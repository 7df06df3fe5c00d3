import autocannon, { type Request, type Result } from 'autocannon'
import type { ServerChild } from './server-child.ts'

/** On a busy machine fifty at once wait for each other. */
const ANSWER_SECONDS_MAX = 60

/** What a load was answered with. */
export interface Figures {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  /** Of the server's process, per request. */
  readonly cpuMs: number
  readonly perSecond: number
}

/** Sends the requests in turn, each client the next one: so many of them, or for so long. */
export async function ask(
  server: ServerChild,
  requests: readonly Request[],
  load: { readonly clients: number } & ({ readonly amount: number } | { readonly seconds: number }),
): Promise<Figures> {
  const before = await cpuMsOf(server)
  const times: number[] = []
  let next = 0
  const statuses = new Map<number, number>()
  let refusal = ''
  const onResponse = (status: number, body: string): void => {
    if (status !== 200) refusal ||= body
  }
  const ended = Promise.withResolvers<Result>()
  const options = {
    url: server.url,
    connections: load.clients,
    timeout: ANSWER_SECONDS_MAX,
    ...('amount' in load ? { amount: load.amount } : { duration: load.seconds }),
    requests: [
      { setupRequest: (request: Request) => ({ ...request, ...requests[next++ % requests.length] }), onResponse },
    ],
  }
  const run = autocannon(options, (error: Error | null, result) =>
    error === null ? ended.resolve(result) : ended.reject(error),
  )
  run.on('response', (_client, status, _bytes, responseMs) => {
    times.push(responseMs)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  })
  const { duration, errors } = await ended.promise
  if (errors > 0 || statuses.size > 1 || !statuses.has(200)) {
    const told = [...statuses].map(([status, count]) => `${count} with ${status}`).join(', ')
    throw new Error(`requests have to be answered with 200, and were: ${told}, ${errors} not at all ${refusal}`)
  }
  const sorted = times.toSorted((one, other) => one - other)
  return {
    p50Ms: sorted[Math.floor(sorted.length / 2)] ?? 0,
    p99Ms: sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0,
    maxMs: sorted.at(-1) ?? 0,
    cpuMs: ((await cpuMsOf(server)) - before) / times.length,
    perSecond: times.length / duration,
  }
}

/** Milliseconds of CPU since its start. */
async function cpuMsOf(server: ServerChild): Promise<number> {
  const { user, system } = await server.ask<NodeJS.CpuUsage>()
  return (user + system) / 1_000
}
