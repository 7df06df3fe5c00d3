import { cp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openLocalKeyVault } from '../../infra/key-vault/open-local.ts'
import { type KeyVaultPlace, keyVaultContract, pubkeysOf, requestOf, TERMS } from './key-vault.ts'
import { keyVaultExits } from './key-vault-exits.ts'
import {
  makeVaultFolder,
  newVaultFolder,
  openIn,
  removeVaultFolder,
  rowsOf,
  secretsOf,
  startVaultOwner,
  type VaultFolder,
  vaultProcessesOf,
} from './key-vault-local.ts'

const START_TIMEOUT_MS = 10_000

async function newPlace(): Promise<KeyVaultPlace> {
  const folder = await makeVaultFolder()
  return {
    open: (more) => openLocalKeyVault({ ...folder.options, ...more }),
    [Symbol.asyncDispose]: () => removeVaultFolder(folder),
  }
}

keyVaultContract('local', newPlace)
keyVaultExits('local', newPlace)

/** Commits so many keys and closes the vault. */
async function commitIn(folder: VaultFolder, count: number, requestId = 'r'): Promise<readonly string[]> {
  await using vault = await openLocalKeyVault(folder.options)
  const prepared = await vault.prepare(count, TERMS)
  await vault.commit(prepared.id, requestId, requestOf('acme'))
  return pubkeysOf(prepared)
}

test('makes other keys after an older copy of the folder was put back', async () => {
  const folder = await newVaultFolder()
  const before = await commitIn(folder, 2, 'before')
  const copy = join(folder.above, 'copy')
  await cp(folder.directory, copy, { recursive: true })
  const lost = await commitIn(folder, 10, 'after')
  await rm(folder.directory, { recursive: true })
  await cp(copy, folder.directory, { recursive: true })
  const made = await commitIn(folder, 10, 'after')
  expect(new Set([...before, ...lost, ...made]).size).toBe(22)
  expect(secretsOf(folder).pubkeys).toHaveLength(12)
})

test('two copies of one folder, open side by side, make other keys', async () => {
  const folder = await newVaultFolder()
  await commitIn(folder, 1)
  const copy: VaultFolder = { ...folder, options: { ...folder.options, directory: join(folder.above, 'copy') } }
  await cp(folder.directory, copy.options.directory, { recursive: true })
  const vaults = [await openIn(folder), await openIn(copy)]
  const prepared = await Promise.all(vaults.map((vault) => vault.prepare(10, TERMS)))
  expect(new Set(prepared.flatMap(pubkeysOf)).size).toBe(20)
})

test('refuses a folder that is in use, and names the program that uses it', async () => {
  const folder = await newVaultFolder()
  await openIn(folder)
  await expect(openLocalKeyVault(folder.options)).rejects.toThrow(
    expect.objectContaining({
      code: 'usage',
      retryable: true,
      message: expect.stringMatching(`^The key vault in this folder is in use by process ${process.pid}: `),
    }),
  )
})

test('refuses another key, and opens again with its own', async () => {
  const folder = await newVaultFolder()
  await commitIn(folder, 1)
  const key = await readFile(folder.keyFile)
  await writeFile(folder.keyFile, '11'.repeat(32))
  await expect(openLocalKeyVault(folder.options)).rejects.toThrow(
    expect.objectContaining({
      code: 'usage',
      message: `The key in the file ${folder.keyFile} does not open the key vault ${folder.file}: give the key that it was sealed with.`,
    }),
  )
  await writeFile(folder.keyFile, key)
  const vault = await openIn(folder)
  expect(await vault.request('acme', 'r')).toEqual(requestOf('acme'))
})

test('makes no new key for a vault whose key is missing', async () => {
  const folder = await newVaultFolder()
  await commitIn(folder, 1)
  await rm(folder.keyFile)
  await expect(openLocalKeyVault(folder.options)).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringMatching(
      /\(ENOENT\): put it back; without it nothing that is sealed with it can be opened\.$/,
    ),
  })
  await expect(stat(folder.keyFile)).rejects.toThrow(/ENOENT/)
})

test('takes its key from the environment and from a command as well', async () => {
  const folder = await newVaultFolder()
  await commitIn(folder, 1)
  process.env.EPOCHLINE_TEST_VAULT_KEY = await readFile(folder.keyFile, 'utf8')
  onTestFinished(() => {
    delete process.env.EPOCHLINE_TEST_VAULT_KEY
  })
  for (const keySource of [
    { kind: 'environment', variable: 'EPOCHLINE_TEST_VAULT_KEY' },
    { kind: 'command', command: `cat '${folder.keyFile}'` },
  ] as const) {
    await using vault = await openLocalKeyVault({ directory: folder.directory, keySource })
    expect(await vault.request('acme', 'r'), keySource.kind).toEqual(requestOf('acme'))
  }
})

test('refuses a file that is none of its own, or damaged', async () => {
  const folder = await newVaultFolder()
  await commitIn(folder, 1)
  const damaged = expect.objectContaining({
    code: 'key_vault',
    retryable: false,
    message: expect.stringMatching(/ is damaged .*\. Without one, the secrets of all keys that it held are lost\.$/),
  })
  const whole = await readFile(folder.file)
  await writeFile(folder.file, whole.subarray(0, 100).fill(0x55))
  await expect(openLocalKeyVault(folder.options)).rejects.toThrow(damaged)
})

test('refuses a file with a seed that was changed, and names it', async () => {
  const folder = await newVaultFolder()
  await commitIn(folder, 1)
  {
    using db = new DatabaseSync(folder.file)
    db.exec("UPDATE seeds SET sealed = CAST(sealed || x'00' AS BLOB)")
  }
  await expect(openLocalKeyVault(folder.options)).rejects.toThrow(
    expect.objectContaining({
      code: 'key_vault',
      message: expect.stringMatching(/ is damaged \(seed [0-9a-f-]{36} does not open\): put a copy in its place\. /),
    }),
  )
})

test('refuses a seed that was put in the place of another', async () => {
  const folder = await newVaultFolder()
  await commitIn(folder, 1)
  await commitIn(folder, 1, 'other')
  {
    using db = new DatabaseSync(folder.file)
    db.exec('UPDATE seeds SET sealed = (SELECT sealed FROM seeds ORDER BY id DESC LIMIT 1)')
  }
  await expect(openLocalKeyVault(folder.options)).rejects.toThrow(/does not open/)
})

test('says which folder cannot be made', async () => {
  const folder = await newVaultFolder()
  await writeFile(join(folder.above, 'file'), '')
  const directory = join(folder.above, 'file', 'vault')
  await expect(openLocalKeyVault({ ...folder.options, directory })).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringMatching(/^The key vault's folder .*file\/vault cannot be made \(ENOTDIR\)/),
  })
})

test('writes nothing of a commit that cannot be written whole', async () => {
  const folder = await newVaultFolder()
  const vault = await openIn(folder)
  const { id, deposits } = await vault.prepare(3, TERMS)
  {
    // As if the last of the keys had been made before.
    using db = new DatabaseSync(folder.file)
    db.exec("INSERT INTO requests VALUES ('globex', 'earlier', '', '', 0)")
    db.prepare(
      "INSERT INTO keys SELECT ?, id, 1000, 'ethereum', 'globex', 'earlier', zeroblob(32), 0 FROM seeds LIMIT 1",
    ).run(deposits.at(-1)?.pubkey ?? null)
  }
  await expect(vault.commit(id, 'r', requestOf('acme'))).rejects.toMatchObject({ code: 'key_vault', retryable: false })
  expect(rowsOf(folder, 'r')).toEqual({ keys: 0, requests: 0 })
  expect(await vault.request('acme', 'r')).toBeUndefined()
})

test('is one file when it was closed', async () => {
  const folder = await newVaultFolder()
  await commitIn(folder, 1)
  expect((await readdir(folder.directory)).toSorted()).toEqual(['lock', 'lock.pid', 'vault.db'])
})

test('hears nothing of a Ctrl-C that comes while it is being started', async () => {
  const folder = await newVaultFolder()
  const owner = await startVaultOwner(folder)
  const isStarting = () => vaultProcessesOf(owner.pid).length > 0
  await vi.waitUntil(isStarting, { timeout: START_TIMEOUT_MS, interval: 1 })
  process.kill(-owner.pid, 'SIGINT')
  expect(await owner.hear()).toBe('open')
})
