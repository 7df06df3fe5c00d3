import { closeSync, openSync, readdirSync, readFileSync, readSync, statSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { SecretKey } from '@chainsafe/blst'
import { expect, test } from 'vitest'
import { openLocalKeyVault } from '../../infra/key-vault/open-local.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { pubkeysOf, requestOf, TERMS } from './key-vault.ts'
import {
  type KnownSecrets,
  newVaultFolder,
  ofProcess,
  openIn,
  secretsOf,
  startVaultOwner,
  vaultProcessesOf,
} from './key-vault-local.ts'

/** Every way in which 32 bytes may stand somewhere: as they are, turned round (as blst has them), in hex. */
function formsOf(secret: Uint8Array): readonly Buffer[] {
  const bytes = Buffer.from(secret)
  const hex = bytes.toString('hex')
  return [
    bytes,
    Buffer.from(bytes).reverse(),
    Buffer.from(hex),
    Buffer.from(hex.toUpperCase()),
    Buffer.from(hex, 'utf16le'),
  ]
}

function allSecrets({ signingKeys, seeds, commonKeys, sealingKey }: KnownSecrets): readonly Uint8Array[] {
  return [...signingKeys, ...seeds, ...commonKeys, sealingKey]
}

function holds(data: Buffer, secrets: readonly Uint8Array[]): boolean {
  return secrets.flatMap(formsOf).some((form) => data.includes(form))
}

const PAGE_BYTES = 4096
/** A line of /proc/<pid>/maps about memory that can be written to: where it begins and ends. */
const WRITABLE = /^([0-9a-f]+)-([0-9a-f]+) rw/gm

/** What a process has written into its memory: pages that it never touched, most of what is mapped, are left out. */
function* memoryOf(pid: number): Generator<Buffer> {
  const memory = openSync(`/proc/${pid}/mem`, 'r')
  const pagemap = openSync(`/proc/${pid}/pagemap`, 'r')
  try {
    for (const [, from = '', to = ''] of ofProcess(pid, 'maps').matchAll(WRITABLE)) {
      const [first, end] = [Number.parseInt(from, 16) / PAGE_BYTES, Number.parseInt(to, 16) / PAGE_BYTES]
      const entries = new BigUint64Array(end - first)
      readSync(pagemap, entries, 0, entries.byteLength, 8 * first)
      for (let page = 0; page < entries.length; page++) {
        const start = page
        while (page < entries.length && isPresent(entries[page])) page++
        if (page === start) continue
        const part = Buffer.alloc((page - start) * PAGE_BYTES)
        yield part.subarray(0, readSync(memory, part, 0, part.length, (first + start) * PAGE_BYTES))
      }
    }
  } finally {
    closeSync(memory)
    closeSync(pagemap)
  }
}

/** Bit 63 of a page's entry (Documentation/admin-guide/mm/pagemap.rst). */
function isPresent(entry = 0n): boolean {
  return entry >> 63n === 1n
}

function firstOf(list: readonly Uint8Array[]): Uint8Array {
  const [first] = list
  if (first === undefined) throw new Error('expected one')
  return first
}

/** Which of these a process has in its memory, in either order of bytes. */
function rememberedBy<Name extends string>(pid: number, named: Readonly<Record<Name, Uint8Array>>): readonly Name[] {
  const names = Object.keys(named) as Name[]
  const found = new Set<Name>()
  for (const part of memoryOf(pid)) {
    for (const name of names) {
      const bytes = Buffer.from(named[name])
      if (part.includes(bytes) || part.includes(bytes.reverse())) found.add(name)
    }
  }
  return [...found].toSorted()
}

test('what is committed can be derived from the folder and its key, and signs for its public key', async () => {
  const folder = await newVaultFolder()
  const committed: string[] = []
  for (const requestId of ['one', 'two']) {
    await using vault = await openLocalKeyVault(folder.options)
    await vault.prepare(2, TERMS)
    // So many are signed on several cores, each its part.
    const prepared = await vault.prepare(53, TERMS)
    await vault.commit(prepared.id, requestId, requestOf('acme'))
    committed.push(...pubkeysOf(prepared))
  }
  const { pubkeys, signingKeys } = secretsOf(folder)
  expect(pubkeys.map(hexOf).toSorted()).toEqual(committed.toSorted())
  expect(signingKeys.map((key) => hexOf(SecretKey.fromBytes(key).toPublicKey().toBytes()))).toEqual(pubkeys.map(hexOf))
})

test('no file of the folder holds a secret, nor a key that was not committed, and all are their owner’s alone', async () => {
  const folder = await newVaultFolder()
  const vault = await openIn(folder)
  const uncommitted = await vault.prepare(3, TERMS)
  const prepared = await vault.prepare(3, TERMS)
  await vault.commit(prepared.id, 'r', requestOf('acme'))
  // While it is open, its journal and shared memory are there too.
  const files = readdirSync(folder.directory)
  expect(files).toContain('vault.db-wal')
  const written = files.map((name) => readFileSync(join(folder.directory, name)))
  for (const name of files) expect(statSync(join(folder.directory, name)).mode & 0o077, name).toBe(0)
  expect(statSync(folder.directory).mode & 0o077).toBe(0)
  await vault[Symbol.asyncDispose]()
  const data = Buffer.concat([...written, readFileSync(folder.file)])
  for (const { pubkey } of prepared.deposits) expect(data.includes(Buffer.from(pubkey))).toBe(true)
  for (const { pubkey } of uncommitted.deposits) expect(data.includes(Buffer.from(pubkey))).toBe(false)
  expect(holds(data, allSecrets(secretsOf(folder)))).toBe(false)
})

test('secrets are in the memory of the vault’s process alone, and in no process’s environment or command line', async () => {
  const folder = await newVaultFolder()
  const owner = await startVaultOwner(folder)
  expect(await owner.hear()).toBe('open')
  const [vaultPid = 0] = vaultProcessesOf(owner.pid)
  owner.tell('prepare 5')
  await owner.hear()
  owner.tell('commit r')
  expect(await owner.hear()).toBe('committed r')
  // Its file can be read beside it: what was committed is there.
  const secrets = secretsOf(folder)
  const { sealingKey, pubkeys, signingKeys, seeds, commonKeys } = secrets
  expect(signingKeys).toHaveLength(5)
  const sought = {
    pubkey: firstOf(pubkeys),
    signingKey: firstOf(signingKeys),
    seed: firstOf(seeds),
    commonKey: firstOf(commonKeys),
    sealingKey,
  }
  expect(rememberedBy(owner.pid, sought)).toEqual(['pubkey'])
  const remembered = rememberedBy(vaultPid, sought)
  expect(remembered).toContain('commonKey')
  expect(remembered).not.toContain('seed')
  for (const pid of [owner.pid, vaultPid]) {
    const shown = Buffer.from(ofProcess(pid, 'environ') + ofProcess(pid, 'cmdline'), 'latin1')
    expect(shown.length).toBeGreaterThan(0)
    expect(holds(shown, allSecrets(secrets))).toBe(false)
  }
})

function listensTo(pid: number, signal: number): boolean {
  const mask = /^SigCgt:\s+([0-9a-f]+)/m.exec(ofProcess(pid, 'status'))?.[1]
  return ((BigInt(`0x${mask}`) >> BigInt(signal - 1)) & 1n) === 1n
}

test('the vault’s process leaves no core dump, and opens no inspector', async () => {
  const folder = await newVaultFolder()
  await openIn(folder)
  const [pid = 0] = vaultProcessesOf(process.pid)
  const [, soft, hard] = /^Max core file size\s+(\d+)\s+(\d+)/m.exec(ofProcess(pid, 'limits')) ?? []
  expect(soft).toBe(hard)
  expect(Number(hard)).toBeLessThanOrEqual(1)
  // Node opens its inspector on this signal where it listens to it, as this process does.
  expect(listensTo(pid, constants.signals.SIGUSR1)).toBe(false)
  expect(listensTo(process.pid, constants.signals.SIGUSR1)).toBe(true)
})
