import type { StoredEvent } from '../../infra/ports/event-log.ts'
import { bytesOf, type Hex } from '../../schemas/eth/hex.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { ADDRESS_BYTES } from '../../schemas/events/execution-block.ts'
import {
  type ContractRead,
  contractRead,
  type TokenNotRead,
  type TokenRead,
  tokenNotRead,
  tokenRead,
} from '../../schemas/events/nft-metadata.ts'
import { listedDocument, listedState, type ToldDocument, type ToldState } from '../../schemas/nft/told-token.ts'
import { type Projected, type TableRows, versionOf } from '../loop/rows.ts'
import { nameRows } from './names.ts'

/** What one event of `nft.metadata` becomes. */
export function projectMetadata({ event, position }: StoredEvent): Projected {
  const version = versionOf(position)
  if (event.type === contractRead.name) {
    const read = decodeEvent(contractRead, event)
    return { rows: [contractRow(read, version), ...nameRows(read, version), positionRow(read, 'contracts', position)] }
  }
  if (event.type === tokenRead.name) {
    const read = decodeEvent(tokenRead, event)
    const state = { error: '', attempts: 0, nextRetrySec: 0 }
    return {
      rows: [...stateRows(read, state, version), documentRow(read, version), positionRow(read, 'tokens', position)],
    }
  }
  const failed = decodeEvent(tokenNotRead, event)
  return { rows: [...stateRows(failed, failed, version), positionRow(failed, 'tokens', position)] }
}

/** Whoever keeps what was told of contracts, or of tokens, learns from it that something else is. */
function positionRow(
  { chain }: Pick<ContractRead, 'chain'>,
  kind: 'contracts' | 'tokens',
  position: StoredEvent['position'],
): TableRows {
  return {
    table: 'nft_metadata_positions',
    columns: {
      chain: [chain],
      kind: [kind],
      bucket: Uint16Array.of(position.partition),
      version: BigUint64Array.of(versionOf(position)),
    },
  }
}

const NOBODY = new Uint8Array(ADDRESS_BYTES)
const UINT256_BYTES = 32

function contractRow(read: ContractRead, version: bigint): TableRows {
  return {
    table: 'nft_contracts',
    columns: {
      ...readAt(read),
      ...text('name', read.name),
      ...text('symbol', read.symbol),
      token_type: [read.tokenType ?? ''],
      total_supply: littleEndian(BigInt(read.totalSupply ?? 0)),
      has_total_supply: flag(read.totalSupply),
      deployer: read.deployer === null ? NOBODY : bytesOf(read.deployer),
      deploy_block: BigInt64Array.of(BigInt(read.deployBlock ?? -1)),
      deploy_reason: [read.deployReason ?? ''],
      version: BigUint64Array.of(version),
    },
  }
}

function documentRow(read: TokenRead, version: bigint): TableRows {
  const document: ToldDocument = {
    ...{ json: read.json, title: read.title, description: read.description },
    ...{ media: read.media, media_type: read.mediaType, media_external: read.mediaExternal },
    ...{ attributes: read.attributes, read_sec: read.atSec },
  }
  return toldRow(read, { kind: 'document', listed: listedDocument(document), whole: document }, version)
}

interface Told {
  readonly kind: 'document' | 'state'
  /** The same object where lists shorten nothing. */
  readonly listed: ToldDocument | ToldState
  readonly whole: ToldDocument | ToldState
}

function toldRow(
  { chain, contract, tokenId }: Pick<TokenRead, 'chain' | 'contract' | 'tokenId'>,
  { kind, listed, whole }: Told,
  version: bigint,
): TableRows {
  return {
    table: 'nft_token_told',
    columns: {
      chain: [chain],
      token: bytesOf(`${contract}${tokenId.slice(2)}` as Hex),
      kind: [kind],
      told: [JSON.stringify(listed)],
      whole: [listed === whole ? '' : JSON.stringify(whole)],
      version: BigUint64Array.of(version),
    },
  }
}

type State = Pick<TokenNotRead, 'attempts' | 'nextRetrySec'> & { readonly error: string }

/** Of who reads it again, and of answers. */
function stateRows(
  read: Pick<TokenNotRead, 'chain' | 'contract' | 'block' | 'atSec' | 'tokenId' | 'tokenUri'>,
  { error, attempts, nextRetrySec }: State,
  version: bigint,
): readonly TableRows[] {
  const state: ToldState = {
    ...{ token_uri: read.tokenUri, error: error === '' ? null : error, attempts },
    ...{ read_sec: read.atSec, retry_sec: nextRetrySec },
  }
  const row: TableRows = {
    table: 'nft_token_states',
    columns: {
      ...readAt(read),
      token_id: bytesOf(read.tokenId),
      ...text('token_uri', read.tokenUri),
      error: [error],
      attempts: Uint32Array.of(attempts),
      next_retry: Uint32Array.of(nextRetrySec),
      version: BigUint64Array.of(version),
    },
  }
  return [row, toldRow(read, { kind: 'state', listed: listedState(state), whole: state }, version)]
}

function readAt({ chain, contract, block, atSec }: Pick<ContractRead, 'chain' | 'contract' | 'block' | 'atSec'>) {
  return {
    chain: [chain],
    contract: bytesOf(contract),
    block_number: BigUint64Array.of(BigInt(block.number)),
    block_hash: bytesOf(block.hash),
    read_at: Uint32Array.of(atSec),
  }
}

/** A text that may be missing: empty then, as it may be where it is there. */
function text<Name extends string>(name: Name, value: string | null) {
  const columns = { [name]: [value ?? ''] } as Record<Name, string[]>
  return { ...columns, [`has_${name}`]: flag(value) }
}

function flag(value: string | null): Uint8Array {
  return Uint8Array.of(value === null ? 0 : 1)
}

function littleEndian(value: bigint): Uint8Array {
  const hex = value.toString(16).padStart(2 * UINT256_BYTES, '0')
  return new Uint8Array(Buffer.from(hex, 'hex').reverse())
}
