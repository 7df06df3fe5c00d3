import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { EventLog } from '../../infra/ports/event-log.ts'
import { chainOfKey } from '../../schemas/chains.ts'
import { ethereumChain, executionChain, type WrittenChain, writeChains } from './configuration.ts'
import { executionBlocksOf } from './execution-oracle.ts'
import { type LateNode, openLateNode } from './late-node.ts'
import {
  type DevnetChild,
  type Environment,
  eventually,
  type Running,
  runCommand,
  STEP_TIMEOUT_MS,
  startDevnetChild,
  startProgram,
} from './processes.ts'
import { dump, eventsOf, expectEqualTables, filterRows, openLog, type Row, type Tables } from './stores.ts'

const FIRST_SLOT = 100
const FIRST_BLOCK = 60
const PAUSED_BLOCK = 80
const SECOND = 'scroll_mainnet'
/** The second chain's node under another name: to the program it is another chain. */
const THIRD = 'blast_mainnet'

const USAGE = 2

interface Ready {
  readonly status: string
  readonly chains: Readonly<Record<string, { readonly head_slot?: number | null; readonly head_block?: number | null }>>
  readonly nodes: Readonly<Record<string, { readonly state: string }>>
  readonly lag: Readonly<Record<string, number>>
  readonly checks: Readonly<Record<string, boolean>>
}

/** Chains come and go while the program runs, and a node may come later than the program. */
export function chainsSuite(mode: string, modeOf: (name: string) => Environment): void {
  describe(`chains that come and go in ${mode} mode`, () => {
    const directory = mkdtempSync(join(tmpdir(), 'epochline-chains-'))
    const file = join(directory, 'epochline.yaml')
    const env: Environment = {
      ...modeOf('chains'),
      EPOCHLINE_DATA: join(directory, 'data'),
      EPOCHLINE_CONFIG: file,
      LOG_LEVEL: 'debug',
    }
    let devnet: DevnetChild
    let late: LateNode
    let program: Running
    let lasting: Readonly<Record<string, WrittenChain>>
    let third: WrittenChain
    /** Events of the lasting chains before the third came. */
    let before: Readonly<Record<string, number>>

    const ready = async (): Promise<Ready> => (await program.ask('/ready')).json() as Promise<Ready>
    const headOf = async (chain: string) => (await ready()).chains[chain]?.head_block
    const until = (what: string, isSo: (now: Ready) => boolean, timeoutMs = STEP_TIMEOUT_MS) =>
      eventually(what, async () => isSo(await ready()) || undefined, timeoutMs)
    /** How often the program has begun to write a chain. */
    const beginnings = (chain: string) =>
      program
        .output()
        .split('\n')
        .filter((line) => line.includes('holds the chain') && line.includes(`"chain":"${chain}"`)).length

    beforeAll(async () => {
      devnet = await startDevnetChild()
      late = await openLateNode(devnet.secondExecutionUrl)
      lasting = { mainnet: ethereumChain(devnet), [SECOND]: executionChain(late.url) }
      third = executionChain(devnet.secondExecutionUrl)
      writeChains(file, lasting)
      await Promise.all([devnet.advanceTo(FIRST_SLOT), devnet.advanceSecondTo(FIRST_BLOCK)])
      program = await startProgram(['all'], env)
    })

    afterAll(async () => {
      await program?.kill()
      await late?.[Symbol.asyncDispose]()
      await devnet?.[Symbol.asyncDispose]()
      rmSync(directory, { recursive: true, force: true })
    })

    it('starts and serves while a chain’s node is away, says so, and catches up when the node comes', async () => {
      await until('the other chain’s head', ({ chains }) => chains.mainnet?.head_slot === FIRST_SLOT)
      const name = `${SECOND} execution node 1`
      await until('the word that the node is away', ({ nodes }) => nodes[name]?.state === 'away')
      const response = await program.ask('/ready')
      expect(response.status).toBe(503)
      expect(await response.json()).toMatchObject({
        status: 'not_ready',
        checks: { nodes_answer: false },
        chains: { [SECOND]: { head_block: null } },
      })
      late.arrive()
      await until('the late chain’s head', ({ chains }) => chains[SECOND]?.head_block === FIRST_BLOCK)
      await until('the word that all nodes answer', ({ checks }) => checks.nodes_answer === true)
    })

    it('follows a chain that is added to the file, and does not touch the others', async () => {
      await using log = await openLog(env)
      await eventually('a quiet log', () => quiet(log))
      before = await eventsByChain(log)
      writeChains(file, { ...lasting, [THIRD]: third })
      await until('the added chain’s head', ({ chains }) => chains[THIRD]?.head_block === FIRST_BLOCK)
      const { [THIRD]: added, ...others } = await eventsByChain(log)
      expect(added).toBeGreaterThanOrEqual(FIRST_BLOCK)
      expect(others).toEqual(before)
      expect(Object.fromEntries(['mainnet', SECOND, THIRD].map((chain) => [chain, beginnings(chain)]))).toEqual({
        mainnet: 1,
        [SECOND]: 1,
        [THIRD]: 1,
      })
    })

    it('refuses to remove a chain that is still followed', async () => {
      const { code, stderr } = await runCommand(['chain', 'remove', THIRD], { ...env, LOG_LEVEL: 'silent' })
      expect({ code, stderr }).toEqual({ code: USAGE, stderr: expect.stringMatching(/^.*still configured.*\n$/) })
    })

    it('stops reading a chain that is paused, and keeps its data', async () => {
      writeChains(file, { ...lasting, [THIRD]: { ...third, paused: true } })
      await using log = await openLog(env)
      // Whoever can have the right to write the chain knows that nobody else writes it.
      await (await log.lease(`ingest:${THIRD}`, AbortSignal.timeout(STEP_TIMEOUT_MS)))[Symbol.asyncDispose]()
      await devnet.advanceSecondTo(PAUSED_BLOCK)
      await until('the other chain’s new head', ({ chains }) => chains[SECOND]?.head_block === PAUSED_BLOCK)
      expect(await headOf(THIRD)).toBe(FIRST_BLOCK)
      expect((await eventsByChain(log))[THIRD]).toBeGreaterThanOrEqual(FIRST_BLOCK)
    })

    it('forgets a chain that is removed, while the others go on', async () => {
      const { code, stderr } = await runCommand(['chain', 'remove', THIRD], { ...env, LOG_LEVEL: 'silent' })
      expect(code, stderr).toBe(0)
      await until('the end of its rows', ({ chains }) => chains[THIRD]?.head_block === null)
      expect(await headOf(SECOND)).toBe(PAUSED_BLOCK)
      expect([beginnings('mainnet'), beginnings(SECOND)]).toEqual([1, 1])
    })

    it('begins anew with a chain that is added again', async () => {
      writeChains(file, { ...lasting, [THIRD]: third })
      await until('the added chain’s head', ({ chains }) => chains[THIRD]?.head_block === PAUSED_BLOCK)
      await until('an end of the work', ({ lag }) => Object.values(lag).every((events) => events === 0))
      expect(await program.stop(), program.output()).toBe(0)
      const tables = await dump(env)
      const hashes = (await executionBlocksOf(devnet.secondExecutionUrl, 1, PAUSED_BLOCK))
        .map(({ hash }) => hash)
        .sort()
      expect(hashesOf(tables, SECOND)).toEqual(hashes)
      expect(hashesOf(tables, THIRD)).toEqual(hashes)
      expect(withoutNames(tables, THIRD)).toEqual(withoutNames(tables, SECOND))
    })

    it('leaves the others’ rows as they were when it is removed for good, in a rebuild too', async () => {
      const tables = await dump(env)
      writeChains(file, lasting)
      const removed = await runCommand(['chain', 'remove', THIRD], env)
      expect(removed.code, removed.stderr).toBe(0)
      const rebuilt = await runCommand(['rebuild'], env)
      expect(rebuilt.code, rebuilt.stderr).toBe(0)
      expectEqualTables(
        await dump(env),
        filterRows(tables, ({ chain }) => chain !== THIRD),
      )
    })
  })
}

/** True when the log has not grown since it was last asked. */
const ends = new WeakMap<EventLog, string>()
async function quiet(log: EventLog): Promise<true | undefined> {
  const now = JSON.stringify(await eventsByChain(log))
  const isQuiet = ends.get(log) === now
  ends.set(log, now)
  return isQuiet || undefined
}

async function eventsByChain(log: EventLog): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {}
  for (const topic of ['beacon.blocks', 'beacon.epochs', 'execution.blocks', 'execution.logs'] as const) {
    for (const { event } of await eventsOf(log, topic)) {
      const chain = chainOfKey(event.key)
      counts[chain] = (counts[chain] ?? 0) + 1
    }
  }
  return counts
}

function hashesOf(tables: Tables, chain: string): readonly string[] {
  return tables.execution_blocks.filter((row) => row.chain === chain).map((row) => String(row.block_hash))
}

/** What a chain's rows say of its blocks, without the name under which and the place in the log where it was told. */
function withoutNames(tables: Tables, chain: string): readonly Row[] {
  const blocks = new Set(hashesOf(tables, chain))
  return [...tables.execution_blocks, ...tables.execution_log_parts]
    .filter((row) => row.chain === chain && blocks.has(String(row.block_hash)))
    .map(({ chain: _chain, version: _version, bytes: _bytes, ...rest }) => rest)
}
