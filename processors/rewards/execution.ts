import type { StoredEvent } from '../../infra/ports/event-log.ts'
import { AppError } from '../../schemas/errors.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import { priorityFeesWei } from '../../schemas/eth/priority-fees.ts'
import { blockEvidence } from '../../schemas/events/block-evidence.ts'
import { chainOfEvent } from '../../schemas/events/chain-of-event.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import {
  type ExecutionBlockData,
  type ExecutionBlockHeader,
  executionBlock,
  executionBlockReverted,
  LOGS_CHECKS,
  type LogsCheck,
} from '../../schemas/events/execution-block.ts'
import { executionFinalized } from '../../schemas/events/execution-finality.ts'
import { constantColumn, type Projected, type TableRows, textColumn, versionOf } from '../loop/rows.ts'
import { evidenceColumns, evidenceRows, paymentRows } from './evidence-rows.ts'

const ZERO_ADDRESS = `0x${'0'.repeat(40)}`
/** Of blocks from before logs had events of their own, and of reverted ones. */
const LOG_PARTS_UNKNOWN = -1

/** Rows of one event of `execution.blocks`. */
function executionRows(stored: StoredEvent, chain: string): readonly TableRows[] {
  const version = versionOf(stored.position)
  switch (stored.event.type) {
    case executionBlock.name: {
      const block = decodeEvent(executionBlock, stored.event, chain)
      const { header, columns } = block
      return [
        {
          table: 'execution_blocks',
          columns: {
            chain: [chain],
            block_hash: [header.hash],
            block_number: BigUint64Array.of(BigInt(header.number)),
            time: Uint32Array.of(header.timestampSec),
            coinbase: [header.coinbase],
            extra_data: [header.extraData],
            ...evidenceColumns(block),
            transactions: Uint32Array.of(columns.gasUsed.length),
            base_fee_per_gas_wei: [BigInt(header.baseFeePerGasWei)],
            priority_fees_wei: [priorityFeesWei(block)],
            log_parts: Int32Array.of(header.logParts ?? LOG_PARTS_UNKNOWN),
            matches_hash: Uint8Array.of(block.earlier === undefined && block.header.matchesHash === true ? 1 : 0),
            version: BigUint64Array.of(version),
            is_deleted: Uint8Array.of(0),
          },
        },
        paymentRows(block, { chain, version }),
        ...senderRows(block, { chain, version }),
        heightRow({ ...header, chain, version }),
        ...weakRows({ ...header, chain, version }),
      ]
    }
    case executionBlockReverted.name: {
      const { number, hash } = decodeEvent(executionBlockReverted, stored.event, chain)
      return [
        {
          table: 'execution_blocks',
          columns: {
            chain: [chain],
            block_hash: [hash],
            block_number: BigUint64Array.of(BigInt(number)),
            time: Uint32Array.of(0),
            coinbase: [ZERO_ADDRESS],
            extra_data: ['0x'],
            names_builder: Uint8Array.of(0),
            pays_somebody: Uint8Array.of(0),
            has_evidence: Uint8Array.of(0),
            transactions: Uint32Array.of(0),
            base_fee_per_gas_wei: [0n],
            priority_fees_wei: [0n],
            log_parts: Int32Array.of(LOG_PARTS_UNKNOWN),
            matches_hash: Uint8Array.of(0),
            version: BigUint64Array.of(version),
            is_deleted: Uint8Array.of(1),
          },
        },
        {
          table: 'reverted_blocks',
          columns: {
            chain: [chain],
            block_number: BigUint64Array.of(BigInt(number)),
            block_hash: bytesOf(hash),
            is_reverted: Uint8Array.of(1),
            version: BigUint64Array.of(version),
          },
        },
        heightRow({ chain, number, hash, version }),
        ...WEAK_CHECKS.map((logsCheck) => weakRow({ chain, number, hash, logsCheck, version, isReverted: true })),
      ]
    }
    case blockEvidence.name:
      return evidenceRows(decodeEvent(blockEvidence, stored.event), version)
    default:
      throw new AppError('undecodable', `unknown event type ${stored.event.type} among the execution blocks`)
  }
}

/** Who has sent each transaction; events of the first version do not tell. */
function senderRows(
  block: ExecutionBlockData,
  { chain, version }: { readonly chain: string; readonly version: bigint },
): readonly TableRows[] {
  if (block.earlier !== undefined) return []
  const { header, columns } = block
  const rows = columns.gasUsed.length
  const hash = bytesOf(header.hash)
  const hashes = new Uint8Array(rows * hash.length)
  for (let row = 0; row < rows; row++) hashes.set(hash, row * hash.length)
  return [
    {
      table: 'execution_senders',
      columns: {
        chain: textColumn(rows, chain),
        block_number: constantColumn(rows, BigInt(header.number)),
        block_hash: hashes,
        transaction_index: Uint32Array.from({ length: rows }, (_, row) => row),
        sender: columns.sender,
        version: constantColumn(rows, version),
      },
    },
  ]
}

/** Of blocks that were checked by less than their receipts root: most chains have none. */
function weakRows(header: WeakBlock): readonly TableRows[] {
  return header.logsCheck === 'receipts' ? [] : [weakRow(header)]
}

const WEAK_CHECKS = LOGS_CHECKS.filter((check) => check !== 'receipts')

interface WeakBlock extends Pick<ExecutionBlockHeader, 'chain' | 'number' | 'hash'> {
  readonly logsCheck: LogsCheck
  readonly hasOutcomes?: boolean
  readonly version: bigint
  readonly isReverted?: boolean
}

function weakRow({
  chain,
  number,
  hash,
  logsCheck,
  hasOutcomes = false,
  version,
  isReverted = false,
}: WeakBlock): TableRows {
  return {
    table: 'weak_blocks',
    columns: {
      chain: [chain],
      block_number: BigUint64Array.of(BigInt(number)),
      block_hash: bytesOf(hash),
      logs_check: [logsCheck],
      has_outcomes: Uint8Array.of(hasOutcomes ? 1 : 0),
      version: BigUint64Array.of(version),
      is_deleted: Uint8Array.of(isReverted ? 1 : 0),
    },
  }
}

interface Height {
  readonly chain: string
  readonly number: number
  readonly hash: string
  /** Undefined where the block was reverted. */
  readonly parentHash?: string
  readonly timestampSec?: number
  readonly logParts?: number | undefined
  readonly version: bigint
}

function heightRow({ chain, number, hash, parentHash, timestampSec = 0, logParts, version }: Height): TableRows {
  return {
    table: 'execution_heights',
    columns: {
      chain: [chain],
      block_number: BigUint64Array.of(BigInt(number)),
      block_hash: [hash],
      parent_hash: [parentHash ?? ''],
      time: Uint32Array.of(timestampSec),
      log_parts: Int32Array.of(logParts ?? LOG_PARTS_UNKNOWN),
      version: BigUint64Array.of(version),
      is_deleted: Uint8Array.of(parentHash === undefined ? 1 : 0),
    },
  }
}

/** What one event of `execution.blocks` becomes. */
export function projectExecutionBlock(stored: StoredEvent, unnamedChain: string): Projected {
  const { event } = stored
  const chain = chainOfEvent(event, unnamedChain)
  if (event.type === executionFinalized.name) return { rows: [finalityRow(stored)] }
  // A block's time is its slot's, which is the time of both its events.
  const touched = { kind: 'execution block', chain, unixSec: Date.parse(event.time) / 1000 } as const
  return { rows: executionRows(stored, chain), touched }
}

function finalityRow(stored: StoredEvent): TableRows {
  const { chain, number, hash } = decodeEvent(executionFinalized, stored.event)
  return {
    table: 'execution_finality',
    columns: {
      chain: [chain],
      block_number: BigUint64Array.of(BigInt(number)),
      block_hash: [hash],
      version: BigUint64Array.of(versionOf(stored.position)),
    },
  }
}
