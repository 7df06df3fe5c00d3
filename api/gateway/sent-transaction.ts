import type { IncomingHttpHeaders } from 'node:http'
import type { AnswerHandler, Upstream, UpstreamFault, UpstreamRequest } from '../../infra/ports/upstreams.ts'
import { bytesOf, hexOf } from '../../schemas/eth/hex.ts'
import { keccak256 } from '../../schemas/eth/keccak.ts'
import { idOfAnswer, meantBy } from './call-ids.ts'
import type { Call } from './calls.ts'
import { endOfValue, isArrayAt, itemsOf, skipBlanks } from './json-text.ts'

/** Nothing is captured: what is, is remembered of each byte, and of a few million there is no room for that. */
const HEX_BYTES = /^0x(?:[0-9a-f]{2})+$/i
/** What a node says of a transaction; a longer answer is none. */
const ANSWER_BYTES_MAX = 64 * 1024

/** A transaction that was broadcast, as a node is asked for it by its hash. */
export interface SentTransaction {
  readonly hash: string
  /** Of its call, as `meantBy` has it. */
  readonly id: string
  /** The method that finds it (`Methods.findsBroadcast`). */
  readonly method: string
  /** The answer of a node that has taken it. */
  readonly taken: Buffer
}

/** Undefined where the call has no bytes of a transaction, or none finds them; `method` is the one that does (`Methods.findsBroadcast`). */
export function sentTransactionOf(
  body: Buffer,
  { id = 'null', params }: Call,
  method: string | undefined,
): SentTransaction | undefined {
  if (params === undefined || method === undefined) return undefined
  const parsed: unknown = JSON.parse(body.toString('utf8', params.from, params.to))
  const raw: unknown = Array.isArray(parsed) ? parsed[0] : undefined
  if (typeof raw !== 'string' || !HEX_BYTES.test(raw)) return undefined
  const hash = hexOf(keccak256(bytesOf(raw)))
  return { hash, id: meantBy(id), method, taken: Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":"${hash}"}`) }
}

/** Those of them that a node's answer refuses: it may have them already. */
export function refusedOf(sent: readonly SentTransaction[], answer: Buffer): readonly SentTransaction[] {
  const ids = new Set(refusalsIn(answer).map(({ id }) => id))
  return sent.filter(({ id }) => ids.has(id))
}

/** A node's answer, with what it refuses of these told as taken. */
export function tellTaken(answer: Buffer, taken: readonly SentTransaction[]): Buffer {
  const ofIds = new Map(taken.map((one) => [one.id, one.taken]))
  const pieces: Buffer[] = []
  let at = 0
  for (const { id, from, to } of refusalsIn(answer)) {
    const told = ofIds.get(id)
    if (told === undefined) continue
    pieces.push(answer.subarray(at, from), told)
    at = to
  }
  return Buffer.concat([...pieces, answer.subarray(at)])
}

interface RefusalIn {
  readonly id: string
  readonly from: number
  readonly to: number
}

/** Where errors stand in a node's answer, to a call or to a batch of them. */
function refusalsIn(answer: Buffer): readonly RefusalIn[] {
  const parsed = parse(answer)
  const start = skipBlanks(answer, 0)
  if (typeof parsed !== 'object' || parsed === null) return []
  const starts = isArrayAt(answer, start) ? itemsOf(answer, start) : [start]
  return (Array.isArray(parsed) ? parsed : [parsed]).flatMap((one: unknown, i) => {
    if (typeof one !== 'object' || one === null || !('error' in one) || one.error === null) return []
    const from = starts[i] as number
    return [{ id: idOfAnswer(answer, from) ?? 'null', from, to: endOfValue(answer, from) }]
  })
}

interface LookingFor {
  readonly sent: readonly SentTransaction[]
  readonly upstream: Upstream
  /** As they were sent in. */
  readonly request: UpstreamRequest
}

/** Asks a node which of these transactions it has; one that does not say has none. Returns what ends it early. */
export function lookFor(
  { sent, upstream, request }: LookingFor,
  onFound: (found: readonly SentTransaction[]) => void,
): () => void {
  const questions = sent.map(({ hash, method }, i) => ({ jsonrpc: '2.0', id: i + 1, method, params: [hash] }))
  const body = Buffer.from(JSON.stringify(questions.length === 1 ? questions[0] : questions))
  const heard = hearWhole(
    (answer) => {
      const hashes = hashesIn(answer.body)
      onFound(sent.filter(({ hash }) => hashes.has(hash)))
      return true
    },
    () => onFound([]),
  )
  return upstream.send({ ...request, body }, heard)
}

function hashesIn(answer: Buffer): ReadonlySet<unknown> {
  const parsed = parse(answer)
  const answers: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed]
  const found = answers as readonly ({ readonly result?: { readonly hash?: unknown } | null } | null | undefined)[]
  return new Set(found.map((one) => one?.result?.hash))
}

function parse(answer: Buffer): unknown {
  try {
    return JSON.parse(answer.toString())
  } catch {
    // What is no JSON is no answer of a node.
    return undefined
  }
}

export interface WholeAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** Of an answer, once it is whole; more than a node says of a transaction is none. */
export function hearWhole(
  onAnswer: (answer: WholeAnswer) => boolean,
  onFault: (fault: UpstreamFault) => void,
): AnswerHandler {
  let [status, bytes] = [0, 0]
  let headers: IncomingHttpHeaders = {}
  const chunks: Buffer[] = []
  return {
    onHeaders(code, received) {
      status = code
      headers = received
    },
    onData(chunk) {
      bytes += chunk.length
      if (bytes <= ANSWER_BYTES_MAX) chunks.push(chunk)
    },
    onEnd: () => onAnswer({ status, headers, body: Buffer.concat(chunks) }),
    onFault,
  }
}
