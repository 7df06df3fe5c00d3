import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ssz } from '@lodestar/types'
import { afterAll, expect, test } from 'vitest'
import { openBeaconSource } from '../../infra/beacon/source.ts'
import { pubkeyOf } from '../../infra/devnet/consensus/keys.ts'
import type { Devnet } from '../../infra/devnet/open.ts'
import { openExecutionSource } from '../../infra/execution/source.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Log } from '../../infra/ports/log.ts'
import { backfill } from '../../ingest/backfill/backfill.ts'
import { followBeaconHead } from '../../ingest/beacon-head/beacon-head.ts'
import { followEpochs } from '../../ingest/epochs/epoch-follower.ts'
import { followStates } from '../../ingest/epochs/state-follower.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { ACCOUNTS_KEY, validatorsTracked } from '../../schemas/events/accounts.ts'
import { beaconBlock } from '../../schemas/events/beacon-block.ts'
import { epochBlocks } from '../../schemas/events/beacon-epoch.ts'
import { decodeEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { type Asked, type NodeFault, openFaultyNode, TrueNode } from '../faults/faulty-node.ts'
import { openHistory } from '../faults/history.ts'
import { changed, ofSpec } from '../faults/replies.ts'
import { eventLogOfEachTest } from '../unit/event-log-of-each-test.ts'
import { BEACON_CHAIN, eventsIn, ofChain } from '../unit/follow-synthetic.ts'

// A node whose chain comes to a fork that is not known here: its schedule says so, and blocks and states from there on are nothing that can
// be read. Everything before has to be as without the fork.

const TIMEOUT_MS = 120_000
const POLL_MS = 20_000
const SLOTS_PER_EPOCH = 32
const FIRST_SLOT = 40
const FORK_EPOCH = 4
const FORK_SLOT = FORK_EPOCH * SLOTS_PER_EPOCH
/** Finality has passed the fork by then. */
const LAST_SLOT = 270
const TRACKED = [3, 5, 12, 15, 41]
const LIMITS = { attemptsPerNode: 1, retryDelayMs: 1 }
const never = new AbortController().signal

const eventLog = eventLogOfEachTest()
const otherLog = eventLogOfEachTest()
const open = new AsyncDisposableStack()
let devnet: Devnet
let truth: TrueNode
let folder = ''
afterAll(() => open.disposeAsync())

/** A chain whose fork lies ahead. */
async function begin(): Promise<void> {
  const own = mkdtempSync(join(tmpdir(), 'epochline-states-'))
  folder = own
  open.defer(() => rmSync(own, { recursive: true }))
  devnet = open.use(await openHistory())
  await devnet.advanceTo(FIRST_SLOT)
  truth = open.use(new TrueNode(devnet.beaconUrl))
}

/** The slot of the block or state that is asked for whole. */
function slotOf({ path }: Asked): number | undefined {
  const [, id = ''] = /^\/eth\/v2\/(?:beacon\/blocks|debug\/beacon\/states)\/([^/?]+)/.exec(path) ?? []
  if (id.startsWith('0x')) return devnet.history.blockByRoot(id as `0x${string}`)?.slot
  return id === '' ? undefined : Number(id)
}

/** What such a node answers, by the name of the fork; its schedule names it as soon as it is planned. */
function forkedNode(fork: string, isPlanned = () => true): readonly NodeFault[] {
  const key = `${fork.toUpperCase()}_FORK_EPOCH`
  const body = ssz.gloas.SignedBeaconBlock.serialize(ssz.gloas.SignedBeaconBlock.defaultValue())
  return [
    {
      of: (asked) => isPlanned() && ofSpec(asked),
      reply: changed(({ data }) => ({ data: { ...(data as object), [key]: String(FORK_EPOCH) } })),
    },
    {
      of: (asked) => (slotOf(asked) ?? 0) >= FORK_SLOT,
      reply: async (_, tell) => {
        const told = await tell()
        const headers = { ...told.headers, 'content-type': 'application/octet-stream', 'eth-consensus-version': fork }
        return told.status === 200 ? { status: 200, headers, body } : told
      },
    },
  ]
}

/** As clients do by default. */
function withoutOldStates(): NodeFault {
  const body = Buffer.from('{"code":404,"message":"the state is not kept"}')
  const stateOf = (path: string) => Number(/\/beacon\/states\/(\d+)/.exec(path)?.[1])
  return {
    of: ({ path }) => stateOf(path) < devnet.history.head.finality.finalized.epoch * SLOTS_PER_EPOCH,
    reply: () => ({ status: 404, headers: { 'content-type': 'application/json' }, body }),
  }
}

async function trackSome(log: EventLog): Promise<void> {
  const pubkeys = TRACKED.map((index) => hexOf(pubkeyOf(index)))
  const data = { chain: BEACON_CHAIN, account: 'a', pubkeys }
  const fact = { id: 'tracked', key: ACCOUNTS_KEY, time: '2020-01-01T00:00:00.000Z', data }
  await log.append('accounts', [encodeEvent(validatorsTracked, fact)])
}

async function toldEpochs(log: EventLog) {
  const events = await eventsIn(log, 'beacon.epochs')
  return events.filter(({ type }) => type === epochBlocks.name).map((event) => decodeEvent(epochBlocks, event).header)
}

async function seenSlots(log: EventLog): Promise<readonly number[]> {
  const events = await eventsIn(log, 'beacon.blocks')
  return events.filter(({ type }) => type === beaconBlock.name).map((event) => decodeEvent(beaconBlock, event).slot)
}

/** Warnings and errors, as the program's log has them. */
function noting() {
  const lines: string[] = []
  const note = (_: object, line: string) => void lines.push(line)
  const log: Log = { debug: () => undefined, info: () => undefined, warn: note, error: note }
  return { lines, log }
}

/** Of which slot the head is when the node's schedule names the fork, and how long a schedule is believed. */
const PLANS: readonly (readonly [name: string, slot: number, freshMs: number | undefined])[] = [
  ['which is not known', FIRST_SLOT, undefined],
  ['that is planned while it is followed', FIRST_SLOT + 50, 20],
  // Until it can no longer be read: then the schedule is asked for before its time.
  ['that a node tells only once it has come to it', FORK_SLOT + 3, undefined],
]

test.each(PLANS)(
  'a chain that comes to a fork %s is followed up to it, and nothing is published of what lies behind',
  async (_, plannedAt, scheduleFreshMs) => {
    await begin()
    await trackSome(eventLog())
    const { lines, log } = noting()
    const isPlanned = () => devnet.history.head.head.slot >= plannedAt
    await using node = await openFaultyNode(truth, [...forkedNode('gloas', isPlanned), withoutOldStates()])
    await using beacon = await openBeaconSource({
      ...{ urls: [node.url], log, statesFolder: folder, limits: LIMITS, scheduleFreshMs },
    })
    await using execution = await openExecutionSource({ urls: [devnet.executionUrl], log, binding: 'ethereum' })
    const options = { ...ofChain(BEACON_CHAIN, eventLog()), log, beacon, execution, startEpoch: 1, outageWaitMs: 20 }
    const stop = new AbortController()
    let isRunning = true
    const following = Promise.all([
      followStates(options, stop.signal),
      followEpochs(options, stop.signal),
      followBeaconHead(options, stop.signal),
    ]).finally(() => {
      isRunning = false
    })
    const lastOf = (epoch: number) => String((epoch + 1) * SLOTS_PER_EPOCH - 1)
    try {
      for (let slot = FIRST_SLOT; slot <= LAST_SLOT; slot++) {
        await devnet.advanceTo(slot)
        const passed = Math.floor(devnet.history.head.head.slot / SLOTS_PER_EPOCH) - 1
        const isUnread = slot >= FORK_SLOT && slot < plannedAt
        if (passed >= FORK_EPOCH || isUnread) continue
        const kept = () => readdirSync(folder).map((name) => Number(name.split('-')[0]))
        await expect.poll(kept, { message: `slot ${slot}`, timeout: POLL_MS }).toContain(Number(lastOf(passed)))
      }
      expect(devnet.history.head.finality.finalized.epoch).toBeGreaterThan(FORK_EPOCH)
      await expect
        .poll(async () => (await toldEpochs(eventLog())).at(-1)?.epoch, { timeout: POLL_MS })
        .toBe(FORK_EPOCH - 1)
      const lastBlock = devnet.history.block(FORK_SLOT - 1) === undefined ? FORK_SLOT - 2 : FORK_SLOT - 1
      await expect.poll(async () => (await seenSlots(eventLog())).at(-1), { timeout: POLL_MS }).toBe(lastBlock)
      const from = 'from epoch 4 on the chain is of the fork gloas, which this version does not know'
      await expect
        .poll(() => lines.filter((line) => line.includes(from)).sort(), { timeout: POLL_MS })
        .toEqual([
          `blocks of ${BEACON_CHAIN} are followed no further: ${from}`,
          `epochs of ${BEACON_CHAIN} are published no further: ${from}`,
        ])
      expect(isRunning).toBe(true)
    } finally {
      stop.abort()
    }
    await following
    const told = await toldEpochs(eventLog())
    expect(told.map(({ epoch, proof, residuals }) => [epoch, proof?.level, residuals])).toEqual(
      [1, 2, 3].map((epoch) => [epoch, 'anchored', []]),
    )
    for (const { epoch, proof } of told)
      expect(proof?.stateRoot).toBe(devnet.history.slot((epoch + 1) * SLOTS_PER_EPOCH - 1)?.stateRoot)
    expect(readdirSync(folder).filter((name) => Number(name.split('-')[0]) >= FORK_SLOT)).toEqual([])
    if (plannedAt < FORK_SLOT) expect(lines.filter((line) => /not supported|is away|waits/.test(line))).toEqual([])
  },
  TIMEOUT_MS,
)

test.each(['gloas', 'eip9999'])(
  'a backfill ends before the fork %s with what it had without it, and is refused by its name behind that',
  async (fork) => {
    const run = async (log: EventLog, faults: readonly NodeFault[], toEpoch: number) => {
      await trackSome(log)
      const { log: notes } = noting()
      await using node = await openFaultyNode(truth, faults)
      await using beacon = await openBeaconSource({ urls: [node.url], log: notes, limits: LIMITS })
      await using execution = await openExecutionSource({
        urls: [devnet.executionUrl],
        log: notes,
        binding: 'ethereum',
      })
      await backfill({ ...ofChain(BEACON_CHAIN, log), log: notes, beacon, execution }, { fromEpoch: 1, toEpoch }, never)
    }
    await devnet.advanceTo(LAST_SLOT)
    await expect(run(eventLog(), forkedNode(fork), FORK_EPOCH)).rejects.toMatchObject({
      code: 'usage',
      message: `The range ends with epoch 4, but from epoch 4 on the chain is of the fork ${fork}, which this version does not know: end with --to epoch:3.`,
    })
    expect(await eventsIn(eventLog(), 'beacon.epochs')).toEqual([])
    await run(eventLog(), forkedNode(fork), FORK_EPOCH - 1)
    await run(otherLog(), [], FORK_EPOCH - 1)
    const [ours, theirs] = await Promise.all([eventLog(), otherLog()].map((log) => eventsIn(log, 'beacon.epochs')))
    expect(ours?.map(({ id }) => id)).toEqual(theirs?.map(({ id }) => id))
    expect(await toldEpochs(eventLog())).toEqual(await toldEpochs(otherLog()))
    expect(ours?.length).toBeGreaterThan(5)
  },
  TIMEOUT_MS,
)
