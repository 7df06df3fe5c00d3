import { expect, it } from 'vitest'
import { formatLeg } from '../../commands/devnet-advance.ts'

const LEG = { fromSlot: 13_597, slot: 13_830, targetSlot: 79_133 }

it('counts the slots of time-lapse from where it began', () => {
  const leg = { ...LEG, targetSlot: LEG.fromSlot + 1_600 }
  const ofKnown = (slotsPerSecond: number) => formatLeg(leg, { slotsPerSecond, mayEndBefore: false })
  expect(ofKnown(170.4)).toBe('devnet: 233 of 1600 slots (14 %), slot 13830, 170 slots/s, 9 s left')
  expect(ofKnown(0)).toBe('devnet: 233 of 1600 slots (14 %), slot 13830, 0 slots/s')
})

it('tells no share and no remaining time of a maximum that it may end before', () => {
  expect(formatLeg(LEG, { slotsPerSecond: 17.1, mayEndBefore: true })).toBe(
    'devnet: 233 slots, at most 65536, slot 13830, 17 slots/s',
  )
})
