import { type ChainClock, slotAt } from '../../schemas/eth/time.ts'
import { inStatements, KEYS_PER_STATEMENT } from '../../schemas/tables/statement-parts.ts'
import type { AccountScope } from './seen-validators.ts'
import { byAccount, OWN_KEYS, readTogether } from './small-accounts.ts'
import { StandingMemo } from './standing-memo.ts'

/** A validator's deposit in a block that is canonical. */
export interface OnChainDeposit {
  readonly pubkey: string
  readonly blockNumber: number
  readonly transactionHash: string
  /** Unix seconds of its block. */
  readonly timeSec: number
  /** Of its block; undefined while the chain's clock is not known. */
  readonly slot: number | undefined
  readonly isFinal: boolean
}

interface DepositRow {
  readonly account: string
  readonly pubkey: string
  readonly block_hash: string
  readonly block_number: string
  readonly transaction_hash: string
  readonly time_sec: number
}

// Logs of the chain's deposit contract alone, and of what was created here only the deposit that was signed: a stranger's changes nothing.
const MINE = `chain = {chain:String} AND pubkey IN (SELECT pubkey FROM (${OWN_KEYS}))`
const DEPOSITS = `
  SELECT
    own.account AS account, d.pubkey AS pubkey, toString(d.block_hash) AS block_hash, d.block_number AS block_number,
    toString(d.transaction_hash) AS transaction_hash, toUnixTimestamp(d.time) AS time_sec
  FROM
  (
    SELECT pubkey, block_hash, block_number, log_index, transaction_hash, time, withdrawal_credentials, amount_gwei, deposit_data_root
    FROM deposits FINAL
    WHERE ${MINE} AND contract = (SELECT address FROM deposit_contracts FINAL WHERE chain = {chain:String})
  ) AS d
  LEFT JOIN
  (
    SELECT pubkey, withdrawal_credentials, amount_gwei, deposit_data_root, 1 AS is_created FROM created_validators FINAL WHERE ${MINE}
  ) AS c ON c.pubkey = d.pubkey
  INNER JOIN (${OWN_KEYS}) AS own ON own.pubkey = d.pubkey
  WHERE c.is_created = 0 OR c.deposit_data_root = toString(d.deposit_data_root)
    OR (c.deposit_data_root = '' AND c.withdrawal_credentials = d.withdrawal_credentials AND c.amount_gwei = d.amount_gwei)
  ORDER BY block_number, d.log_index`

// Blocks lie in partitions by their numbers.
const CANONICAL = `
  SELECT toString(block_hash) AS hash FROM execution_blocks FINAL
  WHERE chain = {chain:String} AND block_number IN {numbers:Array(UInt64)} AND block_hash IN {hashes:Array(String)}`

const depositMemo = new StandingMemo<ReadonlyMap<string, OnChainDeposit>>((deposits) => deposits.size)

/**
 * The first deposit on chain of each validator that the account has or had, by public key: of those that were created here the one that
 * was signed, of others any. A block that is taken back takes its deposits with it.
 */
export function accountDeposits(
  scope: AccountScope,
  clock: ChainClock | undefined,
): Promise<ReadonlyMap<string, OnChainDeposit>> {
  const { standing, account } = scope
  return depositMemo.of(standing, account, async () => {
    const rows = await readTogether(scope, 'deposits', account, async (warehouse, accounts) =>
      byAccount(accounts, await warehouse.query<DepositRow>(DEPOSITS, { chain: standing.chain, accounts })),
    )
    const final = clock === undefined ? new Map<number, string>() : await finalBlocks(scope, clock, rows)
    const finalOf = (row: DepositRow) => (clock === undefined ? undefined : final.get(slotAt(clock, row.time_sec)))
    const canonical = await canonicalBlocks(
      scope,
      rows.filter((row) => finalOf(row) === undefined),
    )
    const deposits = new Map<string, OnChainDeposit>()
    for (const row of rows) {
      // A slot with another final block is none of the deposit's, whatever the head has not been told yet.
      const finalHash = finalOf(row)
      const isFinal = finalHash === row.block_hash
      const isOnChain = isFinal || (finalHash === undefined && canonical.has(row.block_hash))
      if (!isOnChain || deposits.has(row.pubkey)) continue
      deposits.set(row.pubkey, {
        pubkey: row.pubkey,
        blockNumber: Number(row.block_number),
        transactionHash: row.transaction_hash,
        timeSec: row.time_sec,
        slot: clock === undefined ? undefined : slotAt(clock, row.time_sec),
        isFinal,
      })
    }
    return deposits
  })
}

/** Hashes of those of the deposits' blocks that the head has. */
export async function canonicalBlocks(
  { standing, shared }: Pick<AccountScope, 'standing' | 'shared'>,
  rows: readonly Pick<DepositRow, 'block_hash' | 'block_number'>[],
): Promise<ReadonlySet<string>> {
  const blocks = [...new Map(rows.map((row) => [row.block_hash, row.block_number]))]
  const found = new Set<string>()
  for (const some of inStatements(blocks, KEYS_PER_STATEMENT)) {
    const params = { hashes: some.map(([hash]) => hash), numbers: some.map(([, number]) => BigInt(number)) }
    const canonical = await shared.query<{ hash: string }>(CANONICAL, { chain: standing.chain, ...params })
    for (const { hash } of canonical) found.add(hash)
  }
  return found
}

/** Hashes of the final execution blocks of the slots that the deposits' blocks are of. */
async function finalBlocks(
  { standing, shared }: AccountScope,
  clock: ChainClock,
  rows: readonly DepositRow[],
): Promise<ReadonlyMap<number, string>> {
  const slots = [...new Set(rows.map((row) => slotAt(clock, row.time_sec)))]
  const found = new Map<number, string>()
  for (const some of inStatements(slots)) {
    const final = await shared.query<{ slot: string; hash: string }>(
      `SELECT slot, toString(execution_block_hash) AS hash FROM finalized_blocks FINAL
       WHERE chain = {chain:String} AND slot IN {slots:Array(UInt64)}`,
      { chain: standing.chain, slots: some },
    )
    for (const { slot, hash } of final) found.set(Number(slot), hash)
  }
  return found
}
