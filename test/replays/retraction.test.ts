import { beforeEach, expect, it } from 'vitest'
import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { deriveUndisturbed, settleUndisturbed } from '../../processors/derivation-work.ts'
import { runDeriveDay, runSettleAccounts } from '../../processors/derive.ts'
import { project } from '../../processors/loop/consume.ts'
import { dropRemoved } from '../../processors/loop/drop-chains.ts'
import { openLogFacts } from '../../processors/loop/log-facts.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { dayOfSlot } from '../../schemas/eth/time.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { epochsRetracted, LOG_FACTS_KEY } from '../../schemas/events/log-facts.ts'
import { givenChain } from '../unit/given-chain.ts'
import { openProcess } from '../unit/projecting.ts'
import { storesOfFile } from '../unit/warehouse-of-file.ts'

// Of a proposer of whom nothing was told, a block that was plain tells that a payment of the same day was one: epochs that are
// retracted take that from blocks before them.

const TEST_MS = 60_000
const never = new AbortController().signal
const stores = storesOfFile()
const CHAIN = 'mainnet'
/** Slots of an hour, four an epoch. */
const clock = { genesisTimeSec: 1_767_196_800, secondsPerSlot: 3_600, slotsPerEpoch: 4 }
const PUBKEY = `0x${'ab'.repeat(48)}`
const [OWN, BUILDER] = [`0x${'a1'.repeat(20)}`, `0x${'b1'.repeat(20)}`]
const [OURS, SOMEBODY] = [7, 8]
/** The second day of the chain: 24 slots. */
const DAY = dayOfSlot(clock, 24)
const [PAID_SLOT, PLAIN_SLOT] = [25, 33]
const FROM_EPOCH = 8

const hashOf = (slot: number, letter: string): string => `0x${letter.repeat(60)}${String(slot).padStart(4, '0')}`

interface Block {
  readonly slot: number
  readonly proposer: number
  readonly coinbase: string
  readonly to?: string
  /** Which branch of the chain it is of. */
  readonly letter?: string
}

async function insertBlocks(warehouse: Warehouse, blocks: readonly Block[], version: bigint): Promise<void> {
  const hashes = blocks.map(({ slot, letter = 'a' }) => hashOf(slot, letter))
  const slots = BigUint64Array.from(blocks, ({ slot }) => BigInt(slot))
  const versions = BigUint64Array.from(blocks, () => version)
  await warehouse.insert('finalized_blocks', {
    chain: blocks.map(() => CHAIN),
    slot: slots,
    epoch: Uint32Array.from(blocks, ({ slot }) => Math.floor(slot / clock.slotsPerEpoch)),
    day: Uint16Array.from(blocks, ({ slot }) => dayOfSlot(clock, slot)),
    block_root: hashes,
    proposer_index: Uint32Array.from(blocks, ({ proposer }) => proposer),
    execution_block_hash: hashes,
    execution_block_number: slots,
    fee_recipient: blocks.map(({ coinbase }) => coinbase),
    version: versions,
  })
  await warehouse.insert('execution_blocks', {
    chain: blocks.map(() => CHAIN),
    block_hash: hashes,
    block_number: slots,
    time: Uint32Array.from(blocks, ({ slot }) => clock.genesisTimeSec + slot * clock.secondsPerSlot),
    coinbase: blocks.map(({ coinbase }) => coinbase),
    transactions: Uint32Array.from(blocks, () => 3),
    base_fee_per_gas_wei: blocks.map(() => 7n),
    priority_fees_wei: blocks.map(() => 1_000n),
    pays_somebody: Uint8Array.from(blocks, ({ to }) => (to === undefined ? 0 : 1)),
    version: versions,
    is_deleted: new Uint8Array(blocks.length),
  })
  const paying = blocks.filter(({ to }) => to !== undefined)
  await warehouse.insert('block_payments', {
    chain: paying.map(() => CHAIN),
    block_hash: paying.map(({ slot, letter = 'a' }) => hashOf(slot, letter)),
    transaction_index: Uint32Array.from(paying, () => 2),
    transaction_hash: paying.map(({ slot, letter = 'a' }) => hashOf(slot, letter)),
    sender: paying.map(({ coinbase }) => coinbase),
    recipient: paying.map(({ to = '' }) => to),
    value_wei: paying.map(() => 5_000n),
    succeeded: Uint8Array.from(paying, () => 1),
    payer: paying.map(() => 'coinbase'),
    version: BigUint64Array.from(paying, () => version),
  })
}

const orphaned: readonly Block[] = [
  { slot: PAID_SLOT, proposer: OURS, coinbase: BUILDER, to: OWN },
  { slot: PLAIN_SLOT, proposer: OURS, coinbase: OWN },
]
/** What stands in the place of the retracted epochs. */
const right: readonly Block[] = [{ slot: PLAIN_SLOT + 1, proposer: SOMEBODY, coinbase: BUILDER, letter: 'b' }]

/** Takes epochs back, as a repair does, and drops what was made of them. */
async function retract(eventLog: EventLog, warehouse: Warehouse): Promise<void> {
  const fromSlot = FROM_EPOCH * clock.slotsPerEpoch
  const ends = await eventLog.ends('beacon.epochs')
  const before = Object.fromEntries([...ends].map(([partition, end]) => [partition, String(end)]))
  await eventLog.append('log', [
    encodeEvent(epochsRetracted, {
      id: `log.epochs-retracted:${CHAIN}:${FROM_EPOCH}:1`,
      key: LOG_FACTS_KEY,
      time: '2026-02-01T00:00:00.000Z',
      data: { chain: CHAIN, fromEpoch: FROM_EPOCH, fromSlot, fromDay: DAY, before },
    }),
  ])
  await dropRemoved({ eventLog, warehouse }, await openLogFacts(eventLog, 0, never), never)
}

const settledSlots = async (): Promise<string[]> =>
  (await stores().warehouse.query<{ slot: string }>('SELECT slot FROM settlements FINAL ORDER BY slot')).map(
    ({ slot }) => slot,
  )

beforeEach(async () => {
  const { warehouse, empty } = stores()
  await empty()
  const version = BigUint64Array.of(1n)
  await warehouse.insert('chains', {
    chain: [CHAIN],
    genesis_time_sec: BigUint64Array.of(BigInt(clock.genesisTimeSec)),
    seconds_per_slot: Uint32Array.of(clock.secondsPerSlot),
    slots_per_epoch: Uint32Array.of(clock.slotsPerEpoch),
    version,
  })
  const credentials = [`0x00${'ee'.repeat(31)}`]
  await warehouse.insert('validators', {
    chain: [CHAIN],
    validator_index: Uint32Array.of(OURS),
    pubkey: [PUBKEY],
    withdrawal_credentials: credentials,
    version,
  })
  const owner = { chain: [CHAIN], account: ['a'], pubkey: [PUBKEY], version }
  await warehouse.insert('account_validators', owner)
  await warehouse.insert('validator_owners', { ...owner, from_day: Uint16Array.of(0) })
  await insertBlocks(warehouse, orphaned, 10n)
}, TEST_MS)

it('takes back settlements of the day before the retracted epochs too, which rest on their blocks', {
  timeout: TEST_MS,
}, async () => {
  const { warehouse, openLog } = stores()
  await using eventLog = await openLog()
  await openLogFacts(eventLog, 0, never)
  await runDeriveDay(warehouse, { chain: CHAIN, day: DAY })
  expect(await settledSlots()).toEqual([`${PAID_SLOT}`, `${PLAIN_SLOT}`])
  await retract(eventLog, warehouse)
  await insertBlocks(warehouse, right, 20n)
  await runDeriveDay(warehouse, { chain: CHAIN, day: DAY })
  expect(await settledSlots()).toEqual([])
  await runSettleAccounts(warehouse, ['a'])
  expect(await settledSlots()).toEqual([])
})

/**
 * The warehouse of a process whose statement about a table has read its rows when another process retracts epochs and drops what
 * was made of them, and writes behind that.
 */
function straddling(eventLog: EventLog, table: string, readAgain: () => Promise<void> = async () => {}): Warehouse {
  const { warehouse } = stores()
  let isFirst = true
  const straddle = async (what: string, write: () => Promise<void>): Promise<void> => {
    if (!isFirst || !what.includes(`INSERT INTO ${table}`)) return write()
    isFirst = false
    await write()
    await warehouse.command(`CREATE TABLE late_rows AS ${table}`)
    await warehouse.command(`INSERT INTO late_rows SELECT * FROM ${table}`)
    await retract(eventLog, warehouse)
    await readAgain()
    await warehouse.command(`INSERT INTO ${table} SELECT * FROM late_rows`)
    await warehouse.command('DROP TABLE late_rows')
  }
  return {
    ...warehouse,
    insert: (name, columns) => straddle(`INSERT INTO ${name}`, () => warehouse.insert(name, columns)),
    command: (sql, params) => straddle(sql, () => warehouse.command(sql, params)),
  }
}

it.each(['day', 'account'])(
  'leaves nothing that a job of the %s has read before and writes behind it',
  {
    timeout: TEST_MS,
  },
  async (job) => {
    const { warehouse, openLog } = stores()
    await using eventLog = await openLog()
    const readAgain = () => insertBlocks(warehouse, right, 20n)
    const late = straddling(eventLog, 'settlements', readAgain)
    const { facts } = await openProcess(eventLog, late)
    const ports = { warehouse: late, facts }
    if (job === 'day') await deriveUndisturbed(ports, { chain: CHAIN, day: DAY })
    else await settleUndisturbed(ports, ['a'])
    expect(await settledSlots()).toEqual([])
  },
)

it.each(['day', 'account'])(
  'leaves nothing that a job of the %s wrote behind it and was killed before it looked again',
  {
    timeout: TEST_MS,
  },
  async (job) => {
    const { warehouse, openLog } = stores()
    await using eventLog = await openLog()
    const late = straddling(eventLog, 'settlements', () => insertBlocks(warehouse, right, 20n))
    const { facts } = await openProcess(eventLog, late)
    let looks = 0
    const killed = async () => {
      if (++looks > 1) throw new Error('killed')
      return facts.current()
    }
    const dying = { warehouse: late, facts: { known: facts.known, current: killed } }
    const run = (ports: typeof dying, attempt: number) =>
      job === 'day'
        ? deriveUndisturbed(ports, { chain: CHAIN, day: DAY }, { attempt })
        : settleUndisturbed(ports, ['a'], attempt)
    await expect(run(dying, 1)).rejects.toThrow('killed')
    expect(await settledSlots()).not.toEqual([])
    // The job was not acknowledged: a process that knows of the retraction gets it.
    await run({ warehouse, facts: (await openProcess(eventLog, warehouse)).facts }, 2)
    expect(await settledSlots()).toEqual([])
  },
)

it('leaves no epoch complete whose parts were dropped while a batch was noting it', { timeout: TEST_MS }, async () => {
  const { warehouse, openLog, empty } = stores()
  await empty()
  await using eventLog = await openLog(givenChain().events)
  const late = await openProcess(eventLog, straddling(eventLog, 'epochs'))
  const finalized = PROJECTORS.find(({ topic }) => topic === 'beacon.epochs')
  if (finalized === undefined) throw new Error('nobody projects finalized epochs')
  await project(late, finalized, await Array.fromAsync(eventLog.read({ topic: 'beacon.epochs', signal: never })))
  const epochs = await warehouse.query<{ epoch: number }>('SELECT epoch FROM epochs FINAL ORDER BY epoch')
  expect(epochs.map(({ epoch }) => epoch)).toEqual(Array.from({ length: FROM_EPOCH }, (_, epoch) => epoch))
})
