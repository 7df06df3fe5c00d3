import { SLOTS_PER_EPOCH } from '@lodestar/params'
import { type Hex, hexOf } from '../../../schemas/eth/hex.ts'
import type { BlockRecord, History, SlotRecord } from '../consensus/history.ts'
import { BeaconApiError } from './api-error.ts'

const ROOT = /^0x[0-9a-f]{64}$/i
const PUBKEY = /^0x[0-9a-f]{96}$/i
const NUMBER = /^(0|[1-9]\d{0,14})$/

export function parseNumber(name: string, text: string): number {
  if (!NUMBER.test(text)) throw new BeaconApiError(400, `Invalid ${name}: ${text.slice(0, 80)}`)
  return Number(text)
}

/** Slots up to this one are finalized: the first slot of the head's finalized epoch. */
export function finalizedSlot(history: History): number {
  return history.head.finality.finalized.epoch * SLOTS_PER_EPOCH
}

function checkpointBlock(history: History, root: Hex): BlockRecord {
  return history.blockByRoot(root) ?? history.genesisBlock // before the first checkpoint its root is zero
}

/** head, genesis, finalized, justified, a slot, or a root; 404 for what the chain does not have, 400 for anything else. */
export function findBlock(history: History, blockId: string): BlockRecord {
  const { finality, head } = history.head
  if (blockId === 'head') return head
  if (blockId === 'genesis') return history.genesisBlock
  if (blockId === 'finalized') return checkpointBlock(history, finality.finalized.root)
  if (blockId === 'justified') return checkpointBlock(history, finality.currentJustified.root)
  const known = ROOT.test(blockId)
    ? history.blockByRoot(blockId.toLowerCase() as Hex)
    : history.block(parseNumber('block_id', blockId))
  if (known === undefined) throw new BeaconApiError(404, 'Block not found')
  return known
}

/** As findBlock; a slot without a block has a state too. */
export function findState(history: History, stateId: string): SlotRecord {
  const { finality } = history.head
  const slot =
    stateId === 'head'
      ? history.headSlot
      : stateId === 'genesis'
        ? 0
        : stateId === 'finalized'
          ? finality.finalized.epoch * SLOTS_PER_EPOCH
          : stateId === 'justified'
            ? finality.currentJustified.epoch * SLOTS_PER_EPOCH
            : ROOT.test(stateId)
              ? history.slotOfState(stateId.toLowerCase() as Hex)
              : parseNumber('state_id', stateId)
  const record = slot === undefined ? undefined : history.slot(slot)
  if (record === undefined) throw new BeaconApiError(404, 'State not found')
  return record
}

/** Validator index by pubkey; the registry only grows, so what is known stays right. */
export class PubkeyIndex {
  readonly #indices = new Map<string, number>()

  indexOf(pubkey: string, registry: SlotRecord['registry']): number | undefined {
    for (let index = this.#indices.size; index < registry.length; index++)
      this.#indices.set(hexOf((registry[index] as { pubkey: Uint8Array }).pubkey), index)
    const index = this.#indices.get(pubkey.toLowerCase())
    return index === undefined || index >= registry.length ? undefined : index
  }

  /** Indices that the ids name, in the order given; ids of nobody are left out, all validators when there are no ids. */
  select(ids: readonly string[], registry: SlotRecord['registry']): readonly number[] {
    if (ids.length === 0) return Array.from(registry.keys())
    const selected = new Set<number>()
    for (const id of ids) {
      const index = PUBKEY.test(id) ? this.indexOf(id, registry) : parseNumber('validator id', id)
      if (index !== undefined && index < registry.length) selected.add(index)
    }
    return [...selected]
  }
}

/** `id=1,2&id=3` and its like, as a list. */
export function parseList(value: unknown): readonly string[] {
  if (value === undefined || value === null) return []
  const parts = Array.isArray(value) ? value : [value]
  return parts.flatMap((part) => String(part).split(',')).filter((part) => part !== '')
}

/** A JSON body that is a list of ids (strings, or numbers as some clients send them); nothing means no filter. */
export function parseIdBody(body: unknown): readonly string[] {
  if (body === undefined || body === null) return []
  const isId = (id: unknown) => typeof id === 'string' || typeof id === 'number'
  if (!Array.isArray(body) || !body.every(isId))
    throw new BeaconApiError(400, 'The body must be a list of validator ids')
  return body.map(String)
}
