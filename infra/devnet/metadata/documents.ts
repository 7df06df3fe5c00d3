import { seededRandom } from '../consensus/random.ts'
import type { CollectionName } from '../execution/scenario-collections.ts'
import type { Profile } from '../execution/scenario-state.ts'

/** What the devnet's collections tell of themselves and their tokens: values of what is asked, nothing is kept. */

export const METADATA_PORT = 8547
/** Where contracts say that their documents are, unless another port is chosen before the chain begins. */
export const METADATA_URL = `http://127.0.0.1:${METADATA_PORT}`

/** Where tokens say that their documents are: contracts are created with it, so it cannot be a port that every start finds anew. */
export function metadataUrlOf(port = 0): string {
  return port === 0 ? METADATA_URL : `http://127.0.0.1:${port}`
}

export interface Collection {
  readonly profile: Profile
  readonly name: CollectionName
}

interface Words {
  readonly title: string
  readonly token: string
  readonly description: string
  readonly image: 'svg' | 'png'
}

/** Inscriptions are not here: all of them is on the chain. */
const WORDS: Readonly<Record<Exclude<CollectionName, 'Inscriptions'>, Words>> = {
  Lanterns: { title: 'Paper Lanterns', token: 'Lantern', description: 'Lights of a devnet', image: 'svg' },
  Provisions: {
    title: "Ship's Provisions",
    token: 'Provision',
    description: 'Barrels, sacks and crates',
    image: 'png',
  },
  Charts: { title: 'Sea Charts', token: 'Chart', description: 'Drawn in one go (ERC-2309)', image: 'svg' },
  Echoes: { title: 'Echoes', token: 'Echo', description: 'Told of twice when they are made', image: 'svg' },
  Almanac: { title: 'Almanac', token: 'Page', description: 'Its documents change (ERC-4906)', image: 'svg' },
  Halves: { title: 'Halves', token: 'Whole', description: 'Whoever has two halves has one (ERC-404)', image: 'svg' },
}

const NAMES = new Map(Object.keys(WORDS).map((name) => [name.toLowerCase(), name as keyof typeof WORDS]))
const COLOURS = ['crimson', 'amber', 'jade', 'indigo', 'ivory', 'slate'] as const
const PLACES: Readonly<Record<Profile, string>> = { ethereum: 'on Ethereum', rollup: 'on the rollup' }
/** The first integer that a number of JavaScript does not hold: readers have to give it back unchanged. */
const BEYOND_NUMBERS = 2n ** 53n + 1n
const ID_MAX = 2n ** 256n - 1n

function wordsOf({ name }: Collection): Words | undefined {
  return WORDS[name as keyof typeof WORDS]
}

/** The collection of a path's parts; undefined for one that there is not. */
export function collectionOf(profile: string, collection: string): Collection | undefined {
  const name = NAMES.get(collection)
  return name !== undefined && (profile === 'ethereum' || profile === 'rollup') ? { profile, name } : undefined
}

/** A token's id as its address has it: decimal, or the 64 hex digits that ERC-1155 puts in the place of {id}. */
export function tokenIdOf(text: string): bigint | undefined {
  const id = /^[0-9a-f]{64}$/.test(text) ? BigInt(`0x${text}`) : /^[0-9]{1,78}$/.test(text) ? BigInt(text) : undefined
  return id === undefined || id > ID_MAX ? undefined : id
}

function colourOf({ profile, name }: Collection, id: bigint): string {
  const random = seededRandom('metadata', `${profile} ${name} ${id}`)
  return COLOURS[Math.floor(random() * COLOURS.length)] ?? COLOURS[0]
}

/** JSON of a token; `here` is the address of its collection, and `edition` what an almanac's page says of itself. */
export function tokenDocument(collection: Collection, id: bigint, here: string, edition?: string): string {
  const words = wordsOf(collection)
  if (words === undefined) throw new Error('an inscription has its document on the chain')
  const document = {
    name: `${words.token} ${id} ${PLACES[collection.profile]}`,
    description: words.description,
    image: `${here}${id}/image.${words.image}`,
    attributes: [
      { trait_type: 'Colour', value: colourOf(collection, id) },
      ...(edition === undefined ? [] : [{ trait_type: 'Edition', value: edition }]),
      { trait_type: 'Number', display_type: 'number', value: 'NUMBER' },
    ],
  }
  return JSON.stringify(document).replace('"NUMBER"', String(BEYOND_NUMBERS + (id % 1_000n)))
}

/** JSON of a collection (ERC-7572). */
export function contractDocument(collection: Collection, here: string): string {
  const words = wordsOf(collection)
  if (words === undefined) throw new Error('inscriptions tell nothing of themselves')
  return JSON.stringify({
    name: words.title,
    description: `${words.description}, ${PLACES[collection.profile]}`,
    image: `${here}0/image.${words.image}`,
  })
}

export interface Picture {
  readonly type: string
  readonly bytes: Buffer
}

/** One pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

/** The picture of a token; undefined where it has none of this kind. */
export function pictureOf(collection: Collection, id: bigint, extension: string): Picture | undefined {
  if (wordsOf(collection)?.image !== extension) return undefined
  if (extension === 'png') return { type: 'image/png', bytes: PNG }
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100"><rect width="100" height="100" fill="black"/>` +
    `<circle cx="50" cy="50" r="40" fill="${colourOf(collection, id)}"/></svg>`
  return { type: 'image/svg+xml', bytes: Buffer.from(svg) }
}
