import { expect, test } from 'vitest'
import { tries } from '../long-form.ts'
import { rareEvents, sumEvents } from '../transition/history-events.ts'
import { explainHistories } from '../transition/spawn-histories.ts'

/** So often each event must have been met that can go wrong. */
const EVENTS_MIN = 50

test('what is computed from states is what the reference state transition does to balances, step by step and through all forks', async () => {
  const [minimal, mainnet] = await Promise.all([
    explainHistories({ preset: 'minimal', from: 0, seeds: tries(200, 5_000) }),
    explainHistories({ preset: 'mainnet', from: 0, seeds: tries(5, 100) }),
  ])
  expect(rareEvents(sumEvents([minimal, mainnet]), EVENTS_MIN)).toEqual([])
})
