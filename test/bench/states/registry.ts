import { noise } from '../noise.ts'
import { activeIndices, FIRST_EPOCH, type StateChainSize, writePubkey } from './size.ts'

// A made-up registry as it lies in a state (consensus-specs, phase0 Validator). It does not change: nobody comes or goes, and no balance
// moves far enough to change an effective balance, which is looked after every epoch.

export const GWEI_PER_INCREMENT = 1_000_000_000
export const NO_ADDRESS_PREFIX = 0x00
export const ADDRESS_PREFIX = 0x01
export const COMPOUNDING_PREFIX = 0x02

const VALIDATOR_BYTES = 121
const AT = {
  credentials: 48,
  address: 60,
  effectiveBalance: 80,
  slashed: 88,
  eligibility: 89,
  activation: 97,
  exit: 105,
  withdrawable: 113,
} as const
const FAR_FUTURE = 2n ** 64n - 1n

/** Shares of those that are active: compounding, of 31 increments, without an address; the others have 32 increments and an address. */
const COMPOUNDING = 0.01
const SMALL = 0.03
const WITHOUT_ADDRESS = 0.05
const INCREMENTS = 32
const COMPOUNDING_INCREMENTS_MAX = 2_048
/** Of those that have left: slashed, and not yet withdrawable. */
const SLASHED = 0.0002
/** Half of EPOCHS_PER_SLASHINGS_VECTOR: so long before it is withdrawable, a slashed validator pays for the others. */
export const CORRELATION_EPOCHS = 4_096
/** The slashed are half-way to withdrawable in one of so many epochs. */
const CORRELATED_EPOCHS = 64

export interface MadeRegistry {
  readonly validators: number
  readonly bytes: Uint8Array
  readonly active: Uint32Array
  readonly slashed: Uint32Array
  /** Effective balances in units of 1e9 gwei. */
  readonly increments: Uint16Array
  readonly prefixes: Uint8Array
  /** Of the slashed; 0 of all others. */
  readonly withdrawableEpochs: Uint32Array
  readonly balancesGwei: Float64Array
}

export function makeRegistry(size: StateChainSize): MadeRegistry {
  const { registry: validators } = size
  const bytes = new Uint8Array(validators * VALIDATOR_BYTES)
  const view = new DataView(bytes.buffer)
  const increments = new Uint16Array(validators)
  const prefixes = new Uint8Array(validators)
  const withdrawableEpochs = new Uint32Array(validators)
  const balancesGwei = new Float64Array(validators)
  const active = activeIndices(size)
  const isActive = new Uint8Array(validators)
  for (const index of active) isActive[index] = 1
  const slashed: number[] = []
  for (let index = 0; index < validators; index++) {
    const at = index * VALIDATOR_BYTES
    writePubkey(index, bytes, at)
    const isSlashed = isActive[index] === 0 && noise(index, 0) < SLASHED
    const made = isActive[index] === 1 ? activeOne(index) : { prefix: ADDRESS_PREFIX, increments: isSlashed ? 31 : 0 }
    prefixes[index] = made.prefix
    increments[index] = made.increments
    // Above the effective balance by less than what would raise it.
    balancesGwei[index] =
      made.increments === 0 ? 0 : made.increments * GWEI_PER_INCREMENT + Math.floor(noise(index, 1) * 20_000_000)
    bytes[at + AT.credentials] = made.prefix
    view.setUint32(at + AT.address, index)
    view.setBigUint64(at + AT.effectiveBalance, BigInt(made.increments * GWEI_PER_INCREMENT), true)
    bytes[at + AT.slashed] = isSlashed ? 1 : 0
    if (isSlashed) {
      withdrawableEpochs[index] = FIRST_EPOCH + CORRELATION_EPOCHS + (slashed.length % CORRELATED_EPOCHS)
      slashed.push(index)
    }
    view.setBigUint64(at + AT.eligibility, 1n, true)
    view.setBigUint64(at + AT.activation, 2n, true)
    const [exit, withdrawable] =
      isActive[index] === 1 ? [FAR_FUTURE, FAR_FUTURE] : [300n, BigInt(withdrawableEpochs[index] || 556)]
    view.setBigUint64(at + AT.exit, exit, true)
    view.setBigUint64(at + AT.withdrawable, withdrawable, true)
  }
  const columns = { increments, prefixes, withdrawableEpochs, balancesGwei }
  return { validators, bytes, active, slashed: Uint32Array.from(slashed), ...columns }
}

function activeOne(index: number): { readonly prefix: number; readonly increments: number } {
  const luck = noise(index, 2)
  if (luck < COMPOUNDING) {
    const range = COMPOUNDING_INCREMENTS_MAX - INCREMENTS
    return { prefix: COMPOUNDING_PREFIX, increments: INCREMENTS + 1 + Math.floor(noise(index, 3) * range) }
  }
  if (luck < SMALL) return { prefix: ADDRESS_PREFIX, increments: INCREMENTS - 1 }
  return { prefix: luck < WITHOUT_ADDRESS ? NO_ADDRESS_PREFIX : ADDRESS_PREFIX, increments: INCREMENTS }
}

/** Throws where an effective balance would have to change (consensus-specs, process_effective_balance_updates). */
export function refuseNewEffectiveBalances({ increments, prefixes }: MadeRegistry, balancesGwei: Float64Array): void {
  for (let index = 0; index < increments.length; index++) {
    const effective = (increments[index] as number) * GWEI_PER_INCREMENT
    const balance = balancesGwei[index] as number
    const max = prefixes[index] === COMPOUNDING_PREFIX ? COMPOUNDING_INCREMENTS_MAX : INCREMENTS
    const rises = (increments[index] as number) < max && effective + 1.25 * GWEI_PER_INCREMENT < balance
    if (rises || balance + 0.25 * GWEI_PER_INCREMENT < effective)
      throw new Error(`validator ${index} has ${balance} gwei, which changes its effective balance of ${effective}`)
  }
}
