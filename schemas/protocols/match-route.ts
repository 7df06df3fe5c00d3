import type { Route, Service, Verb } from './protocol.ts'

/** A route whose path has places for what is asked for. */
interface Pattern {
  readonly route: Route
  /** Undefined: one segment, whatever it is. */
  readonly segments: readonly (string | undefined)[]
  /** Whatever follows the segments, or nothing. */
  readonly isOpen: boolean
}

/** The routes of one verb. */
interface RouteIndex {
  readonly exact: ReadonlyMap<string, Route>
  readonly patterns: readonly Pattern[]
}

type ServiceIndex = Readonly<Record<Verb, RouteIndex>>

const INDICES = new WeakMap<Service, ServiceIndex>()

/**
 * The route that a call takes: `path` is what stands behind the token, without the query, and begins with `/` or is empty, which
 * is the same as `/`. Undefined: there is none, or the path is one that a node might read as another than it looks: with empty
 * segments, `.` or `..`, backslashes, control characters, or any of `/ \ .` percent-encoded. A slash at its end is one more empty
 * segment, but where a route is open at its end.
 */
export function matchRoute(service: Service, verb: string, path: string): Route | undefined {
  const index = routesOf(service, verb)
  if (index === undefined) return undefined
  return index.exact.get(path === '' ? '/' : path) ?? matchPattern(index.patterns, path)
}

/** The uniform name of a REST call, for limits and usage: `GET#/eth/v1/node/syncing`; with the pattern, not the path. */
export function callName(route: Route, verb: string): string {
  return `${verb}#${route.path}`
}

/** Where a node has what the path asks for; the path is one that the route matches. */
export function nodePathOf({ path: pattern, nodePath }: Route, path: string): string {
  if (nodePath === undefined) return path === '' ? '/' : path
  const asked = path.split('/')
  const values = pattern.split('/').flatMap((segment, at) => (segment === '*' ? [asked[at] ?? ''] : []))
  return nodePath
    .split('/')
    .map((segment) => (segment === '*' ? (values.shift() ?? '') : segment))
    .join('/')
}

function routesOf(service: Service, verb: string): RouteIndex | undefined {
  let index = INDICES.get(service)
  if (index === undefined) {
    index = { GET: indexOf(service, 'GET'), HEAD: indexOf(service, 'HEAD'), POST: indexOf(service, 'POST') }
    INDICES.set(service, index)
  }
  return verb === 'GET' || verb === 'HEAD' || verb === 'POST' ? index[verb] : undefined
}

function indexOf({ routes }: Service, verb: Verb): RouteIndex {
  const ofVerb = routes.filter(({ verbs }) => verbs.includes(verb))
  return {
    exact: new Map(ofVerb.filter(({ path }) => !path.includes('*')).map((route) => [route.path, route])),
    patterns: ofVerb.filter(({ path }) => path.includes('*')).map(toPattern),
  }
}

function toPattern(route: Route): Pattern {
  const segments = route.path.split('/').slice(1)
  const isOpen = segments.at(-1) === '**'
  const kept = isOpen ? segments.slice(0, -1) : segments
  return { route, segments: kept.map((segment) => (segment === '*' ? undefined : segment)), isOpen }
}

function matchPattern(patterns: readonly Pattern[], path: string): Route | undefined {
  for (const pattern of patterns) if (matches(pattern, path)) return hasPlainSegments(path) ? pattern.route : undefined
  return undefined
}

/** Compares in place: nothing is cut out of the path. */
function matches({ segments, isOpen }: Pattern, path: string): boolean {
  let at = 0
  for (const segment of segments) {
    if (path.charCodeAt(at) !== SLASH) return false
    const next = path.indexOf('/', at + 1)
    const end = next === -1 ? path.length : next
    if (segment === undefined) {
      if (end === at + 1) return false
    } else if (end - at - 1 !== segment.length || !path.startsWith(segment, at + 1)) return false
    at = end
  }
  return isOpen || at === path.length
}

const SLASH = 0x2f
const BACKSLASH = 0x5c
const DOT = 0x2e
const PERCENT = 0x25
const SEMICOLON = 0x3b

/** No segment is empty (but the last may be), none is of dots alone, and no character is one that servers read differently. */
function hasPlainSegments(path: string): boolean {
  let hasEscapes = false
  for (let at = 0; at < path.length; at++) {
    const code = path.charCodeAt(at)
    if (code === SLASH) {
      if (path.charCodeAt(at + 1) === SLASH || isDots(path, at + 1)) return false
    } else if (code === PERCENT) {
      hasEscapes = true
      if (!isPlainEscape(path, at)) return false
    } else if (!isPlain(code)) return false
  }
  return !hasEscapes || isUtf8(path)
}

/** Whether what is escaped is UTF-8, in which each character has one form. */
function isUtf8(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch (error) {
    if (error instanceof URIError) return false
    throw error
  }
}

/** `.` or `..`, also with what some servers cut off a segment: parameters behind a semicolon, or blanks. */
function isDots(path: string, start: number): boolean {
  let at = start
  while (path.charCodeAt(at) === DOT) at++
  const dots = at - start
  const next = path.charCodeAt(at)
  const isEnd = at === path.length || next === SLASH || next === SEMICOLON || next === PERCENT
  return isEnd && (dots === 1 || dots === 2)
}

/** Visible ASCII, without what is no part of a path. */
function isPlain(code: number): boolean {
  return code > 0x20 && code < 0x7f && code !== BACKSLASH && code !== 0x23 && code !== 0x3f
}

/** Of two hexadecimal digits, for a character that changes nothing in how a path is read, even if it is decoded twice. */
function isPlainEscape(path: string, at: number): boolean {
  const value = hexAt(path, at + 1) * 16 + hexAt(path, at + 2)
  if (!(value >= 0x20) || value === 0x7f) return false
  if (value === SLASH || value === BACKSLASH || value === DOT) return false
  return value !== PERCENT || (path.charCodeAt(at + 3) !== PERCENT && Number.isNaN(hexAt(path, at + 3)))
}

/** NaN where there is no hexadecimal digit. */
function hexAt(path: string, at: number): number {
  const code = path.charCodeAt(at)
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  const letter = code | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : Number.NaN
}
