import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ethereumChain, executionChain, writeChains } from './configuration.ts'
import {
  type DevnetChild,
  type Environment,
  eventually,
  type Running,
  runCommand,
  startDevnetChild,
  startProgram,
} from './processes.ts'
import { dump, expectEqualTables, isProcessed, ofAnyLog, type Tables } from './stores.ts'

const ETHEREUM = 'mainnet'
const CHAIN = 'scroll_mainnet'
const DEEP_REORG = { slot: 70, depth: 60 }
/** Of the Ethereum: when the next slot brings the other branch. */
const ORPHANED_SLOT = DEEP_REORG.slot + DEEP_REORG.depth - 1
const LAST_SLOT = 150
const FIRST_BLOCK = 130
/** Where the program begins with the second chain, before it is told to bring what was before: that is final. */
const START_BLOCK = 60
const STEP_TIMEOUT_MS = 60_000

interface Ready {
  readonly chains: Readonly<Record<string, { readonly head_slot?: number | null; readonly head_block?: number | null }>>
}

/** Chains that really go back, and the program that follows them. */
describe('the whole program on chains that take their newest blocks back', () => {
  const directory = mkdtempSync(join(tmpdir(), 'epochline-reorgs-'))
  let devnet: DevnetChild
  let program: Running
  let head = FIRST_BLOCK
  let headSlot = ORPHANED_SLOT

  const environmentOf = (name: string, startBlock: number): Environment => {
    const file = join(directory, `${name}.yaml`)
    writeChains(file, {
      [ETHEREUM]: ethereumChain(devnet),
      [CHAIN]: { ...executionChain(devnet.secondExecutionUrl), start: { block: startBlock } },
    })
    return { EPOCHLINE_DATA: join(directory, name), EPOCHLINE_CONFIG: file }
  }

  async function replaceNewest(depth: number): Promise<void> {
    await devnet.orphanSecond(depth)
    await devnet.advanceSecondTo(++head)
  }

  async function untilAtHead(): Promise<void> {
    const isAtHead = async () => {
      const { chains } = (await (await fetch(`${program.url}/ready`)).json()) as Ready
      return (chains[CHAIN]?.head_block === head && chains[ETHEREUM]?.head_slot === headSlot) || undefined
    }
    await eventually(`block ${head} and slot ${headSlot}`, isAtHead, STEP_TIMEOUT_MS)
  }

  async function advanceTo(slot: number): Promise<void> {
    await devnet.advanceTo(slot)
    headSlot = slot
  }

  /** What its tables say when they have everything. */
  async function tablesOf(env: Environment): Promise<Tables> {
    await untilAtHead()
    await eventually('the end of the work', async () => (await isProcessed(env)) || undefined, STEP_TIMEOUT_MS)
    await program.stop()
    return ofAnyLog(await dump(env))
  }

  beforeAll(async () => {
    devnet = await startDevnetChild({ deepReorg: DEEP_REORG })
    await Promise.all([devnet.advanceSecondTo(FIRST_BLOCK), devnet.advanceTo(ORPHANED_SLOT)])
  })

  afterAll(async () => {
    await program?.kill()
    await devnet?.[Symbol.asyncDispose]()
    rmSync(directory, { recursive: true, force: true })
  })

  it('ends in the tables of a program that has seen the final chain alone', async () => {
    const env = environmentOf('followed', START_BLOCK)
    program = await startProgram(['all'], env)
    await untilAtHead()
    await advanceTo(ORPHANED_SLOT + 1)
    for (const depth of [1, 7, 60]) {
      await replaceNewest(depth)
      await untilAtHead()
    }
    // In the time of four blocks, and while earlier ones are brought.
    const past = ['--from', 'block:1', '--to', `block:${START_BLOCK - 1}`]
    const backfill = runCommand(['backfill', '--chain', CHAIN, ...past], env)
    for (const depth of [5, 2, 5]) await replaceNewest(depth)
    await untilAtHead()
    expect(await backfill).toMatchObject({ code: 0 })
    await program.kill()
    await Promise.all([replaceNewest(60), advanceTo(LAST_SLOT)])
    program = await startProgram(['all'], env)
    const followed = await tablesOf(env)

    const clean = environmentOf('clean', 0)
    program = await startProgram(['all'], clean)
    const expected = await tablesOf(clean)
    expectEqualTables(followed, expected)
    const rowsOf = (chain: string) => expected.nft_token_holders.filter((row) => row.chain === chain).length
    expect(expected.nft_blocks.filter(({ chain }) => chain === CHAIN)).toHaveLength(head)
    expect([rowsOf(CHAIN) > 50, rowsOf(ETHEREUM) > 20]).toEqual([true, true])
    const slots = expected.beacon_blocks.map(({ slot }) => Number(slot))
    expect(slots.filter((slot) => slot >= DEEP_REORG.slot && slot <= ORPHANED_SLOT)).toEqual([])
  })
})
