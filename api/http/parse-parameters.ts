import type { FastifySchemaCompiler } from 'fastify'
import type { TObject, TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { type Refusal, type RefusalCode, refuse } from '../../schemas/routes/envelope.ts'
import { RefusedRequest } from './answer.ts'

interface Parsed {
  readonly status: 'parsed'
  readonly value: Readonly<Record<string, unknown>>
}

type Parse<Input> = (input: Input) => Parsed | Refusal
type PropertyCheck = (value: unknown) => Refusal | undefined

/** Integers are plain decimal text: no sign, blank, exponent or leading zero. */
const DECIMAL = /^(0|[1-9][0-9]{0,15})$/
/** Beyond this text is not repeated in a message. */
const DETAIL_CHARACTERS_MAX = 200

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
    return result.status === 'refused' ? { error: new RefusedRequest(result) } : { value: result.value }
  }
}

/**
 * Builds the parser of a query string from the route's definition. A scalar that is given twice is refused; arrays are
 * `k=1,2`, repeated keys, or `k[]=1`; unknown parameters are ignored.
 */
function queryParser(schema: TObject): Parse<QueryTexts> {
  const properties = Object.entries<TSchema>(schema.properties)
  const checks = new Map(properties.map(([name, property]) => [name, propertyCheck(name, property)]))
  return (query) => {
    const value: Record<string, unknown> = {}
    for (const [name, property] of properties) {
      const isArray = 'type' in property && property.type === 'array'
      const texts = isArray ? [...textsOf(query, name), ...textsOf(query, `${name}[]`)] : textsOf(query, name)
      if (texts.length === 0) {
        if ('default' in property) value[name] = property.default
        continue
      }
      if (!isArray && texts.length > 1) return refuse('400', `${name} is given more than once`)
      const read = isArray ? readArray(texts, property) : readScalar(texts[0] ?? '', property)
      const refusal = checks.get(name)?.(read)
      if (refusal !== undefined) return refusal
      value[name] = read
    }
    return { status: 'parsed', value }
  }
}

function textsOf(query: QueryTexts, name: string): readonly string[] {
  const found = Object.hasOwn(query, name) ? query[name] : undefined
  if (found === undefined) return []
  return typeof found === 'string' ? [found] : found
}

/** Builds the parser of a JSON body from the route's definition; null (no body) or blank text means `{}`. */
function bodyParser(schema: TObject): Parse<string | null> {
  const properties = Object.entries<TSchema>(schema.properties)
  const checks = new Map(properties.map(([name, property]) => [name, propertyCheck(name, property)]))
  return (text) => {
    const json = parseJson(text)
    if (json === undefined) return refuse('400', 'the body is not a JSON object')
    const value: Record<string, unknown> = {}
    for (const [name, property] of properties) {
      if (!Object.hasOwn(json, name)) {
        if ('default' in property) value[name] = property.default
        else if (schema.required?.includes(name)) return refuse('400', `${name} is missing`)
        continue
      }
      const refusal = checks.get(name)?.(json[name])
      if (refusal !== undefined) return refusal
      value[name] = json[name]
    }
    return { status: 'parsed', value }
  }
}

function parseJson(text: string | null): Record<string, unknown> | undefined {
  if (text === null || text.trim() === '') return {}
  try {
    const json: unknown = JSON.parse(text)
    return typeof json === 'object' && json !== null && !Array.isArray(json) ? { ...json } : undefined
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
    const [first] = validator.Errors(value)
    const at = first === undefined ? name : `${name}${first.instancePath}`
    return refuse(code, `${at} ${first?.message ?? 'is not valid'}`.slice(0, DETAIL_CHARACTERS_MAX))
  }
}

function readScalar(text: string, property: TSchema): unknown {
  const isInteger = 'type' in property && property.type === 'integer'
  // Other text stays text, which the check then refuses.
  return isInteger && DECIMAL.test(text) ? Number(text) : text
}

function readArray(texts: readonly string[], property: TSchema): unknown[] {
  const items = 'items' in property ? (property.items as TSchema) : {}
  return texts.filter((text) => text !== '').flatMap((text) => text.split(',').map((item) => readScalar(item, items)))
}
