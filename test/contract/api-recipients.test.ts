import { afterAll, beforeAll, expect, test } from 'vitest'
import { checksumAddress } from '../../schemas/eth/address.ts'
import type { ValidatorDetail } from '../../schemas/routes/validators/validator-details.ts'
import {
  type ApiFixture,
  addressOf,
  hashOf,
  insertOwners,
  insertRows,
  NEWEST_EPOCH,
  openApiFixture,
  pubkeyOf,
} from './api-fixture.ts'

const [OWN, BUILDER, OTHER] = [addressOf(0x70), addressOf(0x71), addressOf(0x72)]
const DAY = '2026-11-20'
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
  const gwei = { attestations_gwei: 1, sync_aggregate_gwei: 0, proposer_slashings_gwei: 0, attester_slashings_gwei: 0 }
  await insertRows(
    warehouse,
    'finalized_blocks',
    BLOCKS.map(({ proposer, coinbase }, i) => ({
      ...{ slot: FIRST_SLOT + i, epoch: NEWEST_EPOCH, day: DAY, block_root: hashOf(FIRST_SLOT + i), has_rewards: 1 },
      ...{ proposer_index: proposer, execution_block_hash: hashOf(FIRST_SLOT + i), fee_recipient: coinbase },
      ...{ execution_block_number: FIRST_SLOT + i, ...gwei, version: version++ },
    })),
  )
  await insertRows(
    warehouse,
    'execution_blocks',
    BLOCKS.map(({ coinbase, paid }, i) => ({
      ...{ block_hash: hashOf(FIRST_SLOT + i), block_number: FIRST_SLOT + i, time: `${DAY} 00:30:00`, coinbase },
      ...{ transactions: 1, base_fee_per_gas_wei: 7, priority_fees_wei: 9, pays_somebody: paid === undefined ? 0 : 1 },
      ...{ version: version++, is_deleted: 0 },
    })),
  )
  await insertRows(
    warehouse,
    'block_payments',
    BLOCKS.flatMap(({ coinbase, paid }, i) => {
      if (paid === undefined) return []
      const named = {
        block_hash: hashOf(FIRST_SLOT + i),
        transaction_index: 0,
        transaction_hash: hashOf(FIRST_SLOT + i),
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
})

test('the fee recipient is who got the newest revenue that is proven, not the coinbase of a builder', async () => {
  const response = await fetch(`${fixture.base}/api/v1/validator/details`, { method: 'POST' })
  expect(response.status, fixture.logged()).toBe(200)
  const { data } = (await response.json()) as { data: readonly ValidatorDetail[] }
  const recipients = new Map(data.map((one) => [one.pubkey, one.fee_recipient_address]))
  // The builder has paid the first one, nobody knows whether the second had the tips, and the third has paid somebody else.
  for (const index of [10, 11, 12]) expect(recipients.get(pubkeyOf(index)), `${index}`).toBe(checksumAddress(OWN))
})
