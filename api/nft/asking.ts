import { hash } from 'node:crypto'
import type { Static, TObject, TSchema } from 'typebox'
import type { ValidAt } from '../../schemas/routes/nft/fields.ts'
import { type AnyNftRoute, type NftRefusal, type NftRoute, refuseNft } from '../../schemas/routes/nft/nft-route.ts'
import { type SentAnswer, toBody } from '../http/answers.ts'
import type { SharedParts } from '../http/api-parts.ts'
import { type LookupReader, lookUp, lookUpKeys } from '../http/lookups.ts'
import { meantFilter } from './meant-filter.ts'
import { formatPageKey, type PageKey, type PageOf, readPageKey } from './page-key.ts'
import { BEGINS_EARLIER, findPageSnapshot, findSnapshot } from './snapshot.ts'
import type { NftStanding, NftStandings, Snapshot } from './standing.ts'

/** What everything in one answer is read with. */
export interface NftPin {
  readonly warehouse: LookupReader
  /** Name of the path's chain, as in the tables. */
  readonly chain: string
  readonly standing: NftStanding
  /** The block that the answer is of. */
  readonly snapshot: Snapshot
}

/** What a handler knows beside its parameters. */
export interface NftScope extends NftPin {
  /** Behind this sort key the page begins. */
  readonly after: readonly string[] | undefined
  /** The page key for what comes behind this sort key. */
  readonly pageKeyAfter: (after: readonly string[]) => string
}

interface NftAnswered<Body> {
  readonly status: 'answered'
  readonly body: Body
}

type NftHandler<Parameters, Body> = (parameters: Parameters, scope: NftScope) => Promise<NftAnswered<Body> | NftRefusal>

/** What who asks for something to be done has: the tables as they stand, too. */
export interface NftActing {
  readonly pin: NftPin
  readonly jobs: SharedParts['jobs']
}

type NftAct<Parameters, Body> = (parameters: Parameters, acting: NftActing) => Promise<NftAnswered<Body> | NftRefusal>

export interface NftOperation {
  readonly route: AnyNftRoute
  readonly handle: NftHandler<unknown, unknown>
  /** Of one that does something, and is asked nothing: its answers are never kept. */
  readonly act?: NftAct<unknown, unknown>
}

export function nftOperation<Parameters extends TObject, Response extends TSchema>(
  route: NftRoute<Parameters, Response>,
  handle: NftHandler<Static<Parameters>, Static<Response>>,
): NftOperation {
  // They were read with this very route's schema.
  return { route, handle: (parameters, scope) => handle(parameters as Static<Parameters>, scope) }
}

export function nftAction<Parameters extends TObject, Response extends TSchema>(
  route: NftRoute<Parameters, Response>,
  act: NftAct<Static<Parameters>, Static<Response>>,
): NftOperation {
  return {
    route,
    handle: () => Promise.reject(new Error(`${route.id} is done, and not asked`)),
    act: (parameters, acting) => act(parameters as Static<Parameters>, acting),
  }
}

export function answered<Body>(body: Body): NftAnswered<Body> {
  return { status: 'answered', body }
}

export function toValidAt({ number, hash, timeSec }: Snapshot): ValidAt {
  return { block_number: number, block_hash: hash, block_timestamp: timeSec }
}

/** Reverts come one at a time; who is asked while many come is told to ask again. */
export const TRIES_MAX = 4
export const NOTHING_INDEXED = 'no block of the chain is indexed yet'
export const REVERTED_MEANWHILE = 'blocks are being reverted at the moment'
/** Carries a refusal out of what reads. */
export class RefusedNft extends Error {
  readonly refusal: NftRefusal

  constructor(refusal: NftRefusal) {
    super(refusal.detail ?? undefined)
    this.refusal = refusal
  }
}

export interface Asking {
  readonly standings: NftStandings
  readonly operation: NftOperation
  readonly chain: string
  readonly warehouse: LookupReader
  readonly values: Readonly<Record<string, unknown>>
}

/** What an operation's handler needs. Throws RefusedNft where there is no such block or page. */
export async function openScope(asking: Asking): Promise<NftScope> {
  const { scope, found } = await beginScope(asking)
  await found
  return scope
}

/** Hash of a block that is being looked for. */
const NOT_YET = ''

interface Begun {
  /** Its block has its number; its hash and time, once something was read with it. */
  readonly scope: NftScope
  /** Rejects with RefusedNft where there is no such block. */
  readonly found: Promise<void>
}

/** The same where all that is read waits for the block: where its number is known, rows are read while it is looked for. */
async function beginScope({ standings, chain, warehouse, values, operation }: Asking): Promise<Begun> {
  const standing = await standings.of(chain)
  if (standing === undefined) throw new RefusedNft(refuseNft(503, NOTHING_INDEXED))
  const of = listOf({ chain, standing }, operation, values)
  const page = pageOf(of, values)
  const looking = snapshotOf({ warehouse, chain, standing }, values, page).then((found) => {
    if (found.status === 'refused') throw new RefusedNft(found)
    return found.snapshot
  })
  const number = page?.number ?? numberOf(values)
  if (number === undefined) {
    const snapshot = await looking
    return { scope: toScope({ warehouse, chain, standing, snapshot }, of, page), found: Promise.resolve() }
  }
  const snapshot: Snapshot = { number, hash: NOT_YET, timeSec: 0 }
  const found = looking.then((known) => void Object.assign(snapshot, known))
  // Whoever reads hears of it.
  found.catch(() => {})
  return { scope: toScope({ warehouse: readerAfter(warehouse, found), chain, standing, snapshot }, of, page), found }
}

/** Rows of the reader, once something else has come to its end, too; fails as that does. */
function readerAfter(warehouse: LookupReader, ended: Promise<void>): LookupReader {
  const { lookUpWords } = warehouse
  const after = async <Rows>(reading: Promise<Rows>): Promise<Rows> => (await Promise.all([reading, ended]))[0]
  return {
    query: <Row>(...asked: Parameters<LookupReader['query']>) => after(warehouse.query<Row>(...asked)),
    queryWords: (...asked) => after(warehouse.queryWords(...asked)),
    lookUp: <Row>(kind: string, select: string) => after(lookUp<Row>(warehouse, kind, select)),
    lookUpKeys: <Row>(select: string, keys: string) => after(lookUpKeys<Row>(warehouse, select, keys)),
    ...(lookUpWords === undefined
      ? {}
      : { lookUpWords: (select: string, condition: string) => after(lookUpWords(select, condition)) }),
  }
}

/** The block's number where that is what was asked for. */
function numberOf({ block, block_hash: hash }: Asking['values']): number | undefined {
  const number = hash === undefined && typeof block === 'string' && /^\d+$/.test(block) ? Number(block) : undefined
  return Number.isSafeInteger(number) ? number : undefined
}

/** The same for an answer whose block is known before. Throws RefusedNft where the page is not of that block. */
export function scopeAt(pin: NftPin, operation: NftOperation, values: Asking['values']): NftScope {
  const of = listOf(pin, operation, values)
  const page = pageOf(of, values)
  if (page !== undefined && page.start !== pin.standing.start) throw new RefusedNft(BEGINS_EARLIER)
  if (page !== undefined && page.hash !== pin.snapshot.hash)
    throw new RefusedNft(refuseNft(400, `page_key is of block ${page.hash}, and the answer of ${pin.snapshot.hash}`))
  return toScope(pin, of, page)
}

type Place = Pick<NftPin, 'chain' | 'standing'>

/** What pages of one list have in common: everything but what tells one page, or one shape, from another. */
function listOf({ chain, standing }: Place, { route }: NftOperation, values: Asking['values']): PageOf {
  const {
    page_key: _key,
    // The key has it.
    block: _block,
    block_hash: _hash,
    page_size: _size,
    max_count: _count,
    with_metadata: _shape,
    with_arrival: _arrival,
    with_new_holders: _newHolders,
    ...filter
  } = values
  return { secret: standing.secret, chain, operation: route.id, filter: meantFilter(filter) }
}

function pageOf(of: PageOf, { page_key: pageKey }: Asking['values']): PageKey | undefined {
  const page = typeof pageKey === 'string' ? readPageKey(of, pageKey) : undefined
  if (pageKey !== undefined && page === undefined)
    throw new RefusedNft(refuseNft(400, 'page_key is none of this question'))
  return page
}

function toScope(pin: NftPin, of: PageOf, page: PageKey | undefined): NftScope {
  const { standing, snapshot } = pin
  const pageKeyAfter = (after: readonly string[]) => formatPageKey(of, { start: standing.start, ...snapshot, after })
  return { ...pin, after: page?.after, pageKeyAfter }
}

/** Whether all that was read with the scope so far is of its block alone: what is final does not change any more. */
export async function isOfOneChain(standings: NftStandings, { standing, snapshot, chain }: NftPin): Promise<boolean> {
  const isFinal = standing.finalizedNumber !== undefined && snapshot.number <= standing.finalizedNumber
  return isFinal || (await standings.isUnreverted(chain, standing))
}

/** 132 bits. */
const ETAG_CHARACTERS = 22

/** Asks again where a block was reverted meanwhile: no answer has rows of two branches. */
export async function ask(asking: Asking): Promise<SentAnswer> {
  const { standings, operation, chain, values } = asking
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    if (tries > 0) standings.forget(chain)
    const { scope, found } = await beginScope(asking)
    const early = await operation.handle(values, scope)
    // What was made without reading anything did not wait for its block.
    const isOfBlock = scope.snapshot.hash !== NOT_YET
    await found
    const result = isOfBlock ? early : await operation.handle(values, scope)
    if (!(await isOfOneChain(standings, scope))) continue
    if (result.status === 'refused') throw new RefusedNft(result)
    const body = toBody(JSON.stringify(result.body))
    return {
      httpStatus: 200,
      type: 'application/json; charset=utf-8',
      body,
      isKept: true,
      headers: {
        // That of a block of the past is the same at the next head.
        etag: `W/"${hash('sha256', body, 'base64url').slice(0, ETAG_CHARACTERS)}"`,
        'x-valid-at': formatValidAt(toValidAt(scope.snapshot)),
        'cache-control': 'private, no-cache',
      },
    }
  }
  throw new RefusedNft(refuseNft(503, REVERTED_MEANWHILE))
}

async function snapshotOf(
  tables: Parameters<typeof findSnapshot>[0],
  values: Readonly<Record<string, unknown>>,
  page: PageKey | undefined,
): ReturnType<typeof findSnapshot> {
  const { block, block_hash: hash } = values as { readonly block?: string; readonly block_hash?: string }
  if (block !== undefined && hash !== undefined && block !== hash)
    return refuseNft(400, 'block and block_hash are both given')
  if (hash !== undefined && !hash.startsWith('0x')) return refuseNft(400, 'block_hash is not a hash')
  const asked = block ?? hash
  return page === undefined
    ? await findSnapshot(tables, asked ?? 'latest')
    : await findPageSnapshot(tables, page, asked)
}

/** As a dictionary of structured fields (RFC 8941). */
export function formatValidAt({ block_number, block_hash, block_timestamp }: ValidAt): string {
  return `block_number=${block_number}, block_hash="${block_hash}", block_timestamp=${block_timestamp}`
}
