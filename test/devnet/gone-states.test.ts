import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openBeaconSource } from '../../infra/beacon/source.ts'
import { pubkeyOf } from '../../infra/devnet/consensus/keys.ts'
import { followEpochs } from '../../ingest/epochs/epoch-follower.ts'
import { followStates } from '../../ingest/epochs/state-follower.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { ACCOUNTS_KEY, validatorsTracked } from '../../schemas/events/accounts.ts'
import { epochBlocks } from '../../schemas/events/beacon-epoch.ts'
import { decodeEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { openFaultyNode, TrueNode } from '../faults/faulty-node.ts'
import { eventLogOfEachTest } from '../unit/event-log-of-each-test.ts'
import { BEACON_CHAIN, eventsIn, ofChain } from '../unit/follow-synthetic.ts'
import { silentLog } from '../unit/silent-log.ts'
import { withoutOldStates } from './default-node.ts'
import { openShortDevnet } from './short-history.ts'

// What becomes of epochs whose states were not read while nodes had them: of a program that starts late, or was away.

const TIMEOUT_MS = 180_000
const SLOTS_PER_EPOCH = 32
const TRACKED = [3, 5, 12, 15]

const eventLog = eventLogOfEachTest()

async function openWorld() {
  await using open = new AsyncDisposableStack()
  const folder = mkdtempSync(join(tmpdir(), 'epochline-states-'))
  open.defer(() => rmSync(folder, { recursive: true }))
  const devnet = open.use(await openShortDevnet())
  const truth = open.use(new TrueNode(devnet.beaconUrl))
  const node = open.use(await openFaultyNode(truth, [withoutOldStates(devnet)]))
  const pubkeys = TRACKED.map((index) => hexOf(pubkeyOf(index)))
  const data = { chain: BEACON_CHAIN, account: 'a', pubkeys }
  const fact = { id: 'tracked', key: ACCOUNTS_KEY, time: '2020-01-01T00:00:00.000Z', data }
  await eventLog().append('accounts', [encodeEvent(validatorsTracked, fact)])
  const disposing = open.move()
  return { folder, devnet, node, [Symbol.asyncDispose]: () => disposing.disposeAsync() }
}
type World = Awaited<ReturnType<typeof openWorld>>

const keptSlots = ({ folder }: World) => readdirSync(folder).map((name) => Number(name.split('-')[0]))

/** Runs the followers while the head goes through some slots, until all that is final then is told; what they have logged as an error. */
async function follow(world: World, from: number, to: number, startEpoch?: number): Promise<readonly string[]> {
  const { devnet, node, folder } = world
  const told: string[] = []
  const log = { ...silentLog, error: (_: object, message: string) => void told.push(message) }
  const stop = new AbortController()
  const limits = { attemptsPerNode: 1, retryDelayMs: 1 }
  await using source = await openBeaconSource({ urls: [node.url], log, statesFolder: folder, limits })
  const options = { ...ofChain(BEACON_CHAIN, eventLog()), log, beacon: source, startEpoch }
  const following = Promise.all([
    followStates(options, stop.signal),
    followEpochs({ ...options, outageWaitMs: 50, goneAfterMs: 200 }, stop.signal),
  ])
  try {
    for (let slot = from; slot <= to; slot++) {
      await devnet.advanceTo(slot)
      const passed = Math.floor(devnet.history.head.head.slot / SLOTS_PER_EPOCH)
      await expect.poll(() => keptSlots(world), { message: `slot ${slot}` }).toContain(passed * SLOTS_PER_EPOCH - 1)
    }
    const finalEpochs = devnet.history.head.finality.finalized.epoch
    await expect.poll(async () => (await epochsTold()).at(-1)?.epoch).toBe(finalEpochs - 1)
  } finally {
    stop.abort()
  }
  await following
  return told
}

/** In the order of the log, with the number of validators that each tells of. */
async function epochsTold() {
  const events = await eventsIn(eventLog(), 'beacon.epochs')
  const headers = events
    .filter(({ type }) => type === epochBlocks.name)
    .map((event) => decodeEvent(epochBlocks, event).header)
  return headers.map(({ epoch, proof, parts, blocks }) => ({
    epoch,
    level: proof?.level,
    rows: parts.filter(({ kind }) => kind === 'validators').reduce((sum, { rows }) => sum + rows, 0),
    blocks: blocks.length,
  }))
}

test(
  'a log that begins in the middle of a chain begins with the first epoch that can be computed',
  async () => {
    await using world = await openWorld()
    await world.devnet.advanceTo(200)
    const finalAtStart = world.devnet.history.head.finality.finalized.epoch
    const errors = await follow(world, 200, 330)
    const told = await epochsTold()
    expect(told.map(({ epoch }) => epoch)).toEqual(told.map((_, i) => finalAtStart + 1 + i))
    expect(told.length).toBeGreaterThan(1)
    for (const { level, rows } of told) expect([level, rows]).toEqual(['anchored', TRACKED.length])
    expect(errors).toEqual([])
  },
  TIMEOUT_MS,
)

test(
  'epochs that became final while the program was away are told by their blocks, and those behind them are computed',
  async () => {
    await using world = await openWorld()
    await world.devnet.advanceTo(40)
    expect(await follow(world, 40, 200, 1)).toEqual([])
    const before = await epochsTold()
    expect(before.every(({ level }) => level === 'anchored')).toBe(true)
    await world.devnet.advanceTo(400)
    const finalMeanwhile = world.devnet.history.head.finality.finalized.epoch
    const errors = await follow(world, 400, 530)
    const after = (await epochsTold()).slice(before.length)
    // Each epoch once, in order, and none left out.
    expect(after.map(({ epoch }) => epoch)).toEqual(after.map((_, i) => before.length + 1 + i))
    const [gone, computed] = [after.filter(({ rows }) => rows === 0), after.filter(({ rows }) => rows > 0)]
    expect(gone.length).toBeGreaterThan(2)
    expect(gone.every(({ blocks, epoch }) => blocks > 0 && epoch <= finalMeanwhile)).toBe(true)
    expect(computed.length).toBeGreaterThan(1)
    expect(computed.every(({ level }) => level === 'anchored')).toBe(true)
    expect(errors).toEqual([expect.stringMatching(/are told without their validators.*no node has them any more/)])
  },
  TIMEOUT_MS,
)
