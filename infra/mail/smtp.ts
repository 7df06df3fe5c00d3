import { createTransport } from 'nodemailer'
import { AppError } from '../../schemas/errors.ts'
import type { Mail } from '../ports/mail.ts'
import { checkMessage } from './check-message.ts'

/** Somebody waits for the answer to what the message is about. */
export const MAIL_MS_MAX = 10_000
/** More wait for one of these: a server takes a message in a fraction of a second. */
const CONNECTIONS_MAX = 4

export interface SmtpOptions {
  readonly host: string
  readonly port: number
  /** `starttls`: no message is sent where the server has none; `implicit`: from the first byte on (port 465); `none`: in the clear. */
  readonly tls: 'starttls' | 'implicit' | 'none'
  /** Absent: the server takes messages of anybody who reaches it. */
  readonly login?: { readonly user: string; readonly password: string }
  readonly from: string
  /** Of who signed the server's certificate, PEM; absent: those that Node.js trusts. */
  readonly authority?: string
}

/** Mail by a server (SMTP, RFC 5321). Connections are made when there is something to send, and kept for a while. */
export function openSmtpMail({ host, port, tls, login, from, authority }: SmtpOptions): Mail {
  const transport = createTransport({
    pool: true,
    maxConnections: CONNECTIONS_MAX,
    host,
    port,
    secure: tls === 'implicit',
    requireTLS: tls === 'starttls',
    ignoreTLS: tls === 'none',
    ...(login === undefined ? {} : { auth: { user: login.user, pass: login.password } }),
    ...(authority === undefined ? {} : { tls: { ca: authority } }),
    connectionTimeout: MAIL_MS_MAX,
    greetingTimeout: MAIL_MS_MAX,
    socketTimeout: MAIL_MS_MAX,
    // A message is text that we have written: it refers to nothing.
    disableFileAccess: true,
    disableUrlAccess: true,
    logger: false,
  })
  return {
    async send(message) {
      checkMessage(message)
      const { to, subject, text } = message
      try {
        await within(MAIL_MS_MAX, transport.sendMail({ from, to, subject, text, textEncoding: 'base64' }))
      } catch (error) {
        // The library's message quotes the server, which quotes the address.
        throw new AppError('mail', `the mail server did not take a message (${kindOf(error)})`, { retryable: true })
      }
    },
    async [Symbol.asyncDispose]() {
      transport.close()
    },
  }
}

/** Rejects when the time is over; what still goes on then is nobody's. */
async function within<Result>(ms: number, work: Promise<Result>): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(Object.assign(new Error('late'), { code: 'ETIMEDOUT' })), ms)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}

/** ECONNREFUSED, EAUTH, ETLS …, with the server's code where it gave one. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown failure'
  const { code, responseCode } = error as { readonly code?: unknown; readonly responseCode?: unknown }
  const kind = typeof code === 'string' ? code : error.name
  return typeof responseCode === 'number' ? `${kind}, ${responseCode}` : kind
}
