import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { migrate, readMigrations } from '../../infra/warehouse/migrate.ts'
import { openWarehouse } from '../../infra/warehouse/open.ts'
import { blockRevenuesSql } from '../../schemas/tables/block-revenues.ts'

const CHAIN = 'mainnet'
const PROPOSER = 7
const PUBKEY = `0x${'ab'.repeat(48)}`
const address = (kind: string): string => `0x${kind.repeat(20)}`
/** Whom the proposer is paid at, a builder, somebody, and the owner of the stake. */
const [OWN, BUILDER, STRANGER, OWNER] = [address('a1'), address('b1'), address('c1'), address('d1')]
/** What withdrawal credentials name. */
const CREDITED = address('e1')
const TIPS = 17_898_525n
const PAYMENT = 42_175n

interface GivenBlock {
  readonly coinbase: string
  readonly to?: string
  readonly failed?: boolean
  readonly proposer?: number
  readonly day?: number
}

const directory = mkdtempSync(join(tmpdir(), 'epochline-revenues-'))
let warehouse: Warehouse

beforeAll(async () => {
  warehouse = await openWarehouse({ directory })
  await migrate(warehouse, await readMigrations())
})
afterAll(async () => {
  await warehouse[Symbol.asyncDispose]()
  rmSync(directory, { recursive: true })
})
beforeEach(async () => {
  for (const table of ['finalized_blocks', 'execution_blocks', 'block_payments', 'validators', 'fee_recipients']) {
    await warehouse.command(`TRUNCATE TABLE ${table}`)
  }
})

const hashOf = (slot: number): string => `0x${slot.toString(16).padStart(64, '0')}`

async function given(blocks: readonly GivenBlock[]): Promise<void> {
  const slots = blocks.map((_, slot) => slot)
  const fill = (value: bigint) => BigUint64Array.from(slots, () => value)
  await warehouse.insert('finalized_blocks', {
    chain: slots.map(() => CHAIN),
    slot: BigUint64Array.from(slots, BigInt),
    epoch: Uint32Array.from(slots, () => 0),
    day: Uint16Array.from(blocks, ({ day = 100 }) => day),
    block_root: slots.map(hashOf),
    proposer_index: Uint32Array.from(blocks, ({ proposer = PROPOSER }) => proposer),
    execution_block_hash: slots.map(hashOf),
    execution_block_number: BigUint64Array.from(slots, BigInt),
    fee_recipient: blocks.map(({ coinbase }) => coinbase),
    version: fill(1n),
  })
  await insertExecution(blocks, 1n)
}

async function insertExecution(blocks: readonly GivenBlock[], version: bigint, isReverted = false): Promise<void> {
  const slots = blocks.map((_, slot) => slot)
  await warehouse.insert('execution_blocks', {
    chain: slots.map(() => CHAIN),
    block_hash: slots.map(hashOf),
    block_number: BigUint64Array.from(slots, BigInt),
    time: Uint32Array.from(slots, () => 1),
    coinbase: blocks.map(({ coinbase }) => coinbase),
    transactions: Uint32Array.from(slots, () => 3),
    base_fee_per_gas_wei: slots.map(() => 7n),
    priority_fees_wei: slots.map(() => TIPS),
    pays_somebody: Uint8Array.from(slots, (slot) => (blocks[slot]?.to === undefined ? 0 : 1)),
    version: BigUint64Array.from(slots, () => version),
    is_deleted: Uint8Array.from(slots, () => (isReverted ? 1 : 0)),
  })
  const paying = slots.filter((slot) => !isReverted && blocks[slot]?.to !== undefined)
  await warehouse.insert('block_payments', {
    chain: paying.map(() => CHAIN),
    block_hash: paying.map(hashOf),
    transaction_index: Uint32Array.from(paying, () => 2),
    transaction_hash: paying.map(hashOf),
    sender: paying.map((slot) => blocks[slot]?.coinbase ?? ''),
    recipient: paying.map((slot) => blocks[slot]?.to ?? ''),
    value_wei: paying.map(() => PAYMENT),
    succeeded: Uint8Array.from(paying, (slot) => (blocks[slot]?.failed === true ? 0 : 1)),
    payer: paying.map(() => 'coinbase'),
    version: BigUint64Array.from(paying, () => version),
  })
}

interface Telling {
  readonly version?: bigint
  readonly isOwn?: boolean
  readonly fromDay?: number
}

async function tell(recipients: readonly string[], telling: Telling = {}): Promise<void> {
  const { version = 1n, isOwn = true, fromDay = 0 } = telling
  await warehouse.insert('fee_recipients', {
    chain: recipients.map(() => CHAIN),
    pubkey: recipients.map(() => PUBKEY),
    fee_recipient: [...recipients],
    from_day: Uint16Array.from(recipients, () => fromDay),
    is_own: Uint8Array.from(recipients, () => (isOwn ? 1 : 0)),
    version: BigUint64Array.from(recipients, () => version),
  })
}

async function identify(credentials = `0x00${'ee'.repeat(31)}`): Promise<void> {
  await warehouse.insert('validators', {
    chain: [CHAIN],
    validator_index: Uint32Array.of(PROPOSER),
    pubkey: [PUBKEY],
    withdrawal_credentials: [credentials],
    version: BigUint64Array.of(1n),
  })
}

interface Row {
  readonly revenue_class: string
  readonly revenue_wei: string
  readonly claimed_wei: string
  readonly recipient: string
  readonly version: string
}

const revenues = () => warehouse.query<Row>(`SELECT * FROM (${blockRevenuesSql('1')}) ORDER BY slot`)
async function first(): Promise<Omit<Row, 'version'>> {
  const [row] = await revenues()
  if (row === undefined) throw new Error('no block')
  const { revenue_class, revenue_wei, claimed_wei, recipient } = row
  return { revenue_class, revenue_wei, claimed_wei, recipient }
}

const tipsTo = (recipient: string) => {
  return { revenue_class: 'local', revenue_wei: `${TIPS}`, claimed_wei: `${TIPS}`, recipient }
}
const paidTo = (recipient: string) => {
  return { revenue_class: 'builder_payment', revenue_wei: `${PAYMENT}`, claimed_wei: `${PAYMENT}`, recipient }
}
const tipsOf = (recipient: string) => {
  return { revenue_class: 'unexplained', revenue_wei: '0', claimed_wei: `${TIPS}`, recipient }
}
const claimedFor = (recipient: string) => {
  return { revenue_class: 'unexplained', revenue_wei: '0', claimed_wei: `${PAYMENT}`, recipient }
}

const ownTransfer: GivenBlock = { coinbase: OWN, to: STRANGER }
const payment: GivenBlock = { coinbase: BUILDER, to: OWN }

describe('of a proposer whose fee recipient the operator told', () => {
  test.each<[string, GivenBlock, Omit<Row, 'version'>]>([
    ['a block without a transfer of its coinbase leaves the tips', { coinbase: OWN }, tipsTo(OWN)],
    [
      'a block without a transfer of a stranger’s coinbase is a claim of its tips',
      { coinbase: BUILDER },
      tipsOf(BUILDER),
    ],
    ['a block without a transfer of its withdrawal address leaves the tips', { coinbase: CREDITED }, tipsTo(CREDITED)],
    ['a transfer of its own is no payment', ownTransfer, tipsTo(OWN)],
    ['what somebody else pays it is the revenue', payment, paidTo(OWN)],
    ['a payment that failed is a claim', { ...payment, failed: true }, claimedFor(OWN)],
    ['a transfer between strangers is a claim', { coinbase: BUILDER, to: STRANGER }, claimedFor(STRANGER)],
    ['a transfer between its own addresses is no payment', { coinbase: OWN, to: OWNER }, tipsTo(OWN)],
  ])('%s', async (_, block, expected) => {
    await given([block])
    await identify(`0x01${'00'.repeat(11)}${CREDITED.slice(2)}`)
    await tell([OWN, OWNER])
    expect(await first()).toEqual(expected)
  })

  test('an address that was taken back is a stranger’s', async () => {
    await given([payment])
    await identify()
    await tell([OWN])
    await tell([OWN], { version: 2n, isOwn: false })
    expect(await first()).toEqual(claimedFor(OWN))
  })

  test('it holds from the day on that was named, until the day on which it was taken back', async () => {
    const days = [99, 100, 101, 102]
    await given(days.map((day) => ({ ...payment, day })))
    await identify()
    await tell([OWN], { fromDay: 100 })
    await tell([STRANGER], { version: 2n })
    await tell([OWN], { version: 3n, fromDay: 102, isOwn: false })
    const classes = async () => (await revenues()).map(({ revenue_class }) => revenue_class)
    expect(await classes()).toEqual(['unexplained', 'builder_payment', 'builder_payment', 'unexplained'])
    await tell([OWN], { version: 4n, fromDay: 102 })
    expect(await classes()).toEqual(['unexplained', 'builder_payment', 'builder_payment', 'builder_payment'])
  })

  test('on days before it was told its plain blocks show whose it is', async () => {
    await given([payment, { coinbase: OWN }, { ...payment, day: 101 }, { coinbase: OWN, day: 101 }])
    await identify()
    await tell([STRANGER], { fromDay: 101 })
    expect((await revenues()).map(({ revenue_class }) => revenue_class)).toEqual([
      'builder_payment',
      'local',
      'unexplained',
      'unexplained',
    ])
  })

  test('what its other blocks show does not matter', async () => {
    await given([{ coinbase: BUILDER, to: STRANGER }, { coinbase: BUILDER }])
    await identify()
    await tell([OWN])
    expect(await first()).toEqual(claimedFor(STRANGER))
  })
})

describe('of a proposer of whom nothing was told', () => {
  test.each<[string, readonly GivenBlock[], Omit<Row, 'version'>]>([
    ['a block without a transfer leaves the tips', [{ coinbase: BUILDER }], tipsTo(BUILDER)],
    ['a transfer is a claim, whosever it is', [ownTransfer], claimedFor(STRANGER)],
    ['the coinbase of a plain block of the day is its own', [ownTransfer, { coinbase: OWN }], tipsTo(OWN)],
    ['who is paid and was coinbase of the day is itself', [payment, { coinbase: OWN }], paidTo(OWN)],
    ['a failed payment stays a claim', [{ ...payment, failed: true }, { coinbase: OWN }], claimedFor(OWN)],
    [
      'payer and payee who both were coinbase leave it open',
      [payment, { coinbase: OWN }, { coinbase: BUILDER }],
      claimedFor(OWN),
    ],
    [
      'a plain block of another proposer shows nothing',
      [ownTransfer, { coinbase: OWN, proposer: 8 }],
      claimedFor(STRANGER),
    ],
    ['a plain block of another day shows nothing', [ownTransfer, { coinbase: OWN, day: 101 }], claimedFor(STRANGER)],
    ['a block with a transfer shows nothing', [ownTransfer, ownTransfer], claimedFor(STRANGER)],
  ])('%s', async (_, blocks, expected) => {
    await given(blocks)
    await identify()
    expect(await first()).toEqual(expected)
  })

  test.each(['01', '02'])('its withdrawal address is its own (0x%s)', async (kind) => {
    const credentials = `0x${kind}${'00'.repeat(11)}${OWNER.slice(2)}`
    await given([{ coinbase: OWNER, to: STRANGER }])
    await identify(credentials)
    expect(await first()).toEqual(tipsTo(OWNER))
  })

  test('a payment to its withdrawal address is one', async () => {
    await given([{ coinbase: BUILDER, to: OWNER }])
    await identify(`0x01${'00'.repeat(11)}${OWNER.slice(2)}`)
    expect(await first()).toEqual(paidTo(OWNER))
  })

  test('withdrawal credentials without an address are none', async () => {
    await given([{ coinbase: BUILDER, to: OWNER }])
    await identify(`0x00${'00'.repeat(11)}${OWNER.slice(2)}`)
    expect(await first()).toEqual(claimedFor(OWNER))
  })
})

test('107 blocks in which the fee recipient sent the last transaction, of 177 local ones, all leave their tips', async () => {
  const blocks = Array.from({ length: 177 }, (_, i) => (i < 107 ? ownTransfer : { coinbase: OWN }))
  await given(blocks)
  expect(
    new Set((await revenues()).map(({ revenue_class, revenue_wei }) => `${revenue_class} ${revenue_wei}`)),
  ).toEqual(new Set([`local ${TIPS}`]))
})

test('versions grow with every fact that a class may follow from, and with a revert', async () => {
  const version = async () => BigInt((await revenues())[0]?.version ?? 0)
  const versions: bigint[] = []
  const blocks = [payment, { coinbase: OWN }]
  await given(blocks)
  versions.push(await version())
  await identify()
  versions.push(await version())
  await tell([OWN])
  versions.push(await version())
  await tell([OWN], { version: 2n, isOwn: false })
  versions.push(await version())
  await tell([OWN], { version: 3n, fromDay: 50 })
  versions.push(await version())
  await insertExecution(blocks.slice(0, 1), 5n, true)
  versions.push(await version())
  expect(await first()).toMatchObject({ revenue_class: '', revenue_wei: '0' })
  await insertExecution(blocks, 9n)
  versions.push(await version())
  expect(versions).toEqual([...new Set(versions)].sort((a, b) => Number(a - b)))
})
