import { afterAll, beforeAll, expect, test } from 'vitest'
import type { HistoryStep } from '../../schemas/routes/validators/validator-history.ts'
import type { Projection } from '../../schemas/tables/projections.ts'
import {
  type ApiFixture,
  addressOf,
  EXPIRY_EPOCHS,
  epochRow,
  FAR,
  GENESIS_SEC,
  hashOf,
  insertOwners,
  insertRows,
  NEWEST_EPOCH,
  openApiFixture,
  pubkeyOf,
  TOKEN,
} from './api-fixture.ts'

const CREDENTIALS = `0x01${'00'.repeat(11)}${addressOf(5).slice(2)}`
/** With a final block, which the fixture has: slot 1 of epoch 450. */
const FINAL_SLOT = 14_401
/** Lived through everything; created only; tracked only; created, and asked for twice whatever was asked of it. */
const [LEFT, CREATED, TRACKED, AGAIN] = [600, 601, 10, 602] as const

let fixture: ApiFixture

beforeAll(async () => {
  fixture = await openApiFixture()
  const insert = (table: Projection, rows: Parameters<typeof insertRows>[2]) =>
    insertRows(fixture.warehouse, table, rows)
  const keys = [LEFT, CREATED, AGAIN].map(pubkeyOf)
  await insert('deposit_contracts', [{ address: addressOf(42), version: 1 }])
  await insertOwners(
    fixture.warehouse,
    keys.map((pubkey) => ({ account: 'demo', pubkey })),
  )
  await insert(
    'created_validators',
    keys.map((pubkey, at) => ({
      pubkey,
      account: 'demo',
      withdrawal_credentials: CREDENTIALS,
      deposit_from: addressOf(6),
      fee_recipient: addressOf(7),
      amount_gwei: 32_000_000_000n,
      deposit_data_root: hashOf(9),
      created_at: '2026-11-17 16:13:10',
      created_at_slot: at === 0 ? 50 : -1,
      version: 1,
    })),
  )
  await insert('deposits', [
    {
      pubkey: pubkeyOf(LEFT),
      contract: addressOf(42),
      block_hash: hashOf(64),
      log_index: 0,
      block_number: 63,
      time: new Date((GENESIS_SEC + 64 * 12) * 1_000).toISOString().slice(0, 19).replace('T', ' '),
      transaction_hash: hashOf(77),
      withdrawal_credentials: CREDENTIALS,
      amount_gwei: 32_000_000_000n,
      deposit_data_root: hashOf(9),
      deposit_index: 0,
      version: 1,
    },
  ])
  const block = { attestations_gwei: 0, sync_aggregate_gwei: 0, proposer_slashings_gwei: 0, attester_slashings_gwei: 0 }
  await insert('finalized_blocks', [
    {
      slot: 64,
      epoch: 2,
      day: '2026-11-18',
      block_root: hashOf(64),
      proposer_index: 1,
      execution_block_hash: hashOf(64),
      execution_block_number: 63,
      fee_recipient: addressOf(1),
      version: 1,
      ...block,
    },
  ])
  await insert('validators', [
    { validator_index: LEFT, pubkey: pubkeyOf(LEFT), withdrawal_credentials: CREDENTIALS, version: 1 },
  ])
  const state = (epoch: number, status: number) =>
    epochRow(epoch, '2026-11-18', LEFT, {
      status,
      activation_epoch: status < 1 ? FAR : 10,
      exit_epoch: status < 3 ? FAR : 300,
      withdrawable_epoch: status < 3 ? FAR : 440,
      slashed: status > 3 ? 1 : 0,
    })
  await insert('validator_epochs', [
    ...[5, 6].map((epoch) => state(epoch, 0)),
    ...[7, 8, 9].map((epoch) => state(epoch, 1)),
    ...[10, 200].map((epoch) => state(epoch, 2)),
    ...[290, 291].map((epoch) => state(epoch, 3)),
    state(NEWEST_EPOCH, 8),
  ])
  const exitStep = (step: string, slot: number, version: number, index: number = LEFT) => ({
    pubkey: pubkeyOf(index),
    step,
    time: GENESIS_SEC + slot * 12,
    epoch: 0,
    reason: '',
    version,
  })
  await insert('exit_steps', [
    exitStep('requested', 9_200, 1),
    exitStep('signed', 9_210, 2),
    exitStep('submitted', 9_220, 3),
    exitStep('on_chain', 9_280, 4),
    exitStep('requested', 9_200, 5, CREATED),
    exitStep('cancelled', 9_201, 6, CREATED),
    exitStep('requested', 9_300, 9, AGAIN),
    exitStep('cancelled', 9_201, 8, AGAIN),
  ])
  const staking = { time: GENESIS_SEC + 60 * 12, block_number: 0 }
  await insert('staking_steps', [
    { ...staking, transaction_hash: hashOf(81), step: 'broadcast', pubkey: pubkeyOf(AGAIN), version: 1 },
    {
      ...staking,
      transaction_hash: hashOf(81),
      step: 'failed',
      pubkey: '',
      time: GENESIS_SEC + 70 * 12,
      block_number: 61,
      version: 2,
    },
    {
      ...staking,
      transaction_hash: hashOf(82),
      step: 'broadcast',
      pubkey: pubkeyOf(AGAIN),
      time: GENESIS_SEC + 80 * 12,
      version: 3,
    },
  ])
  const entry = { day: '2026-11-18', validator_index: LEFT, reference: 0, amount_gwei: -1, version: 1 }
  await insert('ledger_entries', [
    { ...entry, slot: 9_300, epoch: 290, kind: 'slashing_penalty' },
    { ...entry, slot: 14_000, epoch: 437, kind: 'withdrawal_partial' }, // skimmed before it was withdrawable
    { ...entry, slot: 14_101, epoch: 440, kind: 'withdrawal_full' },
    { ...entry, slot: 14_300, epoch: 446, kind: 'withdrawal' },
  ])
})
afterAll(() => fixture[Symbol.asyncDispose]())

async function history(pubkey: string, token = TOKEN) {
  const base = fixture.base.replace(TOKEN, token)
  const response = await fetch(`${base}/api/v1/validator/history?pubkey=${pubkey}`)
  return { status: response.status, body: (await response.json()) as { msg: string; data: { history: HistoryStep[] } } }
}

const timeOf = (slot: number) => new Date((GENESIS_SEC + slot * 12) * 1_000).toISOString()
const at = (step: string, slot: number, isExact = true) => ({
  step,
  time: timeOf(slot),
  slot,
  is_exact: isExact,
  block_number: null,
  transaction_hash: null,
})
/** Its creation has no slot, so that of its time counts. */
const UNFUNDED = [
  { ...at('created', 0), time: '2026-11-17T16:13:10.000Z', slot: null },
  at('expired', 49 + EXPIRY_EPOCHS * 32),
  { ...at('exit_requested', 9_200), slot: null },
  { ...at('exit_cancelled', 9_201), slot: null },
]
const LIFE = [
  at('created', 50),
  { ...at('deposited', 64), block_number: 63, transaction_hash: hashOf(77) },
  at('deposit_finalized', 4 * 32, false),
  at('pending_initialized', 5 * 32),
  at('pending_queued', 7 * 32),
  at('active', 10 * 32),
  { ...at('exit_requested', 9_200), slot: null },
  { ...at('exit_submitted', 9_220), slot: null },
  at('exiting', 290 * 32, false),
  at('slashed', 9_300),
  at('exited', 300 * 32),
  at('withdrawable', 440 * 32),
  at('swept', 14_101),
]

test('a validator’s history goes from its creation to the withdrawal of its balance, by the slots of the chain', async () => {
  const { status, body } = await history(pubkeyOf(LEFT).slice(2).toUpperCase())
  expect(status).toBe(200)
  expect(body).toEqual({
    code: '200',
    msg: 'Success',
    data: { network: 'mainnet', pubkey: pubkeyOf(LEFT), history: LIFE },
  })
})

test('what nobody has followed is left out, and what lies ahead', async () => {
  expect((await history(pubkeyOf(CREATED))).body.data.history).toEqual(UNFUNDED)
  expect((await history(pubkeyOf(TRACKED))).body.data.history).toEqual([at('active', 3 * 32)])
  // 12 was slashed in the open day and is withdrawable at epoch 8632.
  expect((await history(pubkeyOf(12))).body.data.history).toEqual([
    at('active', 3 * 32),
    at('exited', 440 * 32),
    at('slashed', FINAL_SLOT + 1),
  ])
})

test('what was cancelled, and what was reverted, stays in it when it was tried again', async () => {
  const told = (await history(pubkeyOf(AGAIN))).body.data.history
  expect(told.filter(({ step }) => /^(broadcast|failed|exit_)/.test(step))).toEqual([
    { ...at('broadcast', 60), slot: null, transaction_hash: hashOf(81) },
    { ...at('failed', 70, false), slot: null, block_number: 61, transaction_hash: hashOf(81) },
    { ...at('broadcast', 80), slot: null, transaction_hash: hashOf(82) },
    { ...at('exit_cancelled', 9_201), slot: null },
    { ...at('exit_requested', 9_300), slot: null },
  ])
})

const toGraphql = ({
  is_exact: isExact,
  block_number: blockNumber,
  transaction_hash: transactionHash,
  ...step
}: At) => ({
  ...step,
  isExact,
  blockNumber,
  transactionHash,
})
type At = ReturnType<typeof at> | (typeof LIFE)[number]

async function graphql<Data>(query: string, variables: object = {}) {
  const response = await fetch(`${fixture.base}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables }),
  })
  return (await response.json()) as { data: Data; errors?: readonly { message: string }[] }
}

const STEP = '{ step time slot isExact blockNumber transactionHash }'

test('GraphQL has the same for each validator of a list', async () => {
  const { data } = await graphql<{ validators: { nodes: readonly { index: number; history: readonly object[] }[] } }>(
    `{ validators { nodes { index history ${STEP} } } }`,
  )
  const histories = new Map(data.validators.nodes.map((node) => [node.index, node.history]))
  expect(histories.get(LEFT)).toEqual(LIFE.map(toGraphql))
  expect(histories.get(TRACKED)).toHaveLength(1)
})

test('GraphQL has those that the registry does not know yet by their public keys, and nobody else’s', async () => {
  const query = `query ($pubkeys: [String!]!) { histories(pubkeys: $pubkeys) { pubkey steps ${STEP} } }`
  const pubkeys = [pubkeyOf(LEFT), pubkeyOf(20), pubkeyOf(CREATED).slice(2).toUpperCase()]
  const { data } = await graphql<{ histories: readonly object[] }>(query, { pubkeys })
  expect(data.histories).toHaveLength(2)
  expect(data.histories).toEqual(
    expect.arrayContaining([
      { pubkey: pubkeyOf(LEFT), steps: LIFE.map(toGraphql) },
      { pubkey: pubkeyOf(CREATED), steps: UNFUNDED.map(toGraphql) },
    ]),
  )
  for (const wrong of [['0x12'], Array.from({ length: 101 }, (_, i) => pubkeyOf(i))]) {
    const [error] = (await graphql(query, { pubkeys: wrong })).errors ?? []
    expect(error?.message).toBe('Param error: pubkeys is not a list of at most 100 public keys')
  }
})

test.each([
  ['of another account', pubkeyOf(20)],
  ['of nobody', pubkeyOf(999)],
])('the history of a validator %s is refused', async (_, pubkey) => {
  const { status, body } = await history(pubkey)
  expect([status, body.msg]).toEqual([400, 'Param error: pubkey is none of the account’s validators'])
})

test('a public key that is none is refused', async () => {
  expect((await history('0x12')).status).toBe(400)
  expect((await history(pubkeyOf(LEFT), 'token-of-other')).status).toBe(400)
})
