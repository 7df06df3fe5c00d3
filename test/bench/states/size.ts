import { SLOTS_PER_EPOCH } from '../synthetic-registry.ts'

// What both the synthetic node of states and the program that it is asked by know.

/** How large a chain of states is made. */
export interface StateChainSize {
  readonly registry: number
  /** Of the registry; the others have left. */
  readonly active: number
  /** Epochs that can be ingested, from `FIRST_EPOCH` on. */
  readonly epochs: number
}

/** No period of a sync committee and no historical summary ends within the epochs behind it. */
export const FIRST_EPOCH = 1_040
/** The first day begins so many epochs behind the first, and the second so many before the last. */
const DAY_MARGIN_EPOCHS = 2
const DAY_SEC = 86_400
/** 2026-01-01 of UTC+8. */
const FIRST_DAY_SEC = 1_767_196_800

/** A clock by which one whole day lies within the epochs: slots last as long as that takes. */
export function clockOf({ epochs }: StateChainSize) {
  const slotsPerDay = SLOTS_PER_EPOCH * Math.max(1, epochs - 2 * DAY_MARGIN_EPOCHS - 1)
  const secondsPerSlot = Math.round(DAY_SEC / slotsPerDay)
  // In the midst of an epoch, as on mainnet.
  const firstSlotOfDay = SLOTS_PER_EPOCH * (FIRST_EPOCH + DAY_MARGIN_EPOCHS) + 15
  const genesisTimeSec = FIRST_DAY_SEC - firstSlotOfDay * secondsPerSlot
  return { genesisTimeSec, secondsPerSlot, slotsPerEpoch: SLOTS_PER_EPOCH }
}

/** Validators that are active, ascending and evenly spread over the registry. */
export function activeIndices({ registry, active }: StateChainSize): Uint32Array {
  return Uint32Array.from({ length: active }, (_, place) => Math.floor(((place + 0.5) * registry) / active))
}

const PUBKEY_BYTES = 48
const PUBKEY_FILLER = 0xb0
/** Odd, so that it makes another word of each index. */
const SCATTER = 0x9e37_79b1

/** Writes a public key: keys differ in their first four bytes, as real ones do; the last four are the index. */
export function writePubkey(index: number, bytes: Uint8Array, at: number): void {
  bytes.fill(PUBKEY_FILLER, at, at + PUBKEY_BYTES)
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, PUBKEY_BYTES)
  view.setUint32(0, Math.imul(index, SCATTER) >>> 0)
  view.setUint32(PUBKEY_BYTES - 4, index)
}

export function pubkeyBytes(index: number): Uint8Array {
  const bytes = new Uint8Array(PUBKEY_BYTES)
  writePubkey(index, bytes, 0)
  return bytes
}
