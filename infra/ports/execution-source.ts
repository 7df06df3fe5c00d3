import type { ExecutionBlockData } from '../../schemas/events/execution-block.ts'

/**
 * What ingest needs of an execution node, nothing more.
 *
 * Guarantees: the block asked for by hash, with all its receipts, which agree with the header's receipts root; otherwise
 * an AppError as for BeaconSource. Transient faults were already retried, on the fallbacks too.
 */
export interface ExecutionSource extends AsyncDisposable {
  chainId(): Promise<number>
  blockByHash(hash: string): Promise<ExecutionBlockData>
}
