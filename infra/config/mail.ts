import { join } from 'node:path'
import { type FileSettings, MailFrom, MailHost } from './rules.ts'
import type { SettingReader } from './setting-reader.ts'
import type { Config, MailConfig } from './types.ts'

const PATH = ['mail']
/** By which port a server takes messages of its own users (RFC 6409 and RFC 8314). */
const PORTS = { starttls: 587, none: 587, implicit: 465 } as const

type Server = Omit<NonNullable<FileSettings['mail']>, 'folder'>

/**
 * How people are written to: by the server that the file names; without one, by files of a folder. Where nothing is said, embedded mode has
 * a folder beside its log; on servers nobody would look into it.
 */
export function readMail(
  reader: SettingReader,
  { mail }: FileSettings,
  { mode, dataDirectory }: Pick<Config, 'mode' | 'dataDirectory'>,
): MailConfig | undefined {
  const { folder, ...server } = mail ?? {}
  const named = Object.keys(server)
  if (named.length > 0) return readServer(reader, server)
  if (folder === undefined && mode.kind !== 'embedded') return undefined
  const chosen = folder ?? join(dataDirectory, 'mail')
  reader.show([...PATH, 'folder'], chosen, folder === undefined ? 'default' : undefined)
  return { kind: 'folder', folder: chosen }
}

function readServer(reader: SettingReader, { host, port, tls = 'starttls', user, password, from }: Server): MailConfig {
  const refuseMissing = (name: string, example: string): void =>
    reader.refuseAt([...PATH, name], `is missing; e.g. ${name}: ${example}`)
  if (host === undefined) refuseMissing('host', MailHost.example)
  if (from === undefined) refuseMissing('from', MailFrom.example)
  if (user !== undefined && password === undefined) refuseMissing('password', 'env:MAIL_PASSWORD')
  if (user === undefined && password !== undefined) refuseMissing('user', 'epochline')
  if (user !== undefined && tls === 'none')
    reader.refuseAt([...PATH, 'tls'], 'is none: a password would go over the network in the clear')
  const chosen = port ?? PORTS[tls]
  if (host !== undefined) reader.show([...PATH, 'host'], host)
  reader.show([...PATH, 'port'], chosen, port === undefined ? 'default' : undefined)
  reader.show([...PATH, 'tls'], tls)
  if (user !== undefined) reader.show([...PATH, 'user'], user)
  const secret = password === undefined ? undefined : reader.fileSecret([...PATH, 'password'], password)
  if (from !== undefined) reader.show([...PATH, 'from'], from)
  return {
    ...{ kind: 'smtp', host: host ?? '', port: chosen, tls, from: from ?? '' },
    ...(user === undefined || secret === undefined ? {} : { login: { user, password: secret } }),
  }
}
