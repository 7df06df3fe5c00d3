import { setHasher } from '@chainsafe/persistent-merkle-tree'
import { hasher } from '@chainsafe/persistent-merkle-tree/hasher/hashtree'
import { activePreset } from '@lodestar/params'
import { type capella, type SignedBeaconBlock, ssz } from '@lodestar/types'
import { AppError } from '../../schemas/errors.ts'
import type { BeaconBlock } from '../ports/beacon-source.ts'
import { type BlockAnswer, malformed, parseJson, readBlock, toNumber } from './answers.ts'

// The native hasher makes the root of a full mainnet block in 2 ms instead of 12.
setHasher(hasher)

const ZERO_HASH = `0x${'00'.repeat(32)}`
const ZERO_ADDRESS = `0x${'00'.repeat(20)}`
/** Forks whose blocks carry their payload; later ones need rules of their own. */
const FORKS = ['phase0', 'altair', 'bellatrix', 'capella', 'deneb', 'electra', 'fulu'] as const
export type Fork = (typeof FORKS)[number]

/** The fork named by an answer; throws for one whose blocks this program cannot read. */
export function parseFork(name: unknown): Fork {
  const fork = FORKS.find((known) => known === name)
  if (fork === undefined) {
    throw new AppError('node_inconsistent', `blocks of the fork ${String(name).slice(0, 20)} are not supported`)
  }
  return fork
}

/**
 * Whether the node's preset is that of our SSZ types. If not, blocks are read as JSON and their roots asked for: the types
 * of another preset have other lengths.
 */
export function presetMatches(spec: Readonly<Record<string, string>>): boolean {
  return Object.entries(activePreset).every(([name, value]) => spec[name] === undefined || spec[name] === String(value))
}

/** A block from its SSZ bytes, its root computed from them. Throws AppError `node_malformed`. */
export function decodeBlock(fork: Fork, bytes: Uint8Array): BeaconBlock {
  try {
    return fromSsz(fork, ssz[fork].SignedBeaconBlock.deserialize(bytes))
  } catch {
    throw malformed(`the block is not SSZ of a ${fork} block (${bytes.length} bytes)`)
  }
}

/** A block from JSON; the root is computed when the fork's types fit, else it is left to the caller (undefined). */
export function decodeJsonBlock(bytes: Uint8Array, withRoot: boolean): Omit<BeaconBlock, 'root'> & { root?: string } {
  const answer = readBlock(bytes)
  if (!withRoot) return fromJson(answer)
  const fork = parseFork(answer.version)
  try {
    const { data } = parseJson('the block answer', bytes) as { data: unknown }
    return fromSsz(fork, ssz[fork].SignedBeaconBlock.fromJson(data))
  } catch {
    throw malformed(`the block is not a ${fork} block`)
  }
}

function hex(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`
}

function fromSsz(fork: Fork, { message }: SignedBeaconBlock): BeaconBlock {
  const { body } = message
  const payload = 'executionPayload' in body ? body.executionPayload : undefined
  const withdrawals =
    payload !== undefined && 'withdrawals' in payload ? (payload.withdrawals as capella.Withdrawals) : []
  const accused = new Set<number>()
  for (const slashing of body.proposerSlashings) accused.add(slashing.signedHeader1.message.proposerIndex)
  for (const { attestation1, attestation2 } of body.attesterSlashings) {
    const second = new Set(attestation2.attestingIndices)
    for (const index of attestation1.attestingIndices) if (second.has(index)) accused.add(index)
  }
  return {
    slot: message.slot,
    root: hex(ssz[fork].BeaconBlock.hashTreeRoot(message as never)),
    parentRoot: hex(message.parentRoot),
    proposerIndex: message.proposerIndex,
    executionBlockHash: payload === undefined ? ZERO_HASH : hex(payload.blockHash),
    executionBlockNumber: payload?.blockNumber ?? 0,
    feeRecipient: payload === undefined ? ZERO_ADDRESS : hex(payload.feeRecipient as Uint8Array),
    withdrawals: withdrawals.map((withdrawal) => ({
      index: withdrawal.index,
      validatorIndex: withdrawal.validatorIndex,
      address: hex(withdrawal.address as Uint8Array),
      amountGwei: withdrawal.amount,
    })),
    accusedIndices: ascending(accused),
  }
}

function fromJson({ data: { message } }: BlockAnswer): Omit<BeaconBlock, 'root'> {
  const { body } = message
  const payload = body.execution_payload
  const accused = new Set(body.proposer_slashings.map((s) => toNumber(s.signed_header_1.message.proposer_index)))
  for (const { attestation_1, attestation_2 } of body.attester_slashings) {
    const second = new Set(attestation_2.attesting_indices)
    for (const index of attestation_1.attesting_indices) if (second.has(index)) accused.add(toNumber(index))
  }
  return {
    slot: toNumber(message.slot),
    parentRoot: message.parent_root.toLowerCase(),
    proposerIndex: toNumber(message.proposer_index),
    executionBlockHash: payload?.block_hash.toLowerCase() ?? ZERO_HASH,
    executionBlockNumber: toNumber(payload?.block_number ?? '0'),
    feeRecipient: payload?.fee_recipient.toLowerCase() ?? ZERO_ADDRESS,
    withdrawals: (payload?.withdrawals ?? []).map((withdrawal) => ({
      index: toNumber(withdrawal.index),
      validatorIndex: toNumber(withdrawal.validator_index),
      address: withdrawal.address.toLowerCase(),
      amountGwei: BigInt(withdrawal.amount),
    })),
    accusedIndices: ascending(accused),
  }
}

function ascending(indices: ReadonlySet<number>): readonly number[] {
  return [...indices].sort((a, b) => a - b)
}

const DEPOSIT_BYTES = 192 // PendingDeposit: pubkey 48, withdrawal_credentials 32, amount 8, signature 96, slot 8
const PUBKEY_BYTES = 48

/** Pending deposits from SSZ (consensus-specs, electra: PendingDeposit), a list of entries of fixed size. */
export function decodePendingDeposits(bytes: Uint8Array) {
  if (bytes.length % DEPOSIT_BYTES !== 0) throw malformed('the pending deposits are not SSZ of whole entries')
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return Array.from({ length: bytes.length / DEPOSIT_BYTES }, (_, i) => {
    const at = i * DEPOSIT_BYTES
    return {
      pubkey: hex(bytes.subarray(at, at + PUBKEY_BYTES)),
      withdrawalCredentials: hex(bytes.subarray(at + 48, at + 80)),
      amountGwei: view.getBigUint64(at + 80, true),
      signature: hex(bytes.subarray(at + 88, at + 184)),
      slot: Number(view.getBigUint64(at + 184, true)),
    }
  })
}
