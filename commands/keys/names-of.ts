/** Keys that a sentence names. */
const NAMED_MAX = 3

/** Some of the public keys, for a sentence. */
export function namesOf(pubkeys: readonly string[]): string {
  const more = pubkeys.length > NAMED_MAX ? ` and ${pubkeys.length - NAMED_MAX} more` : ''
  return `${pubkeys.slice(0, NAMED_MAX).join(', ')}${more}`
}
