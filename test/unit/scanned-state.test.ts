import { ssz } from '@lodestar/types'
import { expect, test } from 'vitest'
import { scanState } from '../../infra/beacon/state-columns.ts'

const ROOT_BYTES = 32

/** A state of as many validators as keys are given, whose withdrawal credentials are filled with one byte. */
function stateBytes(keys: readonly Uint8Array[], filledWith: number): Uint8Array {
  const state = ssz.electra.BeaconState.defaultValue()
  const withdrawalCredentials = new Uint8Array(ROOT_BYTES).fill(filledWith)
  for (const pubkey of keys) {
    state.validators.push({ ...ssz.phase0.Validator.defaultValue(), pubkey, withdrawalCredentials })
    state.balances.push(32e9)
    state.previousEpochParticipation.push(5)
    state.currentEpochParticipation.push(0)
    state.inactivityScores.push(0)
  }
  const [first] = keys
  if (first !== undefined) state.currentSyncCommittee.pubkeys.fill(first)
  return ssz.electra.BeaconState.serialize(state)
}

test('a scanned state keeps nothing of its bytes, which are written over by the next one', () => {
  const keys = [1, 2, 3].map((byte) => new Uint8Array(48).fill(byte))
  const bytes = Buffer.from(stateBytes(keys, 7))
  const scanned = scanState({ fork: 'electra', bytes, pubkeys: keys })
  bytes.fill(0)
  const credentials = keys.map((_, index) => [...scanned.credentialsOf(index)])
  expect(credentials).toEqual(keys.map(() => Array<number>(ROOT_BYTES).fill(7)))
  expect([...scanned.previousParticipation]).toEqual([5, 5, 5])
})
