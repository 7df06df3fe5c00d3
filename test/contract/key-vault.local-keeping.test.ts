import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, copyFile, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { SecretKey } from '@chainsafe/blst'
import { expect, test } from 'vitest'
import { openKeystore } from '../../infra/key-vault/keystore.ts'
import { openLocalKeyVault, restoreLocalKeyVault } from '../../infra/key-vault/open-local.ts'
import { seal } from '../../infra/key-vault/sealing.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { pubkeysOf, requestOf, TERMS } from './key-vault.ts'
import {
  newVaultFolder,
  openIn,
  secretsOf,
  startVaultOwner,
  type VaultFolder,
  vaultProcessesOf,
} from './key-vault-local.ts'

const PASSWORD = 'correct horse'

async function writePassword(folder: VaultFolder, text = PASSWORD): Promise<{ kind: 'file'; file: string }> {
  const file = join(folder.above, 'password.txt')
  await writeFile(file, text)
  return { kind: 'file', file }
}

/** Commits so many keys and closes the vault. */
async function commitIn(folder: VaultFolder, count: number, requestId: string): Promise<readonly string[]> {
  await using vault = await openLocalKeyVault(folder.options)
  const prepared = await vault.prepare(count, TERMS)
  await vault.commit(prepared.id, requestId, requestOf('acme', requestId))
  return pubkeysOf(prepared)
}

/** The secret of a keystore, in hex. */
async function secretIn(keystore: string, password = PASSWORD): Promise<string> {
  const opened = await openKeystore(keystore, Buffer.from(password))
  if (opened.status === 'refused') throw new Error(opened.reason)
  return hexOf(opened.key.toBytes())
}

test('exports keys of this and of earlier starts: each keystore has the secret of its public key', async () => {
  const folder = await newVaultFolder()
  const earlier = await commitIn(folder, 2, 'one')
  const vault = await openIn(folder)
  const prepared = await vault.prepare(2, TERMS)
  await vault.commit(prepared.id, 'two', requestOf('acme', 'two'))
  const pubkeys = [...earlier, ...pubkeysOf(prepared)]
  const outcome = await vault.exportKeys(pubkeys, { password: await writePassword(folder), again: false })
  if (outcome.status !== 'exported') throw new Error(outcome.status)
  expect(outcome.keys.map(({ pubkey }) => pubkey)).toEqual(pubkeys)
  for (const { pubkey, keystore, created, chain, account } of outcome.keys) {
    const key = SecretKey.fromBytes(Buffer.from((await secretIn(keystore)).slice(2), 'hex'))
    expect(hexOf(key.toPublicKey().toBytes())).toBe(pubkey)
    expect({ chain, account }).toEqual({ chain: TERMS.chain, account: 'acme' })
    expect(hexOf(created?.withdrawalCredentials ?? new Uint8Array())).toBe(hexOf(TERMS.withdrawalCredentials))
  }
  const known = secretsOf(folder).signingKeys.map(hexOf)
  for (const { keystore } of outcome.keys) expect(known).toContain(await secretIn(keystore))
})

test('exports a key once, and again only when it is said so, after a restart too', async () => {
  const folder = await newVaultFolder()
  const [first = '', second = ''] = await commitIn(folder, 2, 'one')
  const password = await writePassword(folder)
  {
    await using vault = await openLocalKeyVault(folder.options)
    expect(await vault.exportKeys([first], { password, again: false })).toMatchObject({ status: 'exported' })
  }
  const vault = await openIn(folder)
  expect(await vault.exportKeys([second, first], { password, again: false })).toEqual({
    status: 'exported_before',
    pubkeys: [first],
  })
  expect(await vault.exportedBefore([first, second])).toEqual([first])
  expect(await vault.exportKeys([first], { password, again: true })).toMatchObject({ status: 'exported' })
})

test('of two simultaneous exports of a key one is refused', async () => {
  const folder = await newVaultFolder()
  const pubkeys = await commitIn(folder, 1, 'one')
  const password = await writePassword(folder)
  const vault = await openIn(folder)
  const outcomes = await Promise.all([1, 2].map(() => vault.exportKeys(pubkeys, { password, again: false })))
  expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['exported', 'exported_before'])
})

test('exports nothing when one key is not here, or there is no password', async () => {
  const folder = await newVaultFolder()
  const [pubkey = ''] = await commitIn(folder, 1, 'one')
  const vault = await openIn(folder)
  const stranger = `0x${'ab'.repeat(48)}`
  const password = await writePassword(folder)
  expect(await vault.exportKeys([pubkey, stranger], { password, again: false })).toEqual({
    status: 'lacking',
    pubkeys: [stranger],
  })
  for (const none of [await writePassword(folder, '\n'), { kind: 'file', file: join(folder.above, 'none') } as const])
    await expect(vault.exportKeys([pubkey], { password: none, again: false })).rejects.toMatchObject({ code: 'usage' })
  expect(await vault.exportedBefore([pubkey])).toEqual([])
})

test('imported keys are sealed one by one, sign as their keystores said, and are in no file as they are', async () => {
  const [from, into] = [await newVaultFolder(), await newVaultFolder()]
  const pubkeys = await commitIn(from, 2, 'one')
  const password = await writePassword(into)
  const source = await openIn(from)
  const exported = await source.exportKeys(pubkeys, { password, again: false })
  if (exported.status !== 'exported') throw new Error(exported.status)
  const files = exported.keys.map((_, i) => join(into.above, `keystore-${i}.json`))
  for (const [i, { keystore }] of exported.keys.entries()) await writeFile(files[i] ?? '', keystore)
  const damaged = join(into.above, 'keystore-damaged.json')
  await writeFile(damaged, '{}')
  const terms = { password, chain: 'ethereum', account: 'acme' }
  const secrets = await Promise.all(exported.keys.map(({ keystore }) => secretIn(keystore)))
  {
    await using vault = await openLocalKeyVault(into.options)
    expect(await vault.importKeys([...files, damaged], terms)).toEqual([
      ...pubkeys.map((pubkey, i) => ({ status: 'imported', file: files[i], pubkey })),
      { status: 'refused', file: damaged, reason: expect.stringMatching(/no keystore/) },
    ])
    const keptFor = { chain: 'ethereum', account: 'acme' }
    expect(await vault.importKeys(files, { ...terms, account: 'other' })).toEqual(
      pubkeys.map((pubkey, i) => ({ status: 'present', file: files[i], pubkey, keptFor, isImported: true })),
    )
    expect(await vault.lacking(pubkeys)).toEqual([])
  }
  const data = await readFile(into.file)
  for (const secret of secrets) expect(data.includes(Buffer.from(secret.slice(2), 'hex'))).toBe(false)
  const vault = await openIn(into)
  const again = await vault.exportKeys(pubkeys, { password, again: false })
  if (again.status !== 'exported') throw new Error(again.status)
  expect(await Promise.all(again.keys.map(({ keystore }) => secretIn(keystore)))).toEqual(secrets)
  expect(again.keys.every(({ created }) => created === undefined)).toBe(true)
})

test('an imported key that was put in the place of another does not open', async () => {
  const [from, into] = [await newVaultFolder(), await newVaultFolder()]
  const pubkeys = await commitIn(from, 2, 'one')
  const password = await writePassword(into)
  const exported = await (await openIn(from)).exportKeys(pubkeys, { password, again: false })
  if (exported.status !== 'exported') throw new Error(exported.status)
  const files = exported.keys.map((_, i) => join(into.above, `keystore-${i}.json`))
  for (const [i, { keystore }] of exported.keys.entries()) await writeFile(files[i] ?? '', keystore)
  {
    await using vault = await openLocalKeyVault(into.options)
    await vault.importKeys(files, { password, chain: 'ethereum', account: 'acme' })
  }
  {
    using db = new DatabaseSync(into.file)
    db.exec('UPDATE imported_keys SET sealed = (SELECT sealed FROM imported_keys ORDER BY pubkey LIMIT 1)')
  }
  const vault = await openIn(into)
  await expect(vault.exportKeys(pubkeys, { password, again: false })).rejects.toMatchObject({
    code: 'key_vault',
    message: expect.stringMatching(/an imported key does not open/),
  })
})

test('backup, ten keys, restore, ten keys: twenty different ones, and those in between are named as lacking', async () => {
  const folder = await newVaultFolder()
  const kept = await commitIn(folder, 3, 'kept')
  const backup = join(folder.above, 'backup.db')
  {
    await using vault = await openLocalKeyVault(folder.options)
    expect(await vault.backup(backup)).toEqual({ keys: 3 })
    await expect(vault.backup(backup)).rejects.toMatchObject({ code: 'usage' })
  }
  expect((await stat(backup)).mode & 0o777).toBe(0o600)
  const between = await commitIn(folder, 10, 'between')
  const { directory, keySource } = folder.options
  const restore = (losesKeys: boolean) => restoreLocalKeyVault({ directory, keySource, backup, losesKeys })
  expect(await restore(false)).toEqual({ status: 'loses_keys', keys: 10 })
  const restored = await restore(true)
  expect(restored).toMatchObject({ status: 'restored', keys: 3 })
  const after = await commitIn(folder, 10, 'after')
  expect(new Set([...kept, ...between, ...after]).size).toBe(23)
  const vault = await openIn(folder)
  expect(await vault.lacking([...kept, ...between, ...after])).toEqual(between)
  expect(await vault.request('acme', 'kept')).toEqual(requestOf('acme', 'kept'))
  // What was replaced is still there, and is a vault.
  const aside = restored.status === 'restored' ? restored.setAside : undefined
  await vault[Symbol.asyncDispose]()
  expect(await restoreLocalKeyVault({ directory, keySource, backup: aside ?? '', losesKeys: true })).toMatchObject({
    status: 'restored',
    keys: 13,
  })
})

test('a copy of a vault that was killed is restored with its journal: all keys are there', async () => {
  const [from, into] = [await newVaultFolder(), await newVaultFolder()]
  const owner = await startVaultOwner(from)
  expect(await owner.hear()).toBe('open')
  owner.tell('prepare 2')
  const pubkeys = (await owner.hear())?.split(' ').map((pubkey) => `0x${pubkey}`) ?? []
  owner.tell('commit one')
  expect(await owner.hear()).toBe('committed one')
  for (const pid of vaultProcessesOf(owner.pid)) process.kill(pid, 'SIGKILL')
  await owner.kill()
  const backup = join(into.above, 'copy.db')
  await copyFile(from.file, backup)
  await copyFile(`${from.file}-wal`, `${backup}-wal`)
  const { directory } = into.options
  const { keySource } = from.options
  const restored = await restoreLocalKeyVault({ directory, keySource, backup, losesKeys: false })
  expect(restored).toEqual({ status: 'restored', keys: 2, setAside: undefined })
  const vault = await openIn({ ...into, options: { directory, keySource } })
  expect(await vault.lacking(pubkeys)).toEqual([])
  expect(await vault.request('acme', 'one')).toMatchObject({ answer: 'one' })
})

test.each([0o644, 0o400])('a backup with the rights %o becomes a vault for its owner alone', async (mode) => {
  const [from, into] = [await newVaultFolder(), await newVaultFolder()]
  await commitIn(from, 1, 'one')
  await chmod(from.file, mode)
  const { directory } = into.options
  const { keySource } = from.options
  const restored = await restoreLocalKeyVault({ directory, keySource, backup: from.file, losesKeys: false })
  expect(restored).toMatchObject({ status: 'restored', keys: 1 })
  expect((await stat(into.file)).mode & 0o777).toBe(0o600)
})

test('a backup that stops midway has not its name, and the next one gets it', async () => {
  const folder = await newVaultFolder()
  await commitIn(folder, 3, 'one')
  const vault = await openIn(folder)
  const backup = join(folder.above, 'backup.db')
  const [pid = 0] = vaultProcessesOf(process.pid)
  // The soft limit alone: a file of the process gets no longer, as on a full disk.
  execFileSync('prlimit', ['--pid', String(pid), '--fsize=8192:'])
  await expect(vault.backup(backup)).rejects.toMatchObject({ code: 'key_vault' })
  expect(existsSync(backup)).toBe(false)
  if (vaultProcessesOf(process.pid).includes(pid)) execFileSync('prlimit', ['--pid', String(pid), '--fsize=unlimited:'])
  expect(await vault.backup(backup)).toEqual({ keys: 3 })
  expect((await readdir(folder.above)).filter((name) => name.startsWith('backup'))).toEqual(['backup.db'])
})

test('a backup that is none, or of another key, changes nothing', async () => {
  const [folder, other] = [await newVaultFolder(), await newVaultFolder()]
  await commitIn(folder, 1, 'one')
  await commitIn(other, 1, 'one')
  const before = await readFile(folder.file)
  const { directory, keySource } = folder.options
  const noFile = join(folder.above, 'no-file')
  const garbage = join(folder.above, 'garbage')
  await writeFile(garbage, Buffer.alloc(8192, 0x55))
  for (const backup of [noFile, garbage, other.file])
    await expect(restoreLocalKeyVault({ directory, keySource, backup, losesKeys: true })).rejects.toMatchObject({
      code: expect.stringMatching(/^(usage|key_vault)$/),
    })
  expect((await readFile(folder.file)).equals(before)).toBe(true)
  expect((await readdir(directory)).toSorted()).toEqual(['lock', 'lock.pid', 'vault.db'])
})

test('a vault that is in use is not restored', async () => {
  const folder = await newVaultFolder()
  const vault = await openIn(folder)
  const backup = join(folder.above, 'backup.db')
  await vault.backup(backup)
  const { directory, keySource } = folder.options
  await expect(restoreLocalKeyVault({ directory, keySource, backup, losesKeys: true })).rejects.toThrow(
    /in use by process/,
  )
})

test('an answer that somebody has changed is not given', async () => {
  const folder = await newVaultFolder()
  await commitIn(folder, 1, 'one')
  await commitIn(folder, 1, 'two')
  {
    using db = new DatabaseSync(folder.file)
    db.exec(`UPDATE requests SET answer = 'another' WHERE request_id = 'one'`)
    db.exec(`DELETE FROM answer_macs WHERE request_id = 'two'`)
  }
  const vault = await openIn(folder)
  const changed = { code: 'key_vault', message: expect.stringMatching(/was changed by somebody else/) }
  await expect(vault.request('acme', 'one')).rejects.toMatchObject(changed)
  await expect(vault.request('acme', 'two')).rejects.toMatchObject(changed)
})

test('a file of version 1 is taken as it is, once', async () => {
  const folder = await newVaultFolder()
  const pubkeys = await commitIn(folder, 1, 'one')
  toVersion1(folder)
  const vault = await openIn(folder)
  expect(await vault.request('acme', 'one')).toEqual(requestOf('acme', 'one'))
  expect(await vault.lacking(pubkeys)).toEqual([])
  await vault[Symbol.asyncDispose]()
  {
    using db = new DatabaseSync(folder.file)
    expect(db.prepare('PRAGMA user_version').get()).toEqual({ user_version: 2 })
    // Who takes the number back, and the MACs away, has gained nothing.
    db.exec(`UPDATE requests SET answer = 'another'; DELETE FROM answer_macs; PRAGMA user_version = 1`)
  }
  await expect((await openIn(folder)).request('acme', 'one')).rejects.toThrow(/was changed by somebody else/)
})

/** Makes of a closed vault what version 1 would have written. */
function toVersion1(folder: VaultFolder): void {
  const { sealingKey } = secretsOf(folder)
  using db = new DatabaseSync(folder.file)
  const id = String(db.prepare('SELECT id FROM vault').get()?.id)
  const check = seal(sealingKey, Buffer.from('this key opens this vault'), `check of ${id}`)
  db.prepare('UPDATE vault SET sealed_check = ?').run(check)
  db.exec('DROP TABLE answer_macs; DROP TABLE imported_keys; DROP TABLE exported_keys; PRAGMA user_version = 1')
}

test('requests are listed a page at a time, with their chain', async () => {
  const folder = await newVaultFolder()
  const vault = await openIn(folder)
  const ids = Array.from({ length: 25 }, (_, i) => `r${String(i).padStart(2, '0')}`)
  for (const id of ids) {
    const prepared = await vault.prepare(1, TERMS)
    await vault.commit(prepared.id, id, requestOf('acme', id))
  }
  const first = await vault.requestsAfter(undefined)
  const last = first.at(-1)
  const second = await vault.requestsAfter(last && { account: last.request.account, requestId: last.requestId })
  expect([...first, ...second].map(({ requestId }) => requestId)).toEqual(ids)
  expect(second.length).toBeGreaterThan(0)
  expect(first[0]).toMatchObject({ chain: TERMS.chain, request: requestOf('acme', 'r00') })
})

test('a process that was stopped is killed after the time of a call, and the next question starts another', async () => {
  const folder = await newVaultFolder()
  await using vault = await openLocalKeyVault({ ...folder.options, callTimeoutMs: 3_000 })
  const [pid = 0] = vaultProcessesOf(process.pid)
  process.kill(pid, 'SIGSTOP')
  await expect(vault.check()).rejects.toMatchObject({
    code: 'key_vault',
    retryable: true,
    message: expect.stringMatching(/it took longer than 3 s/),
  })
  expect(vault.state()).toMatchObject({ state: 'away', fault: expect.stringMatching(/longer than 3 s/) })
  await vault.check()
  expect(vault.state()).toMatchObject({ state: 'answering' })
})

test('a key that is gone, or another one, is told by a check', async () => {
  const folder = await newVaultFolder()
  const vault = await openIn(folder)
  await vault.check()
  const key = await readFile(folder.keyFile)
  await writeFile(folder.keyFile, '11'.repeat(32))
  await expect(vault.check()).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringMatching(/no longer the one/),
  })
  await writeFile(folder.keyFile, key)
  await vault.check()
})
