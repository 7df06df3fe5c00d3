import { readFileSync, statSync } from 'node:fs'
import type { Environment } from './environment.ts'

/** A secret is never written into the file: it is named, `env:NAME` or `file:/path`, and looked up at the start. */
export type Reference =
  | { readonly kind: 'env'; readonly name: string }
  | { readonly kind: 'file'; readonly path: string }

export type Resolved = { readonly status: 'resolved'; readonly value: string } | Wrong

/** The sentence goes on after the path of the setting; it holds neither the value nor a part of it. */
export interface Wrong {
  readonly status: 'wrong'
  readonly sentence: string
}

/** Upper case, as variables are: a key that was pasted behind `env:` is refused before it is named. */
const VARIABLE_NAME = /^[A-Z_][A-Z0-9_]*$/
/** A URL or a password, with room. */
const SECRET_BYTES_MAX = 64 * 1024

function wrong(sentence: string): Wrong {
  return { status: 'wrong', sentence }
}

/** The reference that the text is; undefined when it is none. */
export function parseReference(text: string): Reference | Wrong | undefined {
  const [, kind, target = ''] = /^(env|file):(.*)$/s.exec(text) ?? []
  if (kind === undefined) return undefined
  if (kind === 'env' && VARIABLE_NAME.test(target)) return { kind, name: target }
  if (kind === 'file' && target.startsWith('/')) return { kind, path: target }
  return wrong('is not a reference: write env:NAME, in capitals, or file:/path, from the root')
}

/** Looks the value up; blanks around it, such as the end of a file's last line, do not belong to it. */
export function resolveReference(reference: Reference, env: Environment): Resolved {
  if (reference.kind === 'env') {
    const value = env[reference.name]?.trim()
    if (value) return { status: 'resolved', value }
    return wrong(`refers to the variable ${reference.name}, which is not set`)
  }
  try {
    const facts = statSync(reference.path)
    if (!facts.isFile()) return wrong('refers to something that is not a file')
    if (facts.size > SECRET_BYTES_MAX) return wrong(`refers to a file of more than ${SECRET_BYTES_MAX} bytes`)
    const value = readFileSync(reference.path, 'utf8').trim()
    return value === '' ? wrong('refers to an empty file') : { status: 'resolved', value }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    return wrong(`refers to a file that cannot be read (${error.code})`)
  }
}

/** Schemes that an address may have, and one that fits. */
export interface UrlRule {
  readonly protocols: readonly string[]
  readonly example: string
  /** What may follow the host without being a secret. */
  readonly openPath: RegExp
}

const ROOT = /^\/?$/
export const NODE_URL: UrlRule = { protocols: ['http:', 'https:'], example: 'http://127.0.0.1:8545', openPath: ROOT }
export const WEBSOCKET_URL: UrlRule = { protocols: ['ws:', 'wss:'], example: 'ws://127.0.0.1:8545', openPath: ROOT }
export const CLICKHOUSE_URL: UrlRule = { ...NODE_URL, example: 'http://127.0.0.1:8123' }
export const REDIS_URL: UrlRule = {
  protocols: ['redis:', 'rediss:'],
  example: 'redis://127.0.0.1:6379',
  openPath: /^(\/\d{0,3})?$/, // the number of the database
}

export function isUrl(text: string, { protocols }: UrlRule): boolean {
  return protocols.includes(URL.canParse(text) ? new URL(text).protocol : '')
}

/** "a URL that starts with http:// or https://" */
export function urlWords({ protocols }: UrlRule): string {
  return `a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`
}

/**
 * A URL of the file: written out it is scheme, host and port and nothing else, since a user, a path or a query is where
 * providers put their keys; everything else is a reference.
 */
export function checkWrittenUrl(text: string, rule: UrlRule): Wrong | undefined {
  if (!isUrl(text, rule)) return wrong(`is not ${urlWords(rule)}, nor a reference; e.g. ${rule.example} or env:NAME`)
  const { username, password, pathname, search, hash } = new URL(text)
  if (username === '' && password === '' && search === '' && hash === '' && rule.openPath.test(pathname))
    return undefined
  return wrong(
    'has more than scheme, host and port, which may be a secret: write a reference, env:NAME or file:/path, to the whole URL',
  )
}

/** A URL for people to see: what may be a secret is blanked. */
export function blankUrl(url: string): string {
  const { protocol, host, username, password, pathname, search, hash } = new URL(url)
  const user = username === '' && password === '' ? '' : '***@'
  return `${protocol}//${user}${host}${ROOT.test(pathname) && search === '' && hash === '' ? '' : '/***'}`
}
