import type { StakingStep } from '../../schemas/tables/accounts.ts'
import { inStatements, KEYS_PER_STATEMENT } from '../../schemas/tables/statement-parts.ts'
import type { AccountScope } from '../http/seen-validators.ts'

/** A staking transaction that was sent from here. */
export interface Broadcast {
  readonly transactionHash: string
  /** Unix seconds: when it was last sent as a new one. */
  readonly timeSec: number
  /** When a final block was seen to have reverted it, Unix seconds, and that block's number. */
  readonly reverted: { readonly timeSec: number; readonly blockNumber: number } | undefined
}

interface StepRow {
  readonly transaction_hash: string
  readonly step: StakingStep
  /** Empty of an end, which is the whole transaction's. */
  readonly pubkey: string
  readonly time_sec: number
  readonly block_number: string
}

const STEPS = `
  SELECT
    toString(transaction_hash) AS transaction_hash, toString(step) AS step, pubkey, toUnixTimestamp(time) AS time_sec, block_number
  FROM staking_steps FINAL
  WHERE chain = {chain:String} AND (pubkey = '' OR pubkey IN {pubkeys:Array(String)}) AND transaction_hash IN
    (SELECT transaction_hash FROM staking_steps WHERE chain = {chain:String} AND pubkey IN {pubkeys:Array(String)})
  ORDER BY version`

/** Ends of what no node has taken, as far as anybody knows: nobody's pool has had it. */
const UNTAKEN: readonly StakingStep[] = ['refused', 'unsent']

/** Staking transactions that were broadcast here for each of the validators, by public key, the oldest first. */
export async function broadcastsOf(
  { standing: { chain }, shared }: AccountScope,
  pubkeys: readonly string[],
): Promise<ReadonlyMap<string, readonly Broadcast[]>> {
  const broadcasts = new Map<string, Broadcast[]>()
  for (const some of inStatements(pubkeys, KEYS_PER_STATEMENT)) {
    const rows = await shared.query<StepRow>(STEPS, { chain, pubkeys: some })
    const newest = new Map(rows.map(({ transaction_hash, step }) => [transaction_hash, step]))
    const failed = rows.filter(({ step }) => step === 'failed')
    const revertedBy = new Map(
      failed.map((row) => [row.transaction_hash, { timeSec: row.time_sec, blockNumber: Number(row.block_number) }]),
    )
    for (const { pubkey, transaction_hash: transactionHash, time_sec: timeSec } of rows) {
      if (pubkey === '' || UNTAKEN.includes(newest.get(transactionHash) ?? 'broadcast')) continue
      const own = broadcasts.get(pubkey) ?? []
      broadcasts.set(pubkey, own)
      own.push({ transactionHash, timeSec, reverted: revertedBy.get(transactionHash) })
    }
  }
  return broadcasts
}
