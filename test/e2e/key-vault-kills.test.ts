import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { KeyVault } from '../../infra/ports/key-vault.ts'
import { FORGOTTEN, pubkeysOf, requestOf, TERMS } from '../contract/key-vault.ts'
import {
  isAlive,
  newVaultFolder,
  openIn,
  rowsOf,
  startVaultOwner,
  type VaultFolder,
  vaultProcessesOf,
} from '../contract/key-vault-local.ts'
import { tries } from '../long-form.ts'

const DIED = expect.objectContaining({
  code: 'key_vault',
  retryable: true,
  message: expect.stringMatching(/has ended/),
})
/** Enough that a kill finds some of them written, were they not written together. */
const KEYS = 40
const WHOLE = { keys: KEYS, requests: 1 }
const NOTHING = { keys: 0, requests: 0 }
const POLL_MS = 2

/** The vault's process of this one. */
function vaultPid(parent = process.pid): number {
  const [pid] = vaultProcessesOf(parent)
  if (pid === undefined) throw new Error(`process ${parent} has no vault`)
  return pid
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await delay(POLL_MS)
}

/** As long as it is held nobody can write to the file: a commit waits before its transaction. */
function holdWriteLock({ file }: VaultFolder): Disposable {
  const db = new DatabaseSync(file)
  db.exec('BEGIN IMMEDIATE')
  return { [Symbol.dispose]: () => db.close() }
}

describe('when the vault’s process is killed', () => {
  test('what was prepared is forgotten, what was committed is there, and keys are never made again', async () => {
    const folder = await newVaultFolder()
    const vault = await openIn(folder)
    const [committed, prepared] = [await vault.prepare(KEYS, TERMS), await vault.prepare(KEYS, TERMS)]
    await vault.commit(committed.id, 'r', requestOf('acme'))
    process.kill(vaultPid(), 'SIGKILL')
    await until(() => vaultProcessesOf(process.pid).length === 0)
    const asked = await Promise.allSettled([vault.request('acme', 'r'), vault.request('acme', 'r')])
    // Whoever asks before this process has heard of the death is told of it; the next question starts another.
    for (const { reason } of asked.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[]) {
      expect(reason).toEqual(DIED)
    }
    expect(await vault.request('acme', 'r')).toEqual(requestOf('acme'))
    expect(vaultProcessesOf(process.pid)).toHaveLength(1)
    await expect(vault.commit(prepared.id, 'other', requestOf('acme'))).rejects.toThrow(FORGOTTEN)
    const again = await vault.prepare(10, TERMS)
    expect(new Set([committed, prepared, again].flatMap(pubkeysOf)).size).toBe(2 * KEYS + 10)
  })

  test('before the transaction, nothing is there, and who waits is told', async () => {
    const folder = await newVaultFolder()
    const vault = await openIn(folder)
    const { id } = await vault.prepare(KEYS, TERMS)
    {
      using _ = holdWriteLock(folder)
      const told = expect(vault.commit(id, 'r', requestOf('acme'))).rejects.toThrow(DIED)
      process.kill(vaultPid(), 'SIGKILL')
      await told
    }
    expect(await vault.request('acme', 'r')).toBeUndefined()
    expect(rowsOf(folder, 'r')).toEqual(NOTHING)
  })

  test('after the transaction, all is there, whether or not the answer has arrived', async () => {
    const folder = await newVaultFolder()
    const vault = await openIn(folder)
    const { id } = await vault.prepare(KEYS, TERMS)
    const pid = vaultPid()
    const committed = Promise.allSettled([vault.commit(id, 'r', requestOf('acme'))])
    await until(() => rowsOf(folder, 'r').requests > 0)
    process.kill(pid, 'SIGKILL')
    const [outcome] = await committed
    if (outcome.status === 'rejected') expect(outcome.reason).toEqual(DIED)
    const other = await commitAgain(vault)
    expect(other).toEqual(requestOf('acme'))
    expect(rowsOf(folder, 'r')).toEqual(WHOLE)
  })

  test(`at ${tries(12, 200)} random moments of a commit, nothing or all is there, and what was answered is`, async () => {
    const folder = await newVaultFolder()
    const vault = await openIn(folder)
    const seen = new Set<string>()
    for (let i = 0; i < tries(12, 200); i++) {
      const requestId = `r${i}`
      const prepared = await vault.prepare(KEYS, TERMS)
      const pid = vaultPid()
      const committed = Promise.allSettled([vault.commit(prepared.id, requestId, requestOf('acme', requestId))])
      await delay(Math.random() * 6)
      process.kill(pid, 'SIGKILL')
      const [outcome] = await committed
      await until(() => !isAlive(pid))
      const kept = await requestAfterDeath(vault, requestId)
      const rows = rowsOf(folder, requestId)
      expect(rows, `${requestId}: ${outcome.status}`).toEqual(kept === undefined ? NOTHING : WHOLE)
      if (outcome.status === 'fulfilled') expect(kept).toEqual(requestOf('acme', requestId))
      for (const pubkey of pubkeysOf(prepared)) {
        expect(seen.has(pubkey)).toBe(false)
        seen.add(pubkey)
      }
    }
  })
})

describe('when the program is killed', () => {
  /** A program that has prepared keys, and the process of its vault. */
  async function preparedOwner() {
    const folder = await newVaultFolder()
    const owner = await startVaultOwner(folder)
    expect(await owner.hear()).toBe('open')
    const pid = vaultPid(owner.pid)
    owner.tell(`prepare ${KEYS}`)
    await owner.hear()
    return { folder, owner, pid }
  }

  test('the vault’s process ends, and the folder can be opened at once', async () => {
    const folder = await newVaultFolder()
    const owner = await startVaultOwner(folder)
    expect(await owner.hear()).toBe('open')
    const pid = vaultPid(owner.pid)
    await owner.kill()
    const vault = await openIn(folder)
    expect(isAlive(pid)).toBe(false)
    await vault.prepare(1, TERMS)
  })

  test('before the transaction, nothing or all is there', async () => {
    const { folder, owner, pid } = await preparedOwner()
    {
      using _ = holdWriteLock(folder)
      owner.tell('commit r')
      await owner.kill()
    }
    await until(() => !isAlive(pid))
    const vault = await openIn(folder)
    // The vault's process outlives the program by what it was asked to do, if that has reached it.
    const isThere = (await vault.request('acme', 'r')) !== undefined
    expect(rowsOf(folder, 'r')).toEqual(isThere ? WHOLE : NOTHING)
  })

  test('after the transaction, all is there', async () => {
    const { folder, owner, pid } = await preparedOwner()
    owner.tell('commit r')
    await until(() => rowsOf(folder, 'r').requests > 0)
    await owner.kill()
    await until(() => !isAlive(pid))
    const vault = await openIn(folder)
    expect(await vault.request('acme', 'r')).toMatchObject({ answer: 'r' })
    expect(rowsOf(folder, 'r')).toEqual(WHOLE)
  })

  test('both at once before the transaction: nothing is there', async () => {
    const { folder, owner, pid } = await preparedOwner()
    {
      using _ = holdWriteLock(folder)
      owner.tell('commit r')
      process.kill(pid, 'SIGKILL')
      await owner.kill()
    }
    expect(rowsOf(folder, 'r')).toEqual(NOTHING)
    const vault = await openIn(folder)
    expect(await vault.request('acme', 'r')).toBeUndefined()
  })
})

test('the signals that reach all processes of a terminal leave the vault to its program', async () => {
  const folder = await newVaultFolder()
  const vault = await openIn(folder)
  const { id } = await vault.prepare(1, TERMS)
  process.kill(vaultPid(), 'SIGINT')
  process.kill(vaultPid(), 'SIGTERM')
  await vault.commit(id, 'r', requestOf('acme'))
  const pid = vaultPid()
  await vault[Symbol.asyncDispose]()
  expect(isAlive(pid)).toBe(false)
})

/** What a caller does whose commit failed: the same request id again, with other keys. */
async function commitAgain(vault: KeyVault) {
  const prepared = await prepareAfterDeath(vault)
  return vault.commit(prepared.id, 'r', requestOf('acme', 'made again'))
}

async function prepareAfterDeath(vault: KeyVault) {
  try {
    return await vault.prepare(KEYS, TERMS)
  } catch (error) {
    expect(error).toEqual(DIED)
    return vault.prepare(KEYS, TERMS)
  }
}

async function requestAfterDeath(vault: KeyVault, requestId: string) {
  try {
    return await vault.request('acme', requestId)
  } catch (error) {
    expect(error).toEqual(DIED)
    return vault.request('acme', requestId)
  }
}
