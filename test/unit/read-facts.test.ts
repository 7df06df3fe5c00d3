import { expect, it } from 'vitest'
import type { StoredEvent } from '../../infra/ports/event-log.ts'
import type { Log } from '../../infra/ports/log.ts'
import { readOrderBook } from '../../processors/users/order-book.ts'
import { OwnersOnLog } from '../../processors/validators/exit/owners-on-log.ts'
import { readStakingBook } from '../../processors/validators/staking-book.ts'
import {
  ACCOUNTS_KEY,
  tokenCreated,
  tokenRevoked,
  validatorsTracked,
  validatorsUntracked,
  validatorsWatched,
} from '../../schemas/events/accounts.ts'
import { type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { validatorsCreated } from '../../schemas/events/created-validators.ts'
import { exitCallRead } from '../../schemas/events/exit-calls.ts'
import { exitCancelled, exitEnded, exitRequested, exitSigned, exitSubmitted } from '../../schemas/events/exits.ts'
import { orderExtended, orderMoved, orderPlaced } from '../../schemas/events/orders.ts'
import { stakingBroadcast, stakingEnded } from '../../schemas/events/staking-broadcast.ts'
import { keysAssigned, keysExported, keysImported, keysTaken } from '../../schemas/events/vault-keys.ts'
import { tracked } from './account-facts.ts'
import { eventLogOfEachTest } from './event-log-of-each-test.ts'
import { silentLog } from './silent-log.ts'

// What those who decide by facts make of one that nobody can read.

const log = eventLogOfEachTest()
const NEVER = new AbortController().signal
const envelope = { key: ACCOUNTS_KEY, time: '2026-11-22T00:00:00.000Z' }
const ORDER = `ord_${'1'.repeat(16)}`
const KEY = `0x${'ab'.repeat(48)}`

const placed = encodeEvent(orderPlaced, {
  ...envelope,
  id: 'placed',
  data: {
    ...{ account: 'acme', orderId: ORDER, name: 'node', protocol: 'ethereum', network: 'mainnet' },
    ...{ nodeType: 'full', location: 'eu-central', days: 30 },
  },
})
const requested = encodeEvent(exitRequested, {
  ...envelope,
  id: 'requested',
  data: { chain: 'mainnet', account: 'acme', requestId: crypto.randomUUID(), actor: 'ab', pubkeys: [KEY] },
})

/** Of this type's newest version, with data that is something else, or of a version that only a later release knows. */
const unreadable = ({ name, version }: { readonly name: string; readonly version: number }): EncodedEvent[] => [
  { ...envelope, type: name, version, id: `garbage.${name}`, data: new TextEncoder().encode('{"garbage":1}') },
  { ...envelope, type: name, version: version + 100, id: `later.${name}`, data: new TextEncoder().encode('{}') },
]

function listening() {
  const told: string[] = []
  const listener: Log = { ...silentLog, error: (fields) => void told.push((fields as { event: string }).event) }
  return { told, listener }
}

it.each([orderPlaced, orderExtended, tokenCreated, tokenRevoked])(
  'an order is known where a fact of $name cannot be read, and the fact is told once',
  async (type) => {
    const events = unreadable(type)
    await log().append('accounts', [...events, placed])
    const { told, listener } = listening()
    expect((await readOrderBook(log(), listener, NEVER)).get(ORDER)?.step).toBe('ordered')
    expect(told).toEqual(events.map(({ id }) => id))
  },
)

it.each([validatorsCreated, exitRequested, exitSigned, exitSubmitted, exitEnded, stakingEnded, keysImported])(
  'exits are known where a fact of $name cannot be read, and the fact is told once',
  async (type) => {
    const events = unreadable(type)
    await log().append('accounts', [...events, requested])
    const { told, listener } = listening()
    expect((await readStakingBook(log(), listener, NEVER)).exits.of('mainnet', KEY)?.status).toBe('open')
    expect(told).toEqual(events.map(({ id }) => id))
  },
)

it.each([
  { type: orderMoved, read: readOrderBook },
  ...[stakingBroadcast, exitCancelled, exitCallRead, keysExported, keysAssigned, keysTaken].map((type) => ({
    ...{ type, read: readStakingBook },
  })),
])('nothing is decided where a fact of $type.name cannot be read', async ({ type, read }) => {
  for (const event of unreadable(type)) {
    // By itself: each is enough.
    async function* only(): AsyncIterable<StoredEvent> {
      yield await Promise.resolve({ event, position: { partition: 0, offset: 0n } })
    }
    await expect(read({ read: only }, silentLog, NEVER)).rejects.toMatchObject({
      code: 'undecodable',
      message: expect.stringMatching(/^The event .* cannot be read, and without it nothing is decided: /),
    })
  }
})

it.each([
  { type: validatorsTracked, isRequired: true },
  { type: validatorsUntracked, isRequired: true },
  { type: validatorsWatched, isRequired: false },
])(
  'nobody is taken for an owner where a fact of $type.name cannot be read: $isRequired',
  async ({ type, isRequired }) => {
    await log().append('accounts', [tracked('acme', [KEY]), ...unreadable(type)])
    const strangers = new OwnersOnLog(log(), NEVER).strangersTo('acme', { chain: 'mainnet', pubkeys: [KEY] }, 30_000)
    if (isRequired) await expect(strangers).rejects.toMatchObject({ code: 'undecodable' })
    else expect(await strangers).toEqual([])
  },
)
