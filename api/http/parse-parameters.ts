import type { FastifySchemaCompiler } from 'fastify'
import type { TObject, TSchema } from 'typebox'
import { Compile } from 'typebox/schema'
import { type Refusal, type RefusalCode, refuse } from '../../schemas/routes/envelope.ts'
import { FILTERS, NAMES_ELSEWHERE, PAGINGS } from '../../schemas/routes/fields.ts'
import { RefusedRequest, UnreadableBody } from './answer.ts'
import { doubledMember } from './doubled-member.ts'
import { faultWords } from './fault-words.ts'
import { MEMBERS_MAX } from './limits.ts'
import { lettersOf, meantHint, meantName } from './meant-name.ts'

interface Parsed {
  readonly status: 'parsed'
  readonly value: Readonly<Record<string, unknown>>
}

interface Unreadable {
  readonly status: 'unreadable'
  readonly why: string
}

/** Of parsed parameters: the names that had a value in the request, and not by default. */
const givenNames = new WeakMap<object, ReadonlySet<string>>()

/** Whether a request has given this parameter itself; `parsed` is its query or its body as a route with these checks is handed it. */
export function isGiven(parsed: unknown, name: string): boolean {
  return typeof parsed === 'object' && parsed !== null && givenNames.get(parsed)?.has(name) === true
}

type Parse<Input> = (input: Input) => Parsed | Refusal | Unreadable
type PropertyCheck = (value: unknown) => Refusal | undefined

/** Integers are plain decimal text: no blank, exponent or leading zero, and no sign but that of one below zero, whose limits are told. */
const DECIMAL = /^(0|-?[1-9][0-9]{0,15})$/
/** What follows an array's name in the key of one element. */
const ELEMENT = /^\[[0-9]*\]$/
/** Beyond this text is not repeated in a message. */
export const DETAIL_CHARACTERS_MAX = 200

/** A query string by name: text, or all texts of a name that is given more than once. */
type QueryTexts = Readonly<Record<string, string | readonly string[]>>

/**
 * Fastify's validator compiler for the routes of the REST families: what is valid is handed on as the schema types it, the
 * rest is thrown as RefusedRequest.
 */
export const compileParameters: FastifySchemaCompiler<TObject> = ({ schema, httpPart }) => {
  if (httpPart === 'querystring') return toValidator(queryParser(schema))
  if (httpPart === 'body') return toValidator(bodyParser(schema))
  // Chain and account are found before anything is parsed.
  return () => true
}

function toValidator<Input>(parse: Parse<Input>) {
  return (input: Input) => {
    const result = parse(input)
    if (result.status === 'unreadable') return { error: new UnreadableBody(result.why) }
    return result.status === 'refused' ? { error: new RefusedRequest(result) } : { value: result.value }
  }
}

/**
 * Builds the parser of a query string from the route's definition. A scalar that is given twice is refused; arrays are
 * `k=1,2`, `k=[1,2]`, repeated keys, `k[]=1` or `k[0]=1`. Unknown parameters are ignored, but not those that look like a known
 * name, or that other operations filter or page by: it was meant, and a filter that is not understood must not answer for everything. Where the schema is closed
 * (`additionalProperties: false`), all of them are refused, and so is a known one without a value, which elsewhere is an absent one.
 */
function queryParser(schema: TObject): Parse<QueryTexts> {
  const properties = Object.entries<TSchema>(schema.properties)
  const checks = new Map(properties.map(([name, property]) => [name, propertyCheck(name, property)]))
  const nameOf = keyReader(properties)
  const isClosed = isClosedObject(schema)
  return (query) => {
    const given = new Map<string, string[]>()
    for (const [key, value] of Object.entries(query)) {
      const name = nameOf(key)
      if (name === null || (name === undefined && isClosed)) return refuse('400', notUnderstood(key, schema))
      if (name === undefined) continue
      const all = typeof value === 'string' ? [value] : value
      const texts = all.filter((text) => !isAbsent(text))
      if (isClosed && texts.length < all.length) return refuse('400', `${name} has no value: leave it out`)
      given.set(name, [...(given.get(name) ?? []), ...texts])
    }
    const value: Record<string, unknown> = {}
    const named = new Set<string>()
    givenNames.set(value, named)
    for (const [name, property] of properties) {
      const texts = given.get(name) ?? []
      const [first] = texts
      if (first === undefined) {
        if ('default' in property) value[name] = property.default
        else if (schema.required?.includes(name)) return refuse('400', `${name} is missing`)
        continue
      }
      if (!isArray(property) && texts.length > 1) return refuse('400', `${name} is given more than once`)
      const read = isArray(property) ? readArray(texts, property) : readScalar(first, property)
      const check = checks.get(name)
      const refusal = check?.(read)
      if (refusal !== undefined) return isPlusLost(read, check) ? withDetail(refusal, PLUS_LOST) : refusal
      value[name] = read
      named.add(name)
    }
    return { status: 'parsed', value }
  }
}

function notUnderstood(key: string, { properties }: TObject): string {
  const other = Object.hasOwn(NAMES_ELSEWHERE, key) ? NAMES_ELSEWHERE[key] : undefined
  const hint =
    other !== undefined && other in properties ? `: here it is ${other}` : meantHint(key, Object.keys(properties))
  return `${key.slice(0, DETAIL_CHARACTERS_MAX)} is not understood${hint}`
}

const PLUS_LOST = '+ is written %2B in an address, where it is a blank'

/** Whether a value that is refused would be one with a plus where it begins with a blank. */
function isPlusLost(value: unknown, check: PropertyCheck | undefined): boolean {
  return typeof value === 'string' && value.startsWith(' ') && check?.(`+${value.slice(1)}`) === undefined
}

function withDetail(refusal: Refusal, detail: string): Refusal {
  return { ...refusal, detail: `${refusal.detail}: ${detail}` }
}

/** Finds the parameter that a key means: undefined where it means none of ours, null where it cannot be told. */
function keyReader(properties: readonly (readonly [string, TSchema])[]) {
  const known = new Map(properties)
  const isLike = likenessTo(properties)
  return (key: string): string | undefined | null => {
    if (known.has(key)) return key
    const element = properties.find(([name]) => key.startsWith(name) && ELEMENT.test(key.slice(name.length)))
    if (element !== undefined && isArray(element[1])) return element[0]
    return isLike(key) ? null : undefined
  }
}

/** Tells whether who wrote a name that is none of ours meant one of ours, or what other operations filter or page by. */
function likenessTo(properties: readonly (readonly [string, TSchema])[]): (key: string) => boolean {
  const names = properties.map(([name]) => name)
  return (key) => LETTERS_ELSEWHERE.has(lettersOf(key)) || meantName(key, names) !== undefined
}

function isClosedObject(schema: TObject): boolean {
  return 'additionalProperties' in schema && schema.additionalProperties === false
}

function isArray(property: TSchema): boolean {
  return 'type' in property && property.type === 'array'
}

/** Another operation would have answered less, or other items, for these: who asks for a month here must not be told of all time. */
const LETTERS_ELSEWHERE: ReadonlySet<string> = new Set([...FILTERS, ...PAGINGS].map(lettersOf))

/** What typed clients send in a query string for a value that was not set. */
function isAbsent(text: string): boolean {
  return ['', 'null'].includes(text.trim())
}

/** The same in JSON, where any other text is meant as it is. */
function isNothing(value: unknown): boolean {
  return value === null || value === ''
}

/**
 * Builds the parser of a JSON body from the route's definition; no body, blank text and `null` mean `{}`, and a member that is
 * null or empty text is one that was left out, but where it restricts something (`x-restricts`): then it is refused. Unknown members
 * are ignored, as in a query string, but for those that look like a known one; where the schema is closed
 * (`additionalProperties: false`), all of them are refused. So is what is given more than once, at any depth: which one is meant nobody knows.
 */
function bodyParser(schema: TObject): Parse<string | null> {
  const properties = Object.entries<TSchema>(schema.properties)
  const checks = new Map(properties.map(([name, property]) => [name, propertyCheck(name, property)]))
  const isClosed = isClosedObject(schema)
  const isLike = likenessTo(properties)
  return (text) => {
    const json = parseJson(text)
    if (json === undefined) return { status: 'unreadable', why: 'the body is not a JSON object' }
    const keys = Object.keys(json)
    if (keys.length > MEMBERS_MAX) return refuse('400', `the body has more than ${MEMBERS_MAX} members`)
    const slip = keys.find((key) => !checks.has(key) && (isClosed || isLike(key)))
    if (slip !== undefined) return refuse('400', notUnderstood(slip, schema))
    const value: Record<string, unknown> = {}
    const named = new Set<string>()
    givenNames.set(value, named)
    for (const [name, property] of properties) {
      if (Object.hasOwn(json, name) && isNothing(json[name]) && 'x-restricts' in property)
        return refuse('400', `${name} has no value: leave it out`)
      if (!Object.hasOwn(json, name) || isNothing(json[name])) {
        if ('default' in property) value[name] = property.default
        else if (schema.required?.includes(name)) return refuse('400', `${name} is missing`)
        continue
      }
      const refusal = checks.get(name)?.(json[name])
      if (refusal !== undefined) return refusal
      value[name] = json[name]
      named.add(name)
    }
    // Last, since it takes longer than all else: of a body that is refused anyway nobody has to know it.
    const doubled = text === null ? undefined : doubledMember(text)
    if (doubled !== undefined)
      return refuse('400', `${doubled.slice(0, DETAIL_CHARACTERS_MAX)} is given more than once`)
    return { status: 'parsed', value }
  }
}

function parseJson(text: string | null): Record<string, unknown> | undefined {
  if (text === null || text.trim() === '') return {}
  const json = jsonOf(text)
  if (json === null) return {}
  return typeof json === 'object' && !Array.isArray(json) ? { ...json } : undefined
}

/** What the text is as JSON; undefined where it is none. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** The property's own code (`x-error-code`) with what is wrong, or undefined when the value fits. */
function propertyCheck(name: string, property: TSchema): PropertyCheck {
  const validator = Compile(property)
  const code = 'x-error-code' in property ? (property['x-error-code'] as RefusalCode) : '400'
  return (value) => {
    if (validator.Check(value)) return undefined
    const [, errors] = validator.Errors(value)
    const [first] = errors
    const at = `${name}${first?.instancePath ?? ''}`.slice(0, DETAIL_CHARACTERS_MAX)
    // The schema of members that a closed object does not name is `false`.
    return refuse(code, `${at} ${first?.keyword === 'boolean' ? 'is not understood' : faultWords(errors)}`)
  }
}

function readScalar(text: string, property: TSchema): unknown {
  const isInteger = 'type' in property && property.type === 'integer'
  // Other text stays text, which the check then refuses.
  return isInteger && DECIMAL.test(text) ? Number(text) : text
}

function readArray(texts: readonly string[], property: TSchema): unknown[] {
  const itemSchema = 'items' in property ? (property.items as TSchema) : {}
  return texts
    .flatMap((text) => itemsOf(text))
    .map((item) => (typeof item === 'string' ? readScalar(item, itemSchema) : item))
}

/** The items of `1, 2` or `[1, 2]`; of text that is neither, the text. */
function itemsOf(text: string): readonly unknown[] {
  const trimmed = text.trim()
  if (!trimmed.startsWith('[')) return trimmed.split(',').map((item) => item.trim())
  const json = jsonOf(trimmed)
  return Array.isArray(json) ? json : [trimmed]
}
