import { type Change, changesRoute, type Holding } from '../../schemas/routes/nft/changes.ts'
import { refuseNft } from '../../schemas/routes/nft/nft-route.ts'
import { REVERTED_SQL } from '../../schemas/tables/reverted-blocks.ts'
import { isHeld, isInconsistent, shownAmount, tokenText } from './amounts.ts'
import { answered, type NftScope, nftOperation, toValidAt } from './asking.ts'
import { isBehindSql } from './behind.ts'
import { BURNED_AT, notBurnedSql } from './burned.ts'
import { coverageOf, FIRST_BLOCK, finalityOf, oddAmong } from './coverage.ts'
import { addressKey, STANDARD_KEY, TOKEN_KEY } from './history-rows.ts'
import { foldParams, foldSql } from './literals.ts'
import type { Standard } from './metadata.ts'
import { canonicalAt } from './snapshot.ts'

/** Holdings that reverts may take back at once: beyond them it is less work to begin anew. */
const TAKEN_BACK_MAX = 50_000
/** A reorg that is deeper than finality is none that anybody goes back through. */
const REVERTED_MAX = 10_000

/** A place on the chain: the state after a block, or amid its changes. */
interface Position {
  /** First block of the fold, without which holdings are others. */
  readonly start: number
  readonly number: number
  readonly hash: string
  /** The last of the block's changes that was told, where not all of them were. */
  readonly behind: ChangeKey | undefined
}

/** What tells a change of a block from its others, in their order: hex with 0x. */
interface ChangeKey {
  readonly contract: string
  readonly token_id: string
  readonly standard: Standard
  readonly holder: string
}

const POSITION = /^([0-9]{1,15})\.([0-9]{1,15})\.(0[xX][0-9a-fA-F]{64})(?:([.-][0-9]{1,9})|~([A-Za-z0-9_-]{98}))?$/
const STANDARDS: readonly Standard[] = ['ERC1155', 'ERC721']
/** In which changes of a block lie. */
const CHANGE_KEYS = [addressKey('contract'), TOKEN_KEY, STANDARD_KEY, addressKey('holder')]
const changeKey = ({ contract, token_id, standard, holder }: ChangeKey) => [contract, token_id, standard, holder]
/** Comes before all changes of a block. */
const NO_CHANGE: ChangeKey = {
  contract: `0x${'00'.repeat(20)}`,
  token_id: `0x${'00'.repeat(32)}`,
  standard: 'ERC1155',
  holder: `0x${'00'.repeat(20)}`,
}
/** Before the first block. */
const NO_HASH = `0x${'00'.repeat(32)}`

export const changes = nftOperation(changesRoute, async ({ since, limit }, scope) => {
  const from = since === undefined ? beginning(scope) : since === 'latest' ? headOf(scope) : parsePosition(since)
  if (from === undefined) return refuseNft(400, 'since is no position')
  // Another process may be further than this one: wait for it.
  if (await isAhead(scope, from)) {
    return answered({
      changes: [],
      next: formatPosition(from),
      is_at_head: true,
      valid_at: toValidAt(scope.snapshot),
      coverage: await coverageOf(scope),
    })
  }
  const place = await placeOf(scope, from)
  if (place === undefined)
    return refuseNft(410, 'nobody can tell any more what changed since: begin without a position')
  const reverts = place.revert === undefined ? [] : [place.revert]
  const blocks = await selectBlocks(scope, place.position, limit)
  const told = [...reverts, ...blocks.changes]
  const contracts = [...new Set(told.flatMap(({ holdings }) => holdings.map((holding) => holding.contract_address)))]
  return answered({
    changes: told,
    next: formatPosition(blocks.next),
    is_at_head: blocks.next.hash === scope.snapshot.hash && blocks.next.behind === undefined,
    valid_at: toValidAt(scope.snapshot),
    coverage: await coverageOf(scope, { told: contracts }),
  })
})

function beginning({ standing }: NftScope): Position {
  return { start: standing.start, number: standing.start - 1, hash: NO_HASH, behind: undefined }
}

function headOf({ standing, snapshot }: NftScope): Position {
  return { start: standing.start, number: snapshot.number, hash: snapshot.hash, behind: undefined }
}

function parsePosition(text: string): Position | undefined {
  const [, start, number, hash, counted, key] = POSITION.exec(text) ?? []
  if (hash === undefined) return undefined
  const place = { start: Number(start), number: Number(number), hash: hash.toLowerCase() }
  // Changes were counted once: the block is told again, which does no harm.
  if (key === undefined) return { ...place, behind: counted === undefined ? undefined : NO_CHANGE }
  const behind = parseKey(Buffer.from(key, 'base64url'))
  return behind === undefined ? undefined : { ...place, behind }
}

function formatPosition({ start, number, hash, behind }: Position): string {
  const place = [start, number, hash].join('.')
  return behind === undefined ? place : `${place}~${keyBytes(behind).toString('base64url')}`
}

/** The columns, one after the other; of the standard one byte. */
function keyBytes({ contract, token_id, standard, holder }: ChangeKey): Buffer {
  const hex = [contract, token_id, `0x0${STANDARDS.indexOf(standard)}`, holder].map((text) => text.slice(2))
  return Buffer.from(hex.join(''), 'hex')
}

function parseKey(bytes: Buffer): ChangeKey | undefined {
  const hex = (from: number, to: number) => `0x${bytes.toString('hex', from, to)}`
  const standard = STANDARDS[bytes[52] as number]
  return standard === undefined
    ? undefined
    : { contract: hex(0, 20), token_id: hex(20, 52), standard, holder: hex(53, 73) }
}

/** Whether a position is behind the newest folded block, and was not reverted. */
async function isAhead(scope: NftScope, { start, number, hash }: Position): Promise<boolean> {
  if (start !== scope.standing.start || number <= scope.snapshot.number) return false
  const [known] = await scope.warehouse.query<{ is_reverted: number }>(
    `SELECT unhex(substring({hash:String}, 3)) IN (${REVERTED_SQL}) AS is_reverted FROM execution_blocks
     WHERE chain = {chain:String} AND block_number = {number:UInt64} AND block_hash = {hash:String} LIMIT 1`,
    { chain: scope.chain, number, hash },
  )
  return known?.is_reverted === 0
}

interface Place {
  /** On the chain, with what leads there from where the asker is. */
  readonly position: Position
  readonly revert: Change | undefined
}

/** Undefined where the block is not known, or what followed from it. */
async function placeOf(scope: NftScope, position: Position): Promise<Place | undefined> {
  const { standing } = scope
  const { start, number, hash } = position
  if (start !== standing.start || number < start - 1) return undefined
  if (number === start - 1) return hash === NO_HASH ? { position, revert: undefined } : undefined
  const canonical = await canonicalAt(scope, number)
  if (canonical.status === 'found' && canonical.snapshot.hash === hash) return { position, revert: undefined }
  return await goBack(scope, position)
}

interface BlockRow {
  readonly number: string
  readonly hash: string
}

/**
 * From a block that was reverted back to one that all its forks have in common: the highest one below it at whose height nothing was
 * ever reverted. What any reverted block between them had changed is told as it is after that block, which may be more than has to be.
 */
async function goBack(scope: NftScope, { start, number, hash }: Position): Promise<Place | undefined> {
  const rows = await scope.warehouse.query<BlockRow>(
    `SELECT block_number AS number, concat('0x', lower(hex(block_hash))) AS hash FROM reverted_blocks FINAL
     WHERE chain = {chain:String} AND is_reverted = 1 AND block_number <= {last:UInt64} AND block_number > {last:UInt64} - least({last:UInt64}, ${REVERTED_MAX})
     ORDER BY block_number DESC, block_hash`,
    { ...foldParams(scope), last: number },
  )
  if (!rows.some((row) => row.hash === hash && Number(row.number) === number)) return undefined
  const heights = new Set(rows.map((row) => Number(row.number)))
  let ancestor = number
  while (heights.has(ancestor)) ancestor--
  if (number - ancestor >= REVERTED_MAX) return undefined
  const reverted = rows
    .filter((row) => Number(row.number) > ancestor)
    .map((row) => ({ block_number: Number(row.number), block_hash: row.hash }))
  const to = await canonicalAt(scope, ancestor)
  if (ancestor >= start && to.status === 'refused') return undefined
  const back = to.status === 'found' && ancestor >= start ? to.snapshot : { number: start - 1, hash: NO_HASH }
  const holdings = await holdingsBefore(scope, back.number, reverted)
  if (holdings === undefined) return undefined
  return {
    position: { start, number: back.number, hash: back.hash, behind: undefined },
    revert: { kind: 'revert', block_number: back.number, block_hash: back.hash, reverted, holdings: [...holdings] },
  }
}

interface HoldingRow extends Readonly<Record<string, string>> {
  readonly contract: string
  readonly token_id: string
  readonly standard: Standard
  readonly holder: string
  readonly amount: string
  readonly excess: string
}

/**
 * What reverted blocks may have changed, as it is after the block before them: it follows from their transfers, which are there whether or
 * not they were ever folded. A token that is one of a kind leaves whoever has it, too.
 */
async function holdingsBefore(
  scope: NftScope,
  number: number,
  reverted: readonly { readonly block_number: number; readonly block_hash: string }[],
): Promise<readonly Holding[] | undefined> {
  const last = Math.max(...reverted.map((block) => block.block_number))
  const key = 'contract, token_id, standard, holder'
  // Of a token that there are many of, others hold as much as before, and may be very many.
  const rows = await scope.warehouse.query<HoldingRow>(
    `WITH moved AS (
       SELECT DISTINCT contract, token_id, standard, holder FROM nft_transfers
       ARRAY JOIN [from_address, to_address] AS holder
       WHERE chain = {chain:String} AND block_number > {number:UInt64} AND block_number <= {last:UInt64} AND block_hash IN (${REVERTED_SQL})
         AND holder != toFixedString('', 20)
     )
     SELECT concat('0x', lower(hex(contract))) AS contract, concat('0x', lower(hex(token_id))) AS token_id, toString(standard) AS standard,
       concat('0x', lower(hex(holder))) AS holder, toString(newest.1) AS amount, toString(newest.2) AS excess
     FROM (
       SELECT ${key}, argMax((amount, excess), block_number) AS newest, max(is_moved) AS has_moved
       FROM (
         SELECT ${key}, amount, excess, block_number, 0 AS is_moved FROM nft_token_holders
         WHERE chain = {chain:String} AND start = {start:UInt64} AND block_number <= {number:UInt64} AND ${scope.standing.notReverted}
           AND ((${key}) IN (SELECT ${key} FROM moved)
             OR (contract, token_id, standard) IN (SELECT contract, token_id, standard FROM moved WHERE standard = 'ERC721'))
         UNION ALL
         SELECT ${key}, toUInt256(0), toInt64(0), toUInt64(0), 1 FROM moved
       )
       WHERE ${notBurnedSql('holder')}
       GROUP BY ${key}
     ) AS t
     WHERE has_moved OR newest.1 > 0
     ORDER BY t.contract, t.token_id, t.standard, t.holder LIMIT ${TAKEN_BACK_MAX + 1}`,
    { ...foldParams(scope), number, last },
  )
  return rows.length > TAKEN_BACK_MAX ? undefined : await toHoldings(scope, rows)
}

/** In their order. */
async function toHoldings(scope: NftScope, rows: readonly HoldingRow[]): Promise<readonly Holding[]> {
  const isOdd = await oddAmong(scope, [...new Set(rows.map(({ contract }) => contract))])
  return rows.map((row) => toHolding(scope, row, isOdd(row.contract)))
}

function toHolding({ standing }: NftScope, row: HoldingRow, isOdd: boolean): Holding {
  // Contracts of a page may be too many to look up when each was made.
  const isWhole = !isOdd && (standing.start <= FIRST_BLOCK || row.standard === 'ERC721')
  const isUnknown = !isWhole && !isHeld(row)
  return {
    contract_address: row.contract,
    token_id: tokenText(row.token_id),
    token_type: row.standard,
    owner_address: row.holder,
    amount: isUnknown ? null : shownAmount(row),
    is_amount_whole: isWhole,
    // More may have been sent than came since.
    is_inconsistent: !isUnknown && isInconsistent(row),
  }
}

interface ChangeRow extends HoldingRow {
  readonly block_number: string
  readonly block_hash: string
}

/** What blocks behind a position have changed, in the order of the chain; within one in the order of the table. */
async function selectBlocks(scope: NftScope, from: Position, limit: number) {
  const { start, behind } = from
  const { snapshot, standing } = scope
  const first = behind === undefined ? from.number + 1 : from.number
  // What is burned is looked at and not told.
  const most = 2 * limit
  const further =
    behind === undefined ? '' : ` AND (block_number > ${first} OR (${isBehindSql(CHANGE_KEYS, changeKey(behind))}))`
  const rows = await scope.warehouse.query<ChangeRow>(
    `SELECT toString(block_number) AS block_number, concat('0x', lower(hex(t.block_hash))) AS block_hash, concat('0x', lower(hex(t.contract))) AS contract,
       concat('0x', lower(hex(t.token_id))) AS token_id, toString(t.standard) AS standard, concat('0x', lower(hex(t.holder))) AS holder,
       toString(t.amount) AS amount, toString(t.excess) AS excess
     FROM (
       SELECT block_number, block_hash, contract, token_id, standard, holder, amount, excess FROM nft_changes
       WHERE ${foldSql(scope)} AND block_number >= ${first} AND block_number <= ${snapshot.number} AND ${standing.notReverted}${further}
       ORDER BY block_number, block_hash, contract, token_id, standard, holder
       LIMIT 1 BY block_number, block_hash, contract, token_id, standard, holder LIMIT ${most + 1}
     ) AS t
     ORDER BY t.block_number, t.contract, t.token_id, t.standard, t.holder
     SETTINGS max_block_size = 1024, read_in_order_use_buffering = 0, max_threads = 1`,
    { chain: scope.chain },
  )
  const told = rows.slice(0, most).filter(({ holder }) => holder !== BURNED_AT)
  const beyond = told[limit]
  const end = beyond === undefined ? most : rows.indexOf(beyond)
  const [last, next] = [rows.slice(0, end).at(-1), rows[end]]
  const cutBlock = next?.block_number === last?.block_number ? last?.block_number : undefined
  const page = told.slice(0, limit)
  const holdings = new Map((await toHoldings(scope, page)).map((holding, i) => [page[i], holding]))
  const made = [...Map.groupBy(page, (row) => row.block_number)].map(([number, some]) => ({
    kind: 'block' as const,
    block_number: Number(number),
    block_hash: some[0]?.block_hash as string,
    finality: finalityOf(scope, number),
    is_whole: number !== cutBlock,
    holdings: some.map((row) => holdings.get(row) as Holding),
  }))
  if (next === undefined || last === undefined)
    return { changes: made, next: { start, number: snapshot.number, hash: snapshot.hash, behind: undefined } }
  const place = { start, number: Number(last.block_number), hash: last.block_hash }
  return { changes: made, next: { ...place, behind: cutBlock === undefined ? undefined : last } }
}
