import { copyFile, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { SecretKey } from '@chainsafe/blst'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { writeKeystore } from '../../infra/key-vault/keystore.ts'
import { openLocalKeyVault, restoreLocalKeyVault } from '../../infra/key-vault/open-local.ts'
import { restoreVault } from '../../infra/key-vault/restore-vault.ts'
import { requestOf, TERMS } from './key-vault.ts'
import { newVaultFolder, openIn, type VaultFolder } from './key-vault-local.ts'

/** As long as one that has many validators: SQLite keeps it on pages of its own. */
const ANSWER = JSON.stringify({
  validators: Array.from({ length: 60 }, (_, i) => ({ index: i, text: 'x'.repeat(200) })),
})
const PASSWORD = 'correct horse'

interface Backup extends VaultFolder {
  readonly backup: string
}

const folders: string[] = []
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))))

/** A vault of two requests, each of a start of its own, and one imported key, with its backup. */
async function newBackup(): Promise<Backup> {
  const above = await mkdtemp(join(tmpdir(), 'epochline-backup-'))
  folders.push(above)
  const [directory, keyFile] = [join(above, 'vault'), join(above, 'vault-key')]
  const options = { directory, keySource: { kind: 'file', file: keyFile, mayCreate: true } } as const
  for (const requestId of ['one', 'two']) {
    await using vault = await openLocalKeyVault(options)
    const prepared = await vault.prepare(2, TERMS)
    await vault.commit(prepared.id, requestId, { ...requestOf('acme', requestId), answer: ANSWER })
  }
  const keystore = join(above, 'keystore.json')
  const key = SecretKey.fromKeygen(new Uint8Array(32).fill(7))
  await writeFile(keystore, await writeKeystore({ key, path: '' }, Buffer.from(PASSWORD)))
  const password = { kind: 'file', file: join(above, 'password') } as const
  await writeFile(password.file, PASSWORD)
  const backup = join(above, 'backup.db')
  await using vault = await openLocalKeyVault(options)
  await vault.importKeys([keystore], { password, chain: TERMS.chain, account: 'acme' })
  expect(await vault.backup(backup)).toEqual({ keys: 5 })
  return { above, directory, file: join(directory, 'vault.db'), keyFile, options, backup }
}

let made: Backup
beforeAll(async () => {
  made = await newBackup()
})

/** 400 bytes of the text of an answer, wherever SQLite has put it. */
async function changeAnswers(file: string): Promise<void> {
  const bytes = await readFile(file)
  let changed = 0
  for (let at = bytes.indexOf('xxxxxxxxxx'); at >= 0 && changed < 400; at = bytes.indexOf('xxxxxxxxxx', at + 5)) {
    bytes[at] = (bytes[at] ?? 0) ^ 0x01
    changed++
  }
  expect(changed).toBe(400)
  await writeFile(file, bytes)
}

function withSql(statements: string) {
  return async (file: string): Promise<void> => {
    using db = new DatabaseSync(file, { enableForeignKeyConstraints: false })
    db.exec(statements)
  }
}

/** A bit of the public key of a key that was made here: it stands in a row, and in an index of that row. */
function atPubkey(place: 'indexOf' | 'lastIndexOf') {
  return async (file: string): Promise<void> => {
    const bytes = await readFile(file)
    using db = new DatabaseSync(file, { readOnly: true })
    const at = bytes[place](db.prepare('SELECT pubkey FROM keys').get()?.pubkey as Uint8Array)
    bytes[at + 40] = (bytes[at + 40] ?? 0) ^ 0x01
    await writeFile(file, bytes)
  }
}

const DAMAGES: readonly (readonly [string, (file: string) => Promise<void>])[] = [
  ['400 changed bytes within answers', changeAnswers],
  ['an answer without its MAC', withSql(`DELETE FROM answer_macs WHERE request_id = 'two'`)],
  ['an answer under the id of another', withSql(`UPDATE requests SET answer = '{}' WHERE request_id = 'one'`)],
  ['a seed that does not open', withSql('UPDATE seeds SET sealed = zeroblob(61)')],
  ['an imported key that does not open', withSql('UPDATE imported_keys SET sealed = zeroblob(61)')],
  ['a key of another place of its seed', withSql('UPDATE keys SET path_index = path_index + 9')],
  ['a place that no seed has', withSql(`UPDATE keys SET path_index = -1 WHERE path_index = 1 AND request_id = 'one'`)],
  [
    'a place that no number has',
    withSql("UPDATE keys SET path_index = 9223372036854775807 WHERE path_index = 1 AND request_id = 'one'"),
  ],
  ['a time that no number has', withSql('UPDATE requests SET created_at_ms = 9223372036854775807')],
  ['a public key that is cut', withSql('UPDATE imported_keys SET pubkey = substr(pubkey, 1, 47)')],
  ['keys without their request', withSql(`DELETE FROM answer_macs; DELETE FROM requests`)],
  ['a mark of a key that it has not', withSql('INSERT INTO exported_keys VALUES (zeroblob(48), 1)')],
  ['a changed bit of the row of a key, or its index', atPubkey('indexOf')],
  ['a changed bit of the index of a key, or its row', atPubkey('lastIndexOf')],
  ['half of its bytes', async (file) => truncate(file, (await readFile(file)).length >> 1)],
  ['none of its bytes', (file) => truncate(file, 0)],
  ['no vault', withSql('DELETE FROM vault')],
]

test.each(DAMAGES)('a backup with %s is refused, in one sentence, and nothing is changed', async (_, damage) => {
  const { above, directory, file, options } = made
  const { keySource } = options
  const backup = join(above, 'damaged.db')
  await copyFile(made.backup, backup)
  await damage(backup)
  const before = await readFile(file)
  await expect(restoreVault({ directory, keySource, backup, losesKeys: true })).rejects.toMatchObject({
    code: 'key_vault',
    retryable: false,
    message: expect.stringMatching(
      new RegExp(`^The backup ${RegExp.escape(backup)} is damaged \\([^.]+\\); nothing was changed: [^.]+\\.$`),
    ),
  })
  expect((await readFile(file)).equals(before)).toBe(true)
  expect((await readdir(directory)).toSorted()).toEqual(['lock', 'lock.pid', 'vault.db'])
})

test.each([
  ['of a later format', 'CREATE TABLE jobs (id TEXT); PRAGMA user_version = 4'],
  ['of an earlier one', 'CREATE TABLE groups (topic TEXT); PRAGMA user_version = 1'],
  ['with tables of the same names', 'CREATE TABLE keys (id TEXT); PRAGMA user_version = 2'],
])('another database, %s, is said to be no backup, and nothing is changed', async (_, statements) => {
  const { above, directory, file, options } = made
  const backup = join(above, 'other.sqlite')
  await rm(backup, { force: true })
  await withSql(statements)(backup)
  const before = await readFile(file)
  const { keySource } = options
  await expect(restoreVault({ directory, keySource, backup, losesKeys: true })).rejects.toMatchObject({
    code: 'usage',
    message: `The file ${backup} is no backup of a vault; nothing was changed: give one that keys backup has written.`,
  })
  expect((await readFile(file)).equals(before)).toBe(true)
  expect((await readdir(directory)).toSorted()).toEqual(['lock', 'lock.pid', 'vault.db'])
})

test('a whole backup is restored by the process of its own, over a vault whose answers somebody has changed too', async () => {
  const folder = made
  await changeAnswers(folder.file)
  const { keySource } = folder.options
  const { directory, backup } = folder
  const restored = await restoreLocalKeyVault({ directory, keySource, backup, losesKeys: false })
  expect(restored).toMatchObject({ status: 'restored', keys: 5 })
  const vault = await openIn(folder)
  expect((await vault.request('acme', 'one'))?.answer).toBe(ANSWER)
})

test('a backup of another key is said to be one', async () => {
  const folder = await newVaultFolder()
  {
    await using _another = await openLocalKeyVault(folder.options)
  }
  const { directory, keySource } = folder.options
  await expect(restoreVault({ directory, keySource, backup: made.backup, losesKeys: true })).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringMatching(
      /does not open the backup \S+\/backup\.db; nothing was changed: give the key that it was sealed with\.$/,
    ),
  })
})
