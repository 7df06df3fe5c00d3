import { expect, test } from 'vitest'
import type { EventLog, StoredEvent } from '../../infra/ports/event-log.ts'
import { DepositedKeys } from '../../processors/validators/deposited-keys.ts'
import { RegisteredKeys } from '../../processors/validators/registered-keys.ts'
import { StakingBook } from '../../processors/validators/staking-book.ts'
import { UnfundedRoom } from '../../processors/validators/unfunded-room.ts'
import { ACCOUNTS_KEY } from '../../schemas/events/accounts.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { validatorsCreated } from '../../schemas/events/created-validators.ts'
import { stakingBroadcast, stakingEnded } from '../../schemas/events/staking-broadcast.ts'
import { validatorsIdentified } from '../../schemas/events/validators.ts'

const CLOCK = { genesisTimeSec: 0, secondsPerSlot: 12, slotsPerEpoch: 32 }
const RULES = { unfundedMax: 5, expiryEpochs: 2 }
const NOW = { clock: CLOCK, atSlot: 1_000 }
const TIME = '2026-11-20T00:00:00.000Z'

const keyOf = (number: number): string => `0x${number.toString(16).padStart(96, '0')}`
const requestOf = (number: number): string => number.toString(16).padStart(64, '0')

interface Told {
  readonly request: number
  readonly keys: readonly number[]
  readonly atSlot?: number
  readonly account?: string
  readonly chain?: string
}

function created({ request, keys, atSlot = 1_000, account = 'a', chain = 'mainnet' }: Told) {
  return encodeEvent(validatorsCreated, {
    id: `created:${request}`,
    key: ACCOUNTS_KEY,
    time: TIME,
    data: {
      chain,
      account,
      requestId: requestOf(request),
      pubkeys: keys.map(keyOf),
      withdrawalCredentials: `0x01${'00'.repeat(31)}`,
      depositFrom: `0x${'11'.repeat(20)}`,
      feeRecipient: `0x${'22'.repeat(20)}`,
      amountGwei: '32000000000',
      depositDataRoots: [],
      createdAtSlot: atSlot,
    },
  })
}

/** A topic `validators` that tests add to; tells how many events were read of it. */
function registry() {
  const events: StoredEvent[] = []
  const state = { read: 0 }
  const eventLog = {
    ends: async () => new Map([[0, BigInt(events.length)]]),
    async *read({ from }: { from?: ReadonlyMap<number, bigint> }) {
      for (const stored of events.slice(Number(from?.get(0) ?? 0n))) {
        state.read++
        yield stored
      }
    },
  } as unknown as EventLog
  const add = (...keys: number[]): void => {
    const validators = keys.map((key) => ({
      index: key,
      pubkey: keyOf(key),
      withdrawalCredentials: `0x01${'00'.repeat(31)}`,
    }))
    const data = { chain: 'mainnet', validators }
    const event = encodeEvent(validatorsIdentified, { id: `i${keys}`, key: 'mainnet', time: TIME, data })
    events.push({ event, position: { partition: 0, offset: BigInt(events.length) } } as StoredEvent)
  }
  return { add, state, keys: new RegisteredKeys(eventLog, new AbortController().signal) }
}

function roomWith(told: readonly Told[]) {
  const book = new StakingBook()
  for (const one of told) book.add(created(one))
  const { add, state, keys } = registry()
  const funded = new DepositedKeys({ registered: keys, sent: book.sent })
  return { book, funded, register: add, state, room: new UnfundedRoom({ book, rules: RULES, funded }) }
}

const asked = (request: number, count: number, account = 'a', chain = 'mainnet') => ({
  requestId: requestOf(request),
  count,
  account,
  chain,
})

test('of two requests side by side for the last places one is refused', async () => {
  const { room } = roomWith([{ request: 1, keys: [1, 2, 3] }])
  const rooms = await Promise.all([room.take(asked(2, 2), NOW), room.take(asked(3, 2), NOW)])
  expect(rooms.map(({ refusal }) => refusal)).toEqual([
    undefined,
    '5 validators of the account wait for their deposits and at most 5 may, so 2 more cannot be created: fund them, or wait until they expire',
  ])
})

test('the same request twice at one time takes its places once', async () => {
  const { room } = roomWith([{ request: 1, keys: [1, 2, 3] }])
  const [one, other] = await Promise.all([room.take(asked(2, 2), NOW), room.take(asked(2, 2), NOW)])
  expect([one.refusal, other.refusal]).toEqual([undefined, undefined])
  one[Symbol.dispose]()
  expect((await room.take(asked(3, 1), NOW)).refusal).toMatch(/^5 validators/)
  other[Symbol.dispose]()
  expect((await room.take(asked(3, 1), NOW)).refusal).toBeUndefined()
})

test('what was given back is free, and what was created meanwhile is not', async () => {
  const { room, book } = roomWith([])
  const first = await room.take(asked(1, 5), NOW)
  expect((await room.take(asked(2, 1), NOW)).refusal).toMatch(/^5 validators/)
  book.add(created({ request: 1, keys: [1, 2, 3, 4, 5] }))
  first[Symbol.dispose]()
  expect((await room.take(asked(2, 1), NOW)).refusal).toMatch(/^5 validators/)
})

test('accounts and chains do not count for each other', async () => {
  const keys = [1, 2, 3, 4, 5]
  const { room } = roomWith([{ request: 1, keys }])
  expect((await room.take(asked(2, 1), NOW)).refusal).toMatch(/^5 validators/)
  expect((await room.take(asked(2, 5, 'b'), NOW)).refusal).toBeUndefined()
  expect((await room.take(asked(2, 5, 'a', 'hoodi'), NOW)).refusal).toBeUndefined()
})

test('validators that are expired leave their places at their slot and not before', async () => {
  const { room } = roomWith([{ request: 1, keys: [1, 2, 3, 4, 5], atSlot: 900 }])
  expect((await room.take(asked(2, 1), { clock: CLOCK, atSlot: 963 })).refusal).toMatch(/^5 validators/)
  expect((await room.take(asked(2, 5), { clock: CLOCK, atSlot: 964 })).refusal).toBeUndefined()
})

test('validators that the registry knows leave their places, and the log is asked only when it matters', async () => {
  const { room, register, state } = roomWith([{ request: 1, keys: [1, 2, 3, 4] }])
  register(1, 2, 90)
  const fits = await room.take(asked(2, 1), NOW)
  expect([fits.refusal, state.read]).toEqual([undefined, 0])
  fits[Symbol.dispose]()
  expect((await room.take(asked(3, 3), NOW)).refusal).toBeUndefined()
  register(3)
  expect((await room.take(asked(4, 2), NOW)).refusal).toMatch(/^4 validators/)
  expect(state.read).toBe(2)
})

test('validators that a mined transaction has deposited for, or whose deposits were seen, leave their places before the registry knows them', async () => {
  const { room, book, funded } = roomWith([{ request: 1, keys: [1, 2, 3, 4, 5] }])
  expect((await room.take(asked(2, 2), NOW)).refusal).toMatch(/^5 validators/)
  const name = { chain: 'mainnet', account: 'a', txHash: `0x${'7a'.repeat(32)}` }
  const event = { key: ACCOUNTS_KEY, time: TIME }
  const sent = { ...name, sender: `0x${'11'.repeat(20)}`, nonce: 0, pubkeys: [keyOf(1)], rawTransaction: '0x02' }
  book.add(encodeEvent(stakingBroadcast, { ...event, id: 'sent', data: sent }))
  funded.addSeen('mainnet', [keyOf(2)])
  expect((await room.take(asked(2, 2), NOW)).refusal).toMatch(/^4 validators/)
  book.add(encodeEvent(stakingEnded, { ...event, id: 'ended', data: { ...name, status: 'mined' } }))
  expect((await room.take(asked(2, 2), NOW)).refusal).toBeUndefined()
})
