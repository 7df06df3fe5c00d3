import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { KEY_AGAIN_MS, receiversOf } from '../../commands/webhooks/receivers.ts'
import { readWebhookKeys } from '../../infra/webhook-keys.ts'
import { AccountsOnLog } from '../../processors/webhooks/accounts-on-log.ts'
import { statusesToTell } from '../../processors/webhooks/decide-statuses.ts'
import { messageOf } from '../../processors/webhooks/deliver.ts'
import { ExitSteps } from '../../processors/webhooks/exit-steps.ts'
import type { Notice } from '../../processors/webhooks/webhook-book.ts'
import { AppError } from '../../schemas/errors.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { ACCOUNTS_KEY } from '../../schemas/events/accounts.ts'
import { type EventType, encodeEvent } from '../../schemas/events/codec.ts'
import { exitCancelled, exitEnded, exitRequested, exitSigned, exitSubmitted } from '../../schemas/events/exits.ts'
import { webhookCreated } from '../../schemas/events/webhooks.ts'
import { formatWebhookSecret, messageId, signedHeaders, WEBHOOK_KINDS } from '../../schemas/webhooks.ts'
import { eventLogOfEachTest } from './event-log-of-each-test.ts'
import { silentLog } from './silent-log.ts'

const log = eventLogOfEachTest()

const directory = mkdtempSync(join(tmpdir(), 'epochline-webhooks-'))
afterAll(() => rmSync(directory, { recursive: true }))

const KEY = `0x${'ab'.repeat(48)}`
const WEBHOOK = `wh_${'1'.repeat(32)}`
const OTHER_WEBHOOK = `wh_${'2'.repeat(32)}`

it('signs as the libraries of the Standard Webhooks specification verify', () => {
  // The example of their own tests.
  const secret = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64')
  const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestampSec: 1_614_265_330, body: '{"test": 2432232314}' }
  expect(signedHeaders(secret, message)).toEqual({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
  expect(formatWebhookSecret(secret)).toBe('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')
})

it('makes of a notice the same message at every attempt, with an id of its own for each webhook', () => {
  const notice: Notice = {
    id: 'acme:mainnet:0:status:0xab:1',
    atMs: Date.parse('2026-11-22T01:02:03.004Z'),
    account: 'acme',
    chain: 'mainnet',
    what: {
      kind: 'validator.status',
      pubkey: KEY,
      number: 1,
      previous: 'deposited',
      status: 'pending_queued',
      epoch: 7,
    },
  }
  const message = messageOf(WEBHOOK, notice)
  expect(messageOf(WEBHOOK, structuredClone(notice))).toEqual(message)
  expect(message.id).toMatch(/^msg_[0-9a-f]{32}$/)
  expect(message.id).not.toBe(messageOf(OTHER_WEBHOOK, notice).id)
  expect(message.id).not.toBe(messageId(WEBHOOK, 'acme:mainnet:0:status:0xab:2'))
  expect(JSON.parse(message.body)).toEqual({
    type: 'validator.status',
    timestamp: '2026-11-22T01:02:03.004Z',
    data: { chain: 'mainnet', pubkey: KEY, previous_status: 'deposited', status: 'pending_queued', epoch: 7 },
  })
})

it('tells an end of an exit with its epoch or its reason, and a day by its date', () => {
  const dataOf = (what: Notice['what']) =>
    JSON.parse(messageOf(WEBHOOK, { id: 'a', atMs: 0, account: 'acme', chain: 'mainnet', what }).body).data
  const exit = { kind: 'validator.exit', pubkey: KEY, offset: '5' } as const
  expect(dataOf({ ...exit, step: 'on_chain', exitEpoch: 9 })).toEqual({
    ...{ chain: 'mainnet', pubkey: KEY, step: 'on_chain', reason: null, exit_epoch: 9 },
  })
  expect(dataOf({ ...exit, step: 'failed', reason: 'another_account' })).toMatchObject({ reason: 'another_account' })
  expect(dataOf({ kind: 'day.closed', day: '2026-11-21' })).toEqual({ chain: 'mainnet', day: '2026-11-21' })
})

it('has a secret for each webhook that its key alone leads to, and an address that nobody reads without', () => {
  const keyFile = (name: string) => ({ kind: 'file', file: join(directory, name), mayCreate: true }) as const
  const keys = readWebhookKeys(keyFile('a'), true)
  const same = readWebhookKeys(keyFile('a'), false)
  const others = readWebhookKeys(keyFile('b'), true)
  expect(Buffer.from(same.secretOf(WEBHOOK))).toEqual(Buffer.from(keys.secretOf(WEBHOOK)))
  expect(keys.secretOf(WEBHOOK)).toHaveLength(32)
  expect(keys.secretOf(OTHER_WEBHOOK)).not.toEqual(keys.secretOf(WEBHOOK))
  expect(others.secretOf(WEBHOOK)).not.toEqual(keys.secretOf(WEBHOOK))
  const url = 'https://hooks.example/token-of-the-receiver'
  const sealed = keys.sealUrl(WEBHOOK, url)
  expect(Buffer.from(sealed).toString('latin1')).not.toContain('token')
  expect(same.openUrl(WEBHOOK, sealed)).toBe(url)
  for (const open of [() => others.openUrl(WEBHOOK, sealed), () => keys.openUrl(OTHER_WEBHOOK, sealed)])
    expect(open).toThrow(/is not the one that the webhook was made with/)
  expect(() => readWebhookKeys(keyFile('none'), false)).toThrow(/^The webhook's key file .*put it back/)
})

it('tells the operator once that a webhook lacks its key, and goes on when that is back', async () => {
  const source = { kind: 'file', file: join(directory, 'lost'), mayCreate: true } as const
  const keys = readWebhookKeys(source, true)
  const sealed = keys.sealUrl(WEBHOOK, 'https://hooks.example/')
  const data = { webhookId: WEBHOOK, account: 'acme', kinds: [...WEBHOOK_KINDS], origin: 'https://hooks.example' }
  const envelope = { id: 'created', key: ACCOUNTS_KEY, time: '2026-11-22T00:00:00.000Z' }
  const accounts = new AccountsOnLog(log(), new AbortController().signal)
  await log().append('accounts', [
    encodeEvent(webhookCreated, { ...envelope, data: { ...data, sealedUrl: hexOf(sealed) } }),
  ])
  await accounts.readOn()
  const said: string[] = []
  const operatorLog = { ...silentLog, error: (_: object, words: string) => void said.push(words) }
  let nowMs = 0
  const receiverOf = receiversOf({ accounts, source, log: operatorLog, now: () => nowMs })
  const text = readFileSync(source.file)
  rmSync(source.file)
  for (let attempt = 0; attempt < 3; attempt++) expect(() => receiverOf(WEBHOOK)).toThrow(/put it back/)
  expect(said).toEqual(['a webhook cannot be told'])
  writeFileSync(source.file, text)
  nowMs += KEY_AGAIN_MS
  expect(receiverOf(WEBHOOK).url).toBe('https://hooks.example/')
  expect(said).toHaveLength(1)
})

it.each([
  ['gives none', 'exit 1'],
  ['gives another one', `echo ${'5'.repeat(64)}`],
])('asks a command that %s once a minute for all webhooks: nothing else is done meanwhile', async (_, answer) => {
  const keys = readWebhookKeys({ kind: 'file', file: join(directory, 'asked'), mayCreate: true }, true)
  const data = { account: 'acme', kinds: [...WEBHOOK_KINDS], origin: 'https://hooks.example' }
  const accounts = new AccountsOnLog(log(), new AbortController().signal)
  await log().append(
    'accounts',
    [WEBHOOK, OTHER_WEBHOOK].map((webhookId) => {
      const sealedUrl = hexOf(keys.sealUrl(webhookId, 'https://hooks.example/'))
      const envelope = { id: webhookId, key: ACCOUNTS_KEY, time: '2026-11-22T00:00:00.000Z' }
      return encodeEvent(webhookCreated, { ...envelope, data: { ...data, webhookId, sealedUrl } })
    }),
  )
  await accounts.readOn()
  const calls = mkdtempSync(join(directory, 'calls-'))
  const source = { kind: 'command', command: `mktemp -p ${calls} >/dev/null; ${answer}` } as const
  let nowMs = 0
  const receiverOf = receiversOf({ accounts, source, log: silentLog, now: () => nowMs })
  const askAll = () => {
    for (const webhookId of [WEBHOOK, OTHER_WEBHOOK, WEBHOOK]) expect(() => receiverOf(webhookId)).toThrow(AppError)
  }
  askAll()
  expect(readdirSync(calls)).toHaveLength(1)
  nowMs += KEY_AGAIN_MS
  askAll()
  expect(readdirSync(calls)).toHaveLength(2)
})

it.each<[string, string | undefined, string, readonly [string, number][], readonly string[]]>([
  [
    'a new one is told as it is',
    undefined,
    'active_ongoing',
    [['pending_queued', 3]],
    ['pending_queued', 'active_ongoing'],
  ],
  ['the same is no news', 'active_ongoing', 'active_ongoing', [['active_ongoing', 4]], []],
  [
    'what lay in between is told',
    'deposited',
    'active_ongoing',
    [
      ['pending_initialized', 3],
      ['pending_queued', 4],
      ['active_ongoing', 9],
    ],
    ['pending_initialized', 'pending_queued', 'active_ongoing'],
  ],
  [
    'what was told is not told again',
    'pending_queued',
    'active_ongoing',
    [
      ['pending_queued', 4],
      ['active_ongoing', 9],
    ],
    ['active_ongoing'],
  ],
  ['a reorganisation takes a deposit back', 'deposited_not_finalized', 'provisioned', [], ['provisioned']],
  ['nothing leaves the registry', 'active_ongoing', 'deposited', [], []],
  ['nothing becomes younger', 'active_exiting', 'active_ongoing', [['active_ongoing', 9]], []],
  ['a paid validator gets a deposit', 'withdrawal_done', 'withdrawal_possible', [], ['withdrawal_possible']],
])('of statuses: %s', (_, known, now, passed, told) => {
  const steps = statusesToTell(
    known,
    { status: now, epoch: 9 },
    passed.map(([status, epoch]) => ({ status, epoch })),
  )
  expect(steps.map(({ status }) => status)).toEqual(told)
})

it('tells the steps of an exit once, each to the account that asked', () => {
  const chain = 'mainnet'
  const steps = new ExitSteps()
  const tell = <Name extends string, Data>(type: EventType<Name, Data>, data: Data) =>
    steps
      .add(encodeEvent(type, { id: 'id', key: ACCOUNTS_KEY, time: '2026-11-22T00:00:00.000Z', data }))
      .map(({ account, step }) => `${account} ${step.step}`)
  const asked = (account: string) => ({ chain, account, requestId: crypto.randomUUID(), actor: 'ab', pubkeys: [KEY] })
  const signature = `0x${'cd'.repeat(96)}`
  const signed = { chain, pubkey: KEY, validatorIndex: 1, epoch: 2, signature, headEpoch: 3 }
  expect(tell(exitSigned, signed)).toEqual([]) // of nobody's
  expect(tell(exitRequested, asked('a'))).toEqual(['a requested'])
  expect(tell(exitRequested, asked('a'))).toEqual([])
  expect(tell(exitCancelled, asked('a'))).toEqual(['a cancelled'])
  expect(tell(exitRequested, asked('b'))).toEqual(['b requested'])
  expect(tell(exitSigned, signed)).toEqual(['b signed'])
  expect(tell(exitSigned, signed)).toEqual([])
  expect(tell(exitSubmitted, { chain, pubkey: KEY, headEpoch: 4 })).toEqual(['b submitted'])
  expect(tell(exitEnded, { chain, pubkey: KEY, end: { status: 'on_chain', exitEpoch: 8 } })).toEqual(['b on_chain'])
})
