import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openSmtpMail, type SmtpOptions } from '../../infra/mail/smtp.ts'
import { type ArrivedMail, mailContract } from './mail.ts'

const MESSAGE = { to: 'ann@example.org', subject: 'A code', text: '1234\n' }
const LOGIN = { user: 'epochline', password: 'a-password-of-the-server' }

let directory: string
let certificate: { readonly key: Buffer; readonly cert: Buffer }

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'epochline-smtp-'))
  const [key, cert] = [join(directory, 'key.pem'), join(directory, 'cert.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1']
  execFileSync('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
    ...[...subject, '-keyout', key, '-out', cert],
  ])
  certificate = { key: readFileSync(key), cert: readFileSync(cert) }
})
afterAll(() => rmSync(directory, { recursive: true }))

interface Server {
  readonly port: number
  readonly arrived: readonly ArrivedMail[]
  /** Whether the connection of each was encrypted, and who had logged in. */
  readonly sessions: readonly { readonly secure: boolean; readonly user: string | undefined }[]
  close(): Promise<void>
}

async function openServer(options: SMTPServerOptions): Promise<Server> {
  const arrived: ArrivedMail[] = []
  const sessions: { secure: boolean; user: string | undefined }[] = []
  const server = new SMTPServer({
    ...certificate,
    ...options,
    logger: false,
    onAuth({ username, password }, _session, done) {
      const isKnown = username === LOGIN.user && password === LOGIN.password
      done(isKnown ? null : new Error(`no such user: ${username}`), isKnown ? { user: username } : undefined)
    },
    onData(stream, session, done) {
      readText(stream).then((raw) => {
        arrived.push(parse(raw, session.envelope.rcptTo.map(({ address }) => address).join()))
        sessions.push({ secure: session.secure, user: session.user as string | undefined })
        done()
      }, done)
    },
  })
  server.on('error', () => {}) // clients that turn away: the tests look at what the client says
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  const { port } = server.server.address() as AddressInfo
  return { port, arrived, sessions, close: () => new Promise((resolve) => server.close(() => resolve())) }
}

function parse(raw: string, to: string): ArrivedMail {
  const [head = '', body = ''] = raw.split(/\r\n\r\n(.*)/s)
  const subject = /^Subject: (.*)$/m.exec(head)?.[1]?.trim() ?? ''
  const isEncoded = /^Content-Transfer-Encoding: base64/im.test(head)
  const text = isEncoded ? Buffer.from(body, 'base64').toString() : body.replaceAll('\r\n', '\n')
  return { to, subject, text }
}

mailContract('SMTP', async () => {
  const server = await openServer({ authOptional: true, disabledCommands: ['STARTTLS'] })
  const mail = openSmtpMail({ host: '127.0.0.1', port: server.port, tls: 'none', from: 'accounts@example.org' })
  return {
    mail,
    arrived: async () => server.arrived.toSorted((a, b) => (a.subject < b.subject ? -1 : 1)),
    refuse: () => server.close(),
    async [Symbol.asyncDispose]() {
      await mail[Symbol.asyncDispose]()
      await server.close()
    },
  }
})

describe('mail by a server', () => {
  async function send(serverOptions: SMTPServerOptions, options: Partial<SmtpOptions>): Promise<Server> {
    const server = await openServer(serverOptions)
    onTestFinished(() => server.close())
    const trusted = { authority: certificate.cert.toString(), from: 'accounts@example.org', login: LOGIN }
    await using mail = openSmtpMail({ host: 'localhost', port: server.port, tls: 'starttls', ...trusted, ...options })
    await mail.send(MESSAGE)
    return server
  }

  test('logs in, and encrypts by STARTTLS', async () => {
    const { arrived, sessions } = await send({}, {})
    expect(arrived).toEqual([MESSAGE])
    expect(sessions).toEqual([{ secure: true, user: LOGIN.user }])
  })

  test('encrypts from the first byte on', async () => {
    const { sessions } = await send({ secure: true }, { tls: 'implicit' })
    expect(sessions).toEqual([{ secure: true, user: LOGIN.user }])
  })

  test('sends nothing, the password neither, where the server has no STARTTLS', async () => {
    const failed = send({ disabledCommands: ['STARTTLS'], allowInsecureAuth: true }, {})
    await expect(failed).rejects.toMatchObject({ code: 'mail', message: expect.stringContaining('ETLS') })
  })

  test('sends nothing to a server whose certificate nobody has signed', async () => {
    const server = await openServer({})
    onTestFinished(() => server.close())
    const about = { host: 'localhost', port: server.port, tls: 'starttls', from: 'accounts@example.org' } as const
    await using mail = openSmtpMail({ ...about, login: LOGIN })
    await expect(mail.send(MESSAGE)).rejects.toMatchObject({ code: 'mail', retryable: true })
    expect(server.arrived).toEqual([])
  })

  test('tells a refused login without user and password', async () => {
    const wrong = { ...LOGIN, password: 'another-password' }
    const error = await send({}, { login: wrong }).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'mail', message: expect.stringContaining('EAUTH, 535') })
    expect(String((error as Error).stack)).not.toMatch(/another-password|no such user/)
  })

  test('waits for a silent server no longer than ten seconds', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    await using mail = openSmtpMail({ host: '127.0.0.1', port, tls: 'none', from: 'accounts@example.org' })
    const begunMs = performance.now()
    await expect(mail.send(MESSAGE)).rejects.toMatchObject({ code: 'mail', retryable: true })
    expect(performance.now() - begunMs).toBeLessThan(12_000)
    silent.close()
  })
})
