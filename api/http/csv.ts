import type { TObject, TSchema } from 'typebox'
import { formatInstant } from '../../schemas/eth/time.ts'
import { type Refusal, refuse } from '../../schemas/routes/envelope.ts'
import { type CsvForm, TAX_PROFILE } from '../../schemas/routes/route.ts'

/** One line of the form that tax tools read: an income, or a loss where the amount is negative. */
export interface TaxEntry {
  /** Unix seconds. */
  readonly timeSec: number
  /** Exact ETH as decimal text. */
  readonly amountEth: string
  readonly description: string
}

export type AnswerForm = { readonly status: 'form'; readonly form: 'json' | 'csv' | 'tax' }

const WEIGHT = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/

/** The form that an `Accept` header prefers (RFC 9110, 12.5.1): CSV where it names that, and JSON no less. */
export function acceptedForm(accept: string | undefined, csv: CsvForm | undefined): AnswerForm | Refusal {
  if (csv === undefined || accept === undefined || !/csv/i.test(accept)) return { status: 'form', form: 'json' }
  const ranges = accept.split(',').map(readRange)
  const weightsOf = (type: string) => ranges.filter((one) => one.type === type).map((one) => one.weight)
  const ofJson = JSON_RANGES.map(weightsOf).find((weights) => weights.length > 0) ?? []
  const [best] = ranges.filter(({ type }) => type === 'text/csv').sort((a, b) => b.weight - a.weight)
  if (best === undefined || best.weight === 0 || best.weight < Math.max(0, ...ofJson))
    return { status: 'form', form: 'json' }
  if (best.profile === undefined) return { status: 'form', form: 'csv' }
  if (best.profile !== TAX_PROFILE || csv.hasTaxForm !== true)
    return refuse('400', `there is no text/csv of this with profile=${best.profile.slice(0, PROFILE_SHOWN_MAX)}`)
  return { status: 'form', form: 'tax' }
}

const PROFILE_SHOWN_MAX = 40
/** What names JSON: the most specific of those that are there counts. */
const JSON_RANGES = ['application/json', 'application/*', '*/*']

function readRange(text: string): { type: string; weight: number; profile: string | undefined } {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim())
  const named = new Map(
    parameters.map((parameter) => {
      const [name = '', value = ''] = parameter.split('=').map((part) => part.trim())
      return [name.toLowerCase(), value.replace(/^"(.*)"$/, '$1')]
    }),
  )
  const weight = named.get('q') ?? '1'
  return {
    type: type.toLowerCase(),
    weight: WEIGHT.test(weight) ? Number(weight) : 0,
    profile: named.get('profile')?.toLowerCase(),
  }
}

type Path = readonly string[]

/** Where the columns of a row lie in it, in the order of its schema. */
export function columnsOf(row: TObject): readonly Path[] {
  return Object.entries<TSchema>(row.properties).flatMap(([name, property]) =>
    isObject(property) ? columnsOf(property).map((path) => [name, ...path]) : [[name]],
  )
}

function isObject(schema: TSchema): schema is TObject {
  return 'type' in schema && schema.type === 'object'
}

export function headerLine(columns: readonly Path[]): string {
  return formatLine(columns.map((path) => path.join('.')))
}

export function rowLine(columns: readonly Path[], row: object): string {
  return formatLine(columns.map((path) => textOf(valueAt(row, path))))
}

function valueAt(row: object, path: Path): unknown {
  return path.reduce<unknown>((value, name) => (value as Readonly<Record<string, unknown>>)[name], row)
}

/** What is not known is an empty cell. */
function textOf(value: unknown): string {
  if (value === null) return ''
  if (value === undefined) throw new Error('A row lacks a column of its schema.')
  return String(value)
}

/** Koinly's simple template: `Koinly Date` is UTC, what is sent is negative, and its label says what a movement is. */
const TAX_HEADER = ['Koinly Date', 'Amount', 'Currency', 'Label', 'Description']

export const taxHeaderLine = (): string => formatLine(TAX_HEADER)

/** Nothing of nothing: an amount of zero is no movement. */
export function taxLine({ timeSec, amountEth, description }: TaxEntry): string {
  if (amountEth === '0') return ''
  const date = `${formatInstant(timeSec).slice(0, 19).replace('T', ' ')} UTC`
  return formatLine([date, amountEth, 'ETH', amountEth.startsWith('-') ? 'cost' : 'reward', description])
}

/** RFC 4180. */
function formatLine(cells: readonly string[]): string {
  return `${cells.map(formatCell).join(',')}\r\n`
}

const NUMBER = /^-?\d+(\.\d+)?$/
/** With one of these a spreadsheet takes text for a formula. */
const FORMULA = /^[=+\-@\t\r]/
const QUOTED = /[",\r\n]/

function formatCell(text: string): string {
  const cell = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text
  return QUOTED.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}
