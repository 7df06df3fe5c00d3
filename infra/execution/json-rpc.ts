import { Type } from 'typebox'
import { Compile } from 'typebox/schema'
import { malformed, parseJson } from '../nodes/json.ts'
import type { ChainNode } from '../nodes/nodes.ts'
import type { Question } from './result-shapes.ts'

/** Asks one question of a node. */
export type AskNode = <Result>(question: Question<Result>) => Promise<Result>

/**
 * A client for what is asked of a node at once: questions of one turn go as one JSON-RPC batch, and every result is checked. It
 * neither retries nor waits: the node group does. Errors have to go through `toFault`.
 */
export function openBatch(node: ChainNode): AskNode {
  const batch = new Batch(node)
  return (question) => batch.ask(question)
}

/** Asks one node through a batch of its own. Throws AppError of a node fault, also for what the node itself calls an error. */
export async function askBatch<Answer>(node: ChainNode, questions: (ask: AskNode) => Promise<Answer>): Promise<Answer> {
  try {
    return await questions(openBatch(node))
  } catch (error) {
    throw toFault(node, error)
  }
}

interface Waiting {
  readonly question: Pick<Question<unknown>, 'method' | 'params'>
  settle(answer: Answer | undefined): void
  reject(error: unknown): void
}

/** What a node answers instead of a result. */
export class JsonRpcError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

class Batch {
  readonly #node: ChainNode
  #waiting: Waiting[] = []

  constructor(node: ChainNode) {
    this.#node = node
  }

  ask<Result>(question: Question<Result>): Promise<Result> {
    if (this.#waiting.length === 0) queueMicrotask(() => this.#send())
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    const settle = (answer: Answer | undefined): void => {
      try {
        resolve(question.parse(resultOf(answer)))
      } catch (error) {
        reject(error)
      }
    }
    this.#waiting.push({ question, settle, reject })
    return promise
  }

  async #send(): Promise<void> {
    const waiting = this.#waiting
    this.#waiting = []
    try {
      const answers = await this.#exchange(waiting)
      for (const [id, { settle }] of waiting.entries()) settle(answers.get(id))
    } catch (error) {
      for (const { reject } of waiting) reject(error)
    }
  }

  /** The answers by the ids of their questions, which are their positions. */
  async #exchange(waiting: readonly Waiting[]): Promise<ReadonlyMap<number, Answer>> {
    const questions = waiting.map(({ question: { method, params } }, id) => ({ jsonrpc: '2.0', id, method, params }))
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
  const value = parseJson('the JSON-RPC answer', body)
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

function resultOf(answer: Answer | undefined): unknown {
  if (answer === undefined) throw malformed('the JSON-RPC answer lacks a part of the batch')
  const { error, result } = answer
  if (error) throw new JsonRpcError(error.code, error.message)
  if (result === undefined) throw malformed('the JSON-RPC answer has neither result nor error')
  return result
}

const LIMIT_EXCEEDED = -32_005

/** Whether the node would answer if it was asked less. */
export function isLimit({ code }: JsonRpcError): boolean {
  return code === LIMIT_EXCEEDED
}

/** A node's own error as the fault of that node; everything else stays what it is. */
export function toFault(node: ChainNode, error: unknown): unknown {
  if (!(error instanceof JsonRpcError)) return error
  // Nodes tell of blocks that they do not have yet in their own words and numbers: all of it may pass.
  const code = isLimit(error) ? 'node_unreachable' : 'node_lagging'
  return node.fault(code, `answered with JSON-RPC error ${error.code}: ${node.quote(error.message)}`)
}
