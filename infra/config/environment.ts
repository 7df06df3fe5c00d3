export type Environment = Readonly<Record<string, string | undefined>>

/** An empty variable counts as unset: that is what compose files write for "nothing". */
export function given(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim()
  return value === undefined || value === '' ? undefined : value
}

/** The entries of a comma-separated list, empty ones left out. */
export function splitList(text: string): readonly string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

const QUOTE_CHARACTERS_MAX = 60

/** A value in a message, where it cannot be a secret. */
export function quote(value: string): string {
  return JSON.stringify(value.length > QUOTE_CHARACTERS_MAX ? `${value.slice(0, QUOTE_CHARACTERS_MAX)}…` : value)
}
