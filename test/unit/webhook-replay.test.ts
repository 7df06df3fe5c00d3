import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { GIVE_UP_MS } from '../../processors/webhooks/deliver.ts'
import { ownIntervals } from '../../processors/webhooks/own-days.ts'
import { VALIDATOR_STATUSES } from '../../schemas/events/beacon-epoch.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { exitRequested, exitSigned } from '../../schemas/events/exits.ts'
import { webhookCreated, webhookFollowed, webhookNoticed, webhookRevoked } from '../../schemas/events/webhooks.ts'
import { END_OF_DAYS, Ownership } from '../../schemas/ownership.ts'
import { WEBHOOK_KINDS, type WebhookKind } from '../../schemas/webhooks.ts'
import { tries } from '../long-form.ts'
import { created, tracked } from './account-facts.ts'
import { eventLogOfEachTest } from './event-log-of-each-test.ts'
import { WORLD_CHAIN as CHAIN, Killed, type Told, WebhookWorld } from './webhook-world.ts'

// What is told of what, over the log alone: the tables and the receivers are what a test says.

const log = eventLogOfEachTest()
const TIME = '2026-11-22T00:00:00.000Z'
const envelope = { key: 'accounts', time: TIME }
const keyOf = (n: number) => `0x${n.toString(16).padStart(2, '0').repeat(48)}`
const webhookOf = (account: string) => `wh_${createHash('sha256').update(account).digest('hex').slice(0, 32)}`

const webhook = (account: string, kinds: readonly WebhookKind[] = WEBHOOK_KINDS) =>
  encodeEvent(webhookCreated, {
    ...envelope,
    id: `account.webhook-created:${account}`,
    data: { webhookId: webhookOf(account), account, kinds: [...kinds], origin: 'https://a.example', sealedUrl: '0x00' },
  })
const requested = (account: string, pubkeys: readonly string[]) =>
  encodeEvent(exitRequested, {
    ...envelope,
    id: 'requested',
    data: { chain: CHAIN, account, requestId: crypto.randomUUID(), actor: 'ab', pubkeys: [...pubkeys] },
  })
const signed = (pubkey: string) =>
  encodeEvent(exitSigned, {
    ...envelope,
    id: 'signed',
    data: { chain: CHAIN, pubkey, validatorIndex: 1, epoch: 2, signature: `0x${'cd'.repeat(96)}`, headEpoch: 3 },
  })

function standing(epoch: number, statuses: Readonly<Record<number, string>>, closedDays: readonly string[] = []) {
  const validators = Object.entries(statuses).map(([index, status]) => ({
    pubkey: keyOf(Number(index)),
    status,
    index: (VALIDATOR_STATUSES as readonly string[]).includes(status) ? Number(index) : undefined,
  }))
  return { epoch, closedDays, ownDays: new Set(closedDays), validators }
}

const wordsOf = ({ body: { data } }: Told) =>
  [data.pubkey === undefined ? '' : String(data.pubkey).slice(2, 4), data.status ?? data.step ?? data.day].join(' ')

it('tells what is new since the webhook began, once, to its account alone', async () => {
  const world = new WebhookWorld(log())
  await log().append('accounts', [
    created('a'),
    created('b'),
    tracked('a', [keyOf(1), keyOf(2)]),
    tracked('b', [keyOf(3)]),
  ])
  await log().append('accounts', [requested('a', [keyOf(1)]), webhook('a'), webhook('b', ['day.closed'])])
  world.standings.set('a', standing(5, { 1: 'active_ongoing', 2: 'provisioned' }, ['2026-11-20']))
  world.standings.set('b', standing(5, { 3: 'active_ongoing' }, ['2026-11-20']))
  await world.round()
  expect(world.told).toEqual([])

  await log().append('accounts', [signed(keyOf(1)), requested('b', [keyOf(3)])])
  world.standings.set('a', standing(7, { 1: 'active_exiting', 2: 'deposited' }, ['2026-11-20', '2026-11-21']))
  world.standings.set('b', standing(7, { 3: 'active_exiting' }, ['2026-11-20', '2026-11-21']))
  await world.round()
  const ofA = world.told.filter((one) => one.webhook === webhookOf('a'))
  expect(ofA.map(wordsOf)).toEqual(['01 signed', '02 deposited', '01 active_exiting', ' 2026-11-21'])
  const ofB = world.told.filter((one) => one.webhook === webhookOf('b'))
  expect(ofB.map(wordsOf)).toEqual([' 2026-11-21'])

  await world.round()
  await world.round()
  expect(world.told).toHaveLength(5)
})

it('tells nothing of tables that are behind what was told, nor of no tables', async () => {
  const world = new WebhookWorld(log())
  await log().append('accounts', [created('a'), tracked('a', [keyOf(1), keyOf(2)]), webhook('a')])
  await world.round() // the tables cannot tell yet
  world.standings.set('a', standing(5, { 1: 'active_ongoing', 2: 'deposited' }))
  await world.round()
  world.standings.set('a', standing(8, { 1: 'active_exiting', 2: 'deposited' }))
  await world.round()
  expect(world.told.map(wordsOf)).toEqual(['01 active_exiting'])
  for (const epoch of [2, 5, 7]) {
    world.standings.set('a', standing(epoch, { 1: epoch < 5 ? 'pending_queued' : 'active_ongoing', 2: 'provisioned' }))
    await world.round()
  }
  world.standings.set('a', standing(9, { 1: 'active_ongoing', 2: 'deposited' }))
  await world.round()
  expect(world.told).toHaveLength(1)
})

it('tells days that are closed late, in whatever order they close, each once, and no day that was closed when it began', async () => {
  const world = new WebhookWorld(log())
  await log().append('accounts', [created('a'), tracked('a', [keyOf(1)]), webhook('a', ['day.closed'])])
  const close = async (days: readonly string[]) => {
    world.standings.set('a', standing(5, { 1: 'active_ongoing' }, days))
    await world.round()
  }
  await close(['2026-11-15', '2026-11-16', '2026-11-19', '2026-11-20'])
  expect(world.told).toEqual([])
  await close(['2026-11-15', '2026-11-16', '2026-11-18', '2026-11-19', '2026-11-20', '2026-11-21'])
  await close(['2026-11-14', '2026-11-15', '2026-11-16', '2026-11-18', '2026-11-19', '2026-11-20', '2026-11-21'])
  // One is taken back and closed again, and so is one of the beginning: neither is news.
  await close(['2026-11-14', '2026-11-15', '2026-11-19', '2026-11-20', '2026-11-21'])
  await close(['2026-11-14', '2026-11-15', '2026-11-16', '2026-11-17', '2026-11-18', '2026-11-19', '2026-11-20'])
  expect(world.told.map(wordsOf)).toEqual([' 2026-11-18', ' 2026-11-21', ' 2026-11-14', ' 2026-11-17'])
})

it('tells no day on which the account had no validator', async () => {
  const world = new WebhookWorld(log())
  await log().append('accounts', [created('a'), tracked('a', [keyOf(1)]), webhook('a', ['day.closed'])])
  world.standings.set('a', standing(5, { 1: 'active_ongoing' }))
  await world.round()
  const days = ['2026-11-14', '2026-11-15', '2026-11-16']
  world.standings.set('a', { ...standing(6, {}, days), ownDays: new Set(['2026-11-15']) })
  await world.round()
  expect(world.told.map(wordsOf)).toEqual([' 2026-11-15'])
})

it('counts a validator from the day on that the account has it, and one that was created here from its creation on', () => {
  const ownership = new Ownership()
  const [mine, sold, made] = [keyOf(1), keyOf(2), keyOf(3)]
  const say = (pubkeys: readonly string[], account: string, fromDay: number) =>
    ownership.add({ kind: 'owner', chain: CHAIN, pubkeys, point: { fromDay, account }, isUndecided: false })
  say([mine, sold], 'a', 100)
  say([sold], 'b', 110)
  say([made], 'a', 0)
  ownership.add({ kind: 'watcher', chain: CHAIN, pubkeys: [keyOf(4)], account: 'a', isWatching: true })
  const daysOf = (account: string, chain = CHAIN) =>
    ownIntervals(ownership, { account, chain }, (pubkey) => (pubkey === made ? 90 : undefined))
  expect(daysOf('a')).toEqual([
    { fromDay: 100, toDay: END_OF_DAYS },
    { fromDay: 100, toDay: 110 },
    { fromDay: 90, toDay: END_OF_DAYS },
  ])
  expect(daysOf('b')).toEqual([{ fromDay: 110, toDay: END_OF_DAYS }])
  expect(daysOf('a', 'hoodi')).toEqual([])
})

it('takes all days up to the newest one as closed where the beginning was noted by an earlier release', async () => {
  const world = new WebhookWorld(log())
  await log().append('accounts', [created('a'), tracked('a', [keyOf(1)]), webhook('a', ['day.closed'])])
  const followed = { account: 'a', chain: CHAIN, epoch: 5, accountsNext: '3', number: 0, isLast: true }
  const data = { ...followed, closedThrough: '2026-11-20', statuses: [{ pubkey: keyOf(1), status: 'active_ongoing' }] }
  const bytes = new TextEncoder().encode(JSON.stringify(data))
  const first = { type: webhookFollowed.name, version: 1, id: 'followed', key: 'a', time: TIME, data: bytes }
  await log().append('webhooks', [first])
  const days = ['2026-11-18', '2026-11-20', '2026-11-21']
  world.standings.set('a', standing(5, { 1: 'active_ongoing' }, days.slice(1)))
  await world.round()
  world.standings.set('a', standing(6, { 1: 'active_ongoing' }, days))
  await world.round()
  expect(world.told.map(wordsOf)).toEqual([' 2026-11-21'])
})

it('tells once what the log has twice', async () => {
  const world = new WebhookWorld(log())
  await log().append('accounts', [created('a'), tracked('a', [keyOf(1)]), webhook('a')])
  world.standings.set('a', standing(5, { 1: 'pending_queued' }))
  await world.round()
  await log().append('accounts', [requested('a', [keyOf(1)])])
  world.standings.set('a', standing(6, { 1: 'active_ongoing' }, ['2026-11-21']))
  await world.round()
  expect(world.told).toHaveLength(3)
  const stored = await Array.fromAsync(log().read({ topic: 'webhooks', signal: new AbortController().signal }))
  await log().append(
    'webhooks',
    stored.map(({ event }) => event).filter(({ type }) => type === webhookNoticed.name),
  )
  await world.round()
  expect(world.told).toHaveLength(3)
})

it('tells a revoked webhook nothing, and one that begins later only what comes then', async () => {
  const world = new WebhookWorld(log())
  await log().append('accounts', [created('a'), tracked('a', [keyOf(1)]), webhook('a')])
  world.standings.set('a', standing(5, { 1: 'pending_queued' }))
  await world.round()
  world.answer = () => 'away'
  world.standings.set('a', standing(6, { 1: 'active_ongoing' }))
  await expect(world.round()).rejects.toMatchObject({ code: 'webhook' })
  const revoke = { ...envelope, id: 'revoked', data: { webhookId: webhookOf('a') } }
  await log().append('accounts', [encodeEvent(webhookRevoked, revoke)])
  world.answer = () => 'taken'
  world.standings.set('a', standing(7, { 1: 'active_exiting' }))
  await world.round()
  expect(world.told).toEqual([])
  const again = { webhookId: webhookOf('again'), account: 'a', kinds: [...WEBHOOK_KINDS] }
  const data = { ...again, origin: 'https://a.example', sealedUrl: '0x00' }
  await log().append('accounts', [encodeEvent(webhookCreated, { ...envelope, id: 'again', data })])
  await world.round()
  world.standings.set('a', standing(8, { 1: 'exited_unslashed' }))
  await world.round()
  expect(world.told.map(wordsOf)).toEqual(['01 exited_unslashed'])
})

it('holds back what follows of a validator whose message is refused, and nothing else; gives it up after three days', async () => {
  const world = new WebhookWorld(log())
  await log().append('accounts', [created('a'), tracked('a', [keyOf(1), keyOf(2)]), webhook('a')])
  world.standings.set('a', standing(5, { 1: 'pending_queued', 2: 'pending_queued' }))
  await world.round()
  let asked = 0
  world.answer = () => (asked++ === 0 ? 'refused' : 'taken')
  world.epochs.set(6, new Map([1, 2].map((key) => [key, 'active_ongoing'])))
  world.epochs.set(7, new Map([[1, 'active_exiting']]))
  world.standings.set('a', standing(7, { 1: 'active_exiting', 2: 'active_ongoing' }))
  await expect(world.round()).rejects.toMatchObject({ message: 'The receiver has answered 500.', retryable: true })
  expect(world.told.map(wordsOf)).toEqual(['02 active_ongoing'])
  world.answer = () => 'refused'
  await expect(world.round()).rejects.toMatchObject({ code: 'webhook' })
  world.nowMs += GIVE_UP_MS
  await expect(world.round()).rejects.toMatchObject({ code: 'webhook' })
  const { book } = await world.start()
  expect(book.of(webhookOf('a'))).toMatchObject({
    givenUp: 2,
    delivered: 1,
    lastFailure: 'The receiver has answered 500.',
  })
  world.answer = () => 'taken'
  world.standings.set('a', standing(8, { 1: 'exited_unslashed', 2: 'active_ongoing' }))
  await world.round()
  expect(world.told.map(wordsOf)).toEqual(['02 active_ongoing', '01 exited_unslashed'])
})

it.each(['refused', 'away'] as const)(
  'tells what was not tried yet before what was %s, however much of that there is',
  async (answer) => {
    const world = new WebhookWorld(log())
    const all = Array.from({ length: 8 }, (_, n) => n + 1)
    await log().append('accounts', [created('a'), tracked('a', all.map(keyOf)), webhook('a')])
    const stand = (status: string) => Object.fromEntries(all.map((key) => [key, status]))
    world.standings.set('a', standing(5, stand('pending_queued')))
    await world.round()
    const refused = new Set(all.slice(0, 6).map(keyOf))
    let asked: string[] = []
    world.answer = (_, { pubkey }) => {
      asked.push(String(pubkey))
      return refused.has(String(pubkey)) ? answer : 'taken'
    }
    world.standings.set('a', standing(6, stand('active_ongoing')))
    const role = await world.start()
    await role.look()
    const deliver = () => role.deliver(webhookOf('a'))
    for (let run = 0; run < 7; run++) await expect(deliver()).rejects.toMatchObject({ code: 'webhook' })
    expect(world.told.map(wordsOf)).toEqual(['07 active_ongoing', '08 active_ongoing'])
    // In turns: each of them has been tried, and the one that waits for the longest is the next.
    expect(new Set(asked)).toEqual(new Set(all.map(keyOf)))
    const last = asked.at(-1) ?? ''
    asked = []
    refused.delete(last)
    world.standings.set('a', standing(7, { ...stand('active_ongoing'), 8: 'active_exiting' }))
    await role.look()
    await expect(deliver()).rejects.toMatchObject({ code: 'webhook' })
    expect(asked[0]).toBe(keyOf(8))
    refused.clear()
    await deliver()
    expect(world.told).toHaveLength(9)
  },
)

it('gives up after three days what it has no key to sign, and says why', async () => {
  const world = new WebhookWorld(log())
  await log().append('accounts', [created('a'), tracked('a', [keyOf(1)]), webhook('a')])
  world.standings.set('a', standing(5, { 1: 'pending_queued' }))
  await world.round()
  const reason = `The webhook's key file ${'/folder'.repeat(60)} cannot be read (ENOENT).`
  world.lacksKey = () => reason
  world.standings.set('a', standing(6, { 1: 'active_ongoing' }))
  await expect(world.round()).rejects.toMatchObject({ message: reason })
  world.nowMs += GIVE_UP_MS
  await expect(world.round()).rejects.toMatchObject({ message: reason })
  const role = await world.start()
  expect(role.book.of(webhookOf('a'))).toMatchObject({ givenUp: 1, lastFailure: reason.slice(0, 300) })
  await role.deliver(webhookOf('a')) // nothing waits any more, so the queue is done with it
  expect(world.told).toEqual([])
})

it('begins with all of many validators, or again', async () => {
  const world = new WebhookWorld(log())
  await log().append('accounts', [created('a'), webhook('a')])
  const all = Array.from({ length: 2_500 }, (_, n) => ({
    pubkey: `0x${n.toString(16).padStart(96, '0')}`,
    status: 'active_ongoing',
    index: n,
  }))
  world.standings.set('a', { ...standing(5, {}), validators: all })
  let steps = 0
  world.dies = () => ++steps === 2 // with two events of three in the log
  await expect(world.round()).rejects.toThrow(Killed)
  // One that was among them is gone meanwhile, and is news when it comes again.
  world.standings.set('a', { ...standing(6, {}), validators: all.slice(1) })
  await world.round()
  expect(world.told).toEqual([])
  const changed = { ...all[2_400], status: 'active_exiting' } as (typeof all)[number]
  world.standings.set('a', { ...standing(7, {}), validators: [...all.slice(0, 2_400), changed] })
  await world.round()
  expect(world.told.map(({ body }) => [body.data.pubkey, body.data.previous_status])).toEqual([
    [all[0]?.pubkey, null],
    [changed.pubkey, 'active_ongoing'],
  ])
})

/** Numbers that look random, the same for a seed (mulberry32). */
function randoms(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const LIFE = [
  'provisioned',
  'deposited_not_finalized',
  'deposited',
  ...VALIDATOR_STATUSES.filter((one) => !one.endsWith('_slashed')),
]

it('loses nothing and mixes nothing up, wherever it is killed', async () => {
  for (let seed = 1; seed <= tries(4, 60); seed++) {
    const account = `a${seed}`
    const random = randoms(seed)
    const world = new WebhookWorld(log())
    const keys = [(4 * seed) % 200, (4 * seed + 1) % 200]
    await log().append('accounts', [created(account), tracked(account, keys.map(keyOf)), webhook(account)])
    world.standings.set(account, standing(0, Object.fromEntries(keys.map((key) => [key, 'provisioned']))))
    await world.round()
    let killed = 0
    const days: string[] = []
    world.dies = () => random() < 0.08
    for (let epoch = 1; epoch < LIFE.length; epoch++) {
      const statuses = keys.map((key) => [key, LIFE[epoch] ?? ''] as const)
      world.epochs.set(epoch, new Map(statuses))
      if (epoch % 3 === 0 && epoch <= 9) days.push(`2026-11-${19 - epoch}`)
      world.standings.set(account, standing(epoch, Object.fromEntries(statuses), days.toSorted()))
      if (epoch === 5) await log().append('accounts', [requested(account, keys.map(keyOf))])
      if (epoch === 6)
        await log().append(
          'accounts',
          keys.map((key) => signed(keyOf(key))),
        )
      for (let done = false; !done; ) {
        done = await world.round().then(
          () => true,
          (error: unknown) => {
            if (!(error instanceof Killed)) throw error
            killed++
            return false
          },
        )
      }
    }
    expect(killed, `seed ${seed}`).toBeGreaterThan(0)
    const own = world.told.filter(({ webhook: one }) => one === webhookOf(account))
    const bodies = new Map<string, string>()
    for (const { id, body } of own) {
      expect(bodies.get(id) ?? JSON.stringify(body), `seed ${seed}`).toBe(JSON.stringify(body))
      bodies.set(id, JSON.stringify(body))
    }
    const firsts = [...bodies.values()].map((text) => JSON.parse(text) as Told['body'])
    for (const key of keys) {
      const of = firsts.filter(({ data }) => data.pubkey === keyOf(key))
      const statuses = of.flatMap(({ data }) => (data.status === undefined ? [] : [data.status]))
      expect(statuses, `seed ${seed}`).toEqual(LIFE.slice(1))
      const steps = of.flatMap(({ data }) => (data.step === undefined ? [] : [data.step]))
      expect(steps, `seed ${seed}`).toEqual(['requested', 'signed'])
    }
    const toldDays = firsts.flatMap(({ data }) => (data.day === undefined ? [] : [data.day]))
    expect(toldDays, `seed ${seed}`).toEqual(days)
    expect(days).toEqual(['2026-11-16', '2026-11-13', '2026-11-10'])
  }
})
