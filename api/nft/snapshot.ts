import { type NftRefusal, refuseNft } from '../../schemas/routes/nft/nft-route.ts'
import { REVERTED_SQL } from '../../schemas/tables/reverted-blocks.ts'
import { KEYS, type LookupReader, lookUpKeys } from '../http/lookups.ts'
import { foldSql } from './literals.ts'
import type { PageKey } from './page-key.ts'
import type { NftStanding, Snapshot } from './standing.ts'

type Found = { readonly status: 'found'; readonly snapshot: Snapshot } | NftRefusal

export interface Tables {
  readonly warehouse: LookupReader
  readonly chain: string
  readonly standing: NftStanding
}

/** The block that a question is about: a number, a hash, or a word. */
export async function findSnapshot(tables: Tables, block: string): Promise<Found> {
  const { head, finalizedNumber } = tables.standing
  if (block === 'latest') return { status: 'found', snapshot: head }
  if (block === 'safe' || block === 'finalized') {
    if (finalizedNumber === undefined) return refuseNft(400, 'no block is known to be final yet')
    return await canonicalAt(tables, finalizedNumber)
  }
  if (!block.startsWith('0x')) return await canonicalAt(tables, Number(block), block)
  const [known] = await tables.warehouse.query<{ number: string }>(
    `SELECT block_number AS number FROM execution_blocks WHERE chain = {chain:String} AND block_hash = {block:String} LIMIT 1`,
    { chain: tables.chain, block },
  )
  if (known === undefined) return refuseNft(400, 'no block of this hash is known')
  return await checkSnapshot(tables, { number: Number(known.number), hash: block })
}

export const BEGINS_EARLIER = refuseNft(400, 'earlier blocks are indexed since the first page: begin again')

type PageBlock = Omit<PageKey, 'after'>

/** The block of a page key; refused where the question asks for another one. */
export async function findPageSnapshot(tables: Tables, page: PageBlock, asked: string | undefined): Promise<Found> {
  if (page.start !== tables.standing.start) return BEGINS_EARLIER
  if (asked !== undefined && !mayBe(tables.standing, page, asked))
    return refuseNft(400, `page_key is of block ${page.number}, ${page.hash}, and not of ${asked}`)
  return await checkSnapshot(tables, page)
}

/** A word may have named any block that fits it when the first page was asked for. */
function mayBe({ finalizedNumber = -1 }: NftStanding, { number, hash }: PageBlock, asked: string): boolean {
  if (asked === 'latest') return true
  if (asked === 'safe' || asked === 'finalized') return number <= finalizedNumber
  return asked === (asked.startsWith('0x') ? hash : String(number))
}

/** A block that was known before, if it is still of the chain. */
export async function checkSnapshot(
  tables: Tables,
  { number, hash }: { readonly number: number; readonly hash: string },
): Promise<Found> {
  const { head, isReverted } = tables.standing
  if (head.hash === hash) return { status: 'found', snapshot: head }
  const orphaned = refuseNft(400, `block ${hash} is orphaned: it was reverted`)
  // It may stand above the head that is left.
  if (isReverted(hash.slice(2).toUpperCase())) return orphaned
  const found = await canonicalAt(tables, number)
  return found.status === 'refused' || found.snapshot.hash === hash ? found : orphaned
}

/** `asked`: the number as it was asked for, which may be larger than one can be exact. */
export async function canonicalAt(tables: Tables, number: number, asked = String(number)): Promise<Found> {
  const { standing } = tables
  const { start, head } = standing
  if (number > head.number)
    return refuseNft(400, `block ${asked} is in the future: the newest indexed one is ${head.number}`)
  if (number < start) return refuseNft(400, `block ${asked} is not covered: the first indexed one is ${start}`)
  if (number === head.number) return { status: 'found', snapshot: head }
  const kept = keptBlocks.get(standing) ?? new Map<number, Snapshot>()
  keptBlocks.set(standing, kept)
  const snapshot = kept.get(number) ?? (await selectBlock(tables, number))
  if (snapshot === undefined) return refuseNft(400, `block ${asked} is not covered`)
  if (kept.size >= KEPT_BLOCKS_MAX) kept.clear()
  kept.set(number, snapshot)
  return { status: 'found', snapshot }
}

/** Blocks that were asked for while a chain stood so. */
const keptBlocks = new WeakMap<NftStanding, Map<number, Snapshot>>()
const KEPT_BLOCKS_MAX = 10_000
/** Rows that are looked at: of several heights, and of reverted blocks at each. */
const BLOCKS_LOOKED_AT_MAX = 500

async function selectBlock(tables: Tables, number: number): Promise<Snapshot | undefined> {
  const { warehouse, chain, standing } = tables
  const select = (counting: string) =>
    `SELECT block_number, hex(block_hash) AS of_block, toUnixTimestamp(time) AS time_sec FROM nft_blocks
     WHERE ${foldSql(tables)} AND block_number IN (${KEYS})${counting} LIMIT ${BLOCKS_LOOKED_AT_MAX}`
  const rows = await lookUpKeys<BlockRow>(warehouse, select(''), String(number))
  const counted = rows.find((row) => Number(row.block_number) === number && !standing.isReverted(row.of_block))
  if (counted !== undefined || rows.length < BLOCKS_LOOKED_AT_MAX) return toSnapshot(number, counted)
  const [found] = await warehouse.query<BlockRow>(
    select(` AND block_hash NOT IN (${REVERTED_SQL})`).replace(KEYS, String(number)),
    { chain },
  )
  return toSnapshot(number, found)
}

interface BlockRow {
  readonly block_number: string
  readonly of_block: string
  readonly time_sec: number
}

function toSnapshot(number: number, row: BlockRow | undefined): Snapshot | undefined {
  return row === undefined ? undefined : { number, hash: `0x${row.of_block.toLowerCase()}`, timeSec: row.time_sec }
}
