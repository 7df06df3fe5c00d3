import { ssz } from '@lodestar/types'
import { expect, test } from 'vitest'
import { scanState } from '../../infra/beacon/state-columns.ts'
import { STATE_LAYOUTS } from '../../infra/beacon/state-layout.ts'

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

test('an inactivity score that no chain comes to is malformed', () => {
  const bytes = stateBytes([new Uint8Array(48).fill(1)], 7)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const at = view.getUint32(STATE_LAYOUTS.get('electra')?.at.get('inactivityScores') as number, true)
  view.setBigUint64(at, 2n ** 32n - 1n, true)
  expect([...scanState({ fork: 'electra', bytes, pubkeys: [] }).inactivityScores]).toEqual([2 ** 32 - 1])
  view.setBigUint64(at, 2n ** 32n, true)
  expect(() => scanState({ fork: 'electra', bytes, pubkeys: [] })).toThrow(
    expect.objectContaining({ code: 'node_malformed' }),
  )
})

test('the keys of a scanned state are there when what they were asked by is gone', () => {
  const key = new Uint8Array(48).fill(3)
  const asked = Buffer.from(key)
  const { keys } = scanState({ fork: 'electra', bytes: stateBytes([key], 7), pubkeys: [asked] })
  asked.fill(0)
  expect(keys.all.map(({ pubkey }) => [...pubkey])).toEqual([[...key]])
})
