import type { ExecutionHeaderFields, LogsCheck, TransactionColumns } from '../../schemas/events/execution-block.ts'
import type { LogColumns } from '../../schemas/events/execution-logs.ts'
import type { NodeStatus } from './node-status.ts'

/** What names a block and ties it to the one before. */
export interface BlockReference {
  readonly number: number
  readonly hash: string
  readonly parentHash: string
}

/** A withdrawal of the beacon chain (EIP-4895). */
export interface Withdrawal {
  readonly address: string
  readonly amountGwei: bigint
}

/** An address's balance before a block and after it. */
export interface BalanceChange {
  readonly beforeWei: bigint
  readonly afterWei: bigint
}

/** A block with what the log keeps of it. */
export interface ExecutionBlock {
  readonly header: ExecutionHeaderFields
  /** Header and transactions are those that the block's hash commits to; false where a layer's own formats leave that open. */
  readonly matchesHash: boolean
  /** What the logs were checked against. */
  readonly logsCheck: LogsCheck
  /** Whether `columns` tell what became of the transactions: see the event. */
  readonly hasOutcomes: boolean
  /** Positions of the transactions whose senders are proven: see the event. */
  readonly provenSenders: readonly number[]
  /** What the block credited from the beacon chain; undefined where the header does not commit to what the node says of it. */
  readonly withdrawals: readonly Withdrawal[] | undefined
  /** One row per transaction, in order. */
  readonly columns: TransactionColumns
  /** The logs of `KEPT_EVENTS` and `KEPT_CONTRACTS`, in order. */
  readonly logs: LogColumns
}

/**
 * What ingest needs of an execution node, nothing more.
 *
 * Guarantees: a block comes with all its receipts, which agree with the header's receipts root; where the chain is configured to be
 * checked by less, `logsCheck` and `hasOutcomes` say how much it is. On a chain with a beacon chain its
 * header and transactions are those that its hash commits to, and who sent those of `provenSenders` is proven by their signatures; on
 * others `matchesHash` says whether. Otherwise an AppError as for BeaconSource, and `usage` for a block of before Byzantium, whose
 * receipts do not tell what failed, where they are what is checked. Transient faults were already retried, on the fallbacks too.
 * Not promised: that two answers are of one chain (a reorg may lie between them): parent hashes have to be compared.
 */
export interface ExecutionSource extends AsyncDisposable {
  /** Asked at the first use, then remembered. */
  chainId(): Promise<number>
  /** The newest block. */
  head(): Promise<BlockReference>
  /** The newest block that is final; undefined where the node does not tell of finality. */
  finalized(): Promise<BlockReference | undefined>
  /** The block of the canonical chain; undefined while there is none of this number. */
  blockByNumber(number: number): Promise<ExecutionBlock | undefined>
  blockByHash(hash: string): Promise<ExecutionBlock>
  /**
   * Balances before and after a block, address by address, by the word of a node: nothing here commits to them. Undefined where it does
   * not tell them, as most do of blocks long ago.
   */
  balanceChanges(
    addresses: readonly string[],
    block: Pick<BlockReference, 'hash' | 'parentHash'>,
  ): Promise<readonly (BalanceChange | undefined)[]>
  /** How the nodes are, as far as questions have shown it. */
  status(): readonly NodeStatus[]
}
