import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Devnet } from '../../infra/devnet/open.ts'
import { ACCOUNTS_KEY, validatorsTracked } from '../../schemas/events/accounts.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { appendAccount } from '../faults/account.ts'
import { LAST_SLOT, openHistory, TRACKED } from '../faults/history.ts'
import { writeChains } from './configuration.ts'
import { type Environment, eventually, runCommand, startProgram } from './processes.ts'
import { dump, filterRows, isProcessed, openLog, type Row, type Tables } from './stores.ts'

// One history, told by reward endpoints under two names: of all validators at once, and of some, whom the others are added to behind a first
// backfill, when the tables have it.

const AT_ONCE = 'at_once'
const ADDED = 'added_to'
/** Genesis validators and the one that joins; the rest of those that are tracked. */
const LATER = TRACKED.filter((_, place) => place % 2 === 1)
const FIRST = TRACKED.filter((key) => !LATER.includes(key))
const TIMEOUT = { timeout: 600_000 }
/** What both chains must say alike, but for versions. */
const COMPARED = [
  ...(['validator_epochs', 'ledger_entries', 'day_balances', 'finalized_blocks', 'epoch_proofs', 'epochs'] as const),
  ...(['daily_rewards', 'closed_days', 'monthly_rewards', 'execution_blocks', 'settlements', 'validators'] as const),
] as const

export interface AddedValidatorsOptions {
  readonly mode: string
  readonly modeOf: (name: string) => Environment
}

export function addedValidatorsSuite({ mode, modeOf }: AddedValidatorsOptions): void {
  describe(`validators that are added behind a backfill by endpoints (${mode})`, () => {
    const directory = mkdtempSync(join(tmpdir(), 'epochline-added-'))
    const env: Environment = {
      ...modeOf('added'),
      EPOCHLINE_DATA: join(directory, 'data'),
      EPOCHLINE_CONFIG: join(directory, 'epochline.yaml'),
    }
    const open = new AsyncDisposableStack()
    let devnet: Devnet
    let lastEpoch: number
    let tables: Tables

    beforeAll(async () => {
      devnet = open.use(await openHistory())
      await devnet.advanceTo(LAST_SLOT)
      lastEpoch = devnet.history.head.finality.finalized.epoch - 1
      const nodes = { beacon: { urls: [devnet.beaconUrl] }, execution: { urls: [devnet.executionUrl] } }
      const chain = { ...nodes, rewards: 'endpoints' as const }
      writeChains(env.EPOCHLINE_CONFIG ?? '', { [AT_ONCE]: chain, [ADDED]: chain })
      await using eventLog = await openLog(env)
      await appendAccount(eventLog, [AT_ONCE])
    })

    afterAll(async () => {
      await open.disposeAsync()
      rmSync(directory, { recursive: true, force: true })
    })

    async function track(pubkeys: readonly string[]): Promise<void> {
      await using eventLog = await openLog(env)
      const id = `account.validators-tracked:${ADDED}:acme:${pubkeys[0]}:${pubkeys.length}`
      const data = { chain: ADDED, account: 'acme', pubkeys: [...pubkeys] }
      const fact = { id, key: ACCOUNTS_KEY, time: '2026-01-01T00:00:00.000Z', data }
      await eventLog.append('accounts', [encodeEvent(validatorsTracked, fact)])
    }

    /** Its last line. */
    async function backfill(chain: string): Promise<string> {
      const range = ['--from', 'epoch:0', '--to', `epoch:${lastEpoch}`]
      const { code, stdout, stderr } = await runCommand(['backfill', '--chain', chain, ...range], env)
      expect(code, stdout + stderr).toBe(0)
      return stdout.trim().split('\n').at(-1) ?? ''
    }

    async function processAll(): Promise<void> {
      await using program = await startProgram(['process'], env, { announces: false })
      const isDone = async () => (await isProcessed(env)) || undefined
      await eventually('all events in tables', isDone).catch((error: unknown) => {
        throw new Error(program.output(), { cause: error })
      })
      expect(await program.stop(), program.output()).toBe(0)
    }

    /** Rows of a chain as if it were any, without what says when they came. */
    function rowsOf(chain: string, table: (typeof COMPARED)[number]): readonly string[] {
      const own: readonly Row[] = filterRows(tables, (row) => row.chain === chain)[table]
      return own.map((row) => JSON.stringify({ ...Object.fromEntries(withoutVersions(row)), chain: '' })).sort()
    }

    it('are asked for alone, of every epoch', TIMEOUT, async () => {
      await track(FIRST)
      expect(await backfill(AT_ONCE)).not.toContain('asked about validators alone')
      expect(await backfill(ADDED)).not.toContain('asked about validators alone')
      await processAll()
      await track(LATER)
      const epochs = lastEpoch + 1
      expect(await backfill(ADDED)).toContain(
        `${epochs} ingested for ${TRACKED.length} validators (${epochs} of them asked about validators alone that the log lacked)`,
      )
    })

    it('have then what a history has that was told of all at once', TIMEOUT, async () => {
      await processAll()
      tables = await dump(env)
      for (const table of COMPARED) {
        const expected = rowsOf(AT_ONCE, table)
        expect(expected.length, table).toBeGreaterThan(0)
        expect(rowsOf(ADDED, table), table).toEqual(expected)
      }
      const { code, stdout, stderr } = await runCommand(['verify', '--quiet'], env)
      expect(code, stdout + stderr).toBe(0)
    })
  })
}

function withoutVersions(row: Row): readonly (readonly [string, unknown])[] {
  return Object.entries(row).filter(([name]) => !/version/.test(name))
}
