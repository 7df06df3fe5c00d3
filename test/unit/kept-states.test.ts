import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { KEPT_BYTES_MAX, KEPT_STATES_MAX, KeptStates } from '../../infra/beacon/kept-states.ts'
import type { Log } from '../../infra/ports/log.ts'
import { followEpochs } from '../../ingest/epochs/epoch-follower.ts'
import { followStates } from '../../ingest/epochs/state-follower.ts'
import { lastSlotOfEpoch } from '../../schemas/eth/time.ts'
import { eventLogOfEachTest } from './event-log-of-each-test.ts'
import { BEACON_CHAIN, chainTo, eventsIn, ofChain, trackValidators } from './follow-synthetic.ts'
import { KEY, largeStateOf, rootOf, STRANGER, stateOf } from './given-state.ts'
import { silentLog } from './silent-log.ts'
import { SLOTS_PER_EPOCH, syntheticChain } from './synthetic-chain.ts'

const KILLS = 4

const eventLog = eventLogOfEachTest()
let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'epochline-states-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const names = () => readdirSync(folder).sort()
const pathOf = (nth: number) => join(folder, names()[nth] ?? '')

const bytesOf = (values: Float64Array = new Float64Array(0)) =>
  Buffer.from(values.buffer, values.byteOffset, values.byteLength)

function flipped(file: Buffer, at: number): Buffer {
  const changed = Buffer.from(file)
  changed.writeUInt8(file.readUInt8(at) ^ 1, at)
  return changed
}

/** Notes the warnings of whoever has the log. */
function warnings(): { readonly told: string[]; readonly log: Log } {
  const told: string[] = []
  return { told, log: { ...silentLog, warn: (_, message) => void told.push(message) } }
}

test('a state comes back as it was kept, by its slot and the last block of its branch', async () => {
  const kept = new KeptStates({ folder, log: silentLog })
  const state = stateOf(95)
  expect([await kept.put(state), await kept.has(state)]).toEqual([true, true])
  const found = await new KeptStates({ folder, log: silentLog }).get({ slot: 95, blockRoot: rootOf(95) })
  const { keys, indexOf, credentialsOf, ...columns } = found?.columns ?? stateOf(0).columns
  const { keys: _, indexOf: __, credentialsOf: ___, ...expected } = state.columns
  expect([{ ...found, columns: undefined }, columns]).toEqual([{ ...state, columns: undefined }, expected])
  expect([indexOf(KEY), indexOf(STRANGER), credentialsOf(2)]).toEqual([2, undefined, new Uint8Array(32).fill(9)])
  expect([keys.include([KEY, STRANGER]), keys.include([new Uint8Array(48)])]).toEqual([true, false])
  expect(await kept.get({ slot: 95, blockRoot: rootOf(94) })).toBeUndefined()
  expect(await kept.get({ slot: 94, blockRoot: rootOf(95) })).toBeUndefined()
})

test('a file of another version is no kept state, and goes when the next one is written', async () => {
  const kept = new KeptStates({ folder, log: silentLog })
  await kept.put(stateOf(95))
  renameSync(pathOf(0), pathOf(0).replace(/state\d+$/, 'state'))
  expect([await kept.has(stateOf(95)), (await kept.figures()).kept]).toEqual([false, 0])
  await kept.put(stateOf(127))
  expect(names().map((name) => name.split('-')[0])).toEqual(['127'])
})

test.each<readonly [string, (file: Buffer) => Buffer | string]>([
  ['has lost its end', (file) => file.subarray(0, file.length - 1)],
  ['is empty', () => ''],
  ['has another bit', (file) => flipped(file, file.length - 9)],
  ['names another slot', (file) => Buffer.from(file.toString('latin1').replace('slot', 'slow'), 'latin1')],
  ['is of an earlier release', (file) => Buffer.concat([Buffer.from('EPLSTAT0'), file.subarray(8)])],
])('a file that %s is told and dropped, and the state is not kept any more', async (_, damage) => {
  const { told, log } = warnings()
  const kept = new KeptStates({ folder, log })
  await kept.put(stateOf(95))
  await kept.put(stateOf(127))
  writeFileSync(pathOf(1), damage(readFileSync(pathOf(1))))
  expect(await kept.get(stateOf(95))).toBeUndefined()
  expect([told.length, names().length, (await kept.get(stateOf(127)))?.slot]).toEqual([1, 1, 127])
  expect(told[0]).toMatch(/state of slot 95 cannot be read and is dropped/)
})

test('what is final, and what another branch has in its slot, is dropped; a file that a kill has left is swept', async () => {
  const kept = new KeptStates({ folder, log: silentLog })
  for (const state of [stateOf(63), stateOf(95), stateOf(95, rootOf(93)), stateOf(127), stateOf(127, rootOf(125))])
    await kept.put(state)
  await kept.dropBefore({ slot: 95, blockRoot: rootOf(93) })
  expect(names().map((name) => /^(\d+)-0+(..)-/.exec(name)?.slice(1).join(' '))).toEqual(['127 7d', '127 7f', '95 5d'])
  writeFileSync(join(folder, 'left.state.unfinished'), 'half')
  await kept.put(stateOf(159))
  expect([names().length, names().includes('left.state.unfinished')]).toEqual([4, false])
})

test('a program that is killed while it keeps states leaves whole ones alone, and half of one that is swept', async () => {
  let halves = 0
  for (let killed = 0; killed < KILLS; killed++) {
    const args = [join(import.meta.dirname, 'keep-states-process.ts'), folder, String(2 * killed)]
    const [, signal] = await once(spawn(process.execPath, args), 'exit')
    expect(signal).toBe('SIGKILL')
    expect(names().some((name) => name.endsWith('.state2'))).toBe(true)
    halves += names().filter((name) => name.endsWith('.unfinished')).length
    const { told, log } = warnings()
    const kept = new KeptStates({ folder, log })
    for (const name of names().filter((one) => one.endsWith('.state2'))) {
      const { slot, blockRoot, columns } = largeStateOf(Number.parseInt(name, 10))
      const found = await kept.get({ slot, blockRoot })
      expect(Buffer.compare(bytesOf(found?.columns.balancesGwei), bytesOf(columns.balancesGwei)), name).toBe(0)
    }
    await kept.put(stateOf(1))
    expect([told, names().filter((name) => name.endsWith('.unfinished'))]).toEqual([[], []])
    for (const name of names()) rmSync(join(folder, name))
  }
  expect(halves).toBeGreaterThan(0)
})

test('a folder that cannot be written to keeps nothing and stops nobody', async () => {
  const { told, log } = warnings()
  const kept = new KeptStates({ folder: join(folder, 'file', 'below'), log })
  writeFileSync(join(folder, 'file'), '')
  expect([await kept.put(stateOf(95)), await kept.get(stateOf(95)), told.length]).toEqual([false, undefined, 1])
})

test('beyond a limit in states or in bytes no more are taken, which is told once, until some are dropped', async () => {
  const { told, log } = warnings()
  const kept = new KeptStates({ folder, log, statesMax: 2 })
  expect([await kept.put(stateOf(31)), await kept.put(stateOf(63)), await kept.put(stateOf(95))]).toEqual([
    true,
    true,
    false,
  ])
  expect([await kept.hasRoom(), told.length, names().length]).toEqual([false, 1, 2])
  await kept.dropBefore({ slot: 63, blockRoot: rootOf(63) })
  expect([await kept.put(stateOf(95)), await kept.hasRoom(), told.length]).toEqual([true, false, 2])
  const { size } = statSync(pathOf(0))
  const full = new KeptStates({ folder, log: silentLog, bytesMax: 3 * size - 1 })
  expect([await full.hasRoom(), await full.put(stateOf(127))]).toEqual([false, false])
  const roomy = new KeptStates({ folder, log: silentLog, bytesMax: 3 * size + 9 })
  expect([await roomy.hasRoom(), await roomy.put(stateOf(127)), await roomy.hasRoom()]).toEqual([true, true, false])
})

test('fifty epochs without finality publish nothing, keep their states within the limit, and the oldest of them', async () => {
  expect([KEPT_STATES_MAX >= 50, KEPT_BYTES_MAX]).toEqual([true, 2 ** 32])
  const kept = new KeptStates({ folder, log: silentLog, statesMax: 40 })
  await trackValidators(eventLog(), [1], BEACON_CHAIN)
  const chain = chainTo(52 * SLOTS_PER_EPOCH + 1)
  chain.finalizedEpoch = 2
  const stop = new AbortController()
  const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(20_000)])
  const beacon = {
    ...chain.beacon,
    keepState: async ({ epoch, blockRoots }: { readonly epoch: number; readonly blockRoots: readonly string[] }) => {
      const slot = lastSlotOfEpoch(syntheticChain.clock, epoch)
      if (await kept.put(stateOf(slot, blockRoots.at(-1)))) return 'kept' as const
      stop.abort()
      return 'no room' as const
    },
  }
  const options = { ...ofChain(BEACON_CHAIN, eventLog()), beacon, startEpoch: 2 }
  await Promise.all([followStates(options, signal), followEpochs(options, signal)])
  expect(await eventsIn(eventLog(), 'beacon.epochs')).toEqual([])
  const epochs = names().map((name) => Math.floor(Number.parseInt(name, 10) / SLOTS_PER_EPOCH))
  expect(epochs.sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, nth) => nth + 1))
})
