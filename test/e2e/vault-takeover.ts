import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../infra/config/config.ts'
import { openLocalKeyVault } from '../../infra/key-vault/open-local.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { validatorsCreated } from '../../schemas/events/created-validators.ts'
import type { Created } from '../../schemas/routes/validators/create-validators.ts'
import { WALLET } from '../wallets.ts'
import { dyingAt } from './die-at-step.ts'
import { KilledProgram } from './killed-program.ts'
import { type Environment, eventually, type Running, startProgram } from './processes.ts'
import { openStandInChain, type StandInChain } from './stand-in-chain.ts'
import { eventsOf, openLog } from './stores.ts'

/** Who waits for the vault has it this soon after the death of the one that had it: a session of the broker's group, and its opening. */
const TAKEOVER_MAX_MS = 15_000
const HOLDS = 'holds the vault'
const COUNT = 3
/** Requests that are on their way when the holder dies. */
const DURING = ['during-1', 'during-2', 'during-3', 'during-4'] as const

export interface VaultTakeoverOptions {
  readonly mode: string
  readonly modeOf: (name: string) => Environment
}

/** Several processes have the role with the vault, of one configuration: one does its work, and the next one when that dies. */
export function vaultTakeoverSuite({ mode, modeOf }: VaultTakeoverOptions): void {
  describe(`processes with one vault in ${mode} mode`, () => {
    const directory = mkdtempSync(join(tmpdir(), 'epochline-takeover-'))
    const waiting: Running[] = []
    /** The first answer under each Idempotency-Key. */
    const answers = new Map<string, Created>()
    let chain: StandInChain
    let program: KilledProgram

    const create = async (key: string): Promise<Created> => {
      const body = { validator_count: COUNT, withdrawal_address: WALLET.address }
      const { data, ...answer } = await program.untilAnswered<Created>('create', body, key)
      expect(answer.status, `${key}: ${answer.msg}`).toBe(200)
      if (data === undefined) throw new Error(answer.msg)
      return data
    }
    const startWaiting = async (more: Environment = {}): Promise<Running> => {
      const env = { ...program.env, LOG_LEVEL: 'debug', ...more }
      const started = await startProgram(['validators'], env, { announces: false })
      waiting.push(started)
      await says(started, 'waits for the vault')
      return started
    }

    beforeAll(async () => {
      chain = await openStandInChain()
      const died = join(directory, 'died')
      // Who runs it is the process of the vault, which opens it: the first one dies of it.
      const key = `[ -e '${died}' ] || { touch '${died}'; kill -9 $PPID; }; printf %064d 7`
      program = await KilledProgram.open({ ...modeOf('takeover'), VAULT_KEY: `command:${key}` }, directory, chain)
    })

    afterAll(async () => {
      for (const one of waiting) await one.kill()
      await program?.[Symbol.asyncDispose]()
      await chain?.[Symbol.asyncDispose]()
      rmSync(directory, { recursive: true, force: true })
    })

    it('let one of them answer, though the vault’s process died while it was opened, and the others wait', async () => {
      answers.set('first', await create('first'))
      expect(existsSync(join(directory, 'died'))).toBe(true)
      const second = await startWaiting(dyingAt('create-sealed', 'after'))
      answers.set('second', await create('second'))
      expect(second.output()).not.toContain(HOLDS)
    })

    it('have another holder within 15 s of a kill -9, which dies within a request, and then another', async () => {
      const [second] = waiting as [Running]
      const killedMs = performance.now()
      await program.validators.kill()
      await says(second, HOLDS)
      expect(performance.now() - killedMs).toBeLessThan(TAKEOVER_MAX_MS)
      const third = await startWaiting()
      const asked = Promise.all(DURING.map(async (key) => [key, await create(key)] as const))
      const death = await Promise.race([second.exited, asked.then(() => 'it answered')])
      expect(death, second.output()).toBe('SIGKILL')
      const diedMs = performance.now()
      await says(third, HOLDS)
      expect(performance.now() - diedMs).toBeLessThan(TAKEOVER_MAX_MS)
      for (const [key, answer] of await asked) answers.set(key, answer)
    })

    it('give each request one answer, whoever is asked, and make no key twice', async () => {
      for (const [key, answer] of answers) expect(await create(key), key).toEqual(answer)
      for (const one of waiting) await one.kill()
      await program.stop()
      const sets = [...answers.values()].map(({ validators }) => validators.map(({ pubkey }) => pubkey))
      const pubkeys = sets.flat()
      expect(new Set(pubkeys).size).toBe((2 + DURING.length) * COUNT)
      await using eventLog = await openLog(program.env)
      const told = (await eventsOf(eventLog, 'accounts'))
        .filter(({ event }) => event.type === validatorsCreated.name)
        .map(({ event }) => decodeEvent(validatorsCreated, event).pubkeys)
      expect(told.toSorted()).toEqual(sets.toSorted())
      await using vault = await openLocalKeyVault(readConfig(program.env).vault)
      expect(await vault.lacking(pubkeys)).toEqual([])
    })
  })
}

function says(who: Running, words: string): Promise<true> {
  const said = async () => who.output().includes(words) || undefined
  return eventually(`the words "${words}"`, said)
}
