import { describe, expect, it } from 'vitest'
import type { EventLog } from '../../infra/ports/event-log.ts'
import { followEpochs } from '../../ingest/epochs/epoch-follower.ts'
import { type Damage, findDamage } from '../../ingest/repair/find-damage.ts'
import { repair } from '../../ingest/repair/repair.ts'
import { AppError } from '../../schemas/errors.ts'
import { BEACON_CHAIN, followBeacon, ofChain, trackValidators, until } from './follow-synthetic.ts'
import { failingAfter, standing, told } from './head-topics.ts'
import { dumpTables, openProcess, projectEverything, rebuildFrom } from './projecting.ts'
import { silentLog } from './silent-log.ts'
import { SLOTS_PER_EPOCH, SyntheticChain, syntheticChain } from './synthetic-chain.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const TEST_MS = 60_000
const never = new AbortController().signal
const stores = storesOfFile()
/** Slots of an hour: a day has 24 of them, and begins inside an epoch. */
const hourly = { ...syntheticChain, clock: { ...syntheticChain.clock, secondsPerSlot: 3_600 } }
const FORK_SLOT = 62
const FORK_EPOCH = Math.floor(FORK_SLOT / SLOTS_PER_EPOCH)
const HEAD_SLOT = 130
const FINAL_EPOCH = 30
const TRACKED = [0, 1, 2, 3]

/** Adds a branch of the chain behind the block before the fork, without some slots, and makes it the node's. */
function branch(chain: SyntheticChain, letter: string, missed: readonly number[]): void {
  let parent = `b${FORK_SLOT - 1}`
  for (let slot = FORK_SLOT; slot <= HEAD_SLOT; slot++) {
    if (missed.includes(slot)) continue
    chain.extend(`${letter}${slot}`, slot, parent)
    parent = `${letter}${slot}`
  }
  chain.finalizedEpoch = FINAL_EPOCH
}

const onWrong = (chain: SyntheticChain) => branch(chain, 'w', [66, 72])
const onRight = (chain: SyntheticChain) => branch(chain, 'c', [64, 71, 90])

function newChain(): SyntheticChain {
  const chain = new SyntheticChain()
  chain.extendRange(1, FORK_SLOT - 1, 'genesis')
  return chain
}

const beaconOf = (chain: SyntheticChain) => ({ ...chain.beacon, chain: async () => hourly })

/** Everything of the chain into the log, head and finality; each ends where it cannot go on. */
async function ingest(eventLog: EventLog, chain: SyntheticChain): Promise<void> {
  const beacon = beaconOf(chain)
  const stuck = () => {
    const stop = new AbortController()
    return { stop, log: { ...silentLog, warn: () => stop.abort() } }
  }
  const head = stuck()
  const options = { beacon, pollMs: 5, log: head.log }
  await followBeacon(eventLog, chain, until(HEAD_SLOT), options, head.stop.signal)
  const { stop, log } = stuck()
  const onProgress = ({ nextEpoch }: { readonly nextEpoch: number }) => nextEpoch >= FINAL_EPOCH && stop.abort()
  const shared = { ...ofChain(BEACON_CHAIN, eventLog), log, beacon }
  await followEpochs({ ...shared, startEpoch: 0, pollMs: 5, onProgress }, stop.signal)
}

const ofLog = (eventLog: EventLog, chain: SyntheticChain) => ({
  ...ofChain(BEACON_CHAIN, eventLog),
  beacon: beaconOf(chain),
})

const look = (eventLog: EventLog, chain: SyntheticChain, fromEpoch?: number): Promise<Damage> =>
  findDamage(ofLog(eventLog, chain), fromEpoch, never)

/** The tables of a log that has never had anything but the right chain. */
let right: Promise<Record<string, unknown[]>> | undefined
function expected(): Promise<Record<string, unknown[]>> {
  right ??= makeExpected()
  return right
}

async function makeExpected(): Promise<Record<string, unknown[]>> {
  const { warehouse, openLog, empty } = stores()
  await empty()
  await using eventLog = await openLog()
  await trackValidators(eventLog, TRACKED, BEACON_CHAIN)
  const chain = newChain()
  onRight(chain)
  await ingest(eventLog, chain)
  await projectEverything(await openProcess(eventLog, warehouse))
  const tables = await dumpTables(warehouse, { versions: false })
  expect(tables.closed_days?.length).toBeGreaterThan(2)
  expect(tables.settlements?.length).toBeGreaterThan(20)
  await empty()
  return tables
}

/** A log with orphaned epochs and blocks, and a node that has come to the right chain. */
async function orphaned(eventLog: EventLog): Promise<SyntheticChain> {
  await trackValidators(eventLog, TRACKED, BEACON_CHAIN)
  const chain = newChain()
  onWrong(chain)
  await ingest(eventLog, chain)
  onRight(chain)
  return chain
}

describe('a log with orphaned epochs', () => {
  it('ends in the tables of one that never had them, in a process that runs and in a rebuild', {
    timeout: TEST_MS,
  }, async () => {
    const tables = await expected()
    const { warehouse, openLog } = stores()
    await using eventLog = await openLog()
    const chain = await orphaned(eventLog)
    const process = await openProcess(eventLog, warehouse)
    await projectEverything(process)
    expect(await dumpTables(warehouse, { versions: false })).not.toEqual(tables)
    const damage = await look(eventLog, chain)
    expect(damage).toMatchObject({ fromEpoch: FORK_EPOCH, toEpoch: FINAL_EPOCH - 1, areEpochsWrong: true })
    expect(damage.orphaned).toEqual(Array.from({ length: FINAL_EPOCH - FORK_EPOCH }, (_, i) => FORK_EPOCH + i))
    await repair(ofLog(eventLog, chain), damage, 0, never)
    await ingest(eventLog, chain)
    await projectEverything(process)
    expect(await dumpTables(warehouse, { versions: false })).toEqual(tables)
    await rebuildFrom(eventLog, warehouse)
    expect(await dumpTables(warehouse, { versions: false })).toEqual(tables)
    await projectEverything(await openProcess(eventLog, warehouse))
    expect(await dumpTables(warehouse, { versions: false })).toEqual(tables)
    await expect(look(eventLog, chain)).resolves.toMatchObject({ areEpochsWrong: false, headBlocks: [] })
  })

  it('cannot go on before it was repaired, and names the command', { timeout: TEST_MS }, async () => {
    const { openLog } = stores()
    await using eventLog = await openLog()
    const chain = await orphaned(eventLog)
    chain.extendRange(HEAD_SLOT + 1, HEAD_SLOT + 8, `c${HEAD_SLOT}`)
    chain.finalizedEpoch = FINAL_EPOCH + 2
    const stop = new AbortController()
    const lines: string[] = []
    const hear = (_: object, line: string): void => {
      lines.push(line)
      stop.abort()
    }
    const options = ofLog(eventLog, chain)
    await followEpochs({ ...options, log: { ...options.log, warn: hear } }, stop.signal)
    expect(lines[0]).toContain('`epochline repair --chain mainnet`')
  })

  it('is found again and repaired whole when the repair was interrupted', { timeout: TEST_MS }, async () => {
    const tables = await expected()
    const { warehouse, openLog, empty } = stores()
    await empty()
    await using eventLog = await openLog()
    const chain = await orphaned(eventLog)
    const process = await openProcess(eventLog, warehouse)
    await projectEverything(process)
    const killed = new AppError('event_log', 'killed')
    for (let appends = 0; ; appends++) {
      const damage = await look(eventLog, chain)
      const writer = failingAfter(eventLog, appends, killed)
      const done = await repair({ ...ofLog(eventLog, chain), writer }, damage, 0, never).then(
        () => true,
        (error) => error !== killed,
      )
      // The program runs for a while after each.
      await ingest(eventLog, chain)
      if (done) break
    }
    await projectEverything(process)
    expect(await dumpTables(warehouse, { versions: false })).toEqual(tables)
  })
})

describe('looking for damage', () => {
  it('finds none in a log of the final chain, and repairs it only where it is asked to', {
    timeout: TEST_MS,
  }, async () => {
    const { openLog } = stores()
    await using eventLog = await openLog()
    const chain = newChain()
    onRight(chain)
    await ingest(eventLog, chain)
    await expect(look(eventLog, chain)).resolves.toMatchObject({ areEpochsWrong: false, orphaned: [], headBlocks: [] })
    await expect(look(eventLog, chain, 20)).resolves.toMatchObject({
      areEpochsWrong: true,
      fromEpoch: 20,
      orphaned: [],
      headBlocks: [],
    })
  })

  it('reverts blocks that finality has passed by, and leaves right epochs alone', { timeout: TEST_MS }, async () => {
    const { openLog } = stores()
    await using eventLog = await openLog()
    const chain = newChain()
    onWrong(chain)
    await followBeacon(eventLog, chain, until(HEAD_SLOT), { beacon: beaconOf(chain), pollMs: 5 })
    onRight(chain)
    const stop = new AbortController()
    const onProgress = ({ nextEpoch }: { readonly nextEpoch: number }) => nextEpoch >= FINAL_EPOCH && stop.abort()
    await followEpochs({ ...ofLog(eventLog, chain), startEpoch: 0, onProgress }, stop.signal)
    const damage = await look(eventLog, chain)
    expect(damage).toMatchObject({ areEpochsWrong: false, headAfter: { height: FORK_SLOT - 1 } })
    expect(damage.headBlocks[0]?.height).toBe(FORK_SLOT)
    await repair(ofLog(eventLog, chain), damage, 0, never)
    await followBeacon(eventLog, chain, until(HEAD_SLOT), { beacon: beaconOf(chain), pollMs: 5 })
    const names = await standing(eventLog, 'beacon.blocks')
    expect(names.filter((name) => name.startsWith('w'))).toEqual([])
    expect(names).toContain(`c${HEAD_SLOT}`)
    expect((await told(eventLog, 'log')).length).toBe(0)
  })

  it('refuses to judge epochs that the node does not call final yet, and an empty log', {
    timeout: TEST_MS,
  }, async () => {
    const { openLog } = stores()
    await using eventLog = await openLog()
    const chain = newChain()
    onRight(chain)
    await expect(look(eventLog, chain)).rejects.toMatchObject({ code: 'usage' })
    await ingest(eventLog, chain)
    chain.finalizedEpoch = FINAL_EPOCH - 3
    await expect(look(eventLog, chain)).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining('wait'),
    })
  })
})
