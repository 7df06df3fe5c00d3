// Where the parts of a JSON text lie in its bytes. The text is known to be JSON: nothing here checks it. Whatever the bytes are, all of this
// ends, and says no place behind their end.

export interface Member {
  /** From its first quote to behind its last one. */
  readonly keyFrom: number
  readonly keyTo: number
  readonly from: number
  readonly to: number
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d

export function skipBlanks(text: Buffer, from: number): number {
  let at = from
  while (isBlank(text[at])) at++
  return at
}

export const isArrayAt = (text: Buffer, at: number): boolean => text[at] === OPEN_BRACKET
export const isObjectAt = (text: Buffer, at: number): boolean => text[at] === OPEN_BRACE
export const isStringAt = (text: Buffer, at: number): boolean => text[at] === QUOTE

/** Behind the object that begins at `from` and has these members. */
export function endOfObject(text: Buffer, from: number, members: readonly Member[]): number {
  return Math.min(skipBlanks(text, members.at(-1)?.to ?? from + 1) + 1, text.length)
}

/**
 * The members of the object that begins at `from`, in their order, those of one name too: the first ones, where there are more than `most`, and
 * none where something else begins there.
 */
export function membersOf(text: Buffer, from: number, most = Number.POSITIVE_INFINITY): readonly Member[] {
  const members: Member[] = []
  if (!isObjectAt(text, from)) return members
  let at = skipBlanks(text, from + 1)
  while (text[at] === QUOTE && members.length < most) {
    const keyTo = endOfString(text, at)
    const valueFrom = skipBlanks(text, Math.min(skipBlanks(text, keyTo) + 1, text.length)) // behind the colon
    const valueTo = endOfValue(text, valueFrom)
    members.push({ keyFrom: at, keyTo, from: valueFrom, to: valueTo })
    at = skipBlanks(text, valueTo)
    if (text[at] === COMMA) at = skipBlanks(text, at + 1)
  }
  return members
}

/** Whether a member's key is these bytes, and nothing that has to be read to be known. */
export function isKey(text: Buffer, { keyFrom, keyTo }: Pick<Member, 'keyFrom' | 'keyTo'>, key: Uint8Array): boolean {
  if (keyTo - keyFrom - 2 !== key.length) return false
  for (let i = 0; i < key.length; i++) if (text[keyFrom + 1 + i] !== key[i]) return false
  return true
}

/**
 * What a member's key may be read as: some nodes take letters of either case for one another, those that Unicode folds to ASCII too
 * (Go's), some read a text up to its first NUL.
 */
export function foldedKey(text: Buffer, { keyFrom, keyTo }: Pick<Member, 'keyFrom' | 'keyTo'>): string {
  const raw = text.toString('utf8', keyFrom, keyTo)
  const key = raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1)
  return (key.split('\0', 1)[0] as string).toUpperCase().toLowerCase()
}

/** Where the items of the array begin that begins at `from`; none where something else begins there. */
export function itemsOf(text: Buffer, from: number): readonly number[] {
  const items: number[] = []
  if (!isArrayAt(text, from)) return items
  let at = skipBlanks(text, from + 1)
  while (at < text.length && text[at] !== CLOSE_BRACKET) {
    const to = endOfValue(text, at)
    if (to === at) return items // what begins no value
    items.push(at)
    at = skipBlanks(text, to)
    if (text[at] === COMMA) at = skipBlanks(text, at + 1)
  }
  return items
}

/** Behind the value that begins at `from`. */
export function endOfValue(text: Buffer, from: number): number {
  const first = text[from]
  if (first === QUOTE) return endOfString(text, from)
  return first === OPEN_BRACE || first === OPEN_BRACKET ? endOfNested(text, from) : endOfPlain(text, from)
}

function endOfString(text: Buffer, from: number): number {
  let at = from + 1
  while (at < text.length && text[at] !== QUOTE) at += text[at] === BACKSLASH ? 2 : 1
  return Math.min(at + 1, text.length)
}

const DEEPER = -1

/** Of an object or an array; `DEEPER` where they lie in one another more than so many times. */
function endOfNested(text: Buffer, from: number, depthMax = Number.POSITIVE_INFINITY): number {
  let at = from
  let depth = 0
  do {
    const byte = text[at]
    if (byte === QUOTE) {
      at = endOfString(text, at)
      continue
    }
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--
    if (depth > depthMax) return DEEPER
    at++
  } while (depth > 0 && at < text.length)
  return at
}

/** Whether objects and arrays of the value that begins at `from` lie in one another more than so many times. */
export const isDeeper = (text: Buffer, from: number, depthMax: number): boolean =>
  endOfNested(text, skipBlanks(text, from), depthMax) === DEEPER

/** Of a number or a word. */
function endOfPlain(text: Buffer, from: number): number {
  let at = from
  while (at < text.length && !endsPlain(text[at])) at++
  return at
}

function endsPlain(byte: number | undefined): boolean {
  return byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || isBlank(byte)
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}
