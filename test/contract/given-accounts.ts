import { createHmac } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { pino } from 'pino'
import type { AccountParts } from '../../api/account/account.ts'
import type { ApiParts } from '../../api/http/api-parts.ts'
import { type Api, openApi } from '../../api/http/server.ts'
import { decideAlone } from '../../commands/users/role.ts'
import { openMemoryCounters } from '../../infra/counters/memory.ts'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import { openSqliteJobQueue } from '../../infra/job-queue/sqlite.ts'
import { openFolderMail } from '../../infra/mail/folder.ts'
import type { EventLog, StoredEvent } from '../../infra/ports/event-log.ts'
import { projectAccountFact } from '../../processors/accounts/account-facts.ts'
import { insertAll } from '../../processors/loop/rows.ts'
import { readOrderBook } from '../../processors/users/order-book.ts'
import { readUserBook } from '../../processors/users/user-book.ts'
import { silentLog } from '../unit/silent-log.ts'
import { MAINNET } from './api-fixture.ts'
import type { GivenApi } from './given-api.ts'

// Two listeners as of two processes, and the one that decides, over one log, one queue and tables that it fills itself.

export interface Letter {
  readonly to: string
  readonly subject: string
  readonly text: string
  /** The code in it; empty where it has none. */
  readonly code: string
}

export interface GivenAccounts extends AsyncDisposable {
  /** Base addresses of two listeners. */
  readonly urls: readonly [string, string]
  /** Everything that was logged. */
  readonly logged: () => string
  /** All mail, the oldest first. */
  letters(): Promise<readonly Letter[]>
  /** The newest message to an address. */
  letterTo(address: string): Promise<Letter>
  /** What the log has, as text. */
  log(): Promise<string>
  /** Has the tables as the log says it. */
  fill(): Promise<void>
  /** Ends who decides, and lets another begin with what the log has. */
  restart(): Promise<void>
  /** Ends who decides; nobody does then. */
  stop(): Promise<void>
}

export interface GivenAccountsOptions {
  readonly account?: Partial<AccountParts>
  /** What both listeners have besides. */
  readonly api?: Partial<Pick<ApiParts, 'upstreams'>>
  /** Where commands find its log and its jobs. */
  readonly files?: { readonly eventLogFile: string; readonly jobsFile: string }
  /** Unix milliseconds of everybody. */
  readonly wallNow?: () => number
}

async function deriveQuickly(password: string, salt: Uint8Array): Promise<Uint8Array> {
  return createHmac('sha256', salt).update(password).digest()
}

/** Over the tables of `tables`: a process has one warehouse at a time. */
export async function openGivenAccounts(
  tables: GivenApi,
  { account, api, files, wallNow = Date.now }: GivenAccountsOptions = {},
): Promise<GivenAccounts> {
  const directory = await mkdtemp(join(tmpdir(), 'epochline-accounts-'))
  const eventLog = await openSqliteEventLog({ file: files?.eventLogFile ?? join(directory, 'log.sqlite') })
  const jobsFile = files?.jobsFile ?? join(directory, 'jobs.sqlite')
  const queues = await Promise.all([1, 2, 3].map(() => openSqliteJobQueue({ file: jobsFile, log: silentLog })))
  const [deciding, ...asking] = queues as [(typeof queues)[number], ...typeof queues]
  const lines: string[] = []
  const log = pino({ level: 'trace' }, { write: (line: string) => lines.push(line) })
  const counters = await openMemoryCounters()
  const folder = join(directory, 'mail')
  const parts: AccountParts = {
    ...{
      key: Buffer.alloc(32, 7),
      mail: openFolderMail({ folder }),
      counters,
      clientCounters: counters,
      isLoopback: true,
    },
    derive: deriveQuickly,
    planOf: () => ({ name: 'default', requestsPerDay: 1_000 }),
    ...account,
  }
  const open = (jobs: (typeof queues)[number]): Promise<Api> =>
    openApi({
      ...tables.partsOf([MAINNET]),
      ...api,
      ...{ jobs, log, account: parts, wallNow, standingAgeMsMax: 0, host: '127.0.0.1', port: 0 },
    })
  const apis = await Promise.all(asking.map(open))
  const decide = (): (() => Promise<void>) => {
    const stop = new AbortController()
    const done = (async () => {
      await using lease = await eventLog.lease('users', stop.signal)
      const book = await readUserBook(eventLog, stop.signal)
      const orders = await readOrderBook(eventLog, log, stop.signal)
      const users = { book, orders, writer: lease, log, now: wallNow }
      await decideAlone({ ports: { jobQueue: deciding }, running: { log }, parts: users }, stop.signal)
    })()
    return async () => {
      stop.abort()
      await done
    }
  }
  let stopDeciding = decide()
  const letters = async (): Promise<readonly Letter[]> => {
    const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.eml')).sort()
    const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
    return texts.map(parseLetter)
  }
  return {
    urls: [apis[0]?.url ?? '', apis[1]?.url ?? ''],
    logged: () => lines.join(''),
    letters,
    async letterTo(address) {
      const found = (await letters()).filter(({ to }) => to === address).at(-1)
      if (found === undefined) throw new Error(`no mail to ${address}`)
      return found
    },
    async log() {
      const events = [...(await eventsOf(eventLog, 'users')), ...(await eventsOf(eventLog, 'accounts'))]
      return events.map(({ event }) => `${event.id} ${event.key} ${Buffer.from(event.data).toString()}`).join('\n')
    },
    async fill() {
      const events = await eventsOf(eventLog, 'accounts')
      await insertAll(
        tables.warehouse,
        events.flatMap((event) => projectAccountFact(event, 'mainnet').rows),
      )
    },
    async restart() {
      await stopDeciding()
      stopDeciding = decide()
    },
    stop: () => stopDeciding(),
    async [Symbol.asyncDispose]() {
      await stopDeciding()
      for (const api of apis) await api[Symbol.asyncDispose]()
      for (const queue of queues) await queue[Symbol.asyncDispose]()
      await counters[Symbol.asyncDispose]()
      await eventLog[Symbol.asyncDispose]()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

async function eventsOf(eventLog: EventLog, topic: 'users' | 'accounts'): Promise<readonly StoredEvent[]> {
  return await Array.fromAsync(eventLog.read({ topic, signal: new AbortController().signal }))
}

function parseLetter(raw: string): Letter {
  const [head = '', text = ''] = raw.split(/\n\n(.*)/s)
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(head)?.[1] ?? ''
  const code = /^[A-Za-z0-9_-]{43}$/m.exec(text)?.[0] ?? ''
  return { to: field('To'), subject: field('Subject'), text, code }
}

/** A browser, as far as it matters: it keeps the cookie. */
export class Browser {
  readonly #url: string
  cookie = ''

  constructor(url: string) {
    this.#url = url
  }

  async ask(method: string, path: string, body?: object, headers: Readonly<Record<string, string>> = {}) {
    const response = await fetch(`${this.#url}/account/v1${path}`, {
      method,
      headers: { 'x-requested-with': 'test', cookie: this.cookie, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const set = response.headers.get('set-cookie')
    if (set !== null) this.cookie = set.split(';')[0] ?? ''
    const text = await response.text()
    return { status: response.status, text, body: text === '' ? {} : JSON.parse(text), headers: response.headers }
  }

  post(path: string, body?: object, headers: Readonly<Record<string, string>> = {}) {
    return this.ask('POST', path, body, headers)
  }

  get(path: string) {
    return this.ask('GET', path)
  }
}

/** Signs up, verifies and logs in. */
export async function newUser(given: GivenAccounts, email: string, password: string): Promise<Browser> {
  const browser = new Browser(given.urls[0])
  await browser.post('/sign-up', { email, password })
  await browser.post('/verify', { email, code: (await given.letterTo(email)).code, password })
  const { status, text } = await browser.post('/log-in', { email, password })
  if (status !== 200) throw new Error(`nobody could log in: ${text}`)
  return browser
}

/** Waits until it is true, at most for ten seconds. */
export async function until(isTrue: () => Promise<boolean>): Promise<boolean> {
  for (let tries = 0; tries < 200; tries++) {
    if (await isTrue()) return true
    await wait(50)
  }
  return false
}
