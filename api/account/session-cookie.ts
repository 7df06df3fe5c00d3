import type { FastifyReply, FastifyRequest } from 'fastify'
import { ACCOUNT_PREFIX, SESSION_COOKIE } from '../../schemas/routes/account/account-route.ts'

/** The paths that a browser sends it to. */
const COOKIE_PATH = ACCOUNT_PREFIX.split('/').slice(0, 2).join('/')
const SESSION = /^[A-Za-z0-9_-]{43}$/
/** As `SESSION_SEC` of what decides: a browser forgets it then. */
const AGE_SEC_MAX = 14 * 86_400

/** The session that the request says it is of; undefined where it says none. */
export function readSession({ headers }: FastifyRequest): string | undefined {
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim())
  const value = pairs.find((pair) => pair.startsWith(`${SESSION_COOKIE}=`))?.slice(SESSION_COOKIE.length + 1)
  return value !== undefined && SESSION.test(value) ? value : undefined
}

/** Sets the cookie; an empty session removes it. `isPlain`: the client speaks plain HTTP on this machine, where `Secure` would lose it. */
export function setSession(reply: FastifyReply, session: string, isPlain: boolean): void {
  const age = session === '' ? 0 : AGE_SEC_MAX
  const parts = [`${SESSION_COOKIE}=${session}`, `Path=${COOKIE_PATH}`, `Max-Age=${age}`, 'HttpOnly', 'SameSite=Lax']
  reply.header('set-cookie', [...parts, ...(isPlain ? [] : ['Secure'])].join('; '))
}
