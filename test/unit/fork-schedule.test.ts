import { describe, expect, test } from 'vitest'
import { openHttpBeaconSource } from '../../infra/beacon/http-source.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { ingestCursor } from '../../schemas/events/cursor.ts'
import { eventLogOfEachTest } from './event-log-of-each-test.ts'
import { BEACON_CHAIN, chainTo, eventsIn, followBeacon, until } from './follow-synthetic.ts'
import { silentLog } from './silent-log.ts'
import { type Answers, FAST, openNode } from './synthetic-beacon.ts'
import { syntheticChain } from './synthetic-chain.ts'

// A node's schedule of forks changes while it is asked.

const logOfTest = eventLogOfEachTest()
const SPEC = '/eth/v1/config/spec'
const PARAMETERS = { SECONDS_PER_SLOT: '12', SLOTS_PER_EPOCH: '32', DEPOSIT_CHAIN_ID: '7' }
const FAR = '18446744073709551615'
/** Genesis was in 1970: forks of epochs below some millions lie behind. */
const AHEAD = '500000000'

/** A node whose configuration has these lines too, or that does not tell it. */
const telling = (told: () => Readonly<Record<string, string>> | undefined): Answers => {
  return (path) => {
    if (path !== SPEC) return undefined
    const more = told()
    return more === undefined ? { status: 500, json: {} } : { json: { data: { ...PARAMETERS, ...more } } }
  }
}
const gloas = (epoch: string) => ({ GLOAS_FORK_EPOCH: epoch, GLOAS_FORK_VERSION: '0x07000000' })

describe('the schedule of forks', () => {
  test('is asked for again when it is old, and is then as the node tells it', async () => {
    let told: Readonly<Record<string, string>> | undefined = gloas(FAR)
    await using node = await openNode(telling(() => told))
    await using source = await openHttpBeaconSource({
      ...{ urls: [node.url], log: silentLog, limits: FAST, scheduleFreshMs: 0 },
    })
    const first = await source.chain()
    expect(first.forks.map(({ epoch }) => epoch)).toEqual([0])
    told = gloas(AHEAD)
    const planned = await source.chain()
    expect(planned.forks.at(-1)).toEqual({ version: '0x07000000', epoch: Number(AHEAD) })
    expect(planned).toEqual({ ...first, forks: planned.forks, spec: { ...first.spec, GLOAS_FORK_EPOCH: AHEAD } })
    told = gloas(FAR)
    expect((await source.chain()).forks).toEqual(first.forks)
  })

  test('is not asked for again while it is fresh', async () => {
    let asked = 0
    await using node = await openNode(telling(() => ({ asked: String(asked++) })))
    await using source = await openHttpBeaconSource({ urls: [node.url], log: silentLog, limits: FAST })
    for (let times = 0; times < 5; times++) await source.chain()
    expect(asked).toBe(1)
  })

  test('is that of before while no node tells it, or one tells another chain', async () => {
    let told: Readonly<Record<string, string>> | undefined = gloas(AHEAD)
    await using node = await openNode(telling(() => told))
    await using source = await openHttpBeaconSource({
      ...{ urls: [node.url], log: silentLog, limits: FAST, scheduleFreshMs: 0 },
    })
    const first = await source.chain()
    told = undefined
    expect(await source.chain()).toEqual(first)
    told = { SECONDS_PER_SLOT: '6' }
    expect(await source.chain()).toEqual(first)
  })

  test('keeps a fork that another node of an earlier release does not name', async () => {
    let isAway = false
    const first = telling(() => (isAway ? undefined : gloas(AHEAD)))
    await using node = await openNode(first)
    await using older = await openNode(telling(() => ({})))
    await using source = await openHttpBeaconSource({
      ...{ urls: [node.url, older.url], log: silentLog, limits: FAST, scheduleFreshMs: 0 },
    })
    const planned = await source.chain()
    isAway = true
    expect((await source.chain()).forks).toEqual(planned.forks)
  })
})

test('cursors say what is planned now, so that a restart does not take a postponed fork for another chain', async () => {
  const eventLog = logOfTest()
  const fork = (epoch: number) => [...syntheticChain.forks, { version: '0x02000000', epoch }]
  const chain = chainTo(6)
  // It was planned for an epoch that the chain has reached by now, and postponed before.
  let asked = 0
  const beacon = { ...chain.beacon, chain: async () => ({ ...syntheticChain, forks: fork(asked++ === 0 ? 0 : 1_000) }) }
  await followBeacon(eventLog, chain, until(6), { beacon, chain: BEACON_CHAIN, pollMs: 5 })
  const [newest] = (await eventsIn(eventLog, 'ingest.cursors')).slice(-1)
  if (newest === undefined) throw new Error('no cursor was written')
  expect(decodeEvent(ingestCursor, newest).identity).toContain('0x02000000@1000')
  await followBeacon(eventLog, chain, until(6), { beacon, chain: BEACON_CHAIN, pollMs: 5 })
})
