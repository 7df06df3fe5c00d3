import type { QueryParams } from '../ports/warehouse.ts'
import { withoutQuotes } from './statements.ts'

/** Settings of ClickHouse's HTTP server, which the engine does not know. */
const HTTP_SETTINGS: ReadonlySet<string> = new Set(['wait_end_of_query'])

type Settings = Readonly<Record<string, unknown>>

/** The settings that the engine knows, as they are set; those without a value are left out. */
export function toAssignments(settings: Settings): string[] {
  return Object.entries(settings)
    .filter(([name, value]) => value !== undefined && !HTTP_SETTINGS.has(name))
    .map(([name, value]) => `${name} = ${quote(String(value))}`)
}

/** A parameter, in quotes or not: long texts of many keys have none. */
const NAMED = /\{\w+:/
const ALL_NAMED = /\{(\w+):/g

/**
 * Assignments that bind the parameters of a statement on its own connection. The package's way to bind them is not used: it
 * shares them between connections and therefore runs one such statement at a time in the whole process.
 * Throws as ClickHouse does when the statement names a parameter that is not given, which might still be set from before.
 */
export function toParameterAssignments(sql: string, params: QueryParams): string[] {
  for (const [, name = ''] of NAMED.test(sql) ? withoutQuotes(sql).matchAll(ALL_NAMED) : []) {
    if (params[name] === undefined) {
      throw new Error(`Code: 456. DB::Exception: Substitution ${name} is not set. (UNKNOWN_QUERY_PARAMETER)`)
    }
  }
  return Object.entries(params).map(([name, value]) => `param_${name} = ${quote(toParameterText(value))}`)
}

/** A value as ClickHouse reads parameters: its text format with escapes. */
export function toParameterText(value: QueryParams[string]): string {
  if (typeof value === 'string') return escapeText(value)
  if (!Array.isArray(value)) return String(value)
  return `[${value.map((item) => (typeof item === 'string' ? `'${escapeText(item)}'` : String(item))).join(',')}]`
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  "'": "\\'",
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
  '\0': '\\0',
}

function escapeText(text: string): string {
  return text.replace(/[\\'\t\n\r\0]/g, (character) => ESCAPES[character] ?? character)
}

function quote(text: string): string {
  return `'${escapeText(text)}'`
}
