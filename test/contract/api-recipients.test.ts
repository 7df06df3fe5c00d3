import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { checksumAddress } from '../../schemas/eth/address.ts'
import type { ValidatorDetail } from '../../schemas/routes/validators/validator-details.ts'
import {
  type ApiFixture,
  addressOf,
  hashOf,
  insertOwners,
  insertRows,
  openApiFixture,
  pubkeyOf,
} from './api-fixture.ts'

const [OWN, BUILDER, OTHER] = [addressOf(0x70), addressOf(0x71), addressOf(0x72)]
const [DAY_BEFORE, DAY] = ['2026-11-19', '2026-11-20']
const FIRST_SLOT = 14_410

let fixture: ApiFixture
let version = 100
afterAll(() => fixture[Symbol.asyncDispose]())

interface Block {
  readonly proposer: number
  readonly coinbase: string
  /** Whom the last transaction pays. */
  readonly paid?: string
}

/** In the order of their slots. */
const BLOCKS: readonly Block[] = [
  { proposer: 10, coinbase: OWN },
  { proposer: 10, coinbase: BUILDER, paid: OWN },
  { proposer: 11, coinbase: OWN },
  { proposer: 11, coinbase: BUILDER },
  { proposer: 12, coinbase: BUILDER, paid: OTHER },
]

beforeAll(async () => {
  fixture = await openApiFixture()
  const { warehouse } = fixture
  const told = [10, 11, 12].map((index) => ({ pubkey: pubkeyOf(index), fee_recipient: OWN, from_day: 0, is_own: 1 }))
  await insertRows(
    warehouse,
    'fee_recipients',
    told.map((row) => ({ ...row, version: version++ })),
  )
  await insertOwners(warehouse, [{ account: 'demo', pubkey: pubkeyOf(12), version: version++ }])
  await insertRows(warehouse, 'created_validators', [
    {
      ...{ pubkey: pubkeyOf(12), account: 'demo', withdrawal_credentials: '', deposit_from: OWN, fee_recipient: OWN },
      ...{ amount_gwei: 32_000_000_000n, deposit_data_root: hashOf(1), created_at: '2026-11-17 00:00:00', version: 1 },
    },
  ])
  await insertBlocks(warehouse, BLOCKS, FIRST_SLOT, DAY)
})

async function insertBlocks(
  warehouse: Warehouse,
  blocks: readonly Block[],
  firstSlot: number,
  day: string,
): Promise<void> {
  const gwei = { attestations_gwei: 1, sync_aggregate_gwei: 0, proposer_slashings_gwei: 0, attester_slashings_gwei: 0 }
  await insertRows(
    warehouse,
    'finalized_blocks',
    blocks.map(({ proposer, coinbase }, i) => ({
      ...{
        slot: firstSlot + i,
        epoch: Math.floor(firstSlot / 32),
        day,
        block_root: hashOf(firstSlot + i),
        has_rewards: 1,
      },
      ...{ proposer_index: proposer, execution_block_hash: hashOf(firstSlot + i), fee_recipient: coinbase },
      ...{ execution_block_number: firstSlot + i, ...gwei, version: version++ },
    })),
  )
  await insertRows(
    warehouse,
    'execution_blocks',
    blocks.map(({ coinbase, paid }, i) => ({
      ...{ block_hash: hashOf(firstSlot + i), block_number: firstSlot + i, time: `${day} 00:30:00`, coinbase },
      ...{ transactions: 1, base_fee_per_gas_wei: 7, priority_fees_wei: 9, pays_somebody: paid === undefined ? 0 : 1 },
      ...{ version: version++, is_deleted: 0 },
    })),
  )
  await insertRows(
    warehouse,
    'block_payments',
    blocks.flatMap(({ coinbase, paid }, i) => {
      if (paid === undefined) return []
      const named = {
        block_hash: hashOf(firstSlot + i),
        transaction_index: 0,
        transaction_hash: hashOf(firstSlot + i),
      }
      return [
        {
          ...named,
          sender: coinbase,
          recipient: paid,
          value_wei: 5n,
          succeeded: 1,
          payer: 'coinbase',
          version: version++,
        },
      ]
    }),
  )
}

test('the fee recipient is who got the newest revenue that is proven, not the coinbase of a builder', async () => {
  const response = await fetch(`${fixture.base}/api/v1/validator/details`, { method: 'POST' })
  expect(response.status, fixture.logged()).toBe(200)
  const { data } = (await response.json()) as { data: readonly ValidatorDetail[] }
  const recipients = new Map(data.map((one) => [one.pubkey, one.fee_recipient_address]))
  // The builder has paid the first one, nobody knows whether the second had the tips, and the third has paid somebody else.
  for (const index of [10, 11, 12]) expect(recipients.get(pubkeyOf(index)), `${index}`).toBe(checksumAddress(OWN))
})

test('GraphQL shows what a block is read out of, and what a relay says against it', async () => {
  const { warehouse } = fixture
  const [paid, unpaid] = [14_376, 14_377]
  const blocks: readonly Block[] = [
    { proposer: 10, coinbase: BUILDER, paid: OWN },
    { proposer: 11, coinbase: BUILDER },
  ]
  await insertBlocks(warehouse, blocks, paid, DAY_BEFORE)
  const ofBlock = (slot: number) => ({ block_hash: hashOf(slot), version: version++ })
  const claim = { relay: 'relay 1', fee_recipient: OWN, builder_pubkey: pubkeyOf(99), slot: paid }
  await insertRows(warehouse, 'relay_claims', [
    { ...ofBlock(paid), ...claim, value_wei: 5n, proposer_pubkey: pubkeyOf(10) },
    { ...ofBlock(paid), ...claim, relay: 'relay 2', value_wei: 32n, proposer_pubkey: pubkeyOf(10) },
    { ...ofBlock(unpaid), ...claim, value_wei: 7n, proposer_pubkey: pubkeyOf(11) },
  ])
  const balance = { before_wei: 1n, after_wei: 3n, withdrawals_wei: 2n, received_wei: 5n, spent_wei: 4n, tips_wei: 0n }
  await insertRows(warehouse, 'block_balances', [{ ...ofBlock(paid), address: OWN, ...balance, internal_wei: -1n }])
  const query = `{ blocks(from: "${DAY_BEFORE}", to: "${DAY}") { nodes { block {
    slot revenueClass revenue { wei } claimed { wei } isContradicted evidence {
      payments { transactionIndex sender recipient valueWei succeeded isOfCoinbase }
      balances { address beforeWei afterWei withdrawalsWei receivedWei spentWei internalWei }
      claims { relay valueWei feeRecipient proposerPubkey }
    } } } } }`
  const response = await fetch(`${fixture.base}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  })
  const { data, errors } = (await response.json()) as {
    data?: { blocks: { nodes: readonly { block: { slot: number } }[] } }
    errors?: unknown
  }
  expect(errors, fixture.logged()).toBeUndefined()
  const blockAt = (slot: number) => data?.blocks.nodes.find(({ block }) => block.slot === slot)?.block
  const said = { feeRecipient: checksumAddress(OWN), proposerPubkey: pubkeyOf(10) }
  expect(blockAt(paid)).toEqual({
    ...{ slot: paid, revenueClass: 'builder_payment', revenue: { wei: '5' }, claimed: { wei: '5' } },
    isContradicted: true,
    evidence: {
      payments: [
        {
          ...{ transactionIndex: 0, sender: checksumAddress(BUILDER), recipient: checksumAddress(OWN), valueWei: '5' },
          ...{ succeeded: true, isOfCoinbase: true },
        },
      ],
      balances: [
        {
          ...{ address: checksumAddress(OWN), beforeWei: '1', afterWei: '3', withdrawalsWei: '2', receivedWei: '5' },
          ...{ spentWei: '4', internalWei: '-1' },
        },
      ],
      claims: [
        { relay: 'relay 1', valueWei: '5', ...said },
        { relay: 'relay 2', valueWei: '32', ...said },
      ],
    },
  })
  // Nothing proves it: no figure, and what may have been paid.
  expect(blockAt(unpaid)).toMatchObject({
    ...{ revenueClass: 'relay_only', revenue: null, claimed: { wei: '7' }, isContradicted: false },
    evidence: { payments: [], balances: [], claims: [{ relay: 'relay 1' }] },
  })
})
