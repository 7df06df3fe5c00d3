import { BREAK, GraphQLError, parse, visit } from 'graphql/index.js'
import { doubledMember } from '../http/doubled-member.ts'

/** Words and marks of one document; a query of every field has about 200. */
export const TOKENS_MAX = 5_000

/** The field of tokens. */
const OF_TOKENS = 'nft'

export interface AskedText {
  /** What is behind the path, with its question mark. */
  readonly search: string
  /** Of POST. */
  readonly body: string | undefined
}

/** Whether a document asks of tokens: it is then a question that its token's limit counts, and as of a block. */
export function asksOfTokens(asked: AskedText): boolean {
  const query = queryOf(asked)
  if (query?.includes(OF_TOKENS) !== true) return false
  let isOfTokens = false
  const document = parseOrNone(query)
  if (document === undefined) return false
  visit(document, {
    Field({ name }) {
      if (name.value !== OF_TOKENS) return undefined
      isOfTokens = true
      return BREAK
    },
  })
  return isOfTokens
}

/** The document's text, as the library finds it; undefined where it will find none. */
function queryOf({ search, body }: AskedText): string | undefined {
  if (body === undefined) return new URLSearchParams(search).get('query') ?? undefined
  const json = parseJson(body)
  const query = typeof json === 'object' && json !== null && 'query' in json ? json.query : undefined
  return typeof query === 'string' ? query : undefined
}

/** Whether a body is something that the library reads. */
export function isReadable(body: string): boolean {
  const json = parseJson(body)
  return typeof json === 'object' && json !== null && !Array.isArray(json)
}

/** What the library reads of an address; the last two are JSON. */
const IN_ADDRESS = ['query', 'operationName', 'variables', 'extensions']

/** The first name that is given more than once, in a body or the JSON of an address at any depth; undefined where none is. */
export function givenTwice({ search, body }: AskedText): string | undefined {
  if (body !== undefined) return isReadable(body) ? doubledMember(body) : undefined
  const given = new URLSearchParams(search)
  const twice = IN_ADDRESS.find((name) => given.getAll(name).length > 1)
  if (twice !== undefined) return twice
  const texts = IN_ADDRESS.slice(2).map((name) => given.get(name) ?? '')
  return texts
    .filter(isReadable)
    .map(doubledMember)
    .find((name) => name !== undefined)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined
    throw error
  }
}

/** What cannot be parsed asks nothing: the library says so. */
function parseOrNone(query: string): ReturnType<typeof parse> | undefined {
  try {
    return parse(query, { maxTokens: TOKENS_MAX, noLocation: true })
  } catch (error) {
    // Nested beyond the call stack's end.
    if (error instanceof GraphQLError || error instanceof RangeError) return undefined
    throw error
  }
}
