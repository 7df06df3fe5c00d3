import { AppError } from '../../schemas/errors.ts'
import { malformed, parseJson } from '../nodes/json.ts'
import type { ChainNode, NodeAnswer, NodeRequest } from '../nodes/nodes.ts'
import { type AnswerFlags, flagsOfHeaders, flagsOfJson } from './answer-flags.ts'

const JSON_TYPE = 'application/json'
/** SSZ is smaller and decodes faster; a node that has none answers in JSON. */
const SSZ_OR_JSON = 'application/octet-stream;q=1.0,application/json;q=0.9'

interface RequestParts {
  readonly params?: Readonly<Record<string, string | number>>
  readonly query?: Readonly<Record<string, string | number | boolean | (string | number)[] | undefined>>
  readonly body?: unknown
}

/** Reads JSON into a value and writes it again: every type of @chainsafe/ssz. */
export interface JsonCodec<Value> {
  fromJson(json: unknown): Value
  toJson(value: Value): unknown
}

/** A route definition of @lodestar/api, as far as asking needs it. */
export interface Route<Args, Data, Meta> {
  readonly url: string
  readonly method: string
  readonly req: { writeReq(args: Args): RequestParts } | { writeReqJson(args: Args): RequestParts }
  readonly resp: {
    readonly data: {
      fromJson(json: unknown, meta: Meta): Data
      toJson(data: Data, meta: Meta): unknown
      deserialize(bytes: Uint8Array, meta: Meta): Data
    }
    readonly meta: { fromJson(json: unknown): Meta; fromHeaders(headers: AnswerHeaders): Meta }
  }
}

export interface RouteAnswer<Data, Meta> {
  readonly data: Data
  readonly meta: Meta
  readonly flags: AnswerFlags
  /** What it was read from, if that was SSZ: of what the codec does not copy, which is blocks alone, the values lie in it. */
  readonly bytes: Uint8Array | undefined
}

export interface AskOptions {
  /** What is asked for, in messages: "block 64", "the state of slot 7". */
  readonly what: string
  /** Prefer bytes to text, where the route has both. */
  readonly ssz?: boolean
}

/** Path and query of a route for these arguments. */
export function pathOf<Args, Data, Meta>(route: Route<Args, Data, Meta>, args: Args): string {
  return toPath(route.url, partsOf(route, args))
}

function partsOf<Args, Data, Meta>({ req }: Route<Args, Data, Meta>, args: Args): RequestParts {
  return 'writeReqJson' in req ? req.writeReqJson(args) : req.writeReq(args)
}

function toPath(url: string, { params = {}, query = {} }: RequestParts): string {
  const path = url.replace(/\{(\w+)\}/g, (_, name: string) => String(params[name]))
  const values = Object.entries(query).flatMap(([name, value]) => {
    return value === undefined ? [] : [`${name}=${Array.isArray(value) ? value.join(',') : value}`]
  })
  return values.length === 0 ? path : `${path}?${values.join('&')}`
}

/** Asks a node over our transport; undefined for a 404. Throws AppError of a node fault. */
export async function askRoute<Args, Data, Meta>(
  node: ChainNode,
  route: Route<Args, Data, Meta>,
  args: Args,
  options: AskOptions,
): Promise<RouteAnswer<Data, Meta> | undefined> {
  const parts = partsOf(route, args)
  const request: NodeRequest = {
    method: route.method === 'POST' ? 'POST' : 'GET',
    path: toPath(route.url, parts),
    accept: options.ssz === true ? SSZ_OR_JSON : JSON_TYPE,
    ...(parts.body === undefined ? {} : { body: JSON.stringify(parts.body) }),
  }
  const answer = await node.request(request)
  return answer === undefined ? undefined : decodeAnswer(route, answer, options.what)
}

/** As `askRoute`, where a 404 means that the node does not have it yet, or no longer. */
export async function required<Args, Data, Meta>(
  node: ChainNode,
  route: Route<Args, Data, Meta>,
  args: Args,
  options: AskOptions,
): Promise<RouteAnswer<Data, Meta>> {
  return (await askRoute(node, route, args, options)) ?? missing(node, options.what)
}

export function missing(node: ChainNode, what: string): never {
  throw node.fault('node_lagging', `does not have ${what}`)
}

export function isJson(headers: NodeAnswer['headers']): boolean {
  return String(headers['content-type'] ?? '').includes('json')
}

/** Nodes from before the flags were specified leave them out, and codecs want them: what was not said is in `AnswerFlags`. */
export const FLAGS_UNSAID = { execution_optimistic: false, finalized: false }

function decodeAnswer<Args, Data, Meta>(
  { resp }: Route<Args, Data, Meta>,
  { headers, body }: NodeAnswer,
  what: string,
): RouteAnswer<Data, Meta> {
  if (!isJson(headers)) {
    return documented(what, () => {
      const meta = resp.meta.fromHeaders(new AnswerHeaders(headers))
      return { data: resp.data.deserialize(body, meta), meta, flags: flagsOfHeaders(headers), bytes: body }
    })
  }
  const json = parseJson(what, body)
  return documented(what, () => {
    const meta = resp.meta.fromJson({ ...FLAGS_UNSAID, ...(json as object) })
    const data = readJson(
      { fromJson: (value) => resp.data.fromJson(value, meta), toJson: (value: Data) => resp.data.toJson(value, meta) },
      jsonAt(json, 'data'),
    )
    return { data, meta, flags: flagsOfJson(json), bytes: undefined }
  })
}

/** Runs a decoder; whatever it throws means that the bytes are not what was asked for. */
export function documented<Value>(what: string, decode: () => Value): Value {
  try {
    return decode()
  } catch (error) {
    if (error instanceof AppError) throw error
    throw malformed(`the answer about ${what} is not of the documented shape`)
  }
}

/**
 * Reads JSON by a codec that must say the same when it writes it again. The codecs take `"12x"` for 12 and a wrong hex digit
 * for zero: what stood there and what was read would differ without anybody noticing.
 */
export function readJson<Value>(codec: JsonCodec<Value>, json: unknown): Value {
  const value = codec.fromJson(json)
  if (!isRestated(json, codec.toJson(value))) throw new Error('the JSON says something else than was read')
  return value
}

/** Whether everything that was read stands in the answer as it was read; what else is there does not matter. */
function isRestated(given: unknown, read: unknown): boolean {
  if (Array.isArray(read)) {
    return Array.isArray(given) && given.length === read.length && read.every((value, i) => isRestated(given[i], value))
  }
  if (typeof read === 'object' && read !== null) {
    return Object.entries(read).every(([key, value]) => isRestated(jsonAt(given, key), value))
  }
  if (typeof read === 'string' && (typeof given === 'string' || typeof given === 'number')) {
    return String(given).toLowerCase() === read.toLowerCase() // hex digits of either case are valid
  }
  return given === read
}

/** The value at a path of keys; throws when it is not there. */
export function jsonAt(json: unknown, ...keys: readonly string[]): unknown {
  let value = json
  for (const key of keys) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) throw new Error(`no ${key}`)
    value = Reflect.get(value, key)
  }
  return value
}

/** An answer's headers as the codecs of @lodestar/api read them. */
class AnswerHeaders extends Headers {
  constructor(headers: NodeAnswer['headers']) {
    super()
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) this.set(name, String(value))
  }

  getRequired(name: string): string {
    const value = this.get(name)
    if (value === null) throw new Error(`no header ${name}`)
    return value
  }

  getOrDefault(name: string, unsaid: string): string {
    return this.get(name) ?? unsaid
  }
}
