import { BitVectorType } from '@chainsafe/ssz'
import { activePreset } from '@lodestar/params'
import { ArrayOf, type SignedBeaconBlock, ssz } from '@lodestar/types'
import { AppError } from '../../schemas/errors.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { parseJson } from '../nodes/json.ts'
import type { BeaconBlock } from '../ports/beacon-source.ts'
import { accusedBy, type SlashingsOfBlock } from './block-operations.ts'
import { blockRoot, FORKS } from './block-root.ts'
import { documented, jsonAt, readJson } from './route.ts'

const ZERO_HASH = `0x${'00'.repeat(32)}`
const ZERO_ADDRESS = `0x${'00'.repeat(20)}`

/**
 * Whether the node's preset is that of our SSZ types. If not, blocks are read as JSON and their roots asked for: the types
 * of another preset have other lengths, and one process has one preset.
 */
export function presetMatches(spec: Readonly<Record<string, string>>): boolean {
  return Object.entries(activePreset).every(([name, value]) => spec[name] === undefined || spec[name] === String(value))
}

/** The parts that leave the source of a block that a codec has read; its root is computed from the whole of it. */
export function toBeaconBlock(version: string, { message }: SignedBeaconBlock): BeaconBlock {
  const fork = FORKS.find((known) => known === version)
  if (fork === undefined) throw new AppError('node_inconsistent', `blocks of the fork ${version} are not supported`)
  return { ...partsOf(message), root: hexOf(blockRoot(fork, message)) }
}

/** What is read of a block of any fork and preset. */
interface BlockMessage {
  readonly slot: number
  readonly proposerIndex: number
  readonly parentRoot: Uint8Array
  readonly body: SlashingsOfBlock & {
    readonly syncAggregate?: { readonly syncCommitteeBits: { readonly uint8Array: Uint8Array } }
    readonly executionPayload?: {
      readonly blockHash: Uint8Array
      readonly blockNumber: number
      readonly feeRecipient: Uint8Array
      readonly withdrawals?: readonly { index: number; validatorIndex: number; address: Uint8Array; amount: bigint }[]
    }
  }
}

function partsOf(message: BlockMessage): Omit<BeaconBlock, 'root'> {
  const { syncAggregate, executionPayload } = message.body
  return {
    slot: message.slot,
    parentRoot: hexOf(message.parentRoot),
    proposerIndex: message.proposerIndex,
    executionBlockHash: executionPayload === undefined ? ZERO_HASH : hexOf(executionPayload.blockHash),
    executionBlockNumber: executionPayload?.blockNumber ?? 0,
    feeRecipient: executionPayload === undefined ? ZERO_ADDRESS : hexOf(executionPayload.feeRecipient),
    withdrawals: (executionPayload?.withdrawals ?? []).map((withdrawal) => ({
      index: withdrawal.index,
      validatorIndex: withdrawal.validatorIndex,
      address: hexOf(withdrawal.address),
      amountGwei: withdrawal.amount,
    })),
    // Copied: the codec's is a view that would keep the whole block in memory.
    syncBits: Uint8Array.from(syncAggregate?.syncCommitteeBits.uint8Array ?? []),
    accusedIndices: accusedIn(message.body),
  }
}

function accusedIn({ proposerSlashings, attesterSlashings }: BlockMessage['body']): readonly number[] {
  const accused = new Set(proposerSlashings.map(({ signedHeader1 }) => signedHeader1.message.proposerIndex))
  for (const slashing of attesterSlashings) for (const index of accusedBy(slashing)) accused.add(index)
  return [...accused].sort((a, b) => a - b)
}

/**
 * A block of another preset from JSON: of its types those that have one length in every preset, and a vector of as many bits
 * as the chain's sync committee has seats. Throws AppError `node_malformed`.
 */
export function decodeForeignBlock(bytes: Uint8Array, syncCommitteeSize: number): Omit<BeaconBlock, 'root'> {
  const json = parseJson('the block answer', bytes)
  return documented('a block', () => {
    const message = jsonAt(json, 'data', 'message')
    const body = jsonAt(message, 'body')
    const syncBits = optional(body, 'sync_aggregate', (aggregate) => {
      return readJson(new BitVectorType(syncCommitteeSize), jsonAt(aggregate, 'sync_committee_bits'))
    })
    const executionPayload = optional(body, 'execution_payload', readPayload)
    return partsOf({
      slot: readJson(ssz.Slot, jsonAt(message, 'slot')),
      proposerIndex: readJson(ssz.ValidatorIndex, jsonAt(message, 'proposer_index')),
      parentRoot: readJson(ssz.Root, jsonAt(message, 'parent_root')),
      body: {
        proposerSlashings: readJson(ArrayOf(ssz.phase0.ProposerSlashing), jsonAt(body, 'proposer_slashings')),
        attesterSlashings: readJson(ArrayOf(ssz.electra.AttesterSlashing), jsonAt(body, 'attester_slashings')),
        ...(syncBits === undefined ? {} : { syncAggregate: { syncCommitteeBits: syncBits } }),
        ...(executionPayload === undefined ? {} : { executionPayload }),
      },
    })
  })
}

function readPayload(payload: unknown) {
  const withdrawals = optional(payload, 'withdrawals', (list) => readJson(ArrayOf(ssz.capella.Withdrawal), list))
  return {
    blockHash: readJson(ssz.Bytes32, jsonAt(payload, 'block_hash')),
    blockNumber: readJson(ssz.UintNum64, jsonAt(payload, 'block_number')),
    feeRecipient: readJson(ssz.ExecutionAddress, jsonAt(payload, 'fee_recipient')),
    ...(withdrawals === undefined ? {} : { withdrawals }),
  }
}

/** A member that earlier forks do not have. */
function optional<Value>(json: unknown, key: string, read: (value: unknown) => Value): Value | undefined {
  return Object.hasOwn(json as object, key) ? read(jsonAt(json, key)) : undefined
}
