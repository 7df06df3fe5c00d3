import { type fulu, ssz } from '@lodestar/types'
import { expect, test } from 'vitest'
import { pubkeyOf } from '../../infra/devnet/consensus/keys.ts'
import { type Devnet, openDevnet } from '../../infra/devnet/open.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { GENESIS_TIME_SEC, shortScenario } from './short-history.ts'

const HEAD_SLOT = 60
/** anvil and its KZG setup have to start. */
const TIMEOUT_MS = 30_000

interface ExecutionBlock {
  readonly hash: string
  readonly number: string
  readonly timestamp: string
  readonly parentHash: string
  readonly parentBeaconBlockRoot: string
  readonly transactions: readonly string[]
  readonly withdrawals: readonly { index: string; validatorIndex: string; address: string; amount: string }[]
}

async function executionBlock(devnet: Devnet, hash: string): Promise<ExecutionBlock> {
  const response = await fetch(devnet.executionUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getBlockByHash', params: [hash, false] }),
  })
  return ((await response.json()) as { result: ExecutionBlock }).result
}

function quantity(value: number | bigint): string {
  return `0x${value.toString(16)}`
}

function blocksOf(devnet: Devnet): readonly fulu.BeaconBlock[] {
  return Array.from({ length: HEAD_SLOT }, (_, i) => devnet.history.slot(i + 1)?.block).flatMap((block) =>
    block === undefined ? [] : [ssz.fulu.SignedBeaconBlock.deserialize(block.bytes()).message],
  )
}

test('every beacon block has its execution block, on both sides of a reorg', { timeout: TIMEOUT_MS }, async () => {
  await using devnet = await openDevnet({
    seed: 'layers',
    genesisTimeSec: GENESIS_TIME_SEC,
    validators: 64,
    clock: 'manual',
    beaconPort: 0,
    executionPort: 0,
    scenario: shortScenario,
  })
  await devnet.advanceTo(HEAD_SLOT)
  const blocks = blocksOf(devnet)
  for (const { slot, parentRoot, body } of blocks) {
    const { executionPayload } = body
    const found = await executionBlock(devnet, hexOf(executionPayload.blockHash))
    expect(found, `slot ${slot}`).toMatchObject({
      number: quantity(executionPayload.blockNumber),
      timestamp: quantity(GENESIS_TIME_SEC + slot * 12),
      parentHash: hexOf(executionPayload.parentHash),
      parentBeaconBlockRoot: hexOf(parentRoot),
      withdrawals: executionPayload.withdrawals.map((withdrawal) => ({
        index: quantity(withdrawal.index),
        validatorIndex: quantity(withdrawal.validatorIndex),
        address: hexOf(withdrawal.address),
        amount: quantity(withdrawal.amount),
      })),
    })
    expect(found.transactions.length, `slot ${slot}`).toBe(executionPayload.transactions.length)
  }
  expect(blocks.flatMap(({ body }) => body.executionPayload.withdrawals).length).toBeGreaterThan(0)
  expect(blocks.flatMap(({ body }) => body.executionRequests.deposits).map(({ pubkey }) => hexOf(pubkey))).toEqual([
    hexOf(pubkeyOf(64)),
  ])
  const [orphan] = devnet.history.blocksOfSlot(50)
  expect((await executionBlock(devnet, orphan?.executionHash ?? '')).hash).toBe(orphan?.executionHash)
})
