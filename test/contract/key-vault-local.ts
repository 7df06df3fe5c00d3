import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { onTestFinished } from 'vitest'
import { deriveCommonKey, deriveSigningKey } from '../../infra/key-vault/derive.ts'
import type { KeySource } from '../../infra/key-vault/key-source.ts'
import { type LocalKeyVaultOptions, type LocalVault, openLocalKeyVault } from '../../infra/key-vault/open-local.ts'
import { openVaultStore } from '../../infra/key-vault/vault-store.ts'

/** A folder for a vault with its key beside it. */
export interface VaultFolder {
  /** Has both, and nothing else. */
  readonly above: string
  readonly directory: string
  /** The vault's database. */
  readonly file: string
  readonly keyFile: string
  readonly options: LocalKeyVaultOptions
}

/** It is removed when the test ends. */
export async function newVaultFolder(): Promise<VaultFolder> {
  const folder = await makeVaultFolder()
  onTestFinished(() => removeVaultFolder(folder))
  return folder
}

export async function makeVaultFolder(): Promise<VaultFolder> {
  const above = await mkdtemp(join(tmpdir(), 'epochline-vault-'))
  const directory = join(above, 'vault')
  const keyFile = join(above, 'vault-key')
  const keySource: KeySource = { kind: 'file', file: keyFile, mayCreate: true }
  return { above, directory, file: join(directory, 'vault.db'), keyFile, options: { directory, keySource } }
}

export function removeVaultFolder({ above }: VaultFolder): Promise<void> {
  return rm(above, { recursive: true, force: true })
}

export async function openIn(folder: VaultFolder): Promise<LocalVault> {
  const vault = await openLocalKeyVault(folder.options)
  onTestFinished(() => vault[Symbol.asyncDispose]())
  return vault
}

/** Of the processes that this one has started, those that keep a vault. */
export function vaultProcessesOf(parent: number): readonly number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map(Number).filter((pid) => parentOf(pid) === parent && commandOf(pid).includes('vault-process.ts'))
}

export function isAlive(pid: number): boolean {
  return commandOf(pid) !== '' // a process that has ended and was not waited for yet has none
}

function parentOf(pid: number): number {
  const [, ppid] = /^\d+ \(.*\) \S (\d+)/s.exec(ofProcess(pid, 'stat')) ?? []
  return Number(ppid)
}

function commandOf(pid: number): string {
  return ofProcess(pid, 'cmdline')
}

/** A file of /proc as text, one character a byte; empty once the process has ended. */
export function ofProcess(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1')
  } catch (error) {
    if (error instanceof Error && 'code' in error && ['ENOENT', 'ESRCH'].includes(String(error.code))) return ''
    throw error
  }
}

/** How many keys and requests of this id are on the disk. */
export function rowsOf({ file }: VaultFolder, requestId: string): { readonly keys: number; readonly requests: number } {
  using db = new DatabaseSync(file, { readOnly: true })
  const count = (table: string) =>
    Number(db.prepare(`SELECT count(*) AS n FROM ${table} WHERE request_id = ?`).get(requestId)?.n)
  return { keys: count('keys'), requests: count('requests') }
}

export interface KnownSecrets {
  /** 48 bytes each. */
  readonly pubkeys: readonly Uint8Array[]
  /** 32 bytes each: the signing keys of all committed keys, in the order of `pubkeys`. */
  readonly signingKeys: readonly Uint8Array[]
  /** 32 bytes each. */
  readonly seeds: readonly Uint8Array[]
  /** 32 bytes each: the key at m/12381/3600 of each seed. */
  readonly commonKeys: readonly Uint8Array[]
  /** 32 bytes. */
  readonly sealingKey: Uint8Array
}

/** Opens the file of a closed vault with its key, as who restores it would, and derives what it holds. */
export function secretsOf({ file, keyFile }: VaultFolder): KnownSecrets {
  const sealingKey = Buffer.from(readFileSync(keyFile, 'utf8').trim(), 'hex')
  using store = openVaultStore({ file, sealingKey, keyName: 'the test' })
  using db = new DatabaseSync(file, { readOnly: true })
  const seedIds = db
    .prepare('SELECT id FROM seeds')
    .all()
    .map(({ id }) => String(id))
  const rows = db.prepare('SELECT pubkey, seed_id, path_index FROM keys').all()
  const seedOf = (id: string) => store.readSeed(id, sealingKey)
  return {
    pubkeys: rows.map(({ pubkey }) => new Uint8Array(pubkey as Uint8Array)),
    signingKeys: rows.map((row) => {
      const commonKey = deriveCommonKey(seedOf(String(row.seed_id)))
      return deriveSigningKey(commonKey, Number(row.path_index)).toBytes()
    }),
    seeds: seedIds.map(seedOf),
    commonKeys: seedIds.map((id) => deriveCommonKey(seedOf(id)).toBytes()),
    sealingKey,
  }
}

/** A program with a vault, to be killed: it does what it is told by a line, and says by a line what came of it. */
export async function startVaultOwner(folder: VaultFolder) {
  const script = join(import.meta.dirname, 'vault-owner.ts')
  const owner = spawn(process.execPath, [script, JSON.stringify(folder.options)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true, // a group of its own, as a terminal gives to a program
  })
  const exited = once(owner, 'exit')
  const said = createInterface({ input: owner.stdout })[Symbol.asyncIterator]()
  const kill = async () => {
    owner.kill('SIGKILL')
    await exited
  }
  onTestFinished(kill)
  return {
    pid: owner.pid ?? 0,
    kill,
    tell: (line: string) => owner.stdin.write(`${line}\n`),
    /** The next line; undefined when it has ended. */
    hear: async (): Promise<string | undefined> => (await said.next()).value,
  }
}
