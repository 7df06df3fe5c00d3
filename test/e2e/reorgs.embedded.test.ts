import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { executionChain, writeChains } from './configuration.ts'
import {
  type DevnetChild,
  type Environment,
  eventually,
  type Running,
  startDevnetChild,
  startProgram,
} from './processes.ts'
import { dump, expectEqualTables, isProcessed, ofAnyLog, type Tables } from './stores.ts'

const CHAIN = 'scroll_mainnet'
const FIRST_BLOCK = 75
const STEP_TIMEOUT_MS = 60_000

interface Ready {
  readonly chains: Readonly<Record<string, { readonly head_block?: number | null }>>
}

/** A chain that really goes back, and the program that follows it. */
describe('the whole program on a chain that takes its newest blocks back', () => {
  const directory = mkdtempSync(join(tmpdir(), 'epochline-reorgs-'))
  let devnet: DevnetChild
  let program: Running
  let head = FIRST_BLOCK

  const environmentOf = (name: string): Environment => {
    const file = join(directory, `${name}.yaml`)
    writeChains(file, { [CHAIN]: executionChain(devnet.secondExecutionUrl) })
    return { EPOCHLINE_DATA: join(directory, name), EPOCHLINE_CONFIG: file }
  }

  async function replaceNewest(depth: number): Promise<void> {
    await devnet.orphanSecond(depth)
    await devnet.advanceSecondTo(++head)
  }

  async function untilAtHead(): Promise<void> {
    const headOf = async () => ((await (await fetch(`${program.url}/ready`)).json()) as Ready).chains[CHAIN]?.head_block
    await eventually(`block ${head}`, async () => (await headOf()) === head || undefined, STEP_TIMEOUT_MS)
  }

  /** What its tables say when they have everything. */
  async function tablesOf(env: Environment): Promise<Tables> {
    await untilAtHead()
    await eventually('the end of the work', async () => (await isProcessed(env)) || undefined, STEP_TIMEOUT_MS)
    await program.stop()
    return ofAnyLog(await dump(env))
  }

  beforeAll(async () => {
    devnet = await startDevnetChild()
    await devnet.advanceSecondTo(FIRST_BLOCK)
  })

  afterAll(async () => {
    await program?.kill()
    await devnet?.[Symbol.asyncDispose]()
    rmSync(directory, { recursive: true, force: true })
  })

  it('ends in the tables of a program that has seen the final chain alone', async () => {
    const env = environmentOf('followed')
    program = await startProgram(['all'], env)
    await untilAtHead()
    for (const depth of [1, 7, 60]) {
      await replaceNewest(depth)
      await untilAtHead()
    }
    // In the time of four blocks.
    for (const depth of [5, 2, 5]) await replaceNewest(depth)
    await untilAtHead()
    await program.kill()
    await replaceNewest(60)
    program = await startProgram(['all'], env)
    const followed = await tablesOf(env)

    const clean = environmentOf('clean')
    program = await startProgram(['all'], clean)
    const expected = await tablesOf(clean)
    expectEqualTables(followed, expected)
    expect(expected.nft_blocks).toHaveLength(head)
    expect(expected.nft_token_holders.length).toBeGreaterThan(50)
  })
})
