import { type SignedBeaconBlock, ssz } from '@lodestar/types'
import { bytesOfView } from '../../schemas/bytes-of-view.ts'
import { AppError } from '../../schemas/errors.ts'
import type { BlockAttestation, BlockOperations } from '../../schemas/eth/transition/block-operations.ts'
import { parseTransitionFork, type TransitionFork } from '../../schemas/eth/transition/fork-rules.ts'
import type { StateDeposit } from '../../schemas/eth/transition/state-columns.ts'

interface AttesterSlashing {
  readonly attestation1: { readonly attestingIndices: readonly number[] }
  readonly attestation2: { readonly attestingIndices: readonly number[] }
}

/** The slashings of a block's body, in any fork and preset. */
export interface SlashingsOfBlock {
  readonly proposerSlashings: readonly { readonly signedHeader1: { readonly message: { proposerIndex: number } } }[]
  readonly attesterSlashings: readonly AttesterSlashing[]
}

/** Whom an attester slashing accuses, ascending: who is in both of its attestations. */
export function accusedBy({ attestation1, attestation2 }: AttesterSlashing): readonly number[] {
  const second = new Set(attestation2.attestingIndices)
  return attestation1.attestingIndices.filter((index) => second.has(index)).sort((a, b) => a - b)
}

/** What is read of a block of any fork; later forks have more of it. */
interface Message {
  readonly slot: number
  readonly proposerIndex: number
  readonly body: SlashingsOfBlock & {
    readonly attestations: readonly {
      readonly aggregationBits: { readonly uint8Array: Uint8Array }
      readonly committeeBits?: { getTrueBitIndexes(): number[] }
      readonly data: {
        readonly slot: number
        readonly index: number
        readonly beaconBlockRoot: Uint8Array
        readonly target: { readonly epoch: number; readonly root: Uint8Array }
      }
    }[]
    readonly deposits: readonly { readonly data: DepositData }[]
    readonly syncAggregate: { readonly syncCommitteeBits: { readonly uint8Array: Uint8Array } }
    readonly executionPayload?: {
      readonly withdrawals?: readonly { index: number; validatorIndex: number; amount: bigint }[]
    }
    readonly blsToExecutionChanges?: readonly { readonly message: { readonly validatorIndex: number } }[]
    readonly executionRequests?: {
      readonly consolidations: readonly {
        sourceAddress: Uint8Array
        sourcePubkey: Uint8Array
        targetPubkey: Uint8Array
      }[]
    }
  }
}

interface DepositData {
  readonly pubkey: Uint8Array
  readonly withdrawalCredentials: Uint8Array
  readonly amount: number
  readonly signature: Uint8Array
}

/** What a block that a codec has read does to balances; it keeps nothing of the bytes that the block was read from. Throws AppError `usage` for a fork that is not known here. */
export function toBlockOperations(forkName: string, { message }: SignedBeaconBlock): BlockOperations {
  parseTransitionFork(forkName)
  return operationsOf(message as unknown as Message)
}

/**
 * What a serialized SignedBeaconBlock does to balances. Throws AppError `usage` for a fork that is not known here, `node_malformed` where the
 * bytes are no block of it.
 */
export function readBlockOperations(forkName: string, bytes: Uint8Array): BlockOperations {
  return operationsOf(messageOf(parseTransitionFork(forkName), bytes))
}

function messageOf(fork: TransitionFork, bytes: Uint8Array): Message {
  try {
    return ssz[fork].SignedBeaconBlock.deserialize(bytes).message as Message
  } catch (cause) {
    throw new AppError('node_malformed', `a block of the fork ${fork} cannot be read`, { retryable: true, cause })
  }
}

function operationsOf({ slot, proposerIndex, body }: Message): BlockOperations {
  return {
    slot,
    proposerIndex,
    withdrawals: (body.executionPayload?.withdrawals ?? []).map(({ index, validatorIndex, amount }) => ({
      index,
      validatorIndex,
      amountGwei: exactGwei(amount),
    })),
    proposerSlashings: body.proposerSlashings.map(({ signedHeader1 }) => signedHeader1.message.proposerIndex),
    attesterSlashings: body.attesterSlashings.map(accusedBy),
    attestations: body.attestations.map(toAttestation),
    deposits: body.deposits.map(({ data }) => toDeposit(data)),
    credentialChanges: (body.blsToExecutionChanges ?? []).map(({ message }) => message.validatorIndex),
    consolidationRequests: (body.executionRequests?.consolidations ?? []).map((request) => ({
      sourceAddress: copyOf(request.sourceAddress),
      sourcePubkey: copyOf(request.sourcePubkey),
      targetPubkey: copyOf(request.targetPubkey),
    })),
    syncBits: copyOf(body.syncAggregate.syncCommitteeBits.uint8Array),
  }
}

function toAttestation({
  aggregationBits,
  committeeBits,
  data,
}: Message['body']['attestations'][number]): BlockAttestation {
  return {
    slot: data.slot,
    committees: committeeBits?.getTrueBitIndexes() ?? [data.index],
    aggregationBits: copyOf(aggregationBits.uint8Array),
    beaconBlockRoot: copyOf(data.beaconBlockRoot),
    targetEpoch: data.target.epoch,
    targetRoot: copyOf(data.target.root),
  }
}

function toDeposit({ pubkey, withdrawalCredentials, amount, signature }: DepositData): StateDeposit {
  const [credentials, signedWith] = [copyOf(withdrawalCredentials), copyOf(signature)]
  return { pubkey: copyOf(pubkey), withdrawalCredentials: credentials, amountGwei: amount, signature: signedWith }
}

function copyOf(bytes: Uint8Array): Uint8Array {
  return bytesOfView(bytes).slice()
}

function exactGwei(amount: bigint): number {
  if (amount <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(amount)
  throw new AppError('node_malformed', `a withdrawal of ${amount} gwei is above what exists`)
}
