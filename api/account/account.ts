import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Static, TObject, TSchema } from 'typebox'
import type { Counters } from '../../infra/ports/counters.ts'
import type { Mail, MailMessage } from '../../infra/ports/mail.ts'
import { AppError } from '../../schemas/errors.ts'
import type { AskUsers, UsersAnswer } from '../../schemas/jobs/ask-users.ts'
import { askUsers } from '../../schemas/jobs/ask-users.ts'
import type { Plan } from '../../schemas/plans.ts'
import type { AccountRoute, AnyAccountRoute } from '../../schemas/routes/account/account-route.ts'
import { type Refusal, refuse } from '../../schemas/routes/envelope.ts'
import { RefusedRequest } from '../http/answer.ts'
import type { SharedParts } from '../http/api-parts.ts'
import { askJob } from '../http/ask-job.ts'
import { clientOf } from '../http/client.ts'
import { Attempts } from './attempts.ts'
import { type Derive, Passwords } from './passwords.ts'
import { AccountSecrets, digestOf } from './secrets.ts'
import { readSession } from './session-cookie.ts'

/** So long a request waits for the process that decides. */
const DECIDED_MS_MAX = 10_000
const NOT_DECIDED = 'accounts cannot be asked for at the moment; the request can be repeated'
const NOT_COUNTED = 'limits cannot be counted at the moment; the request can be repeated'
const NOT_SENT = 'mail cannot be sent at the moment; the request can be repeated'
const BUSY = 'many people are logging in: try again in a moment'

/** What people's accounts are made with. */
export interface AccountParts {
  /** The installation's key for accounts: 32 bytes. */
  readonly key: Uint8Array
  readonly mail: Mail
  readonly counters: Pick<Counters, 'take'>
  /** Of clients by their addresses: kept no longer than has to be. */
  readonly clientCounters: Pick<Counters, 'take'>
  readonly planOf: (account: string) => Plan
  /** Whether the listener can be reached from this machine alone: cookies of plain HTTP are kept then. */
  readonly isLoopback: boolean
  /** Instead of scrypt, which takes half a second of a core: for tests of what is not about passwords. */
  readonly derive?: Derive
}

/** Too many tries: answered with the seconds until the next. */
export class TooManyTries extends Error {
  readonly seconds: number

  constructor(seconds: number) {
    super(`too many requests: try again in ${seconds} s`)
    this.seconds = seconds
  }
}

/** What handlers do their work with; one for all requests. */
export class Accounts {
  readonly secrets: AccountSecrets
  readonly passwords: Passwords
  readonly parts: SharedParts
  readonly #account: AccountParts
  readonly #attempts: Attempts

  constructor(parts: SharedParts, account: AccountParts) {
    this.parts = parts
    this.#account = account
    this.secrets = new AccountSecrets(account.key)
    this.passwords = new Passwords(this.secrets, account.derive)
    this.#attempts = new Attempts(account, parts.wallNow)
  }

  planOf(account: string): Plan {
    return this.#account.planOf(account)
  }

  get isLoopback(): boolean {
    return this.#account.isLoopback
  }

  /** Throws RefusedRequest where nobody can decide. */
  async ask(ask: AskUsers): Promise<UsersAnswer> {
    const input = { requestId: randomUUID(), keyId: this.secrets.keyId, ask }
    const answer = await askJob(this.parts, askUsers, { input, timeoutMs: DECIDED_MS_MAX })
    if (answer?.status === 'other-key')
      this.parts.log.error({}, 'the key for accounts is not the one that accounts were made with: put that one back')
    if (answer === undefined || answer.status === 'late' || answer.status === 'other-key')
      throw new RefusedRequest(refuse('503', NOT_DECIDED))
    return answer
  }

  /** Throws TooManyTries beyond the limit, RefusedRequest where nobody can count. */
  async count(limit: Parameters<Attempts['take']>[0], whose: string): Promise<void> {
    const seconds = await this.#attempts.take(limit, whose)
    if (seconds === undefined) throw new RefusedRequest(refuse('503', NOT_COUNTED))
    if (seconds > 0) throw new TooManyTries(seconds)
  }

  /** Throws RefusedRequest where the message is not taken. */
  async send(message: MailMessage): Promise<void> {
    try {
      await this.#account.mail.send(message)
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'mail')) throw error
      this.parts.log.warn({ reason: error.message }, 'a message was not sent')
      throw new RefusedRequest(refuse('503', NOT_SENT))
    }
  }

  /** What is kept of the password; throws RefusedRequest where too many are being made. */
  async passwordOf(email: string, password: string) {
    const made = await this.passwords.of(email, password)
    if (made === undefined) throw new RefusedRequest(refuse('503', BUSY, 'busy'))
    return made
  }
}

/** Who asks. */
export interface Asker {
  /** Tells clients apart: no address. */
  readonly client: string
  /** Digest of the session that the cookie says; undefined where it says none. */
  readonly session: string | undefined
}

export function askerOf(request: FastifyRequest, addresses: SharedParts['addresses']): Asker {
  const session = readSession(request)
  return { client: clientOf(addresses.of(request.raw)), session: session === undefined ? undefined : digestOf(session) }
}

export interface Answered<Envelope> {
  readonly status: 'answered'
  readonly envelope: Envelope
  /** What the cookie is to say from now on; empty: nothing. */
  readonly session?: string
}

interface Asked<Params, Query, Body> {
  readonly params: Params
  readonly query: Query
  readonly body: Body
  readonly headers: IncomingHttpHeaders
  /** Digest of the session; empty where the route is for whoever asks. */
  readonly session: string
}

type Handler<Params, Query, Body, Envelope> = (
  asked: Asked<Params, Query, Body>,
  accounts: Accounts,
) => Promise<Answered<Envelope> | Refusal>

/** A route with its handler, which is given what the route's schemas have been checked with. */
export interface AccountOperation {
  readonly route: AnyAccountRoute
  readonly handle: Handler<unknown, unknown, unknown, unknown>
}

export function accountOperation<
  Params extends TObject,
  Query extends TObject,
  Body extends TObject,
  Response extends TSchema,
>(
  route: AccountRoute<Params, Query, Body, Response>,
  handle: Handler<Static<Params>, Static<Query>, Static<Body>, Static<Response>>,
): AccountOperation {
  return {
    route,
    handle: ({ params, query, body, ...asked }, accounts) =>
      handle(
        { params: params as Static<Params>, query: query as Static<Query>, body: body as Static<Body>, ...asked },
        accounts,
      ),
  }
}
