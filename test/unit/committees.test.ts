import { expect, test } from 'vitest'
import { Committees } from '../../schemas/eth/transition/committees.ts'
import type { ChainRules } from '../../schemas/eth/transition/fork-rules.ts'
import type { StateColumns } from '../../schemas/eth/transition/state-columns.ts'
import { stateOf } from './given-state.ts'

const RULES = {
  ...{ slotsPerEpoch: 32, epochsPerHistoricalVector: 64, minSeedLookahead: 1, shuffleRounds: 90 },
  ...{ targetCommitteeSize: 4, committeesPerSlotMax: 4 },
} as ChainRules
const VALIDATORS = 1_000
const EPOCH = 20
const UNSET = 0xffff_ffff
const MIX_BYTES = 32

/** A state behind the last slot of an epoch, of a chain on which validators come and go all the time, and where somebody has another mix. */
function stateBehind(epoch: number, { otherMixAt }: { readonly otherMixAt?: number } = {}): StateColumns {
  const randaoMixes = Uint8Array.from({ length: RULES.epochsPerHistoricalVector * MIX_BYTES }, (_, i) => (i * i) % 251)
  if (otherMixAt !== undefined) randaoMixes[otherMixAt * MIX_BYTES] = 255
  return {
    ...stateOf(epoch * 32 + 31).columns,
    ...{ validators: VALIDATORS, randaoMixes },
    activationEpochs: Uint32Array.from({ length: VALIDATORS }, (_, i) => i % 40),
    exitEpochs: Uint32Array.from({ length: VALIDATORS }, (_, i) => (i % 3 === 0 ? (i % 40) + 4 : UNSET)),
  }
}

const membersOf = (committees: Committees, epoch: number): readonly number[] =>
  Array.from({ length: RULES.slotsPerEpoch * committees.perSlot }, (_, place) => [
    ...committees.of(epoch * 32 + Math.floor(place / committees.perSlot), place % committees.perSlot),
  ]).flat()

test('committees that were drawn behind an epoch are those that the state behind the next one draws', async () => {
  const ahead = await Committees.behind(stateBehind(EPOCH), RULES)
  const next = stateBehind(EPOCH + 1)
  const drawn = Committees.of(next, RULES, EPOCH + 1)
  expect(membersOf(ahead, EPOCH + 1)).toEqual(membersOf(drawn, EPOCH + 1))
  expect(membersOf(ahead, EPOCH + 1)).toHaveLength(drawn.members)
  expect(Committees.of(next, RULES, EPOCH + 1, [ahead])).toBe(ahead)
})

test('they are not taken for another epoch, nor on a branch that has another mix', async () => {
  const ahead = await Committees.behind(stateBehind(EPOCH), RULES)
  expect(Committees.of(stateBehind(EPOCH + 1), RULES, EPOCH, [ahead])).not.toBe(ahead)
  // The seed of an epoch goes by the mix of two epochs before.
  const other = stateBehind(EPOCH + 1, { otherMixAt: EPOCH - 1 })
  expect(Committees.of(other, RULES, EPOCH + 1, [ahead])).not.toBe(ahead)
})

test('the state may be given back while they are drawn', async () => {
  const state = stateBehind(EPOCH)
  const coming = Committees.behind(state, RULES)
  state.activationEpochs.fill(UNSET)
  state.randaoMixes.fill(0)
  const drawn = Committees.of(stateBehind(EPOCH), RULES, EPOCH + 1)
  expect(membersOf(await coming, EPOCH + 1)).toEqual(membersOf(drawn, EPOCH + 1))
})
