import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toHex } from 'viem'
import { expect, test } from 'vitest'
import { type Devnet, type DevnetOptions, openDevnet } from '../../infra/devnet/open.ts'
import { defaultScenario, type Scenario } from '../../infra/devnet/scenario.ts'
import type { Hex } from '../../schemas/eth/hex.ts'
import type { RpcBlock, RpcReceipt } from './json-rpc.ts'

const TIMEOUT_MS = 60_000
const FIRST_SLOT = 70
const DEPTH = 60
const AFTER = FIRST_SLOT + DEPTH
const HEAD = 300

const scenario: Scenario = {
  ...defaultScenario,
  version: 'deep-1',
  incidents: [{ kind: 'reorg', slot: FIRST_SLOT, depth: DEPTH }],
}

function open(options: Partial<DevnetOptions> = {}): Promise<Devnet> {
  return openDevnet({
    seed: 'deep',
    genesisTimeSec: 1_800_000_011,
    validators: 128,
    clock: 'manual',
    beaconPort: 0,
    executionPort: 0,
    scenario,
    ...options,
  })
}

async function rpc<Result>({ executionUrl }: Devnet, method: string, params: readonly unknown[]): Promise<Result> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const answer = (await (await fetch(executionUrl, { method: 'POST', body })).json()) as { result: Result }
  return answer.result
}

const rootsOf = ({ history }: Devnet, from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => history.block(from + i)?.root)

/** Of the chain without a restart. */
let made: readonly (Hex | undefined)[] = []

test('a devnet takes back sixty slots, over the ends of epochs, on both layers', { timeout: TIMEOUT_MS }, async () => {
  await using devnet = await open()
  await devnet.advanceTo(AFTER - 1)
  const announced = rootsOf(devnet, 0, AFTER - 1)
  const orphans = announced.slice(FIRST_SLOT).filter((root) => root !== undefined)
  expect(orphans).toHaveLength(DEPTH)
  const orphanedHead = await rpc<RpcBlock>(devnet, 'eth_getBlockByNumber', ['latest', true])
  const finalBefore = devnet.history.head.finality.finalized.epoch

  await devnet.advanceTo(AFTER)
  const { history } = devnet
  expect(rootsOf(devnet, 0, FIRST_SLOT - 1)).toEqual(announced.slice(0, FIRST_SLOT))
  expect(rootsOf(devnet, FIRST_SLOT, AFTER - 1).filter((root) => root !== undefined)).toEqual([])
  const last = announced.slice(0, FIRST_SLOT).findLast((root) => root !== undefined)
  expect(history.block(AFTER)?.parentRoot).toBe(last)
  for (const root of orphans) expect(history.blockByRoot(root)?.root).toBe(root)

  const head = await rpc<RpcBlock>(devnet, 'eth_getBlockByNumber', ['latest', true])
  expect(head.hash).toBe(history.block(AFTER)?.executionHash)
  expect(Number(orphanedHead.number) - Number(head.number)).toBe(DEPTH - 1)
  expect((await rpc<RpcBlock>(devnet, 'eth_getBlockByHash', [orphanedHead.hash, true])).hash).toBe(orphanedHead.hash)

  // Finality stays where it was, and goes on.
  const final: number[] = []
  for (let slot = AFTER + 1; slot <= HEAD; slot++) {
    await devnet.advanceTo(slot)
    final.push(history.head.finality.finalized.epoch)
  }
  expect([final.toSorted((a, b) => a - b), final[0]]).toEqual([final, finalBefore])
  expect(final.at(-1)).toBe(Math.floor(HEAD / 32) - 2)
  // What the new branch does fits to what is on it: nobody sends what he does not have.
  const numbers = Array.from({ length: 100 }, (_, i) => toHex(Number(head.number) + i))
  const receipts = (
    await Promise.all(numbers.map((at) => rpc<RpcReceipt[]>(devnet, 'eth_getBlockReceipts', [at])))
  ).flat()
  const withLogs = receipts.filter(({ logs }) => logs.length > 0)
  expect(withLogs.length).toBeGreaterThan(20)
  made = rootsOf(devnet, 0, HEAD)
})

test('a devnet that takes back sixty slots is the same one after restarts', { timeout: TIMEOUT_MS }, async () => {
  const directory = await mkdtemp(join(tmpdir(), 'devnet-'))
  const runTo = async (slot: number) => {
    await using devnet = await open({ directory, checkpointSlots: 32 })
    const { headSlot } = devnet
    await devnet.advanceTo(slot)
    return { from: headSlot, roots: rootsOf(devnet, 0, slot) }
  }
  try {
    expect(await runTo(AFTER - 20)).toMatchObject({ from: 0 })
    // Blocks that are to be orphaned are no place to go on from.
    expect(await runTo(AFTER + 40)).toEqual({ from: 64, roots: made.slice(0, AFTER + 41) })
    expect(await runTo(AFTER + 50)).toEqual({ from: 160, roots: made.slice(0, AFTER + 51) })
  } finally {
    await rm(directory, { recursive: true })
  }
})
