import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import {
  createPublicClient,
  custom,
  type Hash,
  type Hex,
  type PublicRpcSchema,
  type RpcTransactionReceipt,
  rpcSchema,
} from 'viem'
import { AppError } from '../../schemas/errors.ts'
import { type ChainNode, withoutUrls } from '../nodes/nodes.ts'
import { checkResult } from './result-shapes.ts'

/** Methods that viem has no action for. */
type OwnSchema = [
  {
    Method: 'eth_getBlockReceipts'
    Parameters: [block: Hash | Hex]
    ReturnType: readonly RpcTransactionReceipt[] | null
  },
]

/**
 * viem's client for one question to a node. Calls that are made at once go as one JSON-RPC batch; every result is checked
 * before viem reads it, because its formatters take a missing or malformed field for a null. It neither retries nor waits:
 * the node group does. Errors have to go through `toFault`.
 */
export function openClient(node: ChainNode) {
  const batch = new Batch(node)
  return createPublicClient({
    transport: custom({ request: (call: RpcCall) => batch.ask(call) }, { retryCount: 0 }),
    rpcSchema: rpcSchema<[...PublicRpcSchema, ...OwnSchema]>(),
  })
}
export type RpcClient = ReturnType<typeof openClient>

interface RpcCall {
  readonly method: string
  readonly params?: readonly unknown[]
}

interface Waiting {
  readonly call: RpcCall
  readonly answered: PromiseWithResolvers<unknown>
}

/** What a node answers instead of a result. */
export class JsonRpcError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true })

class Batch {
  readonly #node: ChainNode
  #waiting: Waiting[] = []

  constructor(node: ChainNode) {
    this.#node = node
  }

  ask(call: RpcCall): Promise<unknown> {
    if (this.#waiting.length === 0) queueMicrotask(() => this.#send())
    const answered = Promise.withResolvers<unknown>()
    this.#waiting.push({ call, answered })
    return answered.promise
  }

  async #send(): Promise<void> {
    const waiting = this.#waiting
    this.#waiting = []
    try {
      const answers = await this.#exchange(waiting.map(({ call }) => call))
      for (const [id, { call, answered }] of waiting.entries()) settle(answered, call, answers.get(id))
    } catch (error) {
      for (const { answered } of waiting) answered.reject(error)
    }
  }

  /** The answers by the ids of their questions, which are their positions. */
  async #exchange(calls: readonly RpcCall[]): Promise<ReadonlyMap<number, Answer>> {
    const questions = calls.map(({ method, params = [] }, id) => ({ jsonrpc: '2.0', id, method, params }))
    const body = JSON.stringify(questions.length === 1 ? questions[0] : questions)
    const answer = await this.#node.request({ method: 'POST', path: '', accept: 'application/json', body })
    if (answer === undefined) throw this.#node.fault('node_unreachable', 'answered HTTP 404')
    return parseAnswers(answer.body)
  }
}

const Answer = Type.Object({
  id: Type.Union([Type.Number(), Type.Null()]),
  result: Type.Optional(Type.Unknown()),
  /** Null beside a result on some nodes. */
  error: Type.Optional(Type.Union([Type.Object({ code: Type.Number(), message: Type.String() }), Type.Null()])),
})
type Answer = Type.Static<typeof Answer>
const isAnswers = Compile(Type.Array(Answer))

function parseAnswers(body: Uint8Array): ReadonlyMap<number, Answer> {
  const value = parseJson(body)
  const answers = Array.isArray(value) ? value : [value]
  if (!isAnswers.Check(answers)) throw malformed('the JSON-RPC answer is not of the documented shape')
  const byId = new Map<number, Answer>()
  for (const answer of answers) {
    // An error without an id is about the batch as a whole: too many questions, too large an answer.
    if (answer.id === null && answer.error) {
      throw new JsonRpcError(answer.error.code, answer.error.message)
    }
    if (answer.id !== null) byId.set(answer.id, answer)
  }
  return byId
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(body))
  } catch {
    throw malformed(`the JSON-RPC answer is not whole JSON (${body.length} bytes)`)
  }
}

function settle(answered: Waiting['answered'], call: RpcCall, answer: Answer | undefined): void {
  try {
    if (answer === undefined) throw malformed('the JSON-RPC answer lacks a part of the batch')
    const { error, result } = answer
    if (error) throw new JsonRpcError(error.code, error.message)
    if (result === undefined) throw malformed('the JSON-RPC answer has neither result nor error')
    checkResult(call.method, call.params ?? [], result)
    answered.resolve(result)
  } catch (error) {
    answered.reject(error)
  }
}

export function malformed(what: string): AppError {
  return new AppError('node_malformed', what, { retryable: true })
}

const LIMIT_EXCEEDED = -32_005
/** Characters of a node's own words in an error. */
const MESSAGE_CHARACTERS_MAX = 200

/** The node's own error in an error of viem, which wraps it and would tell requests and addresses. */
export function jsonRpcErrorOf(error: unknown): JsonRpcError | undefined {
  return causeOf(error, (cause): cause is JsonRpcError => cause instanceof JsonRpcError)
}

/** An error of viem's client as the fault of the node that it tells of; no request, address or text of viem gets out. */
export function toFault(node: ChainNode, error: unknown): AppError {
  const fault = causeOf(error, (cause): cause is AppError => cause instanceof AppError)
  if (fault !== undefined) return fault
  const failure = jsonRpcErrorOf(error)
  if (failure === undefined) return malformed('the JSON-RPC answer has a field that cannot be read')
  const text = withoutUrls(failure.message.slice(0, MESSAGE_CHARACTERS_MAX))
  // Nodes tell of blocks that they do not have yet in their own words and numbers: all of it may pass.
  const code = failure.code === LIMIT_EXCEEDED ? 'node_unreachable' : 'node_lagging'
  return node.fault(code, `answered with JSON-RPC error ${failure.code}: ${text}`)
}

function causeOf<Wanted extends Error>(
  error: unknown,
  isWanted: (error: Error) => error is Wanted,
): Wanted | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (isWanted(cause)) return cause
  return undefined
}
