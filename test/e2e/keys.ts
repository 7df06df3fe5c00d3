import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SecretKey } from '@chainsafe/blst'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openKeystore, writeKeystore } from '../../infra/key-vault/keystore.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { validatorsCreated } from '../../schemas/events/created-validators.ts'
import { keysExported, keysImported } from '../../schemas/events/vault-keys.ts'
import { vaultStateTold } from '../../schemas/events/vault-state.ts'
import type { ReadyAnswer } from '../../schemas/routes/probes.ts'
import { createToken } from './account.ts'
import { createInVault } from './create-in-vault.ts'
import { faultsOfDeposits } from './deposit-tools.ts'
import { type Environment, eventually, type Running, runCommand, startProgram } from './processes.ts'
import { eventsOf, openLog } from './stores.ts'

type Entry = Readonly<Record<string, string | number>>

export interface KeysOptions {
  readonly mode: string
  readonly modeOf: (name: string) => Environment
}

/** Keys are exported, imported, backed up and restored while the program runs and while it does not. Nothing is asked of a node: there is none. */
export function keysSuite({ mode, modeOf }: KeysOptions): void {
  describe(`keys of validators in ${mode} mode`, () => {
    const directory = mkdtempSync(join(tmpdir(), 'epochline-keys-'))
    const data = join(directory, 'data')
    const nowhere: Environment = {
      EPOCHLINE_DATA: data,
      BEACON_URL: 'http://127.0.0.1:9',
      EXECUTION_URL: 'http://127.0.0.1:9',
    }
    let env: Environment = { ...modeOf('keys'), ...nowhere }
    const at = (name: string) => join(directory, name)
    let created: readonly string[]
    let program: Running | undefined

    const keys = (...args: readonly string[]) => runCommand(['keys', ...args], env)
    const eventPubkeys = async (type: typeof keysExported | typeof keysImported) => {
      await using eventLog = await openLog(env)
      const events = (await eventsOf(eventLog, 'accounts')).filter(({ event }) => event.type === type.name)
      return events.flatMap(({ event }) => decodeEvent(type, event).pubkeys)
    }
    const ready = async () => (await (await fetch(`${program?.url}/ready`)).json()) as ReadyAnswer
    const keystoresIn = (folder: string) => readdirSync(folder).filter((name) => name.startsWith('keystore'))
    const startValidators = async () => {
      program = await startProgram(['validators'], env, { announces: false })
      const listens = async () => existsSync(join(data, 'vault', 'control', 'socket')) || undefined
      await eventually('the vault', listens)
      return program
    }

    beforeAll(async () => {
      await createToken(env)
      created = await createInVault(env, { count: 4, requestId: '11'.repeat(32) })
    })

    afterAll(async () => {
      await program?.kill()
      rmSync(directory, { recursive: true, force: true })
    })

    it('are exported while nothing runs: keystores, their password and their deposits, for the owner alone', async () => {
      const [first = '', second = ''] = created
      const folder = at('stopped')
      const { code, stdout, stderr } = await keys('export', '--validator', first, second.slice(2), '--to', folder)
      expect(code, stderr).toBe(0)
      expect(stdout).toMatch(/^2 keystores are in .* with deposit_data\.json \(2 deposits\)/)
      const password = readFileSync(join(folder, 'password.txt'))
      expect(password.toString()).toMatch(/^[0-9a-f]{64}$/)
      for (const name of keystoresIn(folder)) {
        expect(name).toMatch(/^keystore-m_12381_3600_\d+_0_0-\d+\.json$/) // as validator clients look for them
        const opened = await openKeystore(readFileSync(join(folder, name), 'utf8'), password)
        if (opened.status === 'refused') throw new Error(opened.reason)
        expect([first, second]).toContain(hexOf(opened.key.toPublicKey().toBytes()))
        expect(stdout + stderr).not.toContain(hexOf(opened.key.toBytes()).slice(2))
      }
      expect(stdout + stderr).not.toContain(password.toString())
      expect(keystoresIn(folder)).toHaveLength(2)
      expect(statSync(folder).mode & 0o777).toBe(0o700)
      for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o777, name).toBe(0o600)
      expect(await eventPubkeys(keysExported)).toEqual([first, second])
    })

    it('come with deposits that the standard deposit tools take', async () => {
      const text = readFileSync(join(at('stopped'), 'deposit_data.json'), 'utf8')
      const network = { name: 'mainnet', forkVersion: '10000910', withdrawalAddress: 'ad'.repeat(20) }
      expect(faultsOfDeposits(text, network)).toEqual([])
      const entries = JSON.parse(text) as readonly [Entry, Entry]
      expect(entries.map(({ pubkey }) => `0x${pubkey}`)).toEqual(created.slice(0, 2))
      expect(entries.map(({ amount }) => amount)).toEqual([32_000_000_000, 32_000_000_000])
      // Every field is looked at: with another's in it, or another one, the file is refused.
      const [first, second] = entries
      const altered = {
        pubkey: second.pubkey,
        withdrawal_credentials: String(first.withdrawal_credentials).replace('ad', 'ae'),
        amount: 33_000_000_000,
        signature: second.signature,
        deposit_message_root: second.deposit_message_root,
        deposit_data_root: `0x${first.deposit_data_root}`,
        fork_version: '00000000',
        network_name: 'hoodi',
        deposit_cli_version: '0.9.0',
      }
      expect(Object.keys(first)).toEqual(Object.keys(altered))
      for (const [name, value] of Object.entries(altered))
        expect(faultsOfDeposits(JSON.stringify([{ ...first, [name]: value }]), network)).toContain(
          name === 'pubkey' ? 'signature' : name,
        )
    })

    it('are not exported twice unwarned, nor into a folder with something in it, nor when one is unknown', async () => {
      const [first = '', , third = ''] = created
      const twice = await keys('export', '--validator', third, first, '--to', at('twice'))
      expect(twice).toMatchObject({ code: 2, stderr: expect.stringMatching(`Exported before.*${first}.*--again`) })
      expect(existsSync(at('twice'))).toBe(false)
      const again = await keys('export', '--validator', first, '--to', at('again'), '--again')
      expect(again).toMatchObject({ code: 0, stderr: expect.stringMatching(/Exported once more/) })
      expect(await keys('export', '--validator', third, '--to', at('again'))).toMatchObject({ code: 2 })
      const stranger = hexOf(SecretKey.fromKeygen(new Uint8Array(32).fill(9)).toPublicKey().toBytes())
      const unknown = await keys('export', '--validator', third, stranger, '--to', at('unknown'))
      expect(unknown).toMatchObject({ code: 2, stderr: expect.stringMatching(`no secret of ${stranger}`) })
      expect(existsSync(at('unknown'))).toBe(false)
    })

    it('are exported, imported and backed up by the program that runs', async () => {
      const running = await startValidators()
      const [, , third = ''] = created
      writeFileSync(at('password'), 'correct horse\n')
      const exported = await keys(
        'export',
        '--validator',
        third,
        '--to',
        at('running'),
        '--password-file',
        at('password'),
      )
      expect(exported.code, exported.stderr).toBe(0)
      const [name = ''] = keystoresIn(at('running'))
      const keystore = readFileSync(join(at('running'), name), 'utf8')
      const opened = await openKeystore(keystore, Buffer.from('correct horse'))
      expect(opened.status === 'opened' && hexOf(opened.key.toPublicKey().toBytes())).toBe(third)
      expect(existsSync(join(at('running'), 'password.txt'))).toBe(false)

      const stranger = SecretKey.fromKeygen(new Uint8Array(32).fill(8))
      mkdirSync(at('incoming'))
      const path = 'm/12381/3600/0/0/0'
      const text = await writeKeystore({ key: stranger, path }, Buffer.from('correct horse'))
      writeFileSync(join(at('incoming'), 'keystore-0.json'), text)
      const to = ['import', at('incoming'), '--account', 'acme'] as const
      expect(await keys(...to, '--password-env', 'SECRET')).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/file alone/),
      })
      const imported = await keys(...to, '--password-file', at('password'))
      expect(imported, imported.stderr).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^1 keys were imported/),
      })
      expect(await eventPubkeys(keysImported)).toEqual([hexOf(stranger.toPublicKey().toBytes())])

      const backedUp = await keys('backup', '--to', at('backup.db'))
      expect(backedUp, backedUp.stderr).toMatchObject({ code: 0, stdout: expect.stringMatching(/^5 keys are in /) })
      expect(await keys('restore', at('backup.db'))).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/in use by process/),
      })
      expect(await running.stop()).toBe(0)
      expect(running.output()).not.toContain(hexOf(stranger.toBytes()).slice(2))
      expect(running.output()).not.toContain('correct horse')
      await using eventLog = await openLog(env)
      const words = (await eventsOf(eventLog, 'roles')).map(({ event }) => decodeEvent(vaultStateTold, event))
      expect(words.at(-1)).toMatchObject({ state: 'stopped', missing: { count: 0 } })
    })

    it('that are made after a backup are lost by restoring it, never made again, and named', async () => {
      const lost = await createInVault(env, { count: 10, requestId: '22'.repeat(32) })
      const refused = await keys('restore', at('backup.db'))
      expect(refused).toMatchObject({ code: 2, stderr: expect.stringMatching(/has 10 keys that the backup lacks/) })
      const restored = await keys('restore', at('backup.db'), '--loses-keys')
      expect(restored, restored.stderr).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/the 5 keys of the backup/),
      })
      const others = await createInVault(env, { count: 10, requestId: '33'.repeat(32) })
      expect(new Set([...created, ...lost, ...others]).size).toBe(24)
      program = await startProgram(['all'], env)
      // Until this program has its vault, the word of the one before it stands.
      const answering = async () => {
        const { vault } = await ready()
        return vault?.state === 'answering' ? vault : undefined
      }
      const { missing } = await eventually('the vault', answering)
      expect(missing.count).toBe(10)
      expect([...missing.pubkeys].toSorted()).toEqual([...lost].toSorted())
      const status = await runCommand(['status', '--json'], env)
      expect(JSON.parse(status.stdout).vault.missing.count).toBe(10)
    })

    it('whose vault cannot be opened any more are told as such, until it can', async () => {
      const state = (wanted: string) => async () => {
        const { vault, checks } = await ready()
        return vault?.state === wanted && checks.vault_answers === (wanted === 'answering') ? vault : undefined
      }
      await eventually('a vault', state('answering'))
      renameSync(join(data, 'vault.key'), at('vault.key'))
      const { fault } = await eventually('no key', state('away'))
      expect(fault).toMatch(/cannot be read \(ENOENT\): put it back/)
      renameSync(at('vault.key'), join(data, 'vault.key'))
      await eventually('the key', state('answering'))
      expect(await program?.stop()).toBe(0)
    })

    it('are told to another log, too', async () => {
      for (const name of readdirSync(data)) if (!name.startsWith('vault')) rmSync(join(data, name), { recursive: true })
      env = { ...modeOf('keys_anew'), ...nowhere }
      await (await openLog(env))[Symbol.asyncDispose]()
      const running = await startValidators()
      await using eventLog = await openLog(env)
      const told = async () => {
        const events = (await eventsOf(eventLog, 'accounts')).filter(
          ({ event }) => event.type === validatorsCreated.name,
        )
        const pubkeys = events.flatMap(({ event }) => decodeEvent(validatorsCreated, event).pubkeys)
        return pubkeys.length >= 14 ? pubkeys : undefined
      }
      const pubkeys = await eventually('the created ones', told)
      expect(pubkeys).toHaveLength(14)
      for (const pubkey of created) expect(pubkeys).toContain(pubkey)
      expect(await running.stop()).toBe(0)
    })
  })
}
