import { PassThrough, type Readable } from 'node:stream'
import type { UpstreamGroup, UpstreamRequest } from '../../infra/ports/upstreams.ts'
import type { Probe, Protocol, Route } from '../../schemas/protocols/protocol.ts'
import type { Calls } from './calls.ts'
import type { ClientRequest } from './client-exchange.ts'
import type { Exchange } from './exchange.ts'
import { rulesOf } from './method-rules.ts'
import type { Expected } from './node-answer.ts'
import { needOldState, needsOldState } from './old-states.ts'
import type { OwnAnswer } from './own-among.ts'
import { PlainRequest } from './plain/plain-request.ts'
import type { PreparedCalls } from './prepare-calls.ts'
import { NATIVE_BODY_BYTES_MAX } from './read-body.ts'
import type { SentTransaction } from './sent-transaction.ts'

/** What is sent to a node, and what has to be known of it meanwhile. */
export interface Forwarded {
  readonly request: UpstreamRequest
  /** The calls of its body; undefined: it is a native request. */
  readonly read?: Calls
  readonly prepared?: PreparedCalls
  /** As it came. */
  readonly body?: Buffer
  readonly isRepeatable: boolean
  readonly sent?: readonly SentTransaction[]
  /** Is best sent where the key's other calls of the kind are. */
  readonly isSticky?: boolean
  readonly expected: Expected
  /** Undefined: it asks for something else than the newest block. */
  readonly headProbe?: Probe | undefined
  readonly answers?: readonly OwnAnswer[]
  readonly node?: string | undefined
  readonly editAnswer?: ((answer: Buffer, node: string) => Buffer) | undefined
  /** Called with what is on its way. */
  readonly onSent?: (exchange: Exchange) => void
}

/** Where a request has come in. */
interface Place {
  readonly protocol: Protocol
  readonly path: string
  readonly route: Route
}

/** Whether it needs the state of an old block. */
export function isArchival({ protocol, path, route }: Place, { read, body }: Forwarded, group: UpstreamGroup): boolean {
  if (read === undefined || body === undefined) return needsOldState(protocol, group, { route, path })
  return needOldState(protocol, group, { body, calls: read.calls })
}

/** When a second node is asked, in milliseconds: of what changes nothing, whichever nodes do it. */
export function hedgeMsOf(
  protocol: Protocol,
  { read, isRepeatable, request }: Forwarded,
  group: UpstreamGroup,
): number | undefined {
  const { hedgeMs } = group
  if (hedgeMs === undefined) return undefined
  const isRead =
    read === undefined
      ? isRepeatable && !request.isEndless
      : read.calls.every(({ method }) => rulesOf(protocol).isRead(method))
  return isRead ? hedgeMs : undefined
}

interface BodyListener {
  onBytes(bytes: number): void
  /** More comes than there may be: nobody wants the rest of it. */
  onTooLarge(): void
}

/** What is not there yet comes by a stream of its own: a node that is not reached ends it, and the client's connection is to hear why. */
export function bodyOf(request: ClientRequest, { onBytes, onTooLarge }: BodyListener): Buffer | Readable | null {
  if (request instanceof PlainRequest) {
    onBytes(request.body.length)
    return request.body.length === 0 ? null : request.body
  }
  // By what it says of itself: all of it may have come and be unread, as where the key had to be looked for first.
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers
  if (encoding === undefined && Number(length) === 0) return null
  const body = request.pipe(new PassThrough())
  let left = NATIVE_BODY_BYTES_MAX
  request.on('data', (chunk: Buffer) => {
    onBytes(chunk.length)
    const isFirst = left >= 0
    left -= chunk.length
    if (isFirst && left < 0) onTooLarge()
  })
  return body
}
