import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { changesRoute } from '../../schemas/routes/nft/changes.ts'
import { openBudget } from '../http/budget.ts'
import { chainOf, refusalOf } from '../http/chain-path.ts'
import { AskerGone } from '../http/gone.ts'
import { addVary } from '../http/vary.ts'
import { ask, formatValidAt } from './asking.ts'
import type { Streaming } from './serve.ts'

type Changes = Static<typeof changesRoute.response>

/** Between two looks at the tables while nothing changes. */
const LOOK_MS = 250
/** After so long without a change a client hears that the connection is alive. */
const ALIVE_MS = 15_000
/** A client that comes back waits as long. */
const RETRY_MS = 2_000

/** Changes as they happen, as server-sent events, to who asks for those. */
export const streamChanges: Streaming = async (request: FastifyRequest, reply: FastifyReply, asked) => {
  addVary(reply, 'accept')
  if (request.headers.accept?.includes('text/event-stream') !== true) return false
  const { parts, standings, closing, values } = asked
  const { token } = request.params as { readonly token: string }
  const { account } = request
  const chain = chainOf(request)
  const given = request.headers['last-event-id']
  let since = typeof given === 'string' && given !== '' ? given : (values.since as string | undefined)
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort(new AskerGone()))
  const signal = AbortSignal.any([gone.signal, closing])
  const next = async (): Promise<Changes> => {
    const { since: _, ...others } = values
    const question = since === undefined ? others : { ...others, since }
    const warehouse = openBudget({ ...parts, account, signal })
    const sent = await ask({ ...asked, chain: chain.names.name, warehouse, values: question })
    return JSON.parse(String(sent.body)) as Changes
  }
  // What is refused is refused as everywhere, before the stream begins.
  let changes = await next()
  async function* events(): AsyncGenerator<string> {
    yield `retry: ${RETRY_MS}\n\n`
    let told = performance.now()
    while (!signal.aborted) {
      for (const change of changes.changes) yield `event: ${change.kind}\ndata: ${JSON.stringify(change)}\n\n`
      if (changes.next !== since) {
        // The position alone has an id: who is cut off before it asks for the same changes again.
        const { next, is_at_head, valid_at } = changes
        yield `id: ${next}\nevent: position\ndata: ${JSON.stringify({ next, is_at_head, valid_at })}\n\n`
        told = performance.now()
      } else if (performance.now() - told > ALIVE_MS) {
        yield ': alive\n\n'
        told = performance.now()
      }
      since = changes.next
      if (changes.is_at_head) await wait(LOOK_MS, undefined, { signal })
      // A token that was revoked ends what it began.
      if ((await refusalOf(request, { ...parts, family: 'nft', serves: () => true }, chain, token)) !== undefined)
        return
      const standing = await standings.of(chain.names.name)
      // As long as the head is the same there is nothing to read.
      if (changes.is_at_head && standing?.head.hash === changes.valid_at.block_hash)
        changes = { ...changes, changes: [] }
      else changes = await next()
    }
  }
  reply
    .header('content-type', 'text/event-stream; charset=utf-8')
    .header('cache-control', 'no-store')
    .header('x-accel-buffering', 'no')
    .header('x-valid-at', formatValidAt(changes.valid_at))
    .send(Readable.from(quiet(events())))
  return true
}

/** Ends where a wait was cut short: the client is gone, or the API closes. */
async function* quiet(events: AsyncGenerator<string>): AsyncGenerator<string> {
  try {
    yield* events
  } catch (error) {
    const isEnd = error instanceof AskerGone || (error instanceof Error && error.name === 'AbortError')
    if (!isEnd) throw error
  }
}
