/** Whether a name is one of the patterns: `*` at the end of one is any rest. Made once, asked for every call. */
export function methodMatcher(patterns: readonly string[]): (name: string) => boolean {
  const names = new Set(patterns.filter((pattern) => !pattern.endsWith('*')))
  const prefixes = patterns.filter((pattern) => pattern.endsWith('*')).map((pattern) => pattern.slice(0, -1))
  if (prefixes.length === 0) return (name) => names.has(name)
  return (name) => names.has(name) || prefixes.some((prefix) => name.startsWith(prefix))
}
