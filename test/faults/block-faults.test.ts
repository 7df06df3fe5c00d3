import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import { migrate, readMigrations } from '../../infra/warehouse/migrate.ts'
import { openWarehouse } from '../../infra/warehouse/open.ts'
import { inOrder } from '../../ingest/in-order.ts'
import { expectEqualTables, filterRows, ofAnyLog, type Row, type Tables } from '../e2e/stores.ts'
import { dumpTables, projectEverything, projecting } from '../unit/projecting.ts'
import { SyntheticRpcChain } from '../unit/synthetic-rpc-chain.ts'
import { BLOCK_FAULTS, BLOCKS, type BlockFault, FINAL } from './block-faults.ts'
import { meetBlockFault } from './block-run.ts'
import { documentedFaults, FAULTS_OF_BLOCKS, showFaults, writeDocument } from './document.ts'
import { openLines } from './follow.ts'

const SIDE_BY_SIDE = 4
const ONLY = new RegExp(process.env.EPOCHLINE_FAULTS_ONLY ?? '')
const EVERY = Number(process.env.EPOCHLINE_FAULTS_EVERY ?? '1')
const FAULTS = BLOCK_FAULTS.filter(({ name }, i) => ONLY.test(name) && i % EVERY === 0)

/** Names of one length: tables tell how large events are, and events name their chain. */
const nameOf = (kind: 'fault' | 'clean', fault: BlockFault): string =>
  `${kind}_${String(FAULTS.indexOf(fault)).padStart(2, '0')}`

/** How the program came through a fault. */
interface Outcome {
  readonly told: readonly string[]
  /** Wrong answers that it was given. */
  readonly faults: number
  readonly failure?: unknown
}

const directory = mkdtempSync(join(tmpdir(), 'epochline-block-faults-'))
const outcomes = new Map<string, Outcome>()
let tables: Tables

beforeAll(async () => {
  const base = await SyntheticRpcChain.open()
  await base.extendTo(BLOCKS)
  base.finalizedNumber = FINAL
  await using eventLog = await openSqliteEventLog({ file: join(directory, 'log.sqlite') })
  const meet = async (fault: BlockFault): Promise<void> => {
    const { log, told } = openLines()
    const run = { base, eventLog, log }
    try {
      const { head, faults } = await meetBlockFault({ ...run, chain: nameOf('fault', fault), fault })
      outcomes.set(fault.name, { told: [...told], faults })
      // What it should have ended with: the chain as it is in the end, read by nobody before.
      const clean = base.view()
      clean.goTo(head)
      const sound = { ...(fault.rules === undefined ? {} : { rules: fault.rules }) }
      await meetBlockFault({ ...run, base: clean, chain: nameOf('clean', fault), fault: sound, log: openLines().log })
    } catch (failure) {
      outcomes.set(fault.name, { told, faults: 0, failure })
    }
  }
  const runs = inOrder({ from: 0, to: FAULTS.length - 1, concurrency: SIDE_BY_SIDE }, (i) =>
    meet(FAULTS[i] as BlockFault),
  )
  for await (const _ of runs);
  await using warehouse = await openWarehouse({ directory: join(directory, 'warehouse') })
  await migrate(warehouse, await readMigrations())
  await projectEverything(await projecting(eventLog, warehouse))
  tables = ofAnyLog((await dumpTables(warehouse)) as unknown as Tables)
})

afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** The rows of one chain, as if it were any. */
function tablesOf(chain: string): Tables {
  const own = filterRows(tables, (row) => row.chain === chain)
  const unnamed = Object.entries(own).map(([name, rows]) => [name, rows.map((row: Row) => ({ ...row, chain: '' }))])
  return Object.fromEntries(unnamed) as Tables
}

describe.each(FAULTS)('$name', (fault) => {
  it('ends in the tables of a clean index of the chain as it is in the end', () => {
    const outcome = outcomes.get(fault.name)
    expect(outcome?.failure, outcome?.told.join('\n')).toBeUndefined()
    const clean = tablesOf(nameOf('clean', fault))
    expect(clean.nft_blocks.length).toBeGreaterThanOrEqual(BLOCKS)
    expect(clean.nft_token_holders.length).toBeGreaterThan(BLOCKS)
    expectEqualTables(tablesOf(nameOf('fault', fault)), clean)
  })

  it('is met, and told to the operator', () => {
    const outcome = outcomes.get(fault.name)
    const isFaulty = fault.nodes.some((faults) => faults.length > 0)
    expect(outcome?.faults ?? 0).toBeGreaterThan(isFaulty ? 0 : -1)
    expect(outcome?.told.join('\n'), `${outcome?.faults} wrong answers`).toMatch(fault.tells)
  })
})

it('are listed in docs/block-faults.md', () => {
  const told = FAULTS.map(({ name }) => ({ name, lines: outcomes.get(name)?.told ?? [] }))
  const lines = told.map((one, i) => ({
    ...one,
    lines: one.lines.map((line) => line.replaceAll(nameOf('fault', FAULTS[i] as BlockFault), 'scroll_mainnet')),
  }))
  process.stdout.write(`${showFaults(lines)}\n`)
  if (process.env.EPOCHLINE_FAULTS_WRITE !== undefined && FAULTS.length === BLOCK_FAULTS.length)
    writeDocument(FAULTS_OF_BLOCKS, lines)
  expect(documentedFaults(FAULTS_OF_BLOCKS)).toEqual(BLOCK_FAULTS.map(({ name }) => name))
})
