import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { LOG_IN_LIMIT, MAIL_LIMIT } from '../../api/account/attempts.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import { DELETED_PER_DAY_MAX } from '../../schemas/events/users.ts'
import {
  Browser,
  type GivenAccounts,
  type GivenAccountsOptions,
  newUser,
  openGivenAccounts,
  until,
} from './given-accounts.ts'
import { type GivenApi, openGivenApi } from './given-api.ts'

const PASSWORD = 'correct horse battery'

let tables: GivenApi
let given: GivenAccounts
beforeAll(async () => {
  tables = await openGivenApi()
  given = await openGivenAccounts(tables)
})
afterAll(async () => {
  await given[Symbol.asyncDispose]()
  await tables[Symbol.asyncDispose]()
})

/** A given of the test's own, where it uses up what all clients of one address share. */
async function openOwn(options?: GivenAccountsOptions): Promise<GivenAccounts> {
  const own = await openGivenAccounts(tables, options)
  onTestFinished(() => own[Symbol.asyncDispose]())
  return own
}

const first = () => new Browser(given.urls[0])
const second = () => new Browser(given.urls[1])

describe('an account', () => {
  test('is there in every process at once when its address is verified, and not before', async () => {
    const email = 'ann@example.org'
    const [here, there] = [first(), second()]
    expect(await here.post('/sign-up', { email, password: PASSWORD })).toMatchObject({ status: 200 })
    const early = await there.post('/log-in', { email, password: PASSWORD })
    expect(early).toMatchObject({ status: 401, body: { code: '401', reason: 'wrong_password' } })
    const { code, subject } = await given.letterTo(email)
    expect(subject).toBe('Verify your address')
    expect(await here.post('/verify', { email, code, password: PASSWORD })).toMatchObject({
      status: 200,
      body: { code: '200', msg: 'Success' },
    })
    expect(await there.post('/log-in', { email, password: PASSWORD })).toMatchObject({ status: 200 })
    const { status, body } = await there.get('/me')
    expect(status).toBe(200)
    expect(body.data).toEqual({
      account: expect.stringMatching(/^u-[0-9a-f]{16}$/),
      created_at: expect.stringMatching(/^\d{4}-/),
      plan: { name: 'default', requests_per_day: 1_000, requests_per_second: null },
      keys: 0,
    })
    const elsewhere = first()
    elsewhere.cookie = there.cookie
    expect((await elsewhere.get('/me')).body).toEqual(body)
  })

  test('is one, however many sign up with one address at once, and has the password of whose code was used', async () => {
    const own = await openOwn()
    const email = 'many@example.org'
    const browsers = Array.from({ length: 20 }, (_, i) => new Browser(own.urls[i % 2] as string))
    const answers = await Promise.all(
      browsers.map((browser, i) => browser.post('/sign-up', { email, password: `${PASSWORD} ${i}` })),
    )
    const taken = answers.flatMap(({ status }, i) => (status === 200 ? [i] : []))
    expect(taken).toHaveLength(MAIL_LIMIT.max)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(20 - MAIL_LIMIT.max)
    const codes = (await own.letters()).map(({ code }) => code)
    expect(new Set(codes).size).toBe(MAIL_LIMIT.max)
    const [code, ...otherCodes] = codes
    const passwords = taken.map((i) => `${PASSWORD} ${i}`)
    const opened = await Promise.all(
      passwords.map((password, i) => new Browser(own.urls[i % 2] as string).post('/verify', { email, code, password })),
    )
    expect(opened.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400, 400])
    const others = otherCodes.map((other) =>
      browsers[0]?.post('/verify', { email, code: other, password: passwords[0] }),
    )
    expect((await Promise.all(others)).map((answer) => answer?.status)).toEqual([400, 400, 400, 400])
    const tries = await Promise.all(
      taken.map((i) => new Browser(own.urls[0]).post('/log-in', { email, password: `${PASSWORD} ${i}` })),
    )
    expect(tries.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401, 401])
  })

  test('is not opened with the password of somebody else who signed up with the address', async () => {
    const own = await openOwn()
    const email = 'vic@example.org'
    const [owner, other] = [new Browser(own.urls[0]), new Browser(own.urls[1])]
    await owner.post('/sign-up', { email, password: PASSWORD })
    const mine = (await own.letterTo(email)).code
    await other.post('/sign-up', { email: 'VIC@example.org', password: 'somebody else' })
    const { code } = await own.letterTo(email)
    expect(code).not.toBe(mine)
    const mixedUp = await owner.post('/verify', { email, code, password: PASSWORD })
    expect(mixedUp).toMatchObject({ status: 400, body: { reason: 'code_not_valid' } })
    expect((await other.post('/log-in', { email, password: 'somebody else' })).status).toBe(401)
    expect((await owner.post('/verify', { email, code: mine, password: PASSWORD })).status).toBe(200)
    expect((await owner.post('/log-in', { email, password: PASSWORD })).status).toBe(200)
    expect((await other.post('/verify', { email, code, password: 'somebody else' })).status).toBe(400)
  })

  test('has an address whose letters are of either case, and a password whose letters are written in either way', async () => {
    await newUser(given, 'bob@example.org', 'A\u030Angstr\u00f6m 1853')
    const browser = first()
    const email = 'Bob@Example.ORG'
    expect(await browser.post('/log-in', { email, password: '\u00c5ngstro\u0308m 1853' })).toMatchObject({
      status: 200,
    })
  })

  test('has a new password by mail, which ends every session and counts once', async () => {
    const own = await openOwn()
    const email = 'carl@example.org'
    const browser = await newUser(own, email, PASSWORD)
    expect((await browser.get('/me')).status).toBe(200)
    expect((await browser.post('/request-reset', { email })).status).toBe(200)
    const { code } = await own.letterTo(email)
    const reset = { email, code, password: 'another password' }
    const foreign = await browser.post('/reset', { ...reset, email: 'ann@example.org' })
    expect(foreign).toMatchObject({ status: 400, body: { reason: 'code_not_valid' } })
    expect((await new Browser(own.urls[1]).post('/reset', reset)).status).toBe(200)
    expect((await browser.get('/me')).body).toMatchObject({ code: '401', reason: 'not_logged_in' })
    expect((await browser.post('/reset', reset)).body.reason).toBe('code_not_valid')
    expect((await browser.post('/log-in', { email, password: PASSWORD })).status).toBe(401)
    expect((await browser.post('/log-in', { email, password: 'another password' })).status).toBe(200)
  })

  test('is left by one session alone', async () => {
    const own = await openOwn()
    const browser = await newUser(own, 'dora@example.org', PASSWORD)
    const other = new Browser(own.urls[1])
    await other.post('/log-in', { email: 'dora@example.org', password: PASSWORD })
    const { cookie } = browser
    expect((await browser.post('/log-out')).status).toBe(200)
    expect(browser.cookie).toBe('epochline_session=')
    browser.cookie = cookie
    expect((await browser.get('/me')).status).toBe(401)
    expect((await other.get('/me')).status).toBe(200)
  })

  test('is what it was when another process decides', async () => {
    const own = await openOwn()
    const browser = await newUser(own, 'emma@example.org', PASSWORD)
    await browser.post('/keys', { name: 'kept' })
    const before = (await browser.get('/keys')).body
    await own.restart()
    expect((await browser.get('/keys')).body).toEqual(before)
  })

  test('is gone when it is closed, with its keys and what was kept of it', async () => {
    const own = await openOwn()
    const [email, password] = ['fred@example.org', PASSWORD]
    const browser = await newUser(own, email, password)
    const { data } = (await browser.post('/keys', { name: 'a name of Fred' })).body
    await own.fill()
    expect((await browser.post('/close', { email, password: 'wrong password' })).status).toBe(401)
    expect((await browser.post('/close', { email, password })).status).toBe(200)
    await own.fill()
    const call = await fetch(`${own.urls[0]}/ethereum/mainnet/${data.key}/api/v1/validator/total-rewards`)
    expect(call.status).toBe(401)
    expect((await browser.post('/log-in', { email, password })).status).toBe(401)
    const users = (await own.log()).split('\n').filter((line) => line.startsWith('user.stands'))
    expect(users).toHaveLength(1)
    expect(JSON.parse(users[0]?.split(' ')[2] ?? '')).toEqual({
      address: expect.any(String),
      keyId: expect.any(String),
      signUps: [],
    })
  })
})

describe('a key', () => {
  test('works on the API of its blockchain, is listed without itself, and stops working when it is deleted', async () => {
    const browser = await newUser(given, 'gina@example.org', PASSWORD)
    const made = await browser.post('/keys', { name: 'wallet', blockchain: 'ethereum/mainnet' })
    expect(made.status, made.text).toBe(200)
    const { key, ...shown } = made.body.data
    expect(shown).toEqual({
      ...{ key_id: expect.any(String), name: 'wallet', blockchain: 'ethereum/mainnet' },
      ...{ allow: null, order_id: null },
    })
    await given.fill()
    const call = () => fetch(`${given.urls[1]}/ethereum/mainnet/${key}/api/v1/validator/total-rewards`)
    expect(await until(async () => (await call()).status !== 401)).toBe(true)
    const other = await browser.post('/keys', { name: '', blockchain: 'solana/mainnet' })
    await given.fill()
    const ofSolana = await fetch(
      `${given.urls[1]}/ethereum/mainnet/${other.body.data.key}/api/v1/validator/total-rewards`,
    )
    expect(await ofSolana.json()).toMatchObject({ msg: expect.stringContaining('not for the chain mainnet') })
    const listed = await browser.get('/keys')
    expect(listed.body.data).toEqual([
      { ...shown, created_at: expect.any(String), deleted_at: null, is_working: true },
      expect.objectContaining({ name: '', blockchain: 'solana/mainnet' }),
    ])
    expect(listed.text).not.toContain(key)
    expect((await browser.ask('DELETE', `/keys/${shown.key_id}`)).status).toBe(200)
    await given.fill()
    expect(await until(async () => (await call()).status === 401)).toBe(true)
    const left = (await browser.get('/keys')).body
    expect([left.data.length, left.pagination]).toEqual([1, { page: 1, limit: 100, total: 1 }])
    const deleted = await browser.get('/keys?state=deleted')
    const { created_at } = listed.body.data[0]
    expect(deleted.body.data).toEqual([
      { ...shown, created_at, deleted_at: expect.stringMatching(/^\d{4}-/), is_working: false },
    ])
    expect(deleted.text).not.toContain(key)
    expect(await browser.ask('DELETE', `/keys/${shown.key_id}`)).toMatchObject({
      status: 404,
      body: { reason: 'no_such_key' },
    })
  })

  test('has the lists that it was made with, in one spelling, and they hold at once', async () => {
    const browser = await newUser(given, 'lists@example.org', PASSWORD)
    const allow = {
      origins: ['https://App.Example:443', 'http://localhost:3000'],
      ips: ['203.0.113.0/24', '2001:DB8::/32'],
      methods: ['eth_get*', 'GET#/eth/v1/node/*'],
      contracts: ['0xdAC17F958D2ee523a2206206994597C13D831ec7'],
    }
    const made = await browser.post('/keys', { name: 'page', allow })
    const kept = {
      origins: ['https://app.example', 'http://localhost:3000'],
      ips: ['203.0.113.0/24', '2001:db8::/32'],
      methods: ['eth_get*', 'GET#/eth/v1/node/*'],
      contracts: ['0xdac17f958d2ee523a2206206994597c13d831ec7'],
    }
    expect(made.body.data.allow, made.text).toEqual(kept)
    expect((await browser.get('/keys')).body.data).toMatchObject([{ allow: kept }])
    await given.fill()
    const path = `${given.urls[1]}/ethereum/mainnet/${made.body.data.key}/api/v1/validator/total-rewards`
    const call = async () => (await fetch(path, { headers: { origin: 'https://evil.example' } })).json()
    expect(await until(async () => (await call()).code !== '401')).toBe(true)
    expect(await call()).toMatchObject({ code: '403', reason: 'origin' })
  })

  test('is refused where its lists are long, and where too many were deleted within a day', async () => {
    const browser = await newUser(await openOwn(), 'deleting@example.org', PASSWORD)
    const origins = Array.from({ length: 100 }, (_, i) => `https://a${i}.${'x'.repeat(200)}`)
    expect(await browser.post('/keys', { name: 'x', allow: { origins } })).toMatchObject({
      status: 400,
      body: { code: '400', reason: 'allow_not_valid' },
    })
    const makeAndDelete = async (): Promise<number> => {
      const { data } = (await browser.post('/keys', { name: 'x', allow: { ips: ['::1'] } })).body
      return (await browser.ask('DELETE', `/keys/${data.key_id}`)).status
    }
    const deleted = await Promise.all(Array.from({ length: DELETED_PER_DAY_MAX }, makeAndDelete))
    expect(new Set(deleted)).toEqual(new Set([200]))
    expect(await browser.post('/keys', { name: 'x' })).toMatchObject({
      status: 400,
      body: { code: '400', reason: 'too_many_deleted' },
    })
    expect((await browser.get('/keys?state=deleted')).body.data[0]).toMatchObject({ name: 'x', allow: null })
  })

  test('is nobody else’s to see or to delete', async () => {
    const [mine, theirs] = [
      await newUser(given, 'hans@example.org', PASSWORD),
      await newUser(given, 'ida@example.org', PASSWORD),
    ]
    const { data } = (await mine.post('/keys', { name: 'mine' })).body
    expect((await theirs.get('/keys')).body.data).toEqual([])
    expect((await theirs.ask('DELETE', `/keys/${data.key_id}`)).status).toBe(404)
    expect((await mine.get('/keys')).body.data).toHaveLength(1)
  })

  test.each<[object, object]>([
    [
      { name: 'x', blockchain: 'ethereum/nowhere' },
      { code: '400', reason: 'no_such_blockchain' },
    ],
    [{ name: 'x'.repeat(65) }, { code: '400' }],
    [
      { name: 'x', allow: { ips: ['10.0.0.0/33'] } },
      { code: '400', reason: 'allow_not_valid' },
    ],
    [
      { name: 'x', allow: { methods: ['eth_*Number'] } },
      { code: '400', reason: 'allow_not_valid' },
    ],
    // Who has no value for a restriction is given no key without it.
    [
      { name: 'x', allow: {} },
      { code: '400', reason: 'allow_not_valid' },
    ],
    [{ name: 'x', allow: null }, { code: '400' }],
    [{ name: 'x', blockchain: '' }, { code: '400' }],
    [{ name: 'x', order_id: null }, { code: '400' }],
    [{ name: 'x', allow: { origins: [] } }, { code: '400' }],
    [{ name: 'x', allow: { hosts: ['a'] } }, { code: '400' }],
    [{ name: 'a\u202eb' }, { code: '400' }],
    [{ name: 'x', scopes: ['exit'] }, { code: '400' }],
  ])('is not made of %j', async (body, refusal) => {
    const browser = await newUser(given, `key-${hashToken(JSON.stringify(body)).slice(0, 12)}@example.org`, PASSWORD)
    expect(await browser.post('/keys', body)).toMatchObject({ status: 400, body: refusal })
    expect((await browser.get('/keys')).body.data).toEqual([])
  })
})

describe('whether an address has an account', () => {
  const WITHOUT = new Set(['date', 'x-request-id', 'set-cookie'])
  const seen = ({ status, text, headers }: { status: number; text: string; headers: Headers }) => ({
    status,
    text,
    headers: [...headers].filter(([name]) => !WITHOUT.has(name)),
  })

  test('is not told by a sign-up, a reset or a log-in, but by the mail alone', async () => {
    const own = await openOwn()
    const [known, unknown] = ['known@example.org', 'unknown@example.org']
    await newUser(own, known, PASSWORD)
    const ask = (path: string, email: string, more: object = {}) =>
      new Browser(own.urls[0]).post(path, { email, ...more })
    const wrong = { password: 'some other password' }
    expect(seen(await ask('/log-in', known, wrong))).toEqual(seen(await ask('/log-in', unknown, wrong)))
    expect(seen(await ask('/request-reset', known))).toEqual(seen(await ask('/request-reset', unknown)))
    expect((await own.letterTo(known)).subject).toBe('Your new password')
    expect((await own.letterTo(unknown)).subject).toBe('There is no account with this address')
    expect(seen(await ask('/sign-up', known, wrong))).toEqual(seen(await ask('/sign-up', unknown, wrong)))
    expect(await own.letterTo(known)).toMatchObject({ subject: 'You have an account already', code: '' })
    expect((await own.letterTo(unknown)).subject).toBe('Verify your address')
    expect((await ask('/log-in', known, { password: PASSWORD })).status).toBe(200)
  })

  test('is not told by how long a log-in takes: nearly all of it is one computation, of a wrong password and an unknown address alike', async () => {
    let computed = 0
    const derive = async (password: string, salt: Uint8Array): Promise<Uint8Array> => {
      computed++
      return createHmac('sha256', salt).update(password).digest()
    }
    const own = await openOwn({ account: { derive } })
    await newUser(own, 'known@example.org', PASSWORD)
    for (const email of ['known@example.org', 'nobody@example.org']) {
      computed = 0
      const { status } = await new Browser(own.urls[0]).post('/log-in', { email, password: 'a wrong password' })
      expect([status, computed], email).toEqual([401, 1])
    }
  })

  test('is not told while mail cannot be sent', async () => {
    let isAway = false
    const letters: { readonly to: string; readonly text: string }[] = []
    const mail = {
      async send(message: { readonly to: string; readonly text: string }) {
        if (isAway) throw new (await import('../../schemas/errors.ts')).AppError('mail', 'away', { retryable: true })
        letters.push(message)
      },
      async [Symbol.asyncDispose]() {},
    }
    const own = await openOwn({ account: { mail } })
    const browser = new Browser(own.urls[0])
    const sign = (email: string) => browser.post('/sign-up', { email, password: PASSWORD })
    await sign('known@example.org')
    const code = /^[A-Za-z0-9_-]{43}$/m.exec(letters[0]?.text ?? '')?.[0]
    await browser.post('/verify', { email: 'known@example.org', code, password: PASSWORD })
    isAway = true
    const [known, unknown] = [await sign('known@example.org'), await sign('unknown@example.org')]
    expect(seen(known)).toEqual(seen(unknown))
    expect(known.status).toBe(503)
  })
})

describe('a request', () => {
  test('that changes something is refused from another page', async () => {
    const browser = await newUser(given, 'jan@example.org', PASSWORD)
    const ask = (headers: Record<string, string>) =>
      fetch(`${given.urls[0]}/account/v1/log-out`, { method: 'POST', headers: { cookie: browser.cookie, ...headers } })
    const own = { 'x-requested-with': 'page' }
    for (const headers of [
      {},
      { ...own, origin: 'https://evil.example' },
      { ...own, origin: 'null' },
      { 'content-type': 'text/plain' },
    ]) {
      const response = await ask(headers as Record<string, string>)
      expect(await response.json(), JSON.stringify(headers)).toMatchObject({ code: '400', reason: 'cross_site' })
    }
    expect((await browser.get('/me')).status).toBe(200)
    expect((await ask({ ...own, origin: given.urls[0] })).status).toBe(200)
    expect((await browser.get('/me')).status).toBe(401)
  })

  test.each(['', 'epochline_session=', 'epochline_session=short', `epochline_session=${'a'.repeat(43)}`])(
    'with the cookie %j is nobody’s',
    async (cookie) => {
      const browser = first()
      for (const ask of [
        () => browser.get('/me'),
        () => browser.get('/keys'),
        () => browser.post('/keys', { name: 'x' }),
      ]) {
        browser.cookie = cookie
        expect(await ask()).toMatchObject({ status: 401, body: { code: '401', reason: 'not_logged_in', data: null } })
      }
    },
  )

  test.each<[string, object]>([
    ['email is missing', { password: PASSWORD }],
    ['password is missing', { email: 'a@example.org' }],
    ['email is not a mail address', { email: 'a@localhost', password: PASSWORD }],
    ['email is not a mail address', { email: 'a@b.c\r\nBcc: d@e.f', password: PASSWORD }],
    ['email is not a mail address', { email: '"a b"@example.org', password: PASSWORD }],
    ['password must', { email: 'a@example.org', password: 'short' }],
    ['password must', { email: 'a@example.org', password: 'x'.repeat(129) }],
    ['password must', { email: 'a@example.org', password: 1234567890 }],
    ['admin is not understood', { email: 'a@example.org', password: PASSWORD, admin: true }],
  ])('is told %s', async (sentence, body) => {
    const { status, text } = await new Browser((await openOwn()).urls[0]).post('/sign-up', body)
    expect(status).toBe(400)
    expect(text).toContain(sentence)
    expect(text).not.toContain('x'.repeat(20))
  })

  test('is one of so many to an address: passwords cannot be tried, nor boxes filled', async () => {
    const own = await openOwn()
    const browser = await newUser(own, 'kim@example.org', PASSWORD)
    const session = browser.cookie
    for (let i = 1; i < LOG_IN_LIMIT.max; i++)
      expect((await browser.post('/log-in', { email: 'kim@example.org', password: 'wrong password' })).status).toBe(401)
    const limited = await browser.post('/log-in', { email: 'kim@example.org', password: PASSWORD })
    expect(limited).toMatchObject({ status: 429, body: { code: '429', reason: 'too_many_requests', data: null } })
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(600)
    browser.cookie = session
    expect((await browser.get('/me')).status).toBe(200)
    const mails: number[] = []
    for (let i = 0; i < MAIL_LIMIT.max; i++)
      mails.push((await browser.post('/request-reset', { email: 'kim@example.org' })).status)
    expect(mails).toEqual([200, 200, 200, 200, 429])
  })

  test('is one of so many of a client, whatever cookie it makes up', async () => {
    const windows: string[] = []
    const clientCounters = {
      take: async (key: string) => {
        windows.push(key)
        return { allowed: false, remaining: 0, resetMs: 1_500 }
      },
    }
    const own = await openOwn({ account: { clientCounters } })
    const browser = new Browser(own.urls[0])
    for (const letter of ['a', 'b']) {
      browser.cookie = `epochline_session=${letter.repeat(43)}`
      const { status, headers } = await browser.get('/me')
      expect([status, headers.get('retry-after')]).toEqual([429, '2'])
    }
    expect(new Set(windows).size).toBe(1)
  })

  test('is not answered where nobody can count', async () => {
    const { AppError } = await import('../../schemas/errors.ts')
    const counters = {
      take: () => Promise.reject(new AppError('counters', 'Redis: ECONNREFUSED', { retryable: true })),
    }
    const own = await openOwn({ account: { counters, clientCounters: counters } })
    const { status, body } = await new Browser(own.urls[0]).post('/log-in', { email: 'a@b.cd', password: PASSWORD })
    expect(status).toBe(503)
    expect(body.msg).toContain('limits cannot be counted')
  })

  test('has a cookie that pages cannot read and other hosts do not get', async () => {
    const set = async (isLoopback: boolean): Promise<string> => {
      const own = await openOwn({ account: { isLoopback } })
      await newUser(own, 'lea@example.org', PASSWORD)
      const browser = new Browser(own.urls[0])
      const { headers } = await browser.post('/log-in', { email: 'lea@example.org', password: PASSWORD })
      return headers.get('set-cookie') ?? ''
    }
    const attributes = '; Path=/account; Max-Age=1209600; HttpOnly; SameSite=Lax'
    expect(await set(true)).toMatch(new RegExp(`^epochline_session=[\\w-]{43}${attributes}$`))
    expect(await set(false)).toMatch(new RegExp(`^epochline_session=[\\w-]{43}${attributes}; Secure$`))
  })
})

test('no address, password, code, session or key is in the log or in what was logged', async () => {
  const own = await openOwn()
  const [email, password, other] = ['nora.secret@example.org', 'first-secret-password', 'other-secret-password']
  const browser = await newUser(own, email, password)
  const verifying = (await own.letterTo(email)).code
  const { data } = (await browser.post('/keys', { name: 'k' })).body
  await browser.post('/log-in', { email, password: 'wrong-secret-password' })
  await browser.post('/request-reset', { email })
  const resetting = (await own.letterTo(email)).code
  await browser.post('/reset', { email, code: resetting, password: other })
  await browser.post('/log-in', { email, password: other })
  const session = browser.cookie.split('=')[1] ?? ''
  await browser.get('/me')
  const written = `${await own.log()}\n${own.logged()}`
  expect(written).toContain('user.stands')
  expect(written).toContain('"route":"/account/v1/log-in"')
  const secrets = [
    email,
    'nora.secret',
    password,
    other,
    'wrong-secret-password',
    verifying,
    resetting,
    session,
    data.key,
  ]
  for (const secret of secrets) {
    expect(secret.length).toBeGreaterThan(8)
    expect(written.toLowerCase()).not.toContain(secret.toLowerCase())
  }
})
