import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { AT_ONCE_MAX, Passwords, WAITING_MAX } from '../../api/account/passwords.ts'
import { AccountSecrets, digestOf } from '../../api/account/secrets.ts'
import type { EventWriter } from '../../infra/ports/event-log.ts'
import {
  answerAsked,
  answerOperator,
  dropExpiredSignUps,
  type UsersParts,
} from '../../processors/users/answer-asked.ts'
import { RESET_SEC, SIGN_UP_SEC } from '../../processors/users/decide.ts'
import { orderIdOf } from '../../processors/users/decide-order.ts'
import { SESSION_IDLE_SEC, SESSION_NOTED_SEC, SESSION_SEC } from '../../processors/users/expiry.ts'
import { readOrderBook, toOrderView } from '../../processors/users/order-book.ts'
import { readUserBook } from '../../processors/users/user-book.ts'
import {
  DELETED_KEYS_MAX,
  DELETED_PER_DAY_MAX,
  KEYS_MAX,
  SESSIONS_MAX,
  SIGN_UPS_MAX,
} from '../../schemas/events/users.ts'
import type { AskOrdersInput } from '../../schemas/jobs/ask-orders.ts'
import type { AskUsers } from '../../schemas/jobs/ask-users.ts'
import { ORDER_EXTENDED_AFTER_DAYS_MAX, ORDERS_OPEN_MAX, ORDERS_PER_DAY_MAX } from '../../schemas/orders.ts'
import { eventLogOfEachTest } from './event-log-of-each-test.ts'
import { silentLog } from './silent-log.ts'

const log = eventLogOfEachTest()
const NEVER = new AbortController().signal
const KEY_ID = '0123456789abcdef'
const ADDRESS = digestOf('address')
const PASSWORD = { scheme: 'scrypt-1-1-1', proof: digestOf('password') }
const OTHER = { ...PASSWORD, proof: digestOf('other') }
const BEGIN_SEC = 1_800_000_000

/** Who decides, as of a process that has just begun, and a clock that the test leads on. */
async function begin(writer: EventWriter = log(), clock = { sec: BEGIN_SEC }) {
  const book = await readUserBook(log(), NEVER)
  const orders = await readOrderBook(log(), silentLog, NEVER)
  const parts: UsersParts = { book, orders, writer, log: silentLog, now: () => clock.sec * 1_000 }
  const answer = (ask: AskUsers, more: object = {}) =>
    answerAsked(parts, { requestId: randomUUID(), keyId: KEY_ID, ask, notAfterMs: clock.sec * 1_000, ...more })
  return { ...parts, clock, answer, ask: async (asked: AskUsers) => (await answer(asked)).status }
}

const signUp = (code: string, password = PASSWORD): AskUsers => {
  return { kind: 'sign-up', address: ADDRESS, account: `u-${code}`, password, code: digestOf(code) }
}
const verify = (code: string, password = PASSWORD): AskUsers => {
  return { kind: 'verify', code: digestOf(code), address: ADDRESS, password }
}
const logIn = (session: string, password = PASSWORD): AskUsers => {
  return { kind: 'log-in', address: ADDRESS, password, session: digestOf(session) }
}
const look = (session: string): AskUsers => ({ kind: 'look', session: digestOf(session) })
const createKey = (token: string): AskUsers => {
  return { kind: 'create-key', session: digestOf('s'), hash: digestOf(token), name: token }
}
const deleteKey = (token: string): AskUsers => {
  return { kind: 'delete-key', session: digestOf('s'), keyId: digestOf(token).slice(0, 12) }
}

async function beginWithUser(writer?: EventWriter) {
  const users = await begin(writer)
  for (const asked of [signUp('c'), verify('c'), logIn('s')]) expect(await users.ask(asked)).toBe('done')
  return users
}

async function eventsIn(topic: 'users' | 'accounts') {
  return (await Array.fromAsync(log().read({ topic, signal: NEVER }))).map(({ event }) => event)
}

describe('a sign-up', () => {
  it('opens one account of many that wait, with its own password, and the others no more', async () => {
    const { ask } = await begin()
    const codes = Array.from({ length: SIGN_UPS_MAX + 1 }, (_, i) => `code-${i}`)
    for (const [i, code] of codes.entries()) expect(await ask(signUp(code, i === 4 ? OTHER : PASSWORD))).toBe('done')
    expect(await ask(verify('code-0')), 'the oldest has made room').toBe('no-code')
    expect(await ask(verify('code-4')), 'the password is of another sign-up').toBe('no-code')
    expect(await ask(verify('code-4', OTHER))).toBe('done')
    for (const code of codes) expect(await ask(verify(code, code === 'code-4' ? OTHER : PASSWORD))).toBe('no-code')
    expect(await ask(logIn('s'))).toBe('wrong-password')
    expect(await ask(logIn('s', OTHER))).toBe('done')
    expect(await ask(signUp('late'))).toBe('has-account')
    expect(await ask(verify('late'))).toBe('no-code')
    expect(await eventsIn('users'), 'one event has all that stands of an address').toHaveLength(1)
  })

  it('counts for a day, and is gone then without anybody asking', async () => {
    const users = await begin()
    await users.ask(signUp('c'))
    users.clock.sec += SIGN_UP_SEC - 1
    await dropExpiredSignUps(users)
    expect(users.book.ofAddress(ADDRESS)?.signUps).toHaveLength(1)
    users.clock.sec += 1
    expect(await users.ask(verify('c'))).toBe('no-code')
    await dropExpiredSignUps(users)
    const [event] = await eventsIn('users')
    expect(JSON.parse(Buffer.from(event?.data ?? []).toString())).toEqual({
      address: ADDRESS,
      keyId: KEY_ID,
      signUps: [],
    })
  })
})

describe('what strangers ask for', () => {
  it('leaves one event of all addresses of which nothing stands, and nothing in memory', async () => {
    const { ask, book } = await begin()
    for (let i = 0; i < 20; i++)
      expect(await ask({ kind: 'request-reset', address: digestOf(`a-${i}`), code: digestOf('c') })).toBe('has-none')
    expect([...book.all()]).toEqual([])
    expect(await eventsIn('users')).toHaveLength(1)
    expect((await readUserBook(log(), NEVER)).keyId).toBe(KEY_ID)
  })

  it('is in memory no longer than a sign-up counts', async () => {
    const users = await begin()
    await users.ask(signUp('c'))
    users.clock.sec += SIGN_UP_SEC
    await dropExpiredSignUps(users)
    expect([...users.book.all()]).toEqual([])
    expect([...(await readUserBook(log(), NEVER)).all()]).toEqual([])
    await users.ask(signUp('again'))
    expect(await users.ask(verify('again'))).toBe('done')
  })

  it('takes nothing from a sign-up that waits', async () => {
    const { ask } = await begin()
    await ask(signUp('c'))
    expect(await ask({ kind: 'request-reset', address: ADDRESS, code: digestOf('r') })).toBe('has-none')
    expect(await ask(verify('c'))).toBe('done')
  })
})

describe('a session', () => {
  it('ends a day after it was last used, and two weeks after its beginning', async () => {
    const { ask, clock } = await beginWithUser()
    clock.sec += SESSION_IDLE_SEC - 1
    expect(await ask(look('s'))).toBe('found')
    clock.sec += SESSION_IDLE_SEC
    expect(await ask(look('s'))).toBe('no-session')
    await ask(logIn('long'))
    for (let passed = 0; passed < SESSION_SEC; passed += SESSION_IDLE_SEC / 2) {
      expect(await ask(look('long')), String(passed)).toBe('found')
      clock.sec += SESSION_IDLE_SEC / 2
    }
    expect(await ask(look('long'))).toBe('no-session')
  })

  it('is noted once in a while', async () => {
    const { ask, clock } = await beginWithUser()
    const offset = async () => (await log().ends('users')).get(0)
    const before = await offset()
    clock.sec += SESSION_NOTED_SEC - 1
    await ask(look('s'))
    expect(await offset()).toBe(before)
    clock.sec += 1
    await ask(look('s'))
    const noted = await offset()
    expect(noted).not.toBe(before)
    // Whatever is asked with it.
    clock.sec += SESSION_NOTED_SEC
    await ask({ kind: 'list-orders', session: digestOf('s'), offset: 0, limit: 100 })
    expect(await offset()).not.toBe(noted)
  })

  it('makes room when there are too many', async () => {
    const { ask } = await beginWithUser()
    for (let i = 0; i < SESSIONS_MAX; i++) await ask(logIn(`s${i}`))
    expect(await ask(look('s'))).toBe('no-session')
    expect(await ask(look('s0'))).toBe('found')
  })
})

it('a new password ends all sessions; its code counts an hour, once, for its own address', async () => {
  const { ask, clock } = await beginWithUser()
  const request = (code: string): AskUsers => ({ kind: 'request-reset', address: ADDRESS, code: digestOf(code) })
  const reset = (code: string, address = ADDRESS): AskUsers => {
    return { kind: 'reset', code: digestOf(code), address, password: OTHER }
  }
  expect(await ask({ kind: 'request-reset', address: digestOf('nobody'), code: digestOf('n') })).toBe('has-none')
  expect(await ask(reset('n'))).toBe('no-code')
  await ask(request('old'))
  clock.sec += RESET_SEC
  expect(await ask(reset('old'))).toBe('no-code')
  await ask(request('new'))
  expect(await ask(reset('new', digestOf('another')))).toBe('no-code')
  expect(await ask(verify('new'))).toBe('no-code')
  expect(await ask(reset('new'))).toBe('done')
  expect(await ask(reset('new'))).toBe('no-code')
  expect(await ask(look('s'))).toBe('no-session')
  expect(await ask(logIn('t'))).toBe('wrong-password')
  expect(await ask(logIn('t', OTHER))).toBe('done')
})

describe('a key', () => {
  it('is one of so many', async () => {
    const { ask } = await beginWithUser()
    for (let i = 0; i < KEYS_MAX; i++) expect(await ask(createKey(`key ${i}`))).toBe('made')
    expect(await ask(createKey('one more'))).toBe('too-many-keys')
    expect(await ask(createKey('key 0')), 'done twice').toBe('made')
    const ids = (await eventsIn('accounts')).map(({ id }) => id)
    expect(new Set(ids).size).toBe(KEYS_MAX)
  })

  it('is told of for a while when it is deleted, to whoever decides next, too', async () => {
    const { ask, clock } = await beginWithUser()
    for (let i = 0; i <= DELETED_KEYS_MAX; i++) {
      // No more than may be deleted within a day.
      clock.sec += 2 * Math.ceil(86_400 / DELETED_PER_DAY_MAX)
      await ask(createKey(`key ${i}`))
      clock.sec += 1
      await ask(deleteKey(`key ${i}`))
    }
    const listed = await (await begin(log(), clock)).answer({ kind: 'list-deleted-keys', session: digestOf('s') })
    const keys = listed.status === 'deleted-keys' ? listed.keys : []
    const newest = { name: `key ${DELETED_KEYS_MAX}`, sinceSec: clock.sec - 1, deletedSec: clock.sec }
    expect(keys).toMatchObject([newest, ...Array.from({ length: DELETED_KEYS_MAX - 1 }, () => ({}))])
    expect(keys.map(({ name }) => name)).not.toContain('key 0')
  })

  it('is no more where so many were deleted within a day, though every one can still be deleted', async () => {
    const { ask, clock } = await beginWithUser()
    for (const one of ['kept', 'leaked']) expect(await ask(createKey(one))).toBe('made')
    for (let i = 0; i < DELETED_PER_DAY_MAX; i++) {
      expect(await ask(createKey(`key ${i}`))).toBe('made')
      expect(await ask(deleteKey(`key ${i}`))).toBe('done')
    }
    expect(await ask(createKey('one more'))).toBe('too-many-deleted')
    expect(await ask(deleteKey('leaked'))).toBe('done')
    expect(await ask(createKey('kept')), 'done twice').toBe('made')
    clock.sec += 86_400 - 1
    await ask(logIn('s'))
    expect(await ask(createKey('one more'))).toBe('too-many-deleted')
    clock.sec += 1
    expect(await ask(createKey('one more'))).toBe('made')
  })

  it('leaves no lists behind', async () => {
    const { ask, book } = await beginWithUser()
    const listed = { ...createKey('listed'), allow: { ips: ['203.0.113.0/24'] } } as AskUsers
    await ask(listed)
    await ask(deleteKey('listed'))
    const [deleted] = book.ofAddress(ADDRESS)?.user?.deletedKeys ?? []
    expect(deleted).toMatchObject({ name: 'listed' })
    expect(deleted).not.toHaveProperty('allow')
  })

  // A kill between the two appends is as if the second had never been.
  it.each(['create-key', 'delete-key'])(
    'is none that somebody has and nobody lists, however %s is killed',
    async (kind) => {
      let isKilled = false
      const writer: EventWriter = {
        append: (topic, events) =>
          isKilled && topic === 'users' ? Promise.reject(new Error('killed')) : log().append(topic, events),
      }
      const before = await beginWithUser(writer)
      await before.ask(createKey('kept'))
      isKilled = true
      await expect(before.ask(kind === 'create-key' ? createKey('lost') : deleteKey('kept'))).rejects.toThrow('killed')
      const after = await begin()
      const found = await after.answer(look('s'))
      const listed = found.status === 'found' ? found.user.keys.map(({ name }) => name) : []
      expect(listed).toEqual(['kept'])
      const types = (await eventsIn('accounts')).map(({ type }) => type)
      if (kind === 'create-key') return expect(types).toEqual(['account.token-created', 'account.token-created'])
      expect(types).toEqual(['account.token-created', 'account.token-revoked'])
      expect(await after.ask(deleteKey('kept'))).toBe('done')
    },
  )
})

describe('an order', () => {
  const requestOf = (n: number): string => digestOf(`request ${n}`)
  const idOf = (n: number): string => orderIdOf('u-c', requestOf(n))
  const place = (n: number): AskUsers => ({
    ...{ kind: 'place-order', session: digestOf('s'), request: requestOf(n) },
    wanted: {
      ...{ name: `node ${n}`, protocol: 'ethereum', network: 'mainnet', nodeType: 'full' },
      ...{ location: 'eu-central', days: 2 },
    },
  })
  const cancel = (n: number): AskUsers => ({ kind: 'cancel-order', session: digestOf('s'), orderId: idOf(n) })
  const list: AskUsers = { kind: 'list-orders', session: digestOf('s'), offset: 0, limit: 100 }

  async function beginWithOperator(writer?: EventWriter) {
    const users = await beginWithUser(writer)
    const step = async (move: AskOrdersInput['move'], evenPaid?: boolean) => {
      const asked = {
        requestId: randomUUID(),
        move,
        ...(evenPaid === undefined ? {} : { evenPaid }),
        notAfterMs: users.clock.sec * 1_000,
      }
      return (await answerOperator(users, asked)).status
    }
    const run = async (n: number) => {
      for (const to of ['provisioning', 'running'] as const) expect(await step({ orderId: idOf(n), to })).toBe('done')
    }
    return { ...users, step, run }
  }

  it('takes each step from the one before alone, once, and is over at its end though nobody says so', async () => {
    const { ask, answer, step, clock } = await beginWithOperator()
    const steps = ['accepted', 'provisioning', 'running', 'cancelled'] as const
    const take = (to: (typeof steps)[number], days = 3) =>
      step(to === 'accepted' ? { orderId: idOf(1), to, days } : { orderId: idOf(1), to })
    expect(await take('accepted'), 'there is none').toBe('no-order')
    for (const _ of ['once', 'twice']) expect(await ask(place(1))).toBe('order')
    for (const [at, to] of steps.slice(0, 3).entries()) {
      // The one before is where it stands: asked again, it is done.
      const wrong = steps.slice(0, 3).filter((_, i) => i !== at && i !== at - 1)
      for (const other of wrong) expect(await take(other), `${to}, ${other}`).toBe('wrong-state')
      for (const _ of ['once', 'twice']) expect(await take(to)).toBe('done')
      const moves = (await eventsIn('accounts')).filter(({ type }) => type === 'account.order-moved')
      expect(moves, 'asked twice it is told once').toHaveLength(at + 1)
      if (to === 'accepted') expect(await take(to, 4), 'for other days').toBe('wrong-state')
    }
    clock.sec += 3 * 86_400 - 1
    await ask(logIn('s'))
    expect(await answer(list)).toMatchObject({ orders: [{ state: 'running', days: 3, endsSec: clock.sec + 1 }] })
    clock.sec += 1
    expect(await answer(list)).toMatchObject({ orders: [{ state: 'expired', movedSec: clock.sec }] })
    for (const to of steps.slice(0, 3)) expect(await take(to), to).toBe('wrong-state')
    expect(await take('cancelled')).toBe('done')
    expect(await answer(list)).toMatchObject({ orders: [{ state: 'cancelled', movedSec: clock.sec }] })
    expect(await step({ orderId: idOf(1), to: 'extended', days: 10 })).toBe('wrong-state')
  })

  it('is judged to be paid as it stands when it is cancelled, whatever the operator has seen before', async () => {
    const { ask, answer, step, clock } = await beginWithOperator()
    await ask(logIn('s'))
    const cancelled = { orderId: idOf(1), to: 'cancelled' } as const
    await ask(place(1))
    const days = [{ to: 'accepted', days: 3 }, { to: 'provisioning' }, { to: 'running' }] as const
    for (const { to, ...more } of days) {
      await step({ ...more, orderId: idOf(1), to } as AskOrdersInput['move'])
      for (const evenPaid of [undefined, false]) expect(await step(cancelled, evenPaid), to).toBe('paid')
      expect(await answer(list)).toMatchObject({ orders: [{ state: to }] })
    }
    expect(await step(cancelled, true)).toBe('done')
    expect(await step(cancelled), 'there is nothing left to agree to').toBe('done')
    await ask(place(2))
    expect(await step({ ...cancelled, orderId: idOf(2) }), 'nobody has paid').toBe('done')
    await ask(place(3))
    for (const { to, ...more } of days) await step({ ...more, orderId: idOf(3), to } as AskOrdersInput['move'])
    clock.sec += 3 * 86_400
    expect(await step({ ...cancelled, orderId: idOf(3) }), 'it is over').toBe('done')
  })

  it('can but be cancelled when its account is closed, however far it has come', async () => {
    const { ask, step, run, clock } = await beginWithOperator()
    await ask(place(1))
    await step({ orderId: idOf(1), to: 'accepted', days: 1 })
    await run(1)
    clock.sec += 86_400
    await ask(logIn('s'))
    expect(await ask({ kind: 'close', session: digestOf('s'), address: ADDRESS, password: PASSWORD })).toBe('done')
    const after = [{ to: 'accepted', days: 1 }, { to: 'provisioning' }, { to: 'running' }, { to: 'extended', days: 30 }]
    for (const move of after as AskOrdersInput['move'][])
      expect(await step({ ...move, orderId: idOf(1) }), move.to).toBe('closed')
    expect(await step({ orderId: idOf(1), to: 'cancelled' })).toBe('done')
  })

  it('is one of so many that are open, and of so many of a day', async () => {
    const { ask, answer, clock, step, run } = await beginWithOperator()
    for (let n = 0; n < ORDERS_OPEN_MAX; n++) expect(await ask(place(n))).toBe('order')
    expect(await ask(place(100))).toBe('too-many-orders')
    expect(await ask(place(0)), 'asked again').toBe('order')
    // Room is made by one that is cancelled, and by one that expires.
    await ask(cancel(0))
    expect(await ask(place(ORDERS_OPEN_MAX))).toBe('order')
    await step({ orderId: idOf(1), to: 'accepted', days: 1 })
    await run(1)
    clock.sec += 86_399
    expect(await ask(place(100))).toBe('too-many-orders')
    clock.sec += 1
    await ask(logIn('s'))
    for (let n = 0; n < ORDERS_PER_DAY_MAX; n++) {
      expect(await ask(place(200 + n)), String(n)).toBe('order')
      await ask(cancel(200 + n))
    }
    expect(await ask(place(100))).toBe('too-many-orders')
    clock.sec += 86_400
    await ask(logIn('s'))
    expect(await ask(place(100))).toBe('order')
    await ask(cancel(100))
    for (let n = 1; n < ORDERS_PER_DAY_MAX; n++) {
      expect(await ask(place(300 + n)), String(n)).toBe('order')
      await ask(cancel(300 + n))
    }
    // Those that are open come first, then the newest: all of them are on some page, once.
    const pages = [0, 100, 200].map((offset) => answer({ ...(list as object), offset } as AskUsers))
    const listed = (await Promise.all(pages)).map((page) => (page.status === 'orders' ? page.orders : []))
    const all = 1 + ORDERS_OPEN_MAX + 2 * ORDERS_PER_DAY_MAX
    expect(listed.map(({ length }) => length)).toEqual([100, all - 100, 0])
    expect(new Set(listed.flat().map(({ orderId }) => orderId)).size).toBe(all)
  })

  it('is extended while it runs and shortly after, from when it began, and its keys do not count when it is over', async () => {
    const { ask, answer, step, run, clock } = await beginWithOperator()
    const extend = (days: number) => step({ orderId: idOf(1), to: 'extended', days })
    const keyOf = (token: string): AskUsers => ({ ...(createKey(token) as object), order: idOf(1) }) as AskUsers
    expect(await extend(3)).toBe('no-order')
    await ask(place(1))
    await step({ orderId: idOf(1), to: 'accepted', days: 2 })
    expect(await extend(3)).toBe('wrong-state')
    await run(1)
    const beganSec = clock.sec
    for (let i = 0; i < KEYS_MAX; i++) await ask(keyOf(`of order ${i}`))
    expect(await ask(createKey('one more'))).toBe('too-many-keys')
    expect(await extend(1)).toBe('too-short')
    for (const _ of ['once', 'twice']) expect(await extend(3)).toBe('done')
    clock.sec += 60
    await extend(3)
    expect(await answer(list), 'it ran all the while').toMatchObject({ orders: [{ movedSec: beganSec }] })
    clock.sec = beganSec + 5 * 86_400
    await ask(logIn('s'))
    expect(await answer(list)).toMatchObject({ orders: [{ state: 'expired', movedSec: beganSec + 3 * 86_400 }] })
    for (let i = 0; i < KEYS_MAX; i++) expect(await ask(createKey(`key ${i}`))).toBe('made')
    expect(await ask(createKey('one more'))).toBe('too-many-keys')
    // It would be over at once.
    expect(await extend(5)).toBe('too-short')
    expect(await extend(6)).toBe('done')
    expect(await answer(list)).toMatchObject({
      orders: [{ state: 'running', movedSec: clock.sec, endsSec: beganSec + 6 * 86_400 }],
    })
    const told = (await eventsIn('accounts')).filter(({ type }) => type === 'account.order-extended')
    expect(told.map(({ id }) => id)).toEqual([3, 6].map((days) => `account.order-extended:${idOf(1)}:${days}`))
    clock.sec = beganSec + (6 + ORDER_EXTENDED_AFTER_DAYS_MAX) * 86_400
    expect(await extend(60)).toBe('wrong-state')
    clock.sec -= 1
    expect(await extend(60)).toBe('done')
    await ask(logIn('s'))
    const again = await begin(log(), clock)
    expect(await again.answer(list)).toMatchObject({ orders: [{ days: 60, endsSec: beganSec + 60 * 86_400 }] })
  })

  it('has keys for as long as it runs, and none of them works when it is cancelled', async () => {
    const { ask, step, run, clock } = await beginWithOperator()
    await ask(place(1))
    const keyOf = (token: string): AskUsers => ({ ...(createKey(token) as object), order: idOf(1) }) as AskUsers
    expect(await ask(keyOf('early'))).toBe('wrong-state')
    await step({ orderId: idOf(1), to: 'accepted', days: 2 })
    await run(1)
    for (const token of ['deleted', 'kept']) expect(await ask(keyOf(token))).toBe('made')
    await ask({ kind: 'delete-key', session: digestOf('s'), keyId: digestOf('deleted').slice(0, 12) })
    await step({ orderId: idOf(1), to: 'cancelled' }, true)
    expect(await ask(keyOf('late'))).toBe('wrong-state')
    const events = await eventsIn('accounts')
    const [token] = events.filter(({ type }) => type === 'account.token-created')
    expect(JSON.parse(Buffer.from(token?.data ?? []).toString())).toMatchObject({
      ...{ scopes: ['read'], families: ['gateway'], chain: 'mainnet' },
      order: { id: idOf(1), until: new Date((clock.sec + 2 * 86_400) * 1_000).toISOString() },
    })
    const revoked = events.filter(({ type }) => type === 'account.token-revoked').map(({ id }) => id)
    expect(revoked, 'each once').toEqual(['deleted', 'kept'].map((one) => `account.token-revoked:${digestOf(one)}`))
    // Whoever reads the log knows the same.
    const again = await begin(log(), clock)
    expect(again.orders.of().map((order) => toOrderView(order, clock.sec))).toMatchObject([{ state: 'cancelled' }])
    expect(again.orders.get(idOf(1))?.keys.size).toBe(0)
  })
})

it('nothing is decided for who waits no more, nor with another key of the installation', async () => {
  const { answer, clock } = await beginWithUser()
  const late = await answer(logIn('t'), { notAfterMs: clock.sec * 1_000 - 1 })
  expect(late.status).toBe('late')
  expect((await answer(logIn('t'), { keyId: 'f'.repeat(16) })).status).toBe('other-key')
  expect((await answer(look('t'))).status).toBe('no-session')
})

describe('a password', () => {
  const secrets = new AccountSecrets(Buffer.alloc(32, 1))

  it('is made into what only the same key, address and password are made into', async () => {
    const passwords = new Passwords(secrets)
    const of = (email: string, password: string, by = passwords) => by.of(email, password)
    const made = await of('ann@example.org', 'a password')
    expect(made).toEqual({ scheme: 'scrypt-131072-8-1', proof: expect.stringMatching(/^[0-9a-f]{64}$/) })
    expect(await of('Ann@example.org', 'a password')).toEqual(made)
    const others = await Promise.all([
      of('ann@example.org', 'A password'),
      of('bob@example.org', 'a password'),
      of('ann@example.org', 'a password', new Passwords(new AccountSecrets(Buffer.alloc(32, 2)))),
    ])
    expect(new Set([made, ...others].map((one) => one?.proof)).size).toBe(4)
  })

  it('is one of two at a time; so many wait, and no more', async () => {
    const gates: (() => void)[] = []
    let running = 0
    let most = 0
    const passwords = new Passwords(secrets, async () => {
      most = Math.max(most, ++running)
      await new Promise<void>((resolve) => gates.push(resolve))
      running--
      return new Uint8Array(32)
    })
    const asked = Array.from({ length: AT_ONCE_MAX + WAITING_MAX + 3 }, () => passwords.of('a@example.org', 'password'))
    const refused = await Promise.all(asked.slice(AT_ONCE_MAX + WAITING_MAX))
    expect(refused).toEqual([undefined, undefined, undefined])
    const done = Promise.all(asked.slice(0, AT_ONCE_MAX + WAITING_MAX))
    let isDone = false
    done.then(() => {
      isDone = true
    })
    while (!isDone) {
      gates.shift()?.()
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect((await done).every((made) => made !== undefined)).toBe(true)
    expect(most).toBe(AT_ONCE_MAX)
  })
})
