import { SLOTS_PER_EPOCH } from '@lodestar/params'
import { Type } from 'typebox'
import { Compile } from 'typebox/schema'
import type { Hex } from '../../../schemas/eth/hex.ts'

// EIP-3076: what a validator has signed elsewhere, so that nobody signs beside it.

const Decimal = Type.String({ pattern: '^[0-9]{1,20}$' })
const Pubkey = Type.String({ pattern: '^0x[0-9a-fA-F]{96}$' })
const Interchange = Type.Object({
  metadata: Type.Object({
    interchange_format_version: Type.Literal('5'),
    genesis_validators_root: Type.String({ pattern: '^0x[0-9a-fA-F]{64}$' }),
  }),
  data: Type.Array(
    Type.Object({
      pubkey: Pubkey,
      signed_blocks: Type.Array(Type.Object({ slot: Decimal })),
      signed_attestations: Type.Array(Type.Object({ source_epoch: Decimal, target_epoch: Decimal })),
    }),
  ),
})
const isInterchange = Compile(Interchange)

/** Up to where a validator may have signed: nothing at or below is signed again. -1 for nothing. */
export interface SignedUpTo {
  readonly blockSlot: number
  readonly targetEpoch: number
}

export const NOTHING_SIGNED: SignedUpTo = { blockSlot: -1, targetEpoch: -1 }

export type ReadInterchange =
  | { readonly status: 'read'; readonly signed: ReadonlyMap<Hex, SignedUpTo> }
  | { readonly status: 'refused'; readonly reason: string }

/** By lower-case public key; the highest of each is what counts (EIP-3076, conditions for minimal databases). */
export function readInterchange(text: string, genesisValidatorsRoot: Hex): ReadInterchange {
  const value = parseJson(text)
  if (!isInterchange.Check(value)) return { status: 'refused', reason: 'it is no interchange of EIP-3076, version 5' }
  if (value.metadata.genesis_validators_root.toLowerCase() !== genesisValidatorsRoot)
    return { status: 'refused', reason: 'it is of another network' }
  const signed = new Map<Hex, SignedUpTo>()
  for (const { pubkey, signed_blocks: blocks, signed_attestations: votes } of value.data) {
    const key = pubkey.toLowerCase() as Hex
    const before = signed.get(key) ?? NOTHING_SIGNED
    signed.set(key, {
      blockSlot: blocks.reduce((most, { slot }) => Math.max(most, Number(slot)), before.blockSlot),
      targetEpoch: votes.reduce((most, { target_epoch: epoch }) => Math.max(most, Number(epoch)), before.targetEpoch),
    })
  }
  return { status: 'read', signed }
}

/** Bounds in place of single signatures, as the format allows: who takes them over signs nothing at or below. */
export function writeInterchange(signed: ReadonlyMap<Hex, SignedUpTo>, genesisValidatorsRoot: Hex): string {
  const data = [...signed].map(([pubkey, { blockSlot, targetEpoch }]) => ({
    pubkey,
    signed_blocks: blockSlot < 0 ? [] : [{ slot: String(blockSlot) }],
    signed_attestations:
      targetEpoch < 0
        ? []
        : [{ source_epoch: String(Math.max(0, targetEpoch - 1)), target_epoch: String(targetEpoch) }],
  }))
  const metadata = { interchange_format_version: '5', genesis_validators_root: genesisValidatorsRoot }
  return JSON.stringify({ metadata, data })
}

/** Whatever was signed in slots up to this one lies below. */
export function signedUpTo(slot: number): SignedUpTo {
  return { blockSlot: slot, targetEpoch: Math.floor(slot / SLOTS_PER_EPOCH) }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
