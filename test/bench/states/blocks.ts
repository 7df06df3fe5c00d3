import type { BitArray } from '@chainsafe/ssz'
import { type fulu, ssz } from '@lodestar/types'
import type { attestationOf } from './votes.ts'

/** What a block is made of, beside what never changes. */
export interface BlockParts {
  readonly slot: number
  readonly proposerIndex: number
  readonly parentRoot: Uint8Array
  readonly attestations: readonly ReturnType<typeof attestationOf>[]
  readonly syncBits: BitArray
  readonly withdrawals: readonly { index: number; validatorIndex: number; amount: bigint }[]
  readonly transactions: readonly Uint8Array[]
  readonly randaoReveal: Uint8Array
}

/** A block whose state root is still to come. */
export interface OpenBlock {
  readonly message: fulu.BeaconBlock
  readonly bodyRoot: Uint8Array
}

/** A block as nodes tell it. */
export interface MadeBlock {
  readonly slot: number
  readonly root: Uint8Array
  readonly bytes: Uint8Array
}

export function openBlock(parts: BlockParts): OpenBlock {
  const { slot, proposerIndex, parentRoot, attestations, syncBits, withdrawals, transactions, randaoReveal } = parts
  const message = ssz.fulu.BeaconBlock.defaultValue()
  Object.assign(message, { slot, proposerIndex, parentRoot })
  const { body } = message
  Object.assign(body, { randaoReveal, attestations: [...attestations] })
  body.syncAggregate.syncCommitteeBits = syncBits
  // The hash stays zero: that names no execution block, whose revenue other benches measure.
  body.executionPayload.blockNumber = slot
  body.executionPayload.transactions = [...transactions]
  body.executionPayload.withdrawals = withdrawals.map((one) => ({ ...one, address: new Uint8Array(20) }))
  return { message, bodyRoot: ssz.fulu.BeaconBlockBody.hashTreeRoot(body) }
}

/** As it stands in the state behind it: without the root of that state. */
export function headerOf({ message, bodyRoot }: OpenBlock, stateRoot: Uint8Array = new Uint8Array(32)) {
  const { slot, proposerIndex, parentRoot } = message
  return { slot, proposerIndex, parentRoot, stateRoot, bodyRoot }
}

export function closeBlock(open: OpenBlock, stateRoot: Uint8Array): MadeBlock {
  open.message.stateRoot = stateRoot
  const root = ssz.phase0.BeaconBlockHeader.hashTreeRoot(headerOf(open, stateRoot))
  return {
    slot: open.message.slot,
    root,
    bytes: ssz.fulu.SignedBeaconBlock.serialize({ message: open.message, signature: new Uint8Array(96) }),
  }
}
