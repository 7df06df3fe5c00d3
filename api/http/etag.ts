import { hash } from 'node:crypto'

/** Of 32 bytes: so many of them tell answers from each other. */
const TAG_CHARACTERS = 22

/** A strong entity tag of what an answer says: equal text has an equal one, however it came to be. */
export function entityTag(body: string | Buffer): string {
  return `"${hash('sha256', body, 'base64url').slice(0, TAG_CHARACTERS)}"`
}

/** The tag of the same answer in a content coding, whose bytes are others (RFC 9110, 8.8.3.3). */
export function codedTag(tag: string, coding: string): string {
  return tag.replace(/"$/, `-${coding}"`)
}

/** Whether a client has the answer of this tag, in whatever coding: as `If-None-Match` compares (RFC 9110, 13.1.2). */
export function isKnown(known: string | undefined, tag: string | undefined): boolean {
  if (known === undefined || tag === undefined) return false
  return known === tag || known.trim() === '*' || known.split(',').some((one) => bare(one) === bare(tag))
}

const bare = (tag: string): string =>
  tag
    .trim()
    .replace(/^W\//, '')
    .replace(/-(?:zstd|gzip)"$/, '"')
