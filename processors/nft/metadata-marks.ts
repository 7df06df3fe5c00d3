import { bytesOfView } from '../../schemas/bytes-of-view.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import { decodeMetadataChange, type MetadataChange } from '../../schemas/eth/metadata-changes.ts'
import { TOKEN_STANDARDS } from '../../schemas/eth/nft-transfers.ts'
import { WORD_BYTES } from '../../schemas/eth/words.ts'
import { bytesOfRow } from '../../schemas/events/columns.ts'
import { ADDRESS_BYTES } from '../../schemas/events/execution-block.ts'
import type { ExecutionLogsData } from '../../schemas/events/execution-logs.ts'
import { CodedTexts } from '../../schemas/tables/coded-texts.ts'
import { bytesColumn, uint16Column, uint32Column, uint64Column } from '../loop/column-memory.ts'
import { constantColumn, noRows, type TableRows, textColumn } from '../loop/rows.ts'
import { KeyTable } from './key-table.ts'

// In 32-bit words.
const ADDRESS = ADDRESS_BYTES / 4
const WORD = WORD_BYTES / 4
const TOKEN_KEY = ADDRESS + WORD

const SINGLE = TOKEN_STANDARDS.indexOf('ERC721')

/** What a mark is about. */
const MARKS = ['moved', 'changed'] as const

// Of the event at hand, their memory used again: contracts whose tokens have moved, or say that something has changed, and tokens.
const moved = new KeyTable(ADDRESS)
const changed = new KeyTable(ADDRESS)
const tokens = new KeyTable(TOKEN_KEY)
const key = new Uint32Array(TOKEN_KEY)

/**
 * Rows of `nft_tokens` and `nft_metadata_changes`, and which contracts they are of: what the role `metadata` finds its work by.
 * `transfers` are the rows that `transferRows` has made of the same part.
 */
export function metadataMarkRows(
  part: ExecutionLogsData,
  transfers: readonly TableRows[],
  version: bigint,
): readonly TableRows[] {
  const { chain, number, bucket } = part.header
  for (const table of [moved, changed]) table.clear()
  const ofTokens = tokenRows({ chain, number, version }, transfers)
  const changes = changeRows(part, version)
  const rows = moved.size + changed.size
  if (rows === 0) return []
  return [
    ofTokens,
    changes,
    {
      table: 'nft_marks',
      columns: {
        chain: textColumn(rows, chain),
        kind: new CodedTexts(MARKS, bytesColumn(rows).fill(1, moved.size)),
        contract: addresses([moved, changed]),
        bucket: uint16Column(rows).fill(bucket),
        version: constantColumn(rows, version),
      },
    },
  ]
}

interface OfBlock {
  readonly chain: string
  readonly number: number
  readonly version: bigint
}

/** Each token once, though it may be moved ten thousand times in a block. */
function tokenRows({ chain, number, version }: OfBlock, transfers: readonly TableRows[]): TableRows {
  const { columns = {} } = transfers.find(({ table }) => table === 'nft_transfers') ?? {}
  const { standard } = columns
  const bytes = [columns.contract, columns.token_id, columns.from_address, columns.to_address, columns.amount]
  if (!(standard instanceof CodedTexts && bytes.every((column) => column instanceof Uint8Array)))
    return noRows('nft_tokens')
  type Columns = readonly [Uint32Array, Uint32Array, Uint32Array, Uint32Array, Uint32Array]
  const [contracts, ids, from, to, amounts] = bytes.map(wordsOf) as unknown as Columns
  tokens.clear()
  const [standards, cameOrWent] = [bytesColumn(standard.length), bytesColumn(standard.length)]
  for (let row = 0; row < standard.length; row++) {
    // What only says whom another one goes to names no token.
    if (amounts[row * WORD] === 0 && standard.codes[row] === SINGLE) continue
    moved.numberOf(contracts, row * ADDRESS)
    for (let i = 0; i < ADDRESS; i++) key[i] = contracts[row * ADDRESS + i] as number
    for (let i = 0; i < WORD; i++) key[ADDRESS + i] = ids[row * WORD + i] as number
    const token = tokens.numberOf(key)
    standards[token] = standard.codes[row] as number
    if (isNobody(from, row) || isNobody(to, row)) cameOrWent[token] = 1
  }
  const rows = tokens.size
  const [contract, tokenId] = [uint32Column(rows * ADDRESS), uint32Column(rows * WORD)]
  const supplyBlock = uint64Column(rows)
  const block = BigInt(number)
  for (let row = 0; row < rows; row++) {
    const at = row * TOKEN_KEY
    for (let i = 0; i < ADDRESS; i++) contract[row * ADDRESS + i] = tokens.keys[at + i] as number
    for (let i = 0; i < WORD; i++) tokenId[row * WORD + i] = tokens.keys[at + ADDRESS + i] as number
    if (cameOrWent[row] === 1) supplyBlock[row] = block
  }
  return {
    table: 'nft_tokens',
    columns: {
      chain: textColumn(rows, chain),
      contract: bytesOfWords(contract),
      token_id: bytesOfWords(tokenId),
      supply_block: supplyBlock,
      standard: new CodedTexts(TOKEN_STANDARDS, standards.subarray(0, rows)),
      version: constantColumn(rows, version),
    },
  }
}

function isNobody(addresses: Uint32Array, row: number): boolean {
  for (let i = 0; i < ADDRESS; i++) if (addresses[row * ADDRESS + i] !== 0) return false
  return true
}

/** Words of a column that begins where words do. */
function wordsOf(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)
}

function bytesOfWords(words: Uint32Array): Uint8Array {
  return bytesOfView(words)
}

/** The keys of tables of addresses. */
function addresses(tables: readonly KeyTable[]): Uint8Array {
  const words = uint32Column(tables.reduce((sum, { size }) => sum + size * ADDRESS, 0))
  let end = 0
  for (const { keys, size } of tables) for (let i = 0; i < size * ADDRESS; i++) words[end++] = keys[i] as number
  return bytesOfWords(words)
}

interface Changed {
  readonly contract: Uint8Array
  readonly logIndex: number
  readonly change: MetadataChange
}

/** What logs say has changed. */
function changeRows(part: ExecutionLogsData, version: bigint): TableRows {
  const changes = changesOf(part)
  if (changes.length === 0) return noRows('nft_metadata_changes')
  const { chain, number, hash } = part.header
  const contracts = joined(changes.map(({ contract }) => contract))
  for (let row = 0; row < changes.length; row++) changed.numberOf(wordsOf(contracts), row * ADDRESS)
  return {
    table: 'nft_metadata_changes',
    columns: {
      chain: textColumn(changes.length, chain),
      contract: contracts,
      block_number: constantColumn(changes.length, BigInt(number)),
      block_hash: joined(changes.map(() => bytesOf(hash))),
      log_index: Uint32Array.from(changes, ({ logIndex }) => logIndex),
      event: changes.map(({ change }) => change.event),
      first_id: joined(changes.map(({ change }) => change.firstId)),
      last_id: joined(changes.map(({ change }) => change.lastId)),
      version: constantColumn(changes.length, version),
    },
  }
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

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}
