import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBeaconSource } from '../../infra/beacon/source.ts'
import { pubkeyOf } from '../../infra/devnet/consensus/keys.ts'
import type { Devnet } from '../../infra/devnet/open.ts'
import type { BeaconSource } from '../../infra/ports/beacon-source.ts'
import type { Log } from '../../infra/ports/log.ts'
import { followEpochs } from '../../ingest/epochs/epoch-follower.ts'
import { followStates } from '../../ingest/epochs/state-follower.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { ACCOUNTS_KEY, validatorsTracked } from '../../schemas/events/accounts.ts'
import { dayBalances, epochBlocks } from '../../schemas/events/beacon-epoch.ts'
import { decodeEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { type FaultyNode, openFaultyNode, TrueNode } from '../faults/faulty-node.ts'
import { eventLogOfEachTest } from '../unit/event-log-of-each-test.ts'
import { BEACON_CHAIN, eventsIn, ofChain } from '../unit/follow-synthetic.ts'
import { silentLog } from '../unit/silent-log.ts'
import { withoutOldStates } from './default-node.ts'
import { askEpoch } from './epoch-question.ts'
import { openShortDevnet, shortScenario } from './short-history.ts'

// A node that keeps no state of before what is final, as clients do by default: rewards are computed from what was read at the head.

const TIMEOUT_MS = 120_000
const SLOTS_PER_EPOCH = 32
/** The head is in the second epoch, and nothing is final. */
const FIRST_SLOT = 40
const LAST_SLOT = 290
/** A UTC+8 day begins with slot 100. */
const GENESIS_TIME_SEC = 1_800_027_600
const DAY_SLOT = 100
/** The blocks of slots 112 to 143 are announced, and replaced by that of slot 144: the end of epoch 3 was another one for a while. */
const REORG = { kind: 'reorg', slot: 112, depth: 32 } as const
const ORPHANED_EPOCH = 3
const TRACKED = [3, 5, 12, 15, 41]

const eventLog = eventLogOfEachTest()
const open = new AsyncDisposableStack()
let devnet: Devnet
let truth: TrueNode
let node: FaultyNode
let folder = ''
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'epochline-states-'))
  open.defer(() => rmSync(folder, { recursive: true }))
  const incidents = [...shortScenario.incidents, REORG]
  const scenario = { ...shortScenario, version: 'states-at-head-1', incidents }
  devnet = open.use(await openShortDevnet({ genesisTimeSec: GENESIS_TIME_SEC, scenario }))
  await devnet.advanceTo(FIRST_SLOT)
  truth = open.use(new TrueNode(devnet.beaconUrl))
  node = open.use(await openFaultyNode(truth, [withoutOldStates(devnet)]))
})
afterAll(() => open.disposeAsync())

function openSource(log: Log = silentLog): Promise<BeaconSource> {
  return openBeaconSource({
    urls: [node.url],
    log,
    statesFolder: folder,
    limits: { attemptsPerNode: 1, retryDelayMs: 1 },
  })
}

/** Slots and last blocks of the states that are kept. */
function keptPlaces(): readonly string[] {
  return readdirSync(folder).map((name) => name.split('-').slice(0, 2).join(' '))
}

/** How the file of an epoch's state begins, by the branch that the head is on now. */
function placeBehind(epoch: number): string {
  const slot = (epoch + 1) * SLOTS_PER_EPOCH - 1
  for (let at = slot; ; at--) {
    const block = devnet.history.block(at)
    if (block !== undefined) return `${slot} ${block.root.slice(2)}`
  }
}

async function trackSome(): Promise<void> {
  const pubkeys = TRACKED.map((index) => hexOf(pubkeyOf(index)))
  const data = { chain: BEACON_CHAIN, account: 'a', pubkeys }
  const fact = { id: 'tracked', key: ACCOUNTS_KEY, time: '2020-01-01T00:00:00.000Z', data }
  await eventLog().append('accounts', [encodeEvent(validatorsTracked, fact)])
}

async function toldEpochs() {
  const events = await eventsIn(eventLog(), 'beacon.epochs')
  return events.filter(({ type }) => type === epochBlocks.name).map((event) => decodeEvent(epochBlocks, event).header)
}

test(
  'epochs are told as anchored, with the balances that a day begins with, though no final state can be had',
  async () => {
    await trackSome()
    const stop = new AbortController()
    await using source = await openSource()
    const options = { ...ofChain(BEACON_CHAIN, eventLog()), beacon: source, startEpoch: 1 }
    const following = Promise.all([followStates(options, stop.signal), followEpochs(options, stop.signal)])
    const orphaned: string[] = []
    try {
      for (let slot = FIRST_SLOT; slot <= LAST_SLOT; slot++) {
        await devnet.advanceTo(slot)
        const passed = Math.floor(devnet.history.head.head.slot / SLOTS_PER_EPOCH) - 1
        await expect.poll(keptPlaces, { message: `slot ${slot}` }).toContain(placeBehind(passed))
        if (slot === REORG.slot + REORG.depth - 1) orphaned.push(placeBehind(ORPHANED_EPOCH))
      }
      const finalEpochs = devnet.history.head.finality.finalized.epoch
      await expect.poll(async () => (await toldEpochs()).at(-1)?.epoch).toBe(finalEpochs - 1)
    } finally {
      stop.abort()
    }
    await following
    const told = await toldEpochs()
    expect(told.length).toBeGreaterThan(4)
    for (const { epoch, proof, residuals } of told) {
      const { stateRoot } = devnet.history.slot((epoch + 1) * SLOTS_PER_EPOCH - 1) ?? {}
      expect({ epoch, proof, residuals }).toMatchObject({
        epoch,
        proof: { level: 'anchored', stateRoot },
        residuals: [],
      })
    }
    const days = (await eventsIn(eventLog(), 'beacon.epochs')).filter(({ type }) => type === dayBalances.name)
    const { header, columns } = decodeEvent(dayBalances, days[0] as (typeof days)[0])
    const balances = devnet.history.slot(DAY_SLOT - 1)?.balances ?? []
    expect([days.length, header.slot, [...columns.validatorIndex]]).toEqual([1, DAY_SLOT - 1, TRACKED])
    expect([...columns.balanceGwei]).toEqual(TRACKED.map((index) => BigInt(balances[index] ?? 0)))
    // What is final has gone, but for the state that the next epoch begins with, and what was orphaned with it.
    expect(orphaned).not.toEqual([placeBehind(ORPHANED_EPOCH)])
    const last = told.at(-1)?.epoch ?? 0
    expect(keptPlaces().toSorted()).toEqual([last, last + 1, last + 2].map(placeBehind).toSorted())
  },
  TIMEOUT_MS,
)

test(
  'a kept state whose file is damaged is told, dropped, and asked of nodes again',
  async () => {
    const warned: string[] = []
    const log: Log = { ...silentLog, warn: (_, message) => void warned.push(message) }
    const { epoch } = devnet.history.head.finality.finalized
    await using source = await openSource(log)
    const { question } = await askEpoch(source, epoch)
    const explained = async (from: BeaconSource) => {
      return await from.finalChain(await from.finalized()).explainedEpoch(question, Uint32Array.from(TRACKED))
    }
    expect(keptPlaces()).toContain(placeBehind(epoch))
    expect(await explained(source)).toMatchObject({ proof: { level: 'anchored' } })
    const damage = () => {
      const name = readdirSync(folder).find((one) => one.startsWith(placeBehind(epoch).replace(' ', '-'))) ?? ''
      const file = readFileSync(join(folder, name))
      file.writeUInt8(file.readUInt8(file.length - 100) ^ 1, file.length - 100)
      writeFileSync(join(folder, name), file)
    }
    damage()
    await using fresh = await openSource(log)
    // The node has this one, as it lies behind the checkpoint.
    expect(await explained(fresh)).toMatchObject({ proof: { level: 'anchored' } })
    expect(warned).toEqual([expect.stringMatching(/cannot be read and is dropped/)])
    expect(keptPlaces()).not.toContain(placeBehind(epoch))
  },
  TIMEOUT_MS,
)
