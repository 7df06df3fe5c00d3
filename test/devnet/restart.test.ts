import { fork } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, cp, mkdtemp, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SlotRecord } from '../../infra/devnet/consensus/history.ts'
import type { Devnet } from '../../infra/devnet/open.ts'
import { CHECKPOINT_SLOTS, openRestartDevnet } from './restart.ts'

const TIMEOUT_MS = 240_000
const STOPPED_AT = 4 * CHECKPOINT_SLOTS + 8
const SLOTS = STOPPED_AT + 14
/** The chain that is made anew is told by its first blocks. */
const ANEW_SLOTS = 8

/** What readers can see of a slot, old or new. */
function seen(devnet: Devnet, slot: number) {
  const { tree: _, block, head, ...record } = devnet.history.slot(slot) as SlotRecord
  return { ...record, head: head.root, block: block === undefined ? undefined : { ...block, ...called(block) } }
}

function called(block: NonNullable<SlotRecord['block']>) {
  return { bytes: block.bytes(), signature: block.signature(), syncRewards: block.syncRewards() }
}

function roots(devnet: Devnet): readonly unknown[] {
  return Array.from({ length: devnet.headSlot + 1 }, (_, slot) =>
    devnet.history.blocksOfSlot(slot).map(({ root, executionHash }) => ({ root, executionHash })),
  )
}

/** Every execution block with its transactions and receipts, as JSON-RPC tells it. */
async function executionBlocks(devnet: Devnet): Promise<readonly unknown[]> {
  const rpc = async (method: string, params: readonly unknown[]) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    return ((await (await fetch(devnet.executionUrl, { method: 'POST', body })).json()) as { result: unknown }).result
  }
  const head = Number(await rpc('eth_blockNumber', []))
  const numbers = Array.from({ length: head + 1 }, (_, number) => `0x${number.toString(16)}`)
  return Promise.all(
    numbers.map(async (n) => [await rpc('eth_getBlockByNumber', [n, true]), await rpc('eth_getBlockReceipts', [n])]),
  )
}

const oldSlots = [0, 1, 31, 32, 51, CHECKPOINT_SLOTS, CHECKPOINT_SLOTS + 1, 104, STOPPED_AT - 1]

interface Expected {
  readonly roots: readonly unknown[]
  readonly seen: readonly unknown[]
  readonly rewards: readonly unknown[]
  readonly states: readonly Uint8Array[]
  readonly executionBlocks: readonly unknown[]
}

async function expectedOf(devnet: Devnet): Promise<Expected> {
  return {
    roots: roots(devnet),
    seen: oldSlots.map((slot) => seen(devnet, slot)),
    rewards: [0, 1, 2, 3, 4, 5].map((epoch) => devnet.history.attestationRewards(epoch)),
    states: oldSlots.map((slot) => devnet.stateBytes(slot)),
    executionBlocks: await executionBlocks(devnet),
  }
}

let expected: Expected
let directory: string
beforeAll(async () => {
  await using devnet = await openRestartDevnet()
  await devnet.advanceTo(SLOTS)
  expected = await expectedOf(devnet)
}, TIMEOUT_MS)
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'devnet-'))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

/** Says which parts differ, because the parts themselves are megabytes. */
async function expectSameChain(devnet: Devnet): Promise<void> {
  const actual = await expectedOf(devnet)
  expect(actual.roots).toEqual(expected.roots)
  const differing = oldSlots.flatMap((slot, index) => {
    const [one, other] = [actual.seen[index] ?? {}, expected.seen[index] ?? {}] as Record<string, unknown>[]
    const keys = Object.keys({ ...one, ...other })
    return keys.filter((key) => plain(one?.[key]) !== plain(other?.[key])).map((key) => `${key} of slot ${slot}`)
  })
  expect(differing).toEqual([])
  expect(oldSlots.filter((_, index) => plain(actual.states[index]) !== plain(expected.states[index]))).toEqual([])
  expect(plain(actual.rewards) === plain(expected.rewards), 'attestation rewards').toBe(true)
  expect(plain(actual.executionBlocks) === plain(expected.executionBlocks), 'execution blocks').toBe(true)
}

/** Text that is the same for the same content, whatever the order of keys and the kind of the arrays. */
function plain(value: unknown): string {
  return JSON.stringify(value, (_, each) => {
    if (each instanceof Map) return [...each]
    if (ArrayBuffer.isView(each)) return Array.from(each as Uint8Array)
    if (typeof each !== 'object' || each === null || Array.isArray(each)) return each
    return Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}

test('a devnet that is killed at any moment, and stopped, goes on from its newest checkpoint, and is the chain that it was', {
  timeout: TIMEOUT_MS,
}, async () => {
  const folder = await mkdtemp(join(directory, 'ended-'))
  for (const killedAt of [CHECKPOINT_SLOTS, 2 * CHECKPOINT_SLOTS + 5]) {
    const child = fork(join(import.meta.dirname, 'restart.ts'), [folder, String(SLOTS)])
    const exited = once(child, 'exit')
    child.on('message', (slot) => {
      if (slot === killedAt) child.kill('SIGKILL') // it may be some slots further when it dies
    })
    expect(await exited).toEqual([null, 'SIGKILL'])
  }
  await (async () => {
    await using devnet = await openRestartDevnet({ directory: folder })
    expect(devnet.headSlot).toBeGreaterThanOrEqual(2 * CHECKPOINT_SLOTS)
    await devnet.advanceTo(STOPPED_AT)
  })()
  await using devnet = await openRestartDevnet({ directory: folder })
  expect(devnet.headSlot).toBe(4 * CHECKPOINT_SLOTS)
  await devnet.advanceTo(SLOTS)
  await expectSameChain(devnet)
})

let made: Promise<string> | undefined
/** The folder of a devnet that stopped behind its first checkpoint. */
function oneCheckpoint(): Promise<string> {
  made ??= (async () => {
    const folder = await mkdtemp(join(directory, 'checkpoint-'))
    await using devnet = await openRestartDevnet({ directory: folder })
    await devnet.advanceTo(CHECKPOINT_SLOTS + 1)
    return folder
  })()
  return made
}

test.each<[string, (folder: string) => Promise<void>]>([
  [
    'is no database',
    (folder) => writeFile(join(folder, 'devnet.sqlite'), 'no database at all, and long enough to be read'),
  ],
  [
    'has foreign pages',
    async (folder) => {
      const file = join(folder, 'devnet.sqlite')
      const { size } = await stat(file)
      await truncate(file, size / 2)
      await appendFile(file, new Uint8Array(size / 2))
    },
  ],
])('a devnet whose file %s says so, and makes the same chain anew', { timeout: TIMEOUT_MS }, async (_, damage) => {
  const folder = await mkdtemp(join(directory, 'damaged-'))
  await cp(await oneCheckpoint(), folder, { recursive: true })
  expect((await readdir(folder)).filter((name) => name.startsWith('devnet.sqlite'))).toEqual(['devnet.sqlite'])
  await damage(folder)
  const told: string[] = []
  await using devnet = await openRestartDevnet({ directory: folder, onStartAnew: (reason) => told.push(reason) })
  expect(told).toHaveLength(1)
  expect(devnet.headSlot).toBe(0)
  await devnet.advanceTo(ANEW_SLOTS)
  expect(roots(devnet)).toEqual(expected.roots.slice(0, ANEW_SLOTS + 1))
})
