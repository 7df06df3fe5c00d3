import { expect, test } from 'vitest'
import { Standings } from '../../api/http/standings.ts'
import { horizonOf } from '../../api/rewards/horizon.ts'
import { untoldKeys } from '../../api/rewards/untold-keys.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import { followEpochs } from '../../ingest/epochs/epoch-follower.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { BEACON_CHAIN, chainTo, ofChain, trackValidators } from './follow-synthetic.ts'
import { projectEverything, projecting } from './projecting.ts'
import { pubkeyOf } from './synthetic-chain.ts'
import { storesOfFile } from './warehouse-of-file.ts'

// What is told of looks by who follows, as the tables have it, against the facts that accounts have in the same log.

/** The registry of the synthetic chain is smaller. */
const [NOBODY, NOBODY_ELSE] = [901, 902]
const stores = storesOfFile()

async function follow(eventLog: EventLog, epochs: number): Promise<void> {
  const stop = new AbortController()
  const onProgress = ({ nextEpoch }: { readonly nextEpoch: number }) => nextEpoch >= epochs && stop.abort()
  const { beacon } = chainTo(80)
  await followEpochs({ ...ofChain(BEACON_CHAIN, eventLog), beacon, startEpoch: 0, onProgress }, stop.signal)
}

test('keys are untold from the fact that tracks them on to the look that knows it, and found ones to the epoch behind that', async () => {
  const { warehouse, openLog } = stores()
  await using eventLog = await openLog()
  /** Indices of keys that the account's figures know nothing of, as far as these groups have read the log. */
  const untold = async (
    groups: readonly string[] = PROJECTORS.map(({ group }) => group),
  ): Promise<readonly number[]> => {
    const projectors = PROJECTORS.filter(({ group }) => groups.includes(group))
    await projectEverything(await projecting(eventLog, warehouse), projectors)
    const standing = await new Standings(warehouse).of(BEACON_CHAIN)
    const horizon = await horizonOf(standing)
    if (horizon === undefined) throw new Error('no horizon')
    const keys = await untoldKeys({ standing, account: 'a', shared: warehouse }, horizon)
    return [1, 5, NOBODY, NOBODY_ELSE].filter((index) => keys.has(pubkeyOf(index)))
  }
  await trackValidators(eventLog, [1, NOBODY], BEACON_CHAIN)
  await follow(eventLog, 3)
  expect(await untold()).toEqual([])
  await trackValidators(eventLog, [5, NOBODY_ELSE], BEACON_CHAIN)
  expect(await untold()).toEqual([5, NOBODY_ELSE])
  await follow(eventLog, 10)
  // It was looked for, and the tables have no epoch that is told with whom was found.
  expect(await untold(['validators'])).toEqual([5])
  expect(await untold()).toEqual([])
})
