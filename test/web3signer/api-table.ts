// HTTP APIs as tables: what may be asked, and what is answered with which status. Leaves of JSON are named by their paths, entries of a
// list are `*`. The tables themselves stand beside the servers that are made of them.

/** A pattern is for texts alone. */
type Rule = RegExp | 'boolean'
type Rules = Readonly<Record<string, Rule>>

export interface BodyRules {
  readonly required: Rules
  readonly optional: Rules
}

/** JSON of these rules, or a text; neither where the OpenAPI describes no content. */
export interface AnswerRules {
  readonly json?: BodyRules
  readonly text?: RegExp
}

export interface TableRoute {
  readonly method: 'GET' | 'POST'
  /** Its first group is what the path names, if anything. */
  readonly path: RegExp
  readonly request?: BodyRules
  /** By status. */
  readonly answers: Readonly<Record<number, AnswerRules>>
}

export interface Answered {
  readonly status: number
  /** A string is sent as text, all else as JSON. */
  readonly data: unknown
}

function leavesOf(value: unknown, path = ''): readonly (readonly [string, unknown])[] {
  const below = (name: string) => (path === '' ? name : `${path}.${name}`)
  if (Array.isArray(value)) return value.flatMap((item) => leavesOf(item, below('*')))
  if (typeof value !== 'object' || value === null) return [[path, value]]
  return Object.entries(value).flatMap(([name, field]) => leavesOf(field, below(name)))
}

/** A list without entries lacks nothing of them. */
function isMissing(value: unknown, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined) return value === undefined
  if (name === '*') return !Array.isArray(value) || value.some((item) => isMissing(item, rest))
  if (typeof value !== 'object' || value === null) return true
  return isMissing((value as Readonly<Record<string, unknown>>)[name], rest)
}

function keeps(rule: Rule, value: unknown): boolean {
  return rule === 'boolean' ? typeof value === 'boolean' : typeof value === 'string' && rule.test(value)
}

/** What is wrong with a body by its rules; empty when nothing is. */
export function faultsOf(body: unknown, { required, optional }: BodyRules): readonly string[] {
  const missing = Object.keys(required).filter((path) => isMissing(body, path.split('.')))
  const wrong = leavesOf(body).flatMap(([path, value]) => {
    const rule = required[path] ?? optional[path]
    if (rule === undefined) return [`${path} is not in the API`]
    return keeps(rule, value) ? [] : [`${path} is not ${String(rule)}`]
  })
  return [...missing.map((path) => `${path} is missing`), ...wrong]
}

/** What is wrong with an answer by its route; empty when nothing is. */
export function answerFaultsOf({ answers }: TableRoute, { status, data }: Answered): readonly string[] {
  const rules = answers[status]
  if (rules === undefined) return [`status ${status} is not in the API`]
  if (rules.json === undefined && rules.text === undefined) return []
  if (typeof data !== 'string')
    return rules.json === undefined ? ['JSON is not in the API'] : faultsOf(data, rules.json)
  return rules.text?.test(data) === true ? [] : ['the text is not in the API']
}
