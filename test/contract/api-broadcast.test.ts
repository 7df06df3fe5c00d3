import { keccak256 } from 'viem'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Api, openApi } from '../../api/http/server.ts'
import type { JobState } from '../../infra/ports/job-queue.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { RAW_TRANSACTION_BYTES_MAX } from '../../schemas/eth/raw-transaction.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import { type BroadcastStakingInput, broadcastStaking } from '../../schemas/jobs/broadcast-staking.ts'
import { toTokenLimitsRow } from '../../schemas/tables/accounts.ts'
import {
  ABYSS,
  credentialsOf,
  DEPOSIT_CONTRACT,
  depositFor,
  depositOf,
  keyOf,
  SENDER,
  type Signing,
  STRANGER,
  signStaking,
} from '../unit/given-staking.ts'
import { type ApiFixture, insertOwners, insertRows, MAINNET, openApiFixture, TOKEN as READS } from './api-fixture.ts'
import { AskedJobs } from './asked-jobs.ts'
import { WRONG_BROADCASTS } from './wrong-requests.ts'

const TOKEN = 'a-token-that-broadcasts'
const OWN = [depositOf(1), depositOf(2)] as const
/** Of them one was deposited by a transaction that was not broadcast here. */
const DEPOSITED = depositOf(3)
const DEPOSITED_BY = await signStaking({ deposits: [DEPOSITED] })
const ETH_WEI = 10n ** 18n

let fixture: ApiFixture
let api: Api
/** What was asked of the queue, and what becomes of it. */
const queue = new AskedJobs<BroadcastStakingInput>()

beforeAll(async () => {
  fixture = await openApiFixture()
  const row = { token_hash: hashToken(TOKEN), account: 'demo', version: 50, is_deleted: 0 }
  await insertRows(fixture.warehouse, 'access_tokens', [{ ...row, ...toTokenLimitsRow({ scopes: ['create'] }) }])
  await insertRows(fixture.warehouse, 'deposit_contracts', [{ address: DEPOSIT_CONTRACT, version: 1 }])
  const created = [...OWN, DEPOSITED]
  const owned = created.map((deposit) => ({ account: 'demo', pubkey: keyOf(deposit) }))
  await insertOwners(fixture.warehouse, owned)
  await insertRows(
    fixture.warehouse,
    'created_validators',
    created.map((deposit) => ({
      pubkey: keyOf(deposit),
      account: 'demo',
      withdrawal_credentials: hexOf(deposit.withdrawalCredentials),
      deposit_from: SENDER.address.toLowerCase(),
      fee_recipient: SENDER.address.toLowerCase(),
      amount_gwei: 32_000_000_000n,
      deposit_data_root: hexOf(deposit.dataRoot),
      created_at: '2026-11-19 00:00:00',
      created_at_slot: 1,
      version: 1,
    })),
  )
  const block = { block_hash: `0x${'b1'.repeat(32)}`, block_number: 7, time: '2026-11-19 00:01:00' }
  const paid = { base_fee_per_gas_wei: 7, priority_fees_wei: 0 }
  const named = { coinbase: SENDER.address.toLowerCase(), transactions: 1, ...paid, version: 1, is_deleted: 0 }
  await insertRows(fixture.warehouse, 'execution_blocks', [{ ...block, ...named }])
  await insertRows(fixture.warehouse, 'deposits', [
    {
      ...block,
      pubkey: keyOf(DEPOSITED),
      contract: DEPOSIT_CONTRACT,
      log_index: 0,
      transaction_hash: keccak256(DEPOSITED_BY),
      withdrawal_credentials: hexOf(DEPOSITED.withdrawalCredentials),
      amount_gwei: 32_000_000_000n,
      deposit_data_root: hexOf(DEPOSITED.dataRoot),
      deposit_index: 0,
      version: 1,
    },
  ])
  const chains = () => [{ ...MAINNET, stakingContract: ABYSS }]
  api = await openApi({ ...fixture.parts, chains, jobs: queue.jobs, host: '127.0.0.1', port: 0 })
})
beforeEach(() => {
  queue.begin({ status: 'waiting' })
})
afterAll(async () => {
  await api[Symbol.asyncDispose]()
  await fixture[Symbol.asyncDispose]()
})

async function post(body: unknown, token = TOKEN) {
  const response = await fetch(`${api.url}/ethereum/mainnet/${token}/api/v1/validator/broadcast`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as { code: string; msg: string; data: unknown } }
}

const broadcast = (signed_transaction: unknown) => post({ signed_transaction })
const done = (output: unknown): JobState => ({ status: 'completed', output })
const paramError = (sentence: string, reason?: string) => ({
  status: 400,
  body: { code: '400', msg: `Param error: ${sentence}`, data: null, ...(reason === undefined ? {} : { reason }) },
})
const NO_NODE =
  'Server error: no node of the chain could be reached, or none in time: the same transaction can be broadcast again safely'
const NO_CLIENT =
  'Server error: the validator client that is to run the validators does not take them now, so nothing was sent: the same transaction can be broadcast again safely'

describe('broadcasting', () => {
  test('hands the transaction on, and answers its hash', async () => {
    queue.outcome = done({ status: 'sent' })
    const raw = await signStaking({ deposits: OWN })
    expect(await broadcast(`0X${raw.slice(2).toUpperCase()}`)).toEqual({
      status: 200,
      body: { code: '200', msg: 'Success', data: { tx_hash: keccak256(raw) } },
    })
    const [{ name, input }] = queue.asked as [(typeof queue.asked)[number]]
    expect(name).toBe(broadcastStaking.name)
    expect(broadcastStaking.parse(input)).toMatchObject({ chain: 'mainnet', account: 'demo', rawTransaction: raw })
  })

  test.each<[string, JobState, unknown]>([
    [
      'a refusal with its reason',
      done({ status: 'refused', reason: 'pending_transaction', sentence: 'not so' }),
      paramError('not so', 'pending_transaction'),
    ],
    [
      'that no node is there',
      done({ status: 'unavailable' }),
      { status: 500, body: { code: '500', msg: NO_NODE, data: null } },
    ],
    [
      'that the validator client is away',
      done({ status: 'unavailable', away: 'validator_client' }),
      { status: 500, body: { code: '500', msg: NO_CLIENT, data: null } },
    ],
    ['that nobody does it', { status: 'waiting' }, { status: 500, body: { code: '500', msg: NO_NODE, data: null } }],
    [
      'that it failed',
      { status: 'failed', reason: 'secret' },
      { status: 500, body: { code: '500', msg: NO_NODE, data: null } },
    ],
  ])('tells %s', async (_, state, expected) => {
    queue.outcome = state
    expect(await broadcast(await signStaking({ deposits: OWN }))).toEqual(expected)
  })

  test('lets the one who knows decide what the tables do not have yet', async () => {
    queue.outcome = done({ status: 'sent' })
    expect((await broadcast(await signStaking({ deposits: [depositOf(7)] }))).status).toBe(200)
    expect(queue.asked).toHaveLength(1)
  })

  test('refuses a second deposit, by whatever means and however long ago the first was sent', async () => {
    const second = await signStaking({ deposits: [OWN[0], DEPOSITED], nonce: 9 })
    const sentence = `${keyOf(DEPOSITED)} is deposited: a second deposit would be lost in it`
    expect(await broadcast(second)).toEqual(paramError(sentence, 'already_deposited'))
    expect(queue.asked).toEqual([])
  })

  test('answers the hash of a transaction that has deposited already', async () => {
    queue.outcome = done({ status: 'sent' })
    expect((await broadcast(DEPOSITED_BY)).body.data).toEqual({ tx_hash: keccak256(DEPOSITED_BY) })
  })

  test('is for tokens that may create', async () => {
    const answer = await post({ signed_transaction: await signStaking({ deposits: OWN }) }, READS)
    expect(answer).toMatchObject({
      status: 401,
      body: { msg: 'Authentication failed: the token does not have the scope create' },
    })
    expect(queue.asked).toEqual([])
  })

  test.each(WRONG_BROADCASTS)('refuses the body %j', async (body, sentence) => {
    expect(await post(body)).toEqual(paramError(sentence))
    expect(queue.asked).toEqual([])
  })

  test.each<[string, string, string]>([
    [
      '0x02c0',
      'signed_transaction is not the canonical RLP of a signed transaction of type 2',
      'malformed_transaction',
    ],
    ['0xc0', 'signed_transaction is not the canonical RLP of a signed transaction of type 0', 'malformed_transaction'],
    ['0x03c0', 'a transaction of type 3 is not taken: send one of type 2', 'unsupported_type'],
    ['0x04c0', 'a transaction of type 4 is not taken: send one of type 2', 'unsupported_type'],
    ['0x7ec0', 'a transaction of type 126 is not taken: send one of type 2', 'unsupported_type'],
  ])('refuses %s', async (raw, sentence, reason) => {
    expect(await broadcast(raw)).toEqual(paramError(sentence, reason))
    expect(queue.asked).toEqual([])
  })

  const [FIRST] = OWN
  const KEY = keyOf(FIRST)
  const NOT_HERE = 'the transaction does not call the staking contract of this network'
  const ALTERED = `the deposit data of ${KEY} is not what it was created with`
  const FORM = 'the arguments of the call are not in the form that the staking contract is called with'
  test.each<[string, Signing, string, string]>([
    ['to another address', { deposits: OWN, to: `0x${'77'.repeat(20)}` }, NOT_HERE, 'wrong_contract'],
    [
      'with too little ether',
      { deposits: OWN, value: 32n * ETH_WEI },
      'the transaction carries 32000000000000000000 wei, and its deposits take 64000000000000000000',
      'wrong_value',
    ],
    [
      'by a stranger',
      { deposits: OWN, sender: STRANGER },
      `${KEY} is to be deposited from another address than the transaction's sender`,
      'wrong_sender',
    ],
    [
      'with other credentials',
      { deposits: [depositFor(FIRST.pubkey, credentialsOf('d'), 1)] },
      ALTERED,
      'altered_deposit_data',
    ],
    [
      'with another signature',
      { deposits: [depositFor(FIRST.pubkey, FIRST.withdrawalCredentials, 2)] },
      ALTERED,
      'altered_deposit_data',
    ],
    [
      'for one key twice',
      { deposits: [FIRST, FIRST] },
      'the transaction deposits for one public key twice',
      'repeated_pubkey',
    ],
    ['with bytes behind it', { deposits: OWN, change: (data) => `${data}00` }, FORM, 'malformed_call'],
    [
      'with a batch for the deposit contract',
      { deposits: OWN, to: DEPOSIT_CONTRACT },
      'the transaction calls another function of the staking contract than its deposit',
      'not_a_deposit',
    ],
    [
      'with too much gas',
      { deposits: OWN, gas: 16_777_217n },
      'no transaction may have more than 16777216 gas (EIP-7825)',
      'gas_too_high',
    ],
    [
      'to the withdrawal contract',
      { deposits: OWN, to: '0x00000961Ef480Eb55e80D19ad83579A64c007002' },
      'the transaction is a withdrawal request (EIP-7002), not a deposit',
      'withdrawal_request',
    ],
    [
      'to the consolidation contract',
      { deposits: OWN, to: '0x0000BBdDc7CE488642fb579F8B00f3a590007251' },
      'the transaction is a consolidation request (EIP-7251), not a deposit',
      'consolidation_request',
    ],
  ])('refuses a transaction %s before it asks anybody', async (_, signing, sentence, reason) => {
    expect(await broadcast(await signStaking(signing))).toEqual(paramError(sentence, reason))
    expect(queue.asked).toEqual([])
  })

  test('refuses one with too little gas, and one that is larger than nodes take', async () => {
    const low = await broadcast(await signStaking({ deposits: OWN, gas: 21_000n }))
    expect(low).toMatchObject({ status: 400, body: { reason: 'gas_too_low' } })
    const large = await broadcast(`0x02${'00'.repeat(RAW_TRANSACTION_BYTES_MAX)}`)
    expect(large).toMatchObject({ status: 400, body: { code: '400', data: null } })
    expect(queue.asked).toEqual([])
  })
})
