import type { Static, TSchema } from 'typebox'
import { Check } from 'typebox/schema'
import { type Environment, given, quote, splitList } from './environment.ts'
import type { Layers } from './layers.ts'
import { isMistaken, type Mistake, type Path } from './mistakes.ts'
import type { FileReading } from './read-file.ts'
import {
  blankUrl,
  checkWrittenUrl,
  isUrl,
  parseReference,
  resolveReference,
  type UrlRule,
  urlWords,
} from './references.ts'
import type { Rule } from './rules.ts'

/** A setting as `config show` prints it: secrets are blanked already. */
export interface ShownSetting {
  readonly path: Path
  readonly value: string | number | boolean
  /** `default`, the name of a variable, or `file`, with the reference that was followed. */
  readonly origin: string
}

export const BLANK = '***'
const FILE = 'file'

/** Stands for what is mistaken until the mistakes stop the start. */
const NO_URL = ''

/** One setting: where it stands in the file, the variable over it, what the file says. */
interface Place<Value> {
  readonly path: Path
  readonly variable: string
  readonly inFile: Value | undefined
}

/**
 * Reads settings one by one, the variable before the file before the default, and collects what is wrong instead of
 * stopping at the first, and what is effective from where. What it answers is good only if no mistakes were collected.
 */
export class SettingReader {
  readonly env: Environment
  readonly shown: ShownSetting[] = []
  readonly #givenAs: Layers['givenAs']
  readonly #file: FileReading
  readonly #mistakes: Mistake[]

  constructor({ env, givenAs, mistakes }: Layers, file: FileReading) {
    this.env = env
    this.#givenAs = givenAs
    this.#file = file
    this.#mistakes = [...mistakes, ...file.mistakes]
  }

  get mistakes(): readonly Mistake[] {
    return this.#mistakes
  }

  /** Whether the file says something here that is not what belongs here. */
  isMistaken(path: Path): boolean {
    return isMistaken(this.#mistakes, path)
  }

  /** A mistake in the environment: the sentence names the variable. */
  refuse(sentence: string): void {
    this.#mistakes.push({ sentence })
  }

  /** A mistake in the file, unless one at this place was told already. */
  refuseAt(path: Path, sentence: string): void {
    if (this.isMistaken(path)) return
    const line = this.#file.lineOf(path)
    this.#mistakes.push({ path, sentence, ...(line === undefined ? {} : { line }) })
  }

  show(path: Path, value: ShownSetting['value'], origin = FILE): void {
    this.shown.push({ path, value, origin: this.#givenAs.get(origin) ?? origin })
  }

  setting<Schema extends TSchema, Value extends Static<Schema> & ShownSetting['value']>(
    rule: Rule<Schema>,
    place: Place<Value>,
    fallback: Value,
  ): Value {
    const inVariable = this.variable<Schema, Value>(rule, place.variable, fallback)
    const value = inVariable ?? place.inFile ?? fallback
    const origin = inVariable !== undefined ? place.variable : place.inFile !== undefined ? FILE : 'default'
    this.show(place.path, value, origin)
    return value
  }

  /** What the variable says; undefined when it is unset, or when it is mistaken. */
  variable<Schema extends TSchema, Value extends Static<Schema>>(
    rule: Rule<Schema>,
    name: string,
    example: Value | string | number | boolean = rule.example,
  ): Value | undefined {
    const text = given(this.env, name)
    if (text === undefined) return undefined
    const isInteger = 'type' in rule && rule.type === 'integer'
    const value: unknown = isInteger && /^\d+$/.test(text) ? Number(text) : text
    if (fits<Schema, Value>(rule, value)) return value
    const as = this.#givenAs.get(name) ?? name
    const assigned = as.startsWith('--') ? `${as} ${example}` : `${name}=${example}`
    this.refuse(`${as} is not ${rule.expected}: ${quote(text)}; e.g. ${assigned}.`)
    return undefined
  }

  /** A comma-separated variable; undefined when it is unset. */
  variableList(name: string, example: string): readonly string[] | undefined {
    const text = given(this.env, name)
    if (text === undefined) return undefined
    const parts = splitList(text)
    if (parts.length === 0) this.refuse(`${name} is a list without entries; e.g. ${name}=${example}.`)
    return parts
  }

  /** A list of texts, of the comma-separated variable or of the file; undefined where neither has it. */
  list(rule: Rule, place: Place<readonly string[]>): readonly string[] | undefined {
    const { variable, path, inFile } = place
    const inVariable = this.variableList(variable, String(rule.example))
    if (inVariable?.some((entry) => !Check(rule, entry))) {
      this.refuse(`${variable} is not a comma-separated list of ${rule.expected}, e.g. ${variable}=${rule.example}.`)
    }
    const entries = inVariable ?? inFile
    for (const [index, entry] of (entries ?? []).entries()) {
      this.show([...path, index], entry, inVariable === undefined ? FILE : variable)
    }
    return entries
  }

  /** The URLs of a comma-separated variable. The value is not repeated in the message: it may hold a password or a key. */
  variableUrls(name: string, rule: UrlRule): readonly string[] | undefined {
    const urls = this.variableList(name, rule.example)
    const isRight = urls?.every((url) => isUrl(url, rule)) ?? true
    if (!isRight) this.refuse(`${name} is not ${urlWords(rule)}; e.g. ${name}=${rule.example}.`)
    return isRight ? urls : []
  }

  /** A URL of a variable, as `variableUrls`, but one. */
  variableUrl(name: string, rule: UrlRule): string | undefined {
    const text = given(this.env, name)
    if (text === undefined || isUrl(text, rule)) return text
    this.refuse(`${name} is not ${urlWords(rule)}; e.g. ${name}=${rule.example}.`)
    return NO_URL
  }

  showUrl(path: Path, url: string, origin: string): void {
    if (url !== NO_URL) this.show(path, blankUrl(url), origin)
  }

  /** A URL of the file: scheme, host and port written out, or a reference. */
  fileUrl(path: Path, text: string, rule: UrlRule): string {
    if (this.isMistaken(path)) return NO_URL
    const reference = parseReference(text)
    if (reference === undefined) {
      const wrong = checkWrittenUrl(text, rule)
      if (wrong !== undefined) this.refuseAt(path, wrong.sentence)
      else this.showUrl(path, text, FILE)
      return wrong === undefined ? text : NO_URL
    }
    const url = this.fileSecret(path, text)
    if (url === undefined || isUrl(url, rule)) return url ?? NO_URL
    this.refuseAt(path, `refers to something that is not ${urlWords(rule)}`)
    return NO_URL
  }

  /** What a reference of the file refers to; a secret that is written out is refused. */
  fileSecret(path: Path, text: string): string | undefined {
    const reference = parseReference(text)
    if (reference === undefined) {
      this.refuseAt(path, 'is a secret: write a reference to it, env:NAME or file:/path')
      return undefined
    }
    const resolved = 'status' in reference ? reference : resolveReference(reference, this.env)
    if (resolved.status === 'wrong') {
      this.refuseAt(path, resolved.sentence)
      return undefined
    }
    this.show(path, BLANK, `${FILE}, ${text}`)
    return resolved.value
  }
}

function fits<Schema extends TSchema, Value extends Static<Schema>>(rule: Schema, value: unknown): value is Value {
  return Check(rule, value)
}
