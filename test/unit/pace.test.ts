import { expect, it } from 'vitest'
import { restMs } from '../../processors/derivation-work.ts'
import { lingerMs } from '../../processors/loop/consume.ts'

it('lets events wait the longer the batch before them took, within bounds', () => {
  expect(lingerMs(0)).toBe(500)
  expect(lingerMs(50)).toBe(1_000)
  expect(lingerMs(60_000)).toBe(2_000)
})

it('lets a day that stays open rest the longer it took to derive, within bounds', () => {
  expect(restMs(0)).toBe(0)
  expect(restMs(100)).toBe(1_500)
  expect(restMs(60_000)).toBe(2_500)
})
