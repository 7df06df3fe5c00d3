import type { ReadState } from '../../infra/beacon/state-reader.ts'
import { ValidatorKeys } from '../../infra/beacon/validator-keys.ts'

export const KEY = new Uint8Array(48).fill(7)
export const STRANGER = new Uint8Array(48).fill(8)

export const rootOf = (name: number): string => `0x${name.toString(16).padStart(64, '0')}`

/** A state of three validators, with another value in each place. */
export function stateOf(slot: number, blockRoot = rootOf(slot)): ReadState {
  const keys = new ValidatorKeys([
    { pubkey: KEY, validator: { index: 2, credentials: new Uint8Array(32).fill(9) } },
    { pubkey: STRANGER, validator: undefined },
  ])
  const epochs = (first: number) => Uint32Array.from([first, first + 1, 0xffff_ffff])
  // The mixes of the last epochs are kept, the others are not needed.
  const randaoMixes = new Uint8Array(64 * 32).fill(0)
  randaoMixes.fill(5, 32 * Math.floor(slot / 32), 32 * Math.floor(slot / 32) + 32)
  return {
    ...{ slot, blockRoot, stateRoot: rootOf(slot + 1_000), isAnchored: true },
    stateRoots: new Uint8Array(64).fill(3),
    columns: {
      ...{ slot, fork: 'fulu', validators: 3, keys, slashingsGwei: 2n ** 60n },
      balancesGwei: Float64Array.of(0, 32_000_000_001, Number.MAX_SAFE_INTEGER),
      effectiveIncrements: Uint16Array.of(0, 32, 2048),
      slashed: Uint8Array.of(0, 1, 0),
      eligibilityEpochs: epochs(1),
      activationEpochs: epochs(70_000),
      exitEpochs: epochs(2 ** 31),
      withdrawableEpochs: epochs(9),
      credentialPrefixes: Uint8Array.of(0, 1, 2),
      previousParticipation: Uint8Array.of(7, 6, 5),
      currentParticipation: Uint8Array.of(4, 3, 2),
      inactivityScores: Uint32Array.of(0, 4, 2 ** 32 - 1),
      checkpoints: { justificationBits: 15, previousJustifiedEpoch: 1, currentJustifiedEpoch: 2, finalizedEpoch: 0 },
      blockRoots: new Uint8Array(64).fill(4),
      randaoMixes,
      proposerLookahead: Uint32Array.of(2, 1, 2),
      syncSeats: Uint32Array.of(2, 0, 2),
      queues: {
        deposits: [
          {
            pubkey: KEY,
            withdrawalCredentials: new Uint8Array(32).fill(1),
            amountGwei: 5,
            signature: new Uint8Array(96).fill(6),
            slot: 0,
          },
        ],
        partials: [{ validatorIndex: 1, amountGwei: 2, withdrawableEpoch: 3 }],
        consolidations: [{ sourceIndex: 1, targetIndex: 2 }],
        depositBalanceToConsumeGwei: 2n ** 63n,
        eth1DepositIndex: 4n,
        depositRequestsStartIndex: 2n ** 64n - 1n,
      },
      indexOf: (pubkey) => keys.indexOf(pubkey),
      credentialsOf: (index) => keys.credentialsOf(index),
    },
  }
}

const VALIDATORS_LARGE = 1_000_000

/** A state whose file takes a while to be written: balances follow from the slot, and are as random as bytes get. */
export function largeStateOf(slot: number): ReadState {
  const state = stateOf(slot)
  let last = slot
  const balancesGwei = Float64Array.from({ length: VALIDATORS_LARGE }, () => {
    last = (Math.imul(last, 1_664_525) + 1_013_904_223) >>> 0
    return last * 2 ** 20 + (last >>> 12)
  })
  return { ...state, columns: { ...state.columns, balancesGwei } }
}
