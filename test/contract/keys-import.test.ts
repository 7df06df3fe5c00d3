import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SecretKey } from '@chainsafe/blst'
import { expect, test } from 'vitest'
import { answerKeys } from '../../commands/keys/answer-keys.ts'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import { writeKeystore } from '../../infra/key-vault/keystore.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import { readStakingBook } from '../../processors/validators/staking-book.ts'
import { AppError } from '../../schemas/errors.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { keysImported, type VaultKeys } from '../../schemas/events/vault-keys.ts'
import { created } from '../unit/account-facts.ts'
import { silentLog } from '../unit/silent-log.ts'
import { newVaultFolder, openIn, type VaultFolder } from './key-vault-local.ts'

const PASSWORD = 'correct horse'
const SIGNAL = AbortSignal.timeout(120_000)

/** A folder with so many keystores and their password. */
async function writeKeystores({ above }: VaultFolder, count: number) {
  const [folder, passwordFile] = [join(above, 'incoming'), join(above, 'password')]
  await mkdir(folder)
  await writeFile(passwordFile, PASSWORD)
  const keys = Array.from({ length: count }, (_, i) => SecretKey.fromKeygen(new Uint8Array(32).fill(i + 1)))
  const files = keys.map((_, i) => join(folder, `keystore-${String(i).padStart(2, '0')}.json`))
  for (const [i, key] of keys.entries())
    await writeFile(files[i] ?? '', await writeKeystore({ key, path: 'm/12381/3600/0/0/0' }, Buffer.from(PASSWORD)))
  const password = { kind: 'file', file: passwordFile } as const
  return { folder, files, password, pubkeys: keys.map((key) => hexOf(key.toPublicKey().toBytes())) }
}

async function importedIn(eventLog: EventLog): Promise<readonly VaultKeys[]> {
  const found: VaultKeys[] = []
  for await (const { event } of eventLog.read({ topic: 'accounts', signal: SIGNAL }))
    if (event.type === keysImported.name) found.push(decodeEvent(keysImported, event))
  return found
}

interface Asked {
  readonly chain?: string
  readonly account?: string
}

/** Asks for the import as a command does that is started anew: the book is what the log says. What was printed, and the fault as the last line. */
async function importAnew(
  {
    folder,
    eventLog,
    from,
  }: { folder: VaultFolder; eventLog: EventLog; from: Awaited<ReturnType<typeof writeKeystores>> },
  { chain = 'gnosis', account = 'other' }: Asked = {},
) {
  const vault = await openIn(folder)
  await using lease = await eventLog.lease('validators', SIGNAL)
  const book = await readStakingBook(eventLog, silentLog, SIGNAL)
  const { folder: incoming, password } = from
  const question = { command: 'keys-import', folder: incoming, chain, account, password } as const
  const said: string[] = []
  const print = async (answer: object) => void said.push(JSON.stringify(answer))
  const exitChainOf = async () => undefined
  try {
    await answerKeys({ vault, lease, book, eventLog, exitChainOf, now: Date.now }, question, { print, signal: SIGNAL })
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    said.push(`${error.code}: ${error.message}`)
  }
  await vault[Symbol.asyncDispose]()
  return said
}

async function openLogOf({ above }: VaultFolder): Promise<EventLog & AsyncDisposable> {
  const eventLog = await openSqliteEventLog({ file: join(above, 'events.db') })
  await using lease = await eventLog.lease('accounts', SIGNAL)
  await lease.append('accounts', [created('acme'), { ...created('other'), id: 'fact of other' }])
  return eventLog
}

test('a key that was imported and not told is told by a repetition, once, for whom it was imported', async () => {
  const folder = await newVaultFolder()
  const from = await writeKeystores(folder, 2)
  await using eventLog = await openLogOf(folder)
  const vault = await openIn(folder)
  await vault.importKeys(from.files, { password: from.password, chain: 'mainnet', account: 'acme' })
  await vault[Symbol.asyncDispose]()
  await importAnew({ folder, eventLog, from })
  const told = [{ chain: 'mainnet', account: 'acme', pubkeys: from.pubkeys }]
  expect(await importedIn(eventLog)).toEqual(told)
  await importAnew({ folder, eventLog, from })
  expect(await importedIn(eventLog)).toEqual(told)
})

test.each([
  ['another account', 'mainnet', 'other'],
  ['another chain', 'gnosis', 'acme'],
])(
  'keys that the vault has for %s stay so, which is said with their names, and nothing else is a fault',
  async (_, chain, account) => {
    const folder = await newVaultFolder()
    const from = await writeKeystores(folder, 2)
    await using eventLog = await openLogOf(folder)
    await importAnew({ folder, eventLog, from }, { chain: 'mainnet', account: 'acme' })
    const told = await importedIn(eventLog)
    const said = await importAnew({ folder, eventLog, from }, { chain, account })
    const names = from.pubkeys.join(', ')
    expect(said).toEqual([
      expect.stringContaining(`"warning":"The vault has keys of acme on mainnet, and keeps them so: ${names}."`),
      expect.stringMatching(/"said":"0 keys were imported, 2 are in the vault for another account or chain\./),
      `usage: None of these keys was imported for ${account} on ${chain}: the vault has them for acme on mainnet, whose they stay.`,
    ])
    expect(await importedIn(eventLog)).toEqual(told)
    const vault = await openIn(folder)
    const exported = await vault.exportKeys(from.pubkeys, { password: from.password, again: true })
    expect(exported.status === 'exported' && exported.keys).toMatchObject(
      from.pubkeys.map((pubkey) => ({ pubkey, chain: 'mainnet', account: 'acme' })),
    )
    await vault[Symbol.asyncDispose]()
    // The same keys for whom they are kept are no fault.
    expect(await importAnew({ folder, eventLog, from }, { chain: 'mainnet', account: 'acme' })).toEqual([
      expect.stringMatching(/"said":"0 keys were imported, 2 were in the vault already\./),
    ])
  },
)

test('the log hears of ten keys before the next are taken in', async () => {
  const folder = await newVaultFolder()
  const from = await writeKeystores(folder, 11)
  await using eventLog = await openLogOf(folder)
  await importAnew({ folder, eventLog, from })
  const parts = [from.pubkeys.slice(0, 10), from.pubkeys.slice(10)]
  expect(await importedIn(eventLog)).toEqual(parts.map((pubkeys) => ({ chain: 'gnosis', account: 'other', pubkeys })))
})
