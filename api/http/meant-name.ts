import { slipsBetween } from '../../schemas/slips.ts'

/** Shorter names are anybody's: caches are passed by `_`, `t` and the like. */
const MEANT_CHARACTERS_MIN = 4
/** Names of so many letters are told from each other by more than two. */
const LONG_NAME_CHARACTERS = 8
/** What is written beyond this says no more of which name was meant. */
const COMPARED_CHARACTERS_MAX = 64

/** The one of these names that who wrote another one most likely meant; undefined where that is none of them. */
export function meantName(written: string, names: readonly string[]): string | undefined {
  const letters = lettersOf(written)
  const near = names.filter((name) => isMeant(letters, lettersOf(name)))
  const slips = (name: string) => slipsBetween(letters.slice(0, COMPARED_CHARACTERS_MAX), lettersOf(name))
  return near.toSorted((one, other) => slips(one) - slips(other))[0]
}

/** Whether a name begins with one of ours, is most of its beginning, or has slips of the keyboard; both are letters. */
function isMeant(written: string, ours: string): boolean {
  if (written.startsWith(ours)) return true
  if (written.length < MEANT_CHARACTERS_MIN) return false
  if (ours.startsWith(written) && written.length * 2 > ours.length) return true
  const slipsMax = ours.length < LONG_NAME_CHARACTERS ? 1 : 2
  // Each letter more or less is a slip, so that a name of any length is compared in no time.
  return Math.abs(written.length - ours.length) <= slipsMax && slipsBetween(written, ours) <= slipsMax
}

export function lettersOf(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '')
}

/** What a refusal of a name says behind it; nothing where none of the names was meant. */
export function meantHint(written: string, names: readonly string[]): string {
  const meant = meantName(written, names)
  return meant === undefined ? '' : `: did you mean ${meant}?`
}
