import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { ssz } from '@lodestar/types'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import { beaconQueues } from '../../schemas/events/beacon-queues.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { openCrowdedDevnet } from '../devnet/queues.ts'
import { type FaultyNode, openFaultyNode, TrueNode } from '../faults/faulty-node.ts'
import { eventsIn } from './follow-synthetic.ts'

const DEPOSITS = 50_000
const JSON_BYTES_MIN = 21_000_000
/** The program's own code takes more than half of it. */
const HEAP_MB = 48
const SLOTS_PER_EPOCH = 32
const FIRST_SLOT = 70
const EPOCHS = 2
/** Blocks from one look of the test to the next. */
const STEP_SLOTS = 4
const TIMEOUT = { timeout: 120_000 }

const deposits = Array.from({ length: DEPOSITS }, (_, i) => ({
  pubkey: numbered(48, i),
  withdrawalCredentials: numbered(32, i),
  amount: 1_000_000_000 + i,
  signature: numbered(96, i),
  slot: i,
}))
const BODY = Buffer.from(
  JSON.stringify({ version: 'fulu', execution_optimistic: false, finalized: false, data: toJson() }),
)

let open: AsyncDisposableStack
let devnet: Awaited<ReturnType<typeof openCrowdedDevnet>>
let node: FaultyNode

beforeAll(async () => {
  open = new AsyncDisposableStack()
  const none = { count: 0, fromSlot: 1, perBlock: 1 }
  devnet = open.use(await openCrowdedDevnet({ validators: 64, deposits: none, exits: { count: 0, fromEpoch: 1 } }))
  await devnet.advanceTo(FIRST_SLOT)
  const truth = open.use(new TrueNode(devnet.beaconUrl))
  const isAboutDeposits = ({ path }: { readonly path: string }) => path.endsWith('/pending_deposits')
  const reply = () => ({ status: 200, headers: { 'content-type': 'application/json' }, body: BODY })
  node = open.use(await openFaultyNode(truth, [{ of: isAboutDeposits, reply }]))
})
afterAll(() => open.disposeAsync())

function start(args: readonly string[]): ChildProcess & { readonly stdout: NonNullable<ChildProcess['stdout']> } {
  const child = spawn(process.execPath, [`--max-old-space-size=${HEAP_MB}`, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  open.defer(() => void child.kill('SIGKILL'))
  return child as ReturnType<typeof start>
}

test(`${DEPOSITS} pending deposits in JSON are read once an epoch, in a heap of ${HEAP_MB} MB`, TIMEOUT, async () => {
  expect(BODY.length).toBeGreaterThan(JSON_BYTES_MIN)
  const directory = mkdtempSync(join(tmpdir(), 'epochline-long-queue-'))
  open.defer(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'log.sqlite')
  await (await openSqliteEventLog({ file }))[Symbol.asyncDispose]()
  const child = start([join(import.meta.dirname, 'follow-queues-process.ts'), node.url, file])
  const [exited, stderr] = [once(child, 'exit'), text(child.stderr as NonNullable<typeof child.stderr>)]
  const said = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  for (let epoch = 0; epoch < EPOCHS; epoch++) {
    // Each block is a new head; all but the first of an epoch change nothing.
    const from = FIRST_SLOT + (epoch - 1) * SLOTS_PER_EPOCH
    if (epoch > 0)
      for (let slots = STEP_SLOTS; slots <= SLOTS_PER_EPOCH; slots += STEP_SLOTS) await devnet.advanceTo(from + slots)
    const { value } = (await said.next()) as { readonly value: string | undefined }
    expect(value ?? (await stderr)).toMatch(/^read \d+$/)
  }
  child.kill('SIGTERM')
  expect((await exited)[0], await stderr).toBe(0)
  expect(await said.next()).toEqual({ done: true, value: undefined })
  expect(node.faults).toBe(EPOCHS)
  await using eventLog = await openSqliteEventLog({ file })
  const told = (await eventsIn(eventLog, 'beacon.blocks')).map((event) => decodeEvent(beaconQueues, event))
  expect(told.map(({ header }) => Math.floor(header.slot / SLOTS_PER_EPOCH))).toEqual([2, 3])
  const amounts = BigUint64Array.from(deposits, ({ amount }) => BigInt(amount))
  for (const { columns } of told) expect(columns.amountGwei).toEqual(amounts)
})

test('the same is too much for the program in that heap where it is parsed as a whole', TIMEOUT, async () => {
  const url = `${node.url}/eth/v1/beacon/states/head/pending_deposits`
  const files = ['infra/beacon/http-source.ts', 'infra/event-log/sqlite.ts', 'ingest/queues/queue-follower.ts']
  const imports = files.map((name) => `import ${JSON.stringify(join(import.meta.dirname, '../..', name))}`)
  const parse = `await (await fetch(${JSON.stringify(url)})).json()`
  const child = start(['--input-type=module', '--eval', [...imports, parse].join('\n')])
  const stderr = text(child.stderr as NonNullable<typeof child.stderr>)
  await once(child, 'exit')
  expect(await stderr).toMatch('heap out of memory')
})

function toJson(): unknown {
  return ssz.electra.PendingDeposits.toJson(deposits)
}

function numbered(length: number, number: number): Uint8Array {
  const bytes = Buffer.alloc(length, 0xa5)
  bytes.writeUInt32BE(number)
  return bytes
}
