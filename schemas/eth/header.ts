import { bytesOf, type Hex, hexOf } from './hex.ts'
import { keccak256 } from './keccak.ts'
import { encodeRlp, rlpInteger } from './rlp.ts'

/** An execution header as JSON-RPC shows it. The fields of later forks are absent, or null, before them. */
export interface ExecutionHeader {
  readonly parentHash: string
  readonly sha3Uncles: string
  readonly miner: string
  readonly stateRoot: string
  readonly transactionsRoot: string
  readonly receiptsRoot: string
  readonly logsBloom: string
  readonly difficulty: string
  readonly number: string
  readonly gasLimit: string
  readonly gasUsed: string
  readonly timestamp: string
  readonly extraData: string
  readonly mixHash: string
  readonly nonce: string
  readonly baseFeePerGas?: string | null | undefined
  readonly withdrawalsRoot?: string | null | undefined
  readonly blobGasUsed?: string | null | undefined
  readonly excessBlobGas?: string | null | undefined
  readonly parentBeaconBlockRoot?: string | null | undefined
  readonly requestsHash?: string | null | undefined
}

const bytesField = (hex: string) => bytesOf(hex)
const integerField = (hex: string) => rlpInteger(BigInt(hex))

/** The block hash. A fork with a field that is not in `ExecutionHeader` has other hashes. */
export function headerHash(header: ExecutionHeader): Hex {
  return hexOf(keccak256(encodeHeader(header)))
}

/**
 * A header's fields as their RLP list (yellow paper, section 4.3; EIP-1559, EIP-4895, EIP-4844, EIP-4788, EIP-7685): what its hash
 * is taken of.
 */
export function encodeHeader(header: ExecutionHeader): Uint8Array {
  const { baseFeePerGas, withdrawalsRoot, blobGasUsed, excessBlobGas, parentBeaconBlockRoot, requestsHash } = header
  const ofLaterForks = [
    [baseFeePerGas, integerField],
    [withdrawalsRoot, bytesField],
    [blobGasUsed, integerField],
    [excessBlobGas, integerField],
    [parentBeaconBlockRoot, bytesField],
    [requestsHash, bytesField],
  ] as const
  return encodeRlp([
    bytesOf(header.parentHash),
    bytesOf(header.sha3Uncles),
    bytesOf(header.miner),
    bytesOf(header.stateRoot),
    bytesOf(header.transactionsRoot),
    bytesOf(header.receiptsRoot),
    bytesOf(header.logsBloom),
    integerField(header.difficulty),
    integerField(header.number),
    integerField(header.gasLimit),
    integerField(header.gasUsed),
    integerField(header.timestamp),
    bytesOf(header.extraData),
    bytesOf(header.mixHash),
    bytesOf(header.nonce),
    ...ofLaterForks.flatMap(([hex, toBytes]) => (typeof hex === 'string' ? [toBytes(hex)] : [])),
  ])
}
