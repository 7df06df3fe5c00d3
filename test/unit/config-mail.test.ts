import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadConfig, readConfig } from '../../infra/config/config.ts'
import type { Environment } from '../../infra/config/environment.ts'
import { formatConfig } from '../../infra/config/format.ts'

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'epochline-config-mail-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

function inFile(mail: string, ...lines: readonly string[]): Environment {
  const file = join(directory, 'epochline.yaml')
  writeFileSync(file, [`mail: ${mail}`, ...lines].join('\n'))
  return { EPOCHLINE_CONFIG: file, MAIL_PASSWORD: 'a-secret-password' }
}
const read = (mail: string, ...lines: readonly string[]) => readConfig(inFile(mail, ...lines)).mail

const SERVERS =
  'servers: { kafka: { brokers: ["127.0.0.1:9092"] }, redis: { url: "redis://127.0.0.1:6379" }, clickhouse: { url: "http://127.0.0.1:8123" } }'

describe('mail', () => {
  it('goes to a folder beside the log where nothing is said, and nowhere on servers', () => {
    expect(readConfig({ EPOCHLINE_DATA: '/somewhere' }).mail).toEqual({ kind: 'folder', folder: '/somewhere/mail' })
    expect(read('{}', SERVERS)).toBeUndefined()
  })

  it('goes to the folder that the file names, in either mode', () => {
    expect(read('{ folder: ./letters }')).toEqual({ kind: 'folder', folder: './letters' })
    expect(read('{ folder: ./letters }', SERVERS)).toEqual({ kind: 'folder', folder: './letters' })
  })

  it('goes by a server, with STARTTLS unless it is told otherwise', () => {
    expect(read('{ host: smtp.example.org, from: accounts@example.org }')).toEqual({
      ...{ kind: 'smtp', host: 'smtp.example.org', port: 587, tls: 'starttls', from: 'accounts@example.org' },
    })
    const whole =
      '{ host: "::1", port: 2525, tls: implicit, user: ann, password: env:MAIL_PASSWORD, from: accounts@example.org }'
    expect(read(whole)).toEqual({
      ...{ kind: 'smtp', host: '::1', port: 2525, tls: 'implicit', from: 'accounts@example.org' },
      login: { user: 'ann', password: 'a-secret-password' },
    })
    expect(read('{ host: a, from: a@b.c, tls: implicit }')).toMatchObject({ port: 465 })
  })

  it('is shown without its password', () => {
    const env = inFile('{ host: a, from: a@b.c, user: ann, password: env:MAIL_PASSWORD }')
    const { config, shown } = loadConfig({ env })
    const text = formatConfig(config, shown)
    expect(text).toContain('password: "***" # file, env:MAIL_PASSWORD')
    expect(text).not.toContain('a-secret-password')
  })

  it.each([
    ['{ host: a }', 'mail.from: is missing'],
    ['{ from: a@b.c }', 'mail.host: is missing'],
    ['{ host: a, from: nobody }', 'mail.from: is not a mail address'],
    ['{ host: a, from: a@b.c, user: ann }', 'mail.password: is missing'],
    ['{ host: a, from: a@b.c, password: env:MAIL_PASSWORD }', 'mail.user: is missing'],
    ['{ host: a, from: a@b.c, user: ann, password: secret }', 'mail.password: is a secret: write a reference'],
    ['{ host: a, from: a@b.c, user: ann, password: env:NOT_SET }', 'NOT_SET, which is not set'],
    ['{ host: a, from: a@b.c, tls: none, user: ann, password: env:MAIL_PASSWORD }', 'mail.tls: is none'],
    ['{ host: a, from: a@b.c, tls: ssl }', 'mail.tls: is not one of starttls, implicit, none'],
    ['{ folder: ./mail, host: a }', 'mail.from: is missing'],
  ])('is refused as %s', (mail, mistake) => {
    expect(() => read(mail)).toThrow(mistake)
  })
})
