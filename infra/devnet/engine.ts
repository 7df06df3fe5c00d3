import type { deneb, electra } from '@lodestar/types'
import type { Hex } from '../../schemas/eth/hex.ts'
import type { Write } from './archive/archive.ts'

/** anvil keeps a few states more (anvil-process.ts). */
export const ROLLBACK_BLOCKS_MAX = 60

/** A withdrawal that the consensus side expects the payload to contain; amounts in gwei. */
export interface EngineWithdrawal {
  readonly index: number
  readonly validatorIndex: number
  readonly address: Hex
  readonly amountGwei: bigint
}

/** What a block's transactions depend on besides its parent. */
export interface BlockTurn {
  readonly slot: number
  /** Unix seconds of the slot's start; strictly greater than the parent's. */
  readonly timestampSec: number
  /** Where the proposer wants its execution rewards; in a builder block the coinbase is the builder's instead. */
  readonly feeRecipient: Hex
}

/** What the consensus side asks of the execution side for one slot. */
export interface PayloadRequest extends BlockTurn {
  /** Hash of the payload to build on: the engine's current head. */
  readonly parentHash: Hex
  /** Root of the parent beacon block (EIP-4788), part of the header. */
  readonly parentBeaconBlockRoot: Hex
  readonly prevRandao: Hex
  readonly proposerIndex: number
  readonly withdrawals: readonly EngineWithdrawal[]
  /**
   * The block that will most likely be asked for next, and soon: the engine may execute it while the consensus side is busy with this
   * one. When another one comes, it takes that back.
   */
  readonly next?: BlockTurn | undefined
}

/** A sealed execution block in the beacon block's terms, with its EIP-7685 requests. */
export interface BuiltPayload {
  readonly payload: deneb.ExecutionPayload
  readonly requests: electra.ExecutionRequests
  /** Commitments of the blobs that the payload's transactions carry, in order (EIP-4844). */
  readonly blobKzgCommitments: Uint8Array[]
}

/**
 * The execution half of the devnet: builds one real block per call on top of its head, and can step back for a reorg.
 * Blocks that were stepped over stay readable by hash. One call at a time.
 */
export interface ExecutionEngine extends AsyncDisposable {
  readonly chainId: number
  readonly depositContractAddress: Hex
  readonly genesisHash: Hex
  /** The genesis block as a payload header: fields of latest_execution_payload_header of the genesis state. */
  readonly genesisPayload: deneb.ExecutionPayload
  /** Of the block that the next one is built on. */
  readonly headHash: Hex
  build(request: PayloadRequest): Promise<BuiltPayload>
  /** Makes the block with this hash the head again (state and pending transactions included); at most `ROLLBACK_BLOCKS_MAX` back. */
  rollbackTo(blockHash: Hex): Promise<void>
  /**
   * Prepares what a restart needs to go on from the head, for the archive that the engine was opened with. Nothing rolls back below
   * this head any more.
   */
  checkpoint?(): Promise<Write>
}
