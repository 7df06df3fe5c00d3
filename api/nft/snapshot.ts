import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { type NftRefusal, refuseNft } from '../../schemas/routes/nft/nft-route.ts'
import { type NftStanding, REVERTED, type Snapshot } from './standing.ts'

type Found = { readonly status: 'found'; readonly snapshot: Snapshot } | NftRefusal

export interface Tables {
  readonly warehouse: WarehouseReader
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
  if (!block.startsWith('0x')) return await canonicalAt(tables, Number(block))
  const [known] = await tables.warehouse.query<{ number: string }>(
    `SELECT block_number AS number FROM execution_blocks WHERE chain = {chain:String} AND block_hash = {block:String} LIMIT 1`,
    { chain: tables.chain, block },
  )
  if (known === undefined) return refuseNft(400, 'no block of this hash is known')
  return await checkSnapshot(tables, { number: Number(known.number), hash: block })
}

/** A block that was known before, if it is still of the chain. */
export async function checkSnapshot(
  tables: Tables,
  { number, hash }: { readonly number: number; readonly hash: string },
): Promise<Found> {
  const { head } = tables.standing
  if (head.hash === hash) return { status: 'found', snapshot: head }
  const found = await canonicalAt(tables, number)
  if (found.status === 'refused' || found.snapshot.hash === hash) return found
  return refuseNft(400, `block ${hash} is orphaned: it was reverted`)
}

export async function canonicalAt({ warehouse, chain, standing }: Tables, number: number): Promise<Found> {
  const { start, head } = standing
  if (number > head.number)
    return refuseNft(400, `block ${number} is in the future: the newest indexed one is ${head.number}`)
  if (number < start) return refuseNft(400, `block ${number} is not covered: the first indexed one is ${start}`)
  if (number === head.number) return { status: 'found', snapshot: head }
  const [row] = await warehouse.query<{ hash: string; time_sec: number }>(
    `SELECT concat('0x', lower(hex(block_hash))) AS hash, toUnixTimestamp(time) AS time_sec FROM nft_blocks
     WHERE chain = {chain:String} AND start = {start:UInt64} AND block_number = {number:UInt64} AND block_hash NOT IN (${REVERTED})
     LIMIT 1`,
    { chain, start, number },
  )
  if (row === undefined) return refuseNft(400, `block ${number} is not covered`)
  return { status: 'found', snapshot: { number, hash: row.hash, timeSec: row.time_sec } }
}
