import { toHex } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { depositDataFor } from '../../infra/devnet/consensus/deposits.ts'
import { seededBytes } from '../../infra/devnet/consensus/random.ts'
import { type DevnetExecution, openExecutionEngine } from '../../infra/devnet/execution/open.ts'
import { type BlockPlan, planBlock } from '../../infra/devnet/execution/scenario.ts'
import { openExecutionSource } from '../../infra/execution/source.ts'
import type { BalanceChange, ExecutionBlock } from '../../infra/ports/execution-source.ts'
import { openRelays } from '../../infra/relays/relays.ts'
import { explainedBalance } from '../../ingest/execution/balance-change.ts'
import { executionBlockEvents } from '../../ingest/execution/block-events.ts'
import { chainKey } from '../../schemas/chains.ts'
import type { Hex } from '../../schemas/eth/hex.ts'
import { blockEvidence } from '../../schemas/events/block-evidence.ts'
import { type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { insertEvents, insertProposers, pubkeyOf, revenuesOf } from '../unit/given-revenue.ts'
import { silentLog } from '../unit/silent-log.ts'
import { openSyntheticNode } from '../unit/synthetic-node.ts'
import { storesOfFile } from '../unit/warehouse-of-file.ts'

// What the devnet's builders and proposers are paid, as its scenario plans it, read from the chain, from balances that its node tells,
// and from a relay that delivers all blocks of builders and lies about one.

const CHAIN = 'mainnet'
const SEED = 'payments'
const GENESIS_TIME_SEC = 1_700_000_000
const SLOTS = 120
const REFUSING: Hex = '0x00000000000000000000000000000000000c0de0'

const recipientOf = (slot: number): Hex =>
  slot % 16 === 3 ? REFUSING : toHex(seededBytes('recipient', String(slot % 8)).subarray(0, 20))
const planOf = (slot: number): BlockPlan => planBlock(SEED, slot)

interface Paid {
  readonly slot: number
  readonly block: ExecutionBlock
  /** Of the recipient, as the node tells it when the block is new: it keeps states for a while only. */
  readonly balance: BalanceChange | undefined
}

const stores = storesOfFile()
let engine: DevnetExecution
let blocks: Paid[]

/** Tips by the node's receipts alone. */
async function tipsOf(hash: string): Promise<bigint> {
  const ask = async (method: string, params: readonly unknown[]) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    return ((await (await fetch(engine.url, { method: 'POST', body })).json()) as { result: unknown }).result
  }
  const { baseFeePerGas } = (await ask('eth_getBlockByHash', [hash, false])) as { baseFeePerGas: string }
  const receipts = (await ask('eth_getBlockReceipts', [hash])) as { gasUsed: string; effectiveGasPrice: string }[]
  return receipts.reduce(
    (sum, one) => sum + BigInt(one.gasUsed) * (BigInt(one.effectiveGasPrice) - BigInt(baseFeePerGas)),
    0n,
  )
}

async function expected({ slot, block }: Paid, lieAt: number) {
  const plan = planOf(slot)
  const tips = await tipsOf(block.header.hash)
  if (plan.kind === 'local') return { revenue_class: 'local', revenue_wei: `${tips}`, is_contradicted: 0 }
  const is_contradicted = slot === lieAt ? 1 : 0
  if (plan.payment.kind === 'none')
    return { revenue_class: 'coinbase_is_proposer', revenue_wei: `${tips}`, is_contradicted }
  // What failed is a relay's word alone.
  if (recipientOf(slot) === REFUSING) return { revenue_class: 'relay_only', revenue_wei: '0', is_contradicted: 0 }
  return { revenue_class: 'builder_payment', revenue_wei: `${plan.payment.valueWei}`, is_contradicted }
}

beforeAll(async () => {
  engine = await openExecutionEngine({
    ...{ seed: SEED, genesisTimeSec: GENESIS_TIME_SEC, depositsFor: depositDataFor, deposits: [] },
    contractRecipients: [REFUSING],
  })
  await using source = await openExecutionSource({ urls: [engine.url], log: silentLog, binding: 'ethereum' })
  blocks = []
  let parentHash = engine.genesisHash
  for (let slot = 1; slot <= SLOTS; slot++) {
    const { payload } = await engine.build({
      ...{ slot, timestampSec: GENESIS_TIME_SEC + 12 * slot, parentHash, proposerIndex: slot },
      parentBeaconBlockRoot: toHex(seededBytes('parent', String(slot))),
      prevRandao: toHex(seededBytes('randao', String(slot))),
      feeRecipient: recipientOf(slot),
      withdrawals: [{ index: slot, validatorIndex: slot, address: recipientOf(slot), amountGwei: 1_234_567n }],
    })
    parentHash = toHex(payload.blockHash)
    const block = await source.blockByHash(parentHash)
    const [balance] = await source.balanceChanges([recipientOf(slot)], block.header)
    blocks.push({ slot, block, balance })
  }
})
afterAll(() => engine[Symbol.asyncDispose]())

it('has the class and the figure that the scenario plans, and the relay’s lie beside it', {
  timeout: 120_000,
}, async () => {
  const isPaid = ({ slot }: Paid) => {
    const plan = planOf(slot)
    return plan.kind === 'builder' && plan.payment.kind !== 'none' && recipientOf(slot) !== REFUSING
  }
  const lieAt = blocks.find(isPaid)?.slot ?? 0
  const bySlot = new Map(blocks.map((one) => [one.block.header.hash, one]))
  const valueAt = new Map(
    await Promise.all(
      blocks.map(async ({ slot, block }) => {
        const plan = planOf(slot)
        const isTips = plan.kind === 'local' || plan.payment.kind === 'none'
        return [slot, isTips ? await tipsOf(block.header.hash) : plan.payment.valueWei] as const
      }),
    ),
  )
  await using relay = await openSyntheticNode(({ path }) => {
    const paid = bySlot.get(new URL(path, 'http://relay').searchParams.get('block_hash') ?? '')
    if (paid === undefined || planOf(paid.slot).kind === 'local') return { json: [] }
    const value = (valueAt.get(paid.slot) ?? 0n) + (paid.slot === lieAt ? 32n * 10n ** 18n : 0n)
    const keys = { builder_pubkey: pubkeyOf(0), proposer_pubkey: pubkeyOf(paid.slot) }
    const block = { slot: `${paid.slot}`, block_hash: paid.block.header.hash }
    return { json: [{ ...block, ...keys, proposer_fee_recipient: recipientOf(paid.slot), value: `${value}` }] }
  })
  await using relays = openRelays({ urls: [relay.url], log: silentLog })
  const events: EncodedEvent[] = []
  for (const { slot, block, balance } of blocks) {
    const { number, hash } = block.header
    const address = recipientOf(slot)
    const change = balance === undefined ? undefined : explainedBalance(address, balance, block)
    if (change === undefined) throw new Error('the devnet tells balances')
    const claims = (await relays.claimsOf(hash)).map((one) => ({ ...one, valueWei: `${one.valueWei}` }))
    const time = new Date((GENESIS_TIME_SEC + 12 * slot) * 1_000).toISOString()
    events.push(
      encodeEvent(blockEvidence, {
        ...{ id: `execution.block-evidence:${CHAIN}:${hash}`, key: chainKey(CHAIN, hash), time },
        data: { chain: CHAIN, number, hash, balances: [{ address, change }], claims },
      }),
      ...executionBlockEvents(CHAIN, block, time).blocks,
    )
  }
  const { warehouse, empty } = stores()
  await empty()
  await insertProposers(
    warehouse,
    blocks.map(({ slot, block: { header } }) => ({
      ...{ number: slot, blockHash: header.hash, coinbase: header.coinbase, told: [recipientOf(slot)] },
    })),
  )
  await insertEvents(warehouse, events)

  const found = await revenuesOf(warehouse)
  for (const paid of blocks)
    expect(found.get(paid.slot), `slot ${paid.slot}`).toMatchObject(await expected(paid, lieAt))
  const classes = new Set([...found.values()].map(({ revenue_class }) => revenue_class))
  expect([...classes].toSorted()).toEqual(['builder_payment', 'coinbase_is_proposer', 'local', 'relay_only'])
  expect([...found.values()].filter(({ is_contradicted }) => is_contradicted === 1)).toHaveLength(1)
  // No contract of the devnet pays a proposer: withdrawals, tips and transactions explain every balance to the wei.
  const balances = await warehouse.query<{ rest: string; blocks: string }>(
    'SELECT internal_wei AS rest, count() AS blocks FROM block_balances GROUP BY rest',
  )
  expect(balances).toEqual([{ rest: '0', blocks: `${SLOTS}` }])
})
