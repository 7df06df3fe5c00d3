import { expect, test } from 'vitest'
import { isNamedBy, refuseOtherBranch } from '../../infra/beacon/state-branch.ts'
import type { ReadState } from '../../infra/beacon/state-reader.ts'
import { rootOf, stateOf } from './given-state.ts'

const SLOTS = 64

/** A vector that has one root, in the place of a slot. */
function rootsWith(slot: number, root: string): Uint8Array {
  const roots = new Uint8Array(32 * SLOTS)
  roots.set(Buffer.from(root.slice(2), 'hex'), 32 * (slot % SLOTS))
  return roots
}

function naming(slot: number, roots: { readonly block?: Uint8Array; readonly state?: Uint8Array }): ReadState {
  const state = stateOf(slot)
  const { block: blockRoots = state.columns.blockRoots, state: stateRoots = state.stateRoots } = roots
  return { ...state, stateRoots, columns: { ...state.columns, blockRoots } }
}

test('two states are of one branch where the later names the block of the earlier, in its own slot', () => {
  const earlier = stateOf(95, rootOf(93))
  const withBlock = (slot: number, root: string) => naming(127, { block: rootsWith(slot, root) })
  expect(() => refuseOtherBranch(earlier, withBlock(95, rootOf(93)))).not.toThrow()
  expect(() => refuseOtherBranch(earlier, withBlock(95, rootOf(94)))).toThrow(
    /slots 95 and 127 are of different branches/,
  )
  expect(() => refuseOtherBranch(earlier, withBlock(94, rootOf(93)))).toThrow(/different branches/)
})

test('a later state names an earlier one by its root, as long as its roots reach back', () => {
  const earlier = stateOf(95)
  expect(isNamedBy(naming(127, { state: rootsWith(95, earlier.stateRoot) }), earlier)).toBe(true)
  expect(() => isNamedBy(naming(127, { state: rootsWith(95, rootOf(1)) }), earlier)).toThrow(/did not have/)
  expect(isNamedBy(naming(95 + SLOTS, { state: rootsWith(95, earlier.stateRoot) }), earlier)).toBe(true)
  expect(isNamedBy(naming(96 + SLOTS, { state: rootsWith(95, earlier.stateRoot) }), earlier)).toBe(false)
})
