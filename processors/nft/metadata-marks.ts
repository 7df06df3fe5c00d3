import { bytesOf } from '../../schemas/eth/hex.ts'
import { decodeMetadataChange, type MetadataChange } from '../../schemas/eth/metadata-changes.ts'
import { WORD_BYTES } from '../../schemas/eth/words.ts'
import { bytesOfRow } from '../../schemas/events/columns.ts'
import { ADDRESS_BYTES } from '../../schemas/events/execution-block.ts'
import type { ExecutionLogsData } from '../../schemas/events/execution-logs.ts'
import { constantColumn, type TableRows, textColumn } from '../loop/rows.ts'

/**
 * Rows of `nft_tokens` and `nft_metadata_changes`, and which contracts they are of: what the role `metadata` finds its work by.
 * `transfers` are the rows that `transferRows` has made of the same part.
 */
export function metadataMarkRows(
  part: ExecutionLogsData,
  transfers: readonly TableRows[],
  version: bigint,
): readonly TableRows[] {
  const tokens = tokensOf(transfers)
  const changes = changesOf(part)
  const moved = distinct(tokens.map(({ contract }) => contract))
  const changed = distinct(changes.map(({ contract }) => contract))
  const { chain, number, hash, bucket } = part.header
  const marks = [...moved, ...changed]
  return [
    {
      table: 'nft_tokens',
      columns: {
        chain: textColumn(tokens.length, chain),
        contract: joined(tokens.map(({ contract }) => contract)),
        token_id: joined(tokens.map(({ tokenId }) => tokenId)),
        standard: tokens.map(({ standard }) => standard),
        version: constantColumn(tokens.length, version),
      },
    },
    {
      table: 'nft_metadata_changes',
      columns: {
        chain: textColumn(changes.length, chain),
        contract: joined(changes.map(({ contract }) => contract)),
        block_number: constantColumn(changes.length, BigInt(number)),
        block_hash: joined(changes.map(() => bytesOf(hash))),
        log_index: Uint32Array.from(changes, ({ logIndex }) => logIndex),
        event: changes.map(({ change }) => change.event),
        first_id: joined(changes.map(({ change }) => change.firstId)),
        last_id: joined(changes.map(({ change }) => change.lastId)),
        version: constantColumn(changes.length, version),
      },
    },
    {
      table: 'nft_marks',
      columns: {
        chain: textColumn(marks.length, chain),
        kind: [...textColumn(moved.length, 'moved'), ...textColumn(changed.length, 'changed')],
        contract: joined(marks),
        bucket: new Uint16Array(marks.length).fill(bucket),
        version: constantColumn(marks.length, version),
      },
    },
  ]
}

interface Token {
  readonly contract: Uint8Array
  readonly tokenId: Uint8Array
  readonly standard: string
}

/** Each token once, though it may be moved ten thousand times in a block. */
function tokensOf(transfers: readonly TableRows[]): readonly Token[] {
  const columns = transfers.find(({ table }) => table === 'nft_transfers')?.columns
  const contract = columns?.contract as Uint8Array | undefined
  const tokenId = columns?.token_id as Uint8Array | undefined
  const standard = columns?.standard as readonly string[] | undefined
  const tokens = new Map<string, Token>()
  if (contract === undefined || tokenId === undefined || standard === undefined) return []
  for (let row = 0; row < standard.length; row++) {
    const token = {
      contract: bytesOfRow(contract, row, ADDRESS_BYTES),
      tokenId: bytesOfRow(tokenId, row, WORD_BYTES),
      standard: standard[row] as string,
    }
    const key = Buffer.from(token.contract).toString('latin1') + Buffer.from(token.tokenId).toString('latin1')
    tokens.set(key, token)
  }
  return [...tokens.values()]
}

interface Changed {
  readonly contract: Uint8Array
  readonly logIndex: number
  readonly change: MetadataChange
}

function changesOf({ columns }: ExecutionLogsData): readonly Changed[] {
  const changes: Changed[] = []
  for (let row = 0; row < columns.logIndex.length; row++) {
    // The first piece of a long log has its topics, and what is read of it.
    if (columns.dataOffset[row] !== 0) continue
    const change = decodeMetadataChange({
      topics: columns.topics[row] as Uint8Array,
      data: columns.data[row] as Uint8Array,
    })
    if (change === undefined) continue
    const contract = bytesOfRow(columns.address, row, ADDRESS_BYTES)
    changes.push({ contract, logIndex: columns.logIndex[row] as number, change })
  }
  return changes
}

function distinct(contracts: readonly Uint8Array[]): readonly Uint8Array[] {
  return [...new Map(contracts.map((contract) => [Buffer.from(contract).toString('latin1'), contract])).values()]
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}
