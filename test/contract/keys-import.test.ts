import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SecretKey } from '@chainsafe/blst'
import { expect, test } from 'vitest'
import { answerKeys } from '../../commands/keys/answer-keys.ts'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import { writeKeystore } from '../../infra/key-vault/keystore.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import { readStakingBook } from '../../processors/validators/staking-book.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { keysImported, type VaultKeys } from '../../schemas/events/vault-keys.ts'
import { created } from '../unit/account-facts.ts'
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

/** Asks for the import as a command does that is started anew: the book is what the log says. */
async function importAnew(folder: VaultFolder, eventLog: EventLog, from: Awaited<ReturnType<typeof writeKeystores>>) {
  const vault = await openIn(folder)
  await using lease = await eventLog.lease('validators', SIGNAL)
  const book = await readStakingBook(eventLog, SIGNAL)
  const { folder: incoming, password } = from
  const question = { command: 'keys-import', folder: incoming, chain: 'gnosis', account: 'other', password } as const
  const said: string[] = []
  const print = async (answer: object) => void said.push(JSON.stringify(answer))
  const exitChainOf = async () => undefined
  await answerKeys({ vault, lease, book, eventLog, exitChainOf, now: Date.now }, question, { print, signal: SIGNAL })
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
  expect(await importAnew(folder, eventLog, from)).toEqual([expect.stringMatching(/0 keys were imported, 2 were in/)])
  const told = [{ chain: 'mainnet', account: 'acme', pubkeys: from.pubkeys }]
  expect(await importedIn(eventLog)).toEqual(told)
  await importAnew(folder, eventLog, from)
  expect(await importedIn(eventLog)).toEqual(told)
})

test('the log hears of ten keys before the next are taken in', async () => {
  const folder = await newVaultFolder()
  const from = await writeKeystores(folder, 11)
  await using eventLog = await openLogOf(folder)
  await importAnew(folder, eventLog, from)
  const parts = [from.pubkeys.slice(0, 10), from.pubkeys.slice(10)]
  expect(await importedIn(eventLog)).toEqual(parts.map((pubkeys) => ({ chain: 'gnosis', account: 'other', pubkeys })))
})
