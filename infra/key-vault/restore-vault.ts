import { chmodSync, copyFileSync, existsSync, linkSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { AppError } from '../../schemas/errors.ts'
import { syncFile, syncFolder } from '../durable-folder.ts'
import { isDamage } from '../sqlite-file.ts'
import { type KeySource, nameOfSource, readSealingKey } from './key-source.ts'
import type { RestoreOptions } from './messages.ts'
import { SecretKeys } from './secret-keys.ts'
import { lockVaultFolder, makeVaultFolder, vaultFileOf } from './vault-folder.ts'
import { DamagedVault, isOtherDatabase, openVaultStore, type VaultStore } from './vault-store.ts'

/** What came of it. */
export type RestoreOutcome =
  /** `setAside` is the file that was in its place; undefined where there was none. */
  | { readonly status: 'restored'; readonly keys: number; readonly setAside: string | undefined }
  /** The vault here has keys that the backup lacks: so many; nothing was changed. */
  | { readonly status: 'loses_keys'; readonly keys: number }

/** What SQLite has beside a file that was not closed. */
const BESIDE = ['', '-wal', '-shm']
/** As SQLite makes the vault's files in the vault's process, whose umask leaves them to their owner. */
const OWNERS_MODE = 0o600

/**
 * Puts a backup in the place of a vault, which is set aside and not removed. The backup is opened with the vault's key, and so is every
 * seed and key of it; its pages are read, and its answers authenticated, before anything is moved. Its seeds sign and make no key: the
 * next start has another seed, so nothing is made twice. Throws AppError `usage` or `key_vault`.
 */
export async function restoreVault({
  directory,
  keySource,
  backup,
  losesKeys,
}: RestoreOptions): Promise<RestoreOutcome> {
  makeVaultFolder(directory)
  using _lock = await lockVaultFolder(directory)
  const file = vaultFileOf(directory)
  const incoming = join(directory, `restored-${process.pid}.db`)
  const sealingKey = readSealingKey(keySource, false)
  const keyName = nameOfSource(keySource)
  const open = (from: string) => openVaultStore({ file: from, sealingKey, keyName, isThere: from === incoming })
  const removeIncoming = () => {
    for (const suffix of BESIDE) rmSync(`${incoming}${suffix}`, { force: true })
  }
  // Whoever asked may go while it is looked at, and this process with him.
  process.once('exit', removeIncoming)
  try {
    copyBackup(backup, incoming)
    refuseOtherDatabase(incoming, backup)
    const keys = await checkedKeys(() => open(incoming), { backup, sealingKey, keySource })
    const lost = existsSync(file) ? keysLost(open, { file, incoming, losesKeys }) : 0
    if (lost > 0 && !losesKeys) return { status: 'loses_keys', keys: lost }
    requireOneFile(incoming, backup)
    const setAside = existsSync(file) ? setAsideOf(file) : undefined
    renameSync(incoming, file)
    syncFolder(directory)
    return { status: 'restored', keys, setAside }
  } finally {
    sealingKey.fill(0)
    removeIncoming()
    process.off('exit', removeIncoming)
  }
}

/** Before its format is looked at: of another database that is the format of something else. */
function refuseOtherDatabase(incoming: string, backup: string): void {
  if (!isOtherDatabase(incoming)) return
  throw new AppError(
    'usage',
    `The file ${backup} is no backup of a vault; nothing was changed: give one that keys backup has written.`,
  )
}

type Open = (file: string) => VaultStore

interface Checking {
  readonly backup: string
  readonly sealingKey: Uint8Array
  readonly keySource: KeySource
}

/** How many keys it has, each of which was opened. Throws AppError `usage` or `key_vault`, which names the backup and not the copy of it. */
async function checkedKeys(open: () => VaultStore, { backup, sealingKey, keySource }: Checking): Promise<number> {
  try {
    using store = open()
    store.checkRows()
    await new SecretKeys(store, keySource).check(store.pubkeys(), sealingKey)
    return store.countKeys()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    if (error.code === 'usage')
      throw new AppError(
        'usage',
        `The key in ${nameOfSource(keySource)} does not open the backup ${backup}; nothing was changed: give the key that it was sealed with.`,
        { cause: error },
      )
    const what = error instanceof DamagedVault ? error.what : isDamage(error) ? 'it is no whole SQLite file' : undefined
    if (what === undefined) throw error
    throw new AppError(
      'key_vault',
      `The backup ${backup} is damaged (${what}); nothing was changed: restore another copy.`,
      {
        cause: error,
      },
    )
  }
}

/**
 * Keys of the vault that the backup has not. Opening the vault and closing it also puts its journal into its file. A damaged one is what
 * backups are for: nobody can say what it has; one of another key is not looked into when it was said that it may go.
 */
function keysLost(
  open: Open,
  { file, incoming, losesKeys }: { readonly file: string; readonly incoming: string; readonly losesKeys: boolean },
): number {
  try {
    using here = open(file)
    using there = open(incoming)
    return here.pubkeys().filter((pubkey) => !there.hasKey(pubkey)).length
  } catch (error) {
    if (!(error instanceof AppError) || (error.code !== 'key_vault' && !losesKeys)) throw error
    return 0
  }
}

/**
 * The file with its journal, where it is a copy of a vault that was not closed: what was kept last is in the journal alone. Whatever rights
 * the backup has, these are its owner's.
 */
function copyBackup(backup: string, incoming: string): void {
  try {
    copyDurably(backup, incoming)
    if (existsSync(`${backup}-wal`)) copyDurably(`${backup}-wal`, `${incoming}-wal`)
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause)) throw cause
    throw new AppError('usage', `The backup ${backup} cannot be read (${cause.code}); nothing was changed.`, { cause })
  }
}

function copyDurably(from: string, to: string): void {
  copyFileSync(from, to)
  chmodSync(to, OWNERS_MODE)
  syncFile(to)
}

/** SQLite puts the journal into the file when it closes it, and removes it only then. Throws AppError `key_vault` where it did not. */
function requireOneFile(incoming: string, backup: string): void {
  if (!existsSync(`${incoming}-wal`)) return
  throw new AppError(
    'key_vault',
    `The journal of the backup ${backup} could not be put into its file; nothing was changed: see that the disk has space.`,
  )
}

/** The file keeps its name until another takes it; its journal goes, which is none of the other's. */
function setAsideOf(file: string): string {
  const stamp = new Date().toISOString().replaceAll(/[:.]/g, '-')
  const aside = `${file}.replaced-${stamp}`
  linkSync(file, aside)
  for (const suffix of BESIDE.slice(1)) {
    if (existsSync(`${file}${suffix}`)) renameSync(`${file}${suffix}`, `${aside}${suffix}`)
  }
  return aside
}
