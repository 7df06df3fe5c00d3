import { expect, test } from 'vitest'
import { PATIENCE, tries } from '../long-form.ts'
import { rareEvents, sumEvents } from '../transition/history-events.ts'
import { explainHistories } from '../transition/spawn-histories.ts'

/** A minute of a core, where nothing else runs. */
const TIMEOUT_MS = 600_000 * PATIENCE
/** So often each event must have been met that can go wrong. */
const EVENTS_MIN = 50

test(
  'what is computed from states is what the reference state transition does to balances, step by step and through all forks',
  async () => {
    const minimal = await explainHistories({ preset: 'minimal', from: 0, seeds: tries(200, 5_000) })
    const mainnet = await explainHistories({ preset: 'mainnet', from: 0, seeds: tries(5, 100) })
    expect(rareEvents(sumEvents([minimal, mainnet]), EVENTS_MIN)).toEqual([])
  },
  TIMEOUT_MS,
)
