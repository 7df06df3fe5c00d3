import type { TObject, TSchema } from 'typebox'
import { Compile } from 'typebox/schema'
import { type NftForm, NUMBER_CHARACTERS_MAX } from '../../schemas/routes/nft/fields.ts'
import { type NftRefusal, refuseNft } from '../../schemas/routes/nft/nft-route.ts'
import { doubledMember } from '../http/doubled-member.ts'
import { faultWords } from '../http/fault-words.ts'
import { meantHint } from '../http/meant-name.ts'

export interface ReadParameters {
  readonly status: 'read'
  readonly values: Readonly<Record<string, unknown>>
}

/** By name: text, or all texts of a name that is given more than once. */
export type QueryTexts = Readonly<Record<string, string | readonly string[]>>

export type ReadNftParameters = (query: QueryTexts, body: string | undefined) => ReadParameters | NftRefusal

interface Given {
  readonly value: unknown
  /** Text of a query may be several values. */
  readonly isQuery: boolean
}

const DETAIL_CHARACTERS_MAX = 200
const UINT256_MAX = 2n ** 256n - 1n
const DECIMAL = /^[0-9]+$/
const HEX_NUMBER = /^0[xX][0-9a-fA-F]+$/
const HASH = /^0[xX][0-9a-fA-F]{64}$/
/** Clients send the page key of no page with the first page, and no category for all. */
const MAY_BE_EMPTY: readonly string[] = ['page_key', 'category']
/** Who has found nothing to filter by did not mean everything, but with these: all, and none that is left out. */
const MAY_HAVE_NO_ITEMS: readonly string[] = ['category', 'without_reasons']
const BLOCK_WORDS: readonly string[] = ['latest', 'safe', 'finalized']

/** Builds the reader of an operation's parameters, from the query string and the JSON body together. */
export function nftParameterReader(schema: TObject): ReadNftParameters {
  const properties = Object.entries<TSchema>(schema.properties)
  const names = properties.map(([name]) => name)
  const checks = new Map(properties.map(([name, property]) => [name, Compile(property)]))
  const nameOf = (key: string): string | undefined => {
    const bare = key.endsWith(']') ? key.replace(/\[[0-9]*\]$/, '') : key
    const property = properties.find(([name]) => name === bare)
    return property !== undefined && (bare === key || isArray(property[1])) ? bare : undefined
  }
  return (query, body) => {
    const given = new Map<string, Given[]>()
    const add = (key: string, value: unknown, isQuery: boolean): NftRefusal | undefined => {
      const name = nameOf(key)
      // Whoever meant a filter would be answered without it.
      if (name === undefined) return refuseNft(400, notOfIt(key, names))
      if (value === null) return undefined
      if (value === '') return MAY_BE_EMPTY.includes(name) ? undefined : refuseNft(400, `${name} is empty`)
      given.set(name, [...(given.get(name) ?? []), { value, isQuery }])
      return undefined
    }
    for (const [key, texts] of Object.entries(query)) {
      for (const text of typeof texts === 'string' ? [texts] : texts) {
        const refusal = add(key, text, true)
        if (refusal !== undefined) return refusal
      }
    }
    const json = parseExact(body ?? '')
    if (json === undefined) return refuseNft(400, 'the body is not a JSON object')
    const doubled = body === undefined ? undefined : doubledMember(body)
    if (doubled !== undefined) return refuseNft(400, moreThanOnce(doubled.slice(0, DETAIL_CHARACTERS_MAX)))
    for (const [key, value] of Object.entries(json)) {
      const refusal = add(key, value, false)
      if (refusal !== undefined) return refusal
    }
    const values: Record<string, unknown> = {}
    for (const [name, property] of properties) {
      const isRequired = schema.required?.includes(name) === true
      const read = readProperty(name, property, given.get(name) ?? [])
      if (read.status === 'refused') return read
      if (read.value === undefined) {
        if (isRequired && !('default' in property)) return refuseNft(400, `${name} is missing`)
        continue
      }
      const hasNoItems = Array.isArray(read.value) && read.value.length === 0
      if (hasNoItems && !isRequired && !MAY_HAVE_NO_ITEMS.includes(name)) return refuseNft(400, `${name} is empty`)
      const validator = checks.get(name)
      if (validator?.Check(read.value) === false) {
        const [, errors] = validator.Errors(read.value)
        const at = `${name}${errors[0]?.instancePath ?? ''}`.slice(0, DETAIL_CHARACTERS_MAX)
        return refuseNft(400, `${at} ${faultWords(errors)}`)
      }
      values[name] = read.value
    }
    return { status: 'read', values }
  }
}

const moreThanOnce = (name: string): string => `${name} is given more than once`

function notOfIt(key: string, names: readonly string[]): string {
  return `${key.slice(0, DETAIL_CHARACTERS_MAX)} is no parameter of it${meantHint(key, names)}`
}

function isArray(property: TSchema): property is TSchema & { readonly items: TSchema } {
  return 'type' in property && property.type === 'array'
}

/** An integer of a JSON text as it is written: a number of JavaScript would round it. */
class ExactNumber {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** Numbers come back as ExactNumber. Undefined where the text is no JSON object; no text is an empty one. */
export function parseExact(text: string): Readonly<Record<string, unknown>> | undefined {
  if (text.trim() === '') return {}
  const json = exactJsonOf(text)
  if (json === null) return {}
  return typeof json === 'object' && !Array.isArray(json) && !(json instanceof ExactNumber) ? { ...json } : undefined
}

/** What the text is as JSON, numbers as ExactNumber; undefined where it is none. */
function exactJsonOf(text: string): unknown {
  try {
    return (JSON.parse as ParseWithSource)(text, (_key, value, { source }) =>
      typeof value === 'number' && source !== undefined ? new ExactNumber(source) : value,
    )
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined
    throw error
  }
}

type ParseWithSource = (
  text: string,
  reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
) => unknown

type Read = { readonly status: 'read'; readonly value: unknown } | NftRefusal

function readProperty(name: string, property: TSchema, given: readonly Given[]): Read {
  const [first, second] = given
  if (first === undefined) return { status: 'read', value: 'default' in property ? property.default : undefined }
  if (!isArray(property)) {
    if (second !== undefined) return refuseNft(400, moreThanOnce(name))
    return readOne(name, property, first.value)
  }
  // A name that a query has again adds to its list; what the body has beside it may be meant otherwise.
  if (given.some(({ isQuery }) => isQuery !== first.isQuery)) return refuseNft(400, moreThanOnce(name))
  const items: unknown[] = []
  for (const { value, isQuery } of given) {
    for (const item of isQuery ? itemsOf(value as string) : Array.isArray(value) ? value : [value]) {
      const read = readOne(name, property.items, item)
      if (read.status === 'refused') return read
      items.push(read.value)
    }
  }
  return { status: 'read', value: items }
}

/** The items of `1, 2` or `[1, 2]` in a query. */
function itemsOf(text: string): readonly unknown[] {
  const trimmed = text.trim()
  if (trimmed.startsWith('[') || trimmed.startsWith('{')) {
    const items = exactJsonOf(trimmed)
    return Array.isArray(items) ? items : items === undefined ? [trimmed] : [items]
  }
  return trimmed.split(',').map((item) => item.trim())
}

function readOne(name: string, property: TSchema, value: unknown): Read {
  const form = 'x-form' in property ? (property['x-form'] as NftForm) : 'text'
  if (form === 'token') return readToken(name, property, value)
  const text = value instanceof ExactNumber ? value.text : typeof value === 'boolean' ? String(value) : value
  if (typeof text !== 'string') return refuseNft(400, `${name} is not what it should be`)
  const read = FORMS[form](text.trim())
  return read === undefined ? refuseNft(400, `${name} is not ${FORM_NAMES[form]}`) : { status: 'read', value: read }
}

/** `{contract_address, token_id, token_type?}`. */
function readToken(name: string, property: TSchema, value: unknown): Read {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return refuseNft(400, `${name} is not a list of objects`)
  const fields: Record<string, unknown> = {}
  const known = 'properties' in property ? Object.entries(property.properties as Record<string, TSchema>) : []
  const unknown = Object.keys(value).find((key) => !known.some(([name]) => name === key))
  if (unknown !== undefined)
    return refuseNft(
      400,
      `${name}.${notOfIt(
        unknown,
        known.map(([one]) => one),
      )}`,
    )
  for (const [key, field] of known) {
    const member = (value as Record<string, unknown>)[key]
    if (member === undefined || member === null || member === '') continue
    const read = readOne(`${name}.${key}`, field, member)
    if (read.status === 'refused') return read
    fields[key] = read.value
  }
  return { status: 'read', value: fields }
}

const FORM_NAMES: Readonly<Record<NftForm, string>> = {
  address: 'an address',
  uint256: 'an integer from 0 to 2^256 - 1',
  integer: 'an integer from 0 to 2^53 - 1',
  block: 'a block',
  text: 'text',
  flag: 'true or false',
  token: 'a token',
}

const FORMS: Readonly<Record<Exclude<NftForm, 'token'>, (text: string) => unknown>> = {
  address: (text) => (/^0[xX][0-9a-fA-F]{40}$/.test(text) ? text.toLowerCase() : undefined),
  uint256: (text) => uintOf(text)?.toString(),
  integer: (text) => {
    const value = uintOf(text)
    return value !== undefined && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : undefined
  },
  block: (text) => {
    if (HASH.test(text) || BLOCK_WORDS.includes(text)) return text.toLowerCase()
    return uintOf(text)?.toString()
  },
  text: (text) => text,
  flag: (text) => (['true', '1'].includes(text) ? true : ['false', '0'].includes(text) ? false : undefined),
}

function uintOf(text: string): bigint | undefined {
  if (text.length > NUMBER_CHARACTERS_MAX || !(DECIMAL.test(text) || HEX_NUMBER.test(text))) return undefined
  const value = BigInt(text)
  return value <= UINT256_MAX ? value : undefined
}
