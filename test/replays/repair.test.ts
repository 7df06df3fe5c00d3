import { describe, expect, it } from 'vitest'
import type { EventLog, Offsets } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { timeOfSlot } from '../../ingest/beacon-head/block-events.ts'
import { Cursor } from '../../ingest/cursor.ts'
import { followEpochs } from '../../ingest/epochs/epoch-follower.ts'
import { HEAD_CURSOR } from '../../ingest/head/head-log.ts'
import { type Damage, findDamage } from '../../ingest/repair/find-damage.ts'
import { repair } from '../../ingest/repair/repair.ts'
import { openLogFacts } from '../../processors/loop/log-facts.ts'
import { findMissing } from '../../processors/verify/find-missing.ts'
import { AppError } from '../../schemas/errors.ts'
import { formatBeaconIdentity } from '../../schemas/eth/chain-identity.ts'
import { epochBlocks } from '../../schemas/events/beacon-epoch.ts'
import { decodeEvent, encodeEvent, type Topic } from '../../schemas/events/codec.ts'
import { TOPICS } from '../../schemas/events/envelope.ts'
import { epochsRetracted } from '../../schemas/events/log-facts.ts'
import { BEACON_CHAIN, eventsIn, followBeacon, ofChain, trackValidators, until } from '../unit/follow-synthetic.ts'
import { failingAfter, standing, told } from '../unit/head-topics.ts'
import { dumpTables, openProcess, projectEverything, rebuildFrom } from '../unit/projecting.ts'
import { silentLog } from '../unit/silent-log.ts'
import { SLOTS_PER_EPOCH, SyntheticChain, syntheticChain } from '../unit/synthetic-chain.ts'
import { storesOfFile } from '../unit/warehouse-of-file.ts'

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
    const warn = (_: object, line: string) => (line.includes('waits: ') ? stop.abort() : undefined)
    return { stop, log: { ...silentLog, warn } }
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

/** What the tables say of what was not taken back. */
async function tablesNow(warehouse: Warehouse): Promise<Record<string, unknown[]>> {
  const { reverted_blocks: _, ...tables } = await dumpTables(warehouse, { versions: false })
  return tables
}

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
  const tables = await tablesNow(warehouse)
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
    expect(await tablesNow(warehouse)).not.toEqual(tables)
    const damage = await look(eventLog, chain)
    expect(damage).toMatchObject({ fromEpoch: FORK_EPOCH, toEpoch: FINAL_EPOCH - 1, areEpochsWrong: true })
    expect(damage.orphaned).toEqual(Array.from({ length: FINAL_EPOCH - FORK_EPOCH }, (_, i) => FORK_EPOCH + i))
    await repair(ofLog(eventLog, chain), damage, 0, never)
    await ingest(eventLog, chain)
    await projectEverything(process)
    expect(await tablesNow(warehouse)).toEqual(tables)
    await rebuildFrom(eventLog, warehouse)
    expect(await tablesNow(warehouse)).toEqual(tables)
    await projectEverything(await openProcess(eventLog, warehouse))
    expect(await tablesNow(warehouse)).toEqual(tables)
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
      if (!line.includes('waits: ')) return
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
    expect(await tablesNow(warehouse)).toEqual(tables)
  })
})

/** What `verify` says of epochs that were taken back. */
async function verifyLines(eventLog: EventLog, warehouse: Warehouse): Promise<readonly string[]> {
  const unprocessed = await untilProcessed(eventLog)
  const { missing } = await findMissing({
    eventLog,
    warehouse,
    unprocessed,
    chain: '',
    again: async () => false,
    signal: never,
  })
  return missing.map(({ what }) => what).filter((what) => what.includes('taken back'))
}

async function untilProcessed(eventLog: EventLog) {
  const ends = new Map<Topic, Offsets>()
  for (const topic of TOPICS) ends.set(topic, await eventLog.ends(topic))
  return { ends, events: new Map<Topic, number>(), jobs: new Map<string, number>(), catchingUp: undefined }
}

describe('a repair that is killed between two appends', () => {
  it('is found by the next one at once, and told by verify', { timeout: TEST_MS }, async () => {
    const { warehouse, openLog, empty } = stores()
    await empty()
    const killed = new AppError('event_log', 'killed')
    for (let appends = 0, isWhole = false; !isWhole; appends++) {
      await using eventLog = await openLog()
      await openLogFacts(eventLog, 0, never)
      const chain = await orphaned(eventLog)
      const writer = failingAfter(eventLog, appends, killed)
      const broken = await look(eventLog, chain)
      isWhole = await repair({ ...ofLog(eventLog, chain), writer }, broken, 0, never).then(
        () => true,
        (error) => error !== killed,
      )
      const isRetracted = (await eventsIn(eventLog, 'log')).some(({ type }) => type === epochsRetracted.name)
      expect(await verifyLines(eventLog, warehouse)).toHaveLength(isRetracted ? 1 : 0)
      const damage = await look(eventLog, chain)
      expect(damage).toMatchObject({ areEpochsWrong: !isWhole })
      if (!isWhole) {
        expect(damage.fromEpoch).toBe(FORK_EPOCH)
        await repair(ofLog(eventLog, chain), damage, 1, never)
      }
      await ingest(eventLog, chain)
      expect(await verifyLines(eventLog, warehouse)).toEqual([])
      await expect(look(eventLog, chain)).resolves.toMatchObject({ areEpochsWrong: false, headBlocks: [] })
    }
  })

  it('reverts the blocks that the head was about to append, when it goes back', { timeout: TEST_MS }, async () => {
    const { openLog } = stores()
    await using eventLog = await openLog()
    const chain = await orphaned(eventLog)
    const named = { name: BEACON_CHAIN, clock: hourly.clock }
    const ghost = { slot: HEAD_SLOT + 1, root: `0x${'ab'.repeat(32)}` }
    const known = (await told(eventLog, 'ingest.cursors')).length
    expect(known).toBeGreaterThan(0)
    const cursor = new Cursor({ ...ofLog(eventLog, chain), name: HEAD_CURSOR, identity: formatBeaconIdentity(hourly) })
    const data = await cursor.read(never)
    if (data === undefined) throw new Error('the head has a cursor')
    // It was killed behind the append of a block.
    const block = { height: ghost.slot, id: ghost.root, executionBlockHash: ghost.root, executionBlockNumber: 9 }
    await cursor.write({ ...data, unsettled: [block] }, timeOfSlot(named, ghost.slot))
    await repair(ofLog(eventLog, chain), await look(eventLog, chain), 0, never)
    const reverts = (await eventsIn(eventLog, 'beacon.blocks')).filter(({ id }) => id.includes('reverted'))
    expect(reverts.map(({ id }) => id).some((id) => id.endsWith(ghost.root))).toBe(true)
  })
})

describe('looking for damage', () => {
  it('finds an orphaned epoch however many right ones lie behind it, and asks the node about few', {
    timeout: TEST_MS,
  }, async () => {
    const { openLog } = stores()
    await using eventLog = await openLog()
    const chain = newChain()
    onRight(chain)
    chain.extendRange(HEAD_SLOT + 1, 800, `c${HEAD_SLOT}`)
    chain.finalizedEpoch = 198
    const stop = new AbortController()
    const onProgress = ({ nextEpoch }: { readonly nextEpoch: number }) => nextEpoch >= 198 && stop.abort()
    await followEpochs({ ...ofLog(eventLog, chain), startEpoch: 0, pollMs: 5, onProgress }, stop.signal)
    await expect(look(eventLog, chain)).resolves.toMatchObject({ areEpochsWrong: false, fromEpoch: 0 })
    const wrong = (await eventsIn(eventLog, 'beacon.epochs')).find(({ id }) => id === 'beacon.epoch-blocks:mainnet:20')
    if (wrong === undefined) throw new Error('the log has epoch 20')
    const { header, columns } = decodeEvent(epochBlocks, wrong)
    const blocks = header.blocks.slice(1)
    await eventLog.append('beacon.epochs', [
      encodeEvent(epochBlocks, { ...wrong, data: { header: { ...header, blocks }, columns } }),
    ])
    const asked: number[] = []
    const beacon = beaconOf(chain)
    const noting = {
      ...beacon,
      finalChain: (...args: Parameters<typeof beacon.finalChain>) => {
        const final = beacon.finalChain(...args)
        const blockHint = (slot: number) => {
          asked.push(slot)
          return final.blockHint(slot)
        }
        return { ...final, blockHint }
      },
    }
    const damage = await findDamage({ ...ofLog(eventLog, chain), beacon: noting }, undefined, never)
    expect(damage).toMatchObject({ areEpochsWrong: true, fromEpoch: 20, orphaned: [20] })
    expect(new Set(asked).size).toBeLessThan(400)
  })

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
