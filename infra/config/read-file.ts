import { readFileSync } from 'node:fs'
import type { TSchema } from 'typebox'
import { Errors } from 'typebox/schema'
import { Settings } from 'typebox/system'
import { type Document, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from 'yaml'
import { type Mistake, nearestName, type Path } from './mistakes.ts'
import { ConfigFile, type FileSettings } from './rules.ts'

export interface FileReading {
  readonly isThere: boolean
  /** Everything of the file that is not mistaken by itself; undefined when it cannot be read at all. */
  readonly settings: FileSettings | undefined
  readonly mistakes: readonly Mistake[]
  /** The line of a setting, or of what it should stand in. */
  lineOf(path: Path): number | undefined
}

/** The longest file that anybody writes by hand is far below. */
const FILE_BYTES_MAX = 1024 * 1024
/** Errors that are looked for; typebox says two of one mistake. */
const ERRORS_MAX = 1_000

const NOTHING: FileReading = { isThere: false, settings: {}, mistakes: [], lineOf: () => undefined }
const UNREADABLE = { ...NOTHING, settings: undefined, isThere: true }

/**
 * Reads the configuration file and checks its shape: no value in it is looked up. A file that is not there is an empty
 * one unless it was asked for: `askedBy` is the variable or option that names it.
 */
export function readConfigFile(path: string, askedBy: string | undefined): FileReading {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause)) throw cause
    if (cause.code === 'ENOENT' && askedBy === undefined) return NOTHING
    const sentence =
      askedBy !== undefined
        ? `${askedBy} is not a file that can be read (${cause.code}): ${JSON.stringify(path)}; e.g. EPOCHLINE_CONFIG=./epochline.yaml.`
        : `${path} cannot be read (${cause.code}).`
    return { ...UNREADABLE, mistakes: [{ sentence }] }
  }
  if (text.length > FILE_BYTES_MAX) {
    return { ...UNREADABLE, mistakes: [{ sentence: `${path} is longer than ${FILE_BYTES_MAX} bytes.` }] }
  }
  return parseConfigFile(text)
}

function parseConfigFile(text: string): FileReading {
  const counter = new LineCounter()
  // The library's own messages quote the text, which may be a secret: its codes do not.
  const document = parseDocument(text, {
    lineCounter: counter,
    prettyErrors: false,
    stringKeys: true,
    logLevel: 'silent',
  })
  const refused = (mistakes: readonly Mistake[]) => ({ ...UNREADABLE, mistakes })
  const faults = [...document.errors, ...document.warnings]
  if (faults.length > 0) {
    return refused(
      faults.map(({ code, pos }) => ({
        line: counter.linePos(pos[0]).line,
        sentence: `is not YAML as it is read here: ${code.toLowerCase().replaceAll('_', ' ')}`,
      })),
    )
  }
  const lineOf = (path: Path) => counter.linePos(positionOf(document, path)).line
  let value: unknown
  try {
    value = document.toJS() ?? {}
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error
    return refused([{ line: 1, sentence: 'has an alias (*name) of nothing, or too many aliases' }])
  }
  dropEmptySections(value)
  const mistakes = findMistakes(value).map((mistake) => ({ ...mistake, line: lineOf(mistake.path) }))
  for (const { path } of mistakes) value = withoutPath(value, path)
  return { isThere: true, settings: value as FileSettings, mistakes, lineOf }
}

/** A section whose lines are all comments is as good as none. */
function dropEmptySections(value: unknown): void {
  if (!isRecord(value)) return
  for (const [name, section] of Object.entries(value)) if (section === null) delete value[name]
}

interface PlacedMistake extends Mistake {
  readonly path: Path
}

function findMistakes(value: unknown): readonly PlacedMistake[] {
  const found = new Map<string, PlacedMistake>()
  for (const { keyword, instancePath } of allErrors(value)) {
    if (keyword === 'additionalProperties' || found.has(instancePath)) continue // each key has an error of its own
    const path = toPath(value, instancePath)
    const sentence = keyword === 'boolean' ? unknownKey(path) : notExpected(schemaAt(path))
    found.set(instancePath, { path, sentence })
  }
  return [...found.values()]
}

function allErrors(value: unknown) {
  const { maxErrors } = Settings.Get()
  Settings.Set({ maxErrors: ERRORS_MAX }) // eight otherwise, for everybody who asks
  try {
    const [, errors] = Errors(ConfigFile, value)
    return errors
  } finally {
    Settings.Set({ maxErrors })
  }
}

function notExpected(schema: TSchema | undefined): string {
  if (schema === undefined || !('expected' in schema && 'example' in schema)) return 'is not what belongs here'
  return `is not ${schema.expected}; e.g. ${schema.example}`
}

function unknownKey(path: Path): string {
  const parent = schemaAt(path.slice(0, -1))
  const names = parent !== undefined && 'properties' in parent ? Object.keys(parent.properties as object) : []
  const meant = nearestName(String(path.at(-1)), names)
  return meant === undefined
    ? `is not a setting; there are ${names.join(', ')}`
    : `is not a setting; did you mean ${meant}?`
}

/** The rule for what stands at this place. */
function schemaAt(path: Path): TSchema | undefined {
  let schema: unknown = ConfigFile
  for (const part of path) {
    if (!isRecord(schema)) return undefined
    if (typeof part === 'number') schema = schema.items
    else if (isRecord(schema.patternProperties)) schema = Object.values(schema.patternProperties)[0]
    else
      schema =
        isRecord(schema.properties) && Object.hasOwn(schema.properties, part) ? schema.properties[part] : undefined
  }
  return isRecord(schema) ? schema : undefined
}

/** A JSON pointer as a path; whether a part is a position depends on what it points into. */
function toPath(value: unknown, pointer: string): Path {
  let at = value
  return pointer
    .split('/')
    .slice(1)
    .map((part) => {
      const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
      const position = Array.isArray(at) ? Number(key) : undefined
      at = position !== undefined && Array.isArray(at) ? at[position] : isRecord(at) ? at[key] : undefined
      return position ?? key
    })
}

/** The value without what stands at the path. A refused entry of a list keeps its place, so that the others keep theirs. */
function withoutPath(value: unknown, path: Path): unknown {
  const [first, ...rest] = path
  if (first === undefined) return {}
  if (Array.isArray(value)) return value.map((item, index) => (index === first ? withoutEntry(item, rest) : item))
  if (!isRecord(value)) return value
  const kept = Object.entries(value).filter(([key]) => key !== first || rest.length > 0)
  return Object.fromEntries(kept.map(([key, inner]) => [key, key === first ? withoutPath(inner, rest) : inner]))
}

function withoutEntry(item: unknown, rest: Path): unknown {
  return rest.length === 0 ? '' : withoutPath(item, rest)
}

/** Where in the text the deepest part of the path begins that is there: its key, or the entry of a list. */
function positionOf(document: Document, path: Path): number {
  let node: unknown = document.contents
  let position = 0
  for (const part of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && key.value === part)
      if (pair === undefined) break
      if (isNode(pair.key)) position = pair.key.range?.[0] ?? position
      node = pair.value
    } else if (isSeq(node) && typeof part === 'number') {
      node = node.items[part]
      if (isNode(node)) position = node.range?.[0] ?? position
    } else break
  }
  return position
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
