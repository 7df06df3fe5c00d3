import { askJsonRpc } from '../ask-json-rpc.ts'

// What the product must say, computed from the devnet's own states and receipts by plain HTTP. Nothing of the product's code is
// used here, and on the consensus side not its method either: rewards are what balances changed by, less what flowed in and out.

type Json = Record<string, unknown>

export interface OracleNode {
  readonly beaconUrl: string
  readonly executionUrl: string
}

export interface OracleBlock {
  readonly slot: number
  readonly proposerIndex: number
  readonly blockNumber: number
  readonly blockHash: string
  readonly withdrawals: readonly { readonly validatorIndex: number; readonly amountGwei: bigint }[]
  readonly deposits: readonly { readonly pubkey: string; readonly amountGwei: bigint }[]
}

export interface OracleReward {
  readonly clGwei: bigint
  readonly balanceGwei: bigint
  readonly withdrawnGwei: bigint
  readonly depositedGwei: bigint
}

export interface OracleRevenue {
  readonly slot: number
  readonly proposerIndex: number
  readonly blockNumber: number
  readonly revenueWei: bigint
  readonly kind: 'tips' | 'payment' | 'failed payment'
}

const CONCURRENCY = 16

async function beacon(node: OracleNode, path: string): Promise<Json | undefined> {
  const response = await fetch(`${node.beaconUrl}${path}`, { headers: { accept: 'application/json' } })
  if (response.status === 404) return undefined
  if (!response.ok) throw new Error(`${path}: HTTP ${response.status}`)
  return (await response.json()) as Json
}

/** The same where 404 is no answer: states of every slot exist. */
async function beaconData<Data>(node: OracleNode, path: string): Promise<Data> {
  const answer = await beacon(node, path)
  if (answer === undefined) throw new Error(`${path}: HTTP 404`)
  return answer.data as Data
}

/** Result of a JSON-RPC call; none is an error. */
export async function rpc<Result = Json>(url: string, method: string, params: readonly unknown[]): Promise<Result> {
  const result = await askJsonRpc<Result | null>(url, method, params)
  if (result === null) throw new Error(`${method} has no result`)
  return result
}

/** Does the work for all items, a few at a time; results in order. */
export async function inParallel<In, Out>(items: readonly In[], work: (item: In) => Promise<Out>): Promise<Out[]> {
  const results = new Array<Out>(items.length)
  let next = 0
  const worker = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) results[at] = await work(items[at] as In)
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
  return results
}

/** Canonical blocks of the slots, missed ones left out. */
export async function blocksOf(node: OracleNode, firstSlot: number, lastSlot: number): Promise<OracleBlock[]> {
  const slots = Array.from({ length: lastSlot - firstSlot + 1 }, (_, i) => firstSlot + i)
  const blocks = await inParallel(slots, async (slot) => {
    const answer = await beacon(node, `/eth/v2/beacon/blocks/${slot}`)
    return answer === undefined ? undefined : toBlock((answer.data as { message: BlockJson }).message)
  })
  return blocks.filter((block) => block !== undefined)
}

interface BlockJson {
  readonly slot: string
  readonly proposer_index: string
  readonly body: {
    readonly execution_payload: {
      readonly block_number: string
      readonly block_hash: string
      readonly withdrawals: readonly { readonly validator_index: string; readonly amount: string }[]
    }
    readonly execution_requests: { readonly deposits: readonly { readonly pubkey: string; readonly amount: string }[] }
  }
}

function toBlock({ slot, proposer_index, body }: BlockJson): OracleBlock {
  const payload = body.execution_payload
  return {
    slot: Number(slot),
    proposerIndex: Number(proposer_index),
    blockNumber: Number(payload.block_number),
    blockHash: payload.block_hash,
    withdrawals: payload.withdrawals.map((w) => ({
      validatorIndex: Number(w.validator_index),
      amountGwei: BigInt(w.amount),
    })),
    deposits: body.execution_requests.deposits.map((d) => ({ pubkey: d.pubkey, amountGwei: BigInt(d.amount) })),
  }
}

async function balancesAt(node: OracleNode, slot: number): Promise<ReadonlyMap<number, bigint>> {
  const path = `/eth/v1/beacon/states/${slot}/validator_balances`
  const rows = await beaconData<readonly { readonly index: string; readonly balance: string }[]>(node, path)
  return new Map(rows.map(({ index, balance }) => [Number(index), BigInt(balance)]))
}

async function pendingAt(node: OracleNode, slot: number): Promise<ReadonlyMap<string, bigint>> {
  const path = `/eth/v1/beacon/states/${slot}/pending_deposits`
  const rows = await beaconData<readonly { readonly pubkey: string; readonly amount: string }[]>(node, path)
  return sumBy(rows.map(({ pubkey, amount }) => [pubkey, BigInt(amount)]))
}

function sumBy<Key>(entries: readonly (readonly [Key, bigint])[]): Map<Key, bigint> {
  const sums = new Map<Key, bigint>()
  for (const [key, amount] of entries) sums.set(key, (sums.get(key) ?? 0n) + amount)
  return sums
}

/** Index of every public key that the registry knows after the slot. */
export async function indicesAt(node: OracleNode, slot: number): Promise<ReadonlyMap<string, number>> {
  interface Row {
    readonly index: string
    readonly validator: { readonly pubkey: string }
  }
  const rows = await beaconData<readonly Row[]>(node, `/eth/v1/beacon/states/${slot}/validators`)
  return new Map(rows.map(({ index, validator }) => [validator.pubkey, Number(index)]))
}

/**
 * Consensus rewards of validators over the slots after `before` up to `last`: change of balance, plus what was withdrawn, less the
 * deposits that left the queue (what waited before, plus what blocks brought, less what waits after).
 */
export async function clRewards(
  node: OracleNode,
  range: { readonly before: number; readonly last: number; readonly blocks: readonly OracleBlock[] },
): Promise<ReadonlyMap<number, OracleReward>> {
  const { before, last } = range
  const blocks = range.blocks.filter(({ slot }) => slot > before && slot <= last)
  const [start, end, waitedBefore, waitsAfter, indices] = await Promise.all([
    balancesAt(node, before),
    balancesAt(node, last),
    pendingAt(node, before),
    pendingAt(node, last),
    indicesAt(node, last),
  ])
  const withdrawn = sumBy(blocks.flatMap((b) => b.withdrawals.map((w) => [w.validatorIndex, w.amountGwei] as const)))
  const brought = sumBy(blocks.flatMap((b) => b.deposits.map((d) => [d.pubkey, d.amountGwei] as const)))
  const rewards = new Map<number, OracleReward>()
  for (const [pubkey, index] of indices) {
    const depositedGwei =
      (waitedBefore.get(pubkey) ?? 0n) + (brought.get(pubkey) ?? 0n) - (waitsAfter.get(pubkey) ?? 0n)
    const withdrawnGwei = withdrawn.get(index) ?? 0n
    const balanceGwei = end.get(index) ?? 0n
    const clGwei = balanceGwei - (start.get(index) ?? 0n) + withdrawnGwei - depositedGwei
    rewards.set(index, { clGwei, balanceGwei, withdrawnGwei, depositedGwei })
  }
  return rewards
}

/** What the devnet's scenario says of a slot, before there is a block: whether the proposer is paid, and whether that can work. */
export type PlannedPayment =
  | { readonly kind: 'none' }
  | { readonly kind: 'payment'; readonly valueWei: bigint; readonly succeeds: boolean }

/**
 * What each block paid its proposer: what the scenario planned for the slot, which looks at no transaction, and where it planned no
 * payment the tips of the block's receipts.
 */
export async function revenues(
  node: OracleNode,
  blocks: readonly OracleBlock[],
  planOf: (block: OracleBlock) => PlannedPayment,
): Promise<OracleRevenue[]> {
  return inParallel(blocks, async (block) => {
    const { slot, proposerIndex, blockNumber } = block
    const identity = { slot, proposerIndex, blockNumber }
    const plan = planOf(block)
    if (plan.kind === 'none') return { ...identity, revenueWei: await tipsOf(node, block), kind: 'tips' }
    return plan.succeeds
      ? { ...identity, revenueWei: plan.valueWei, kind: 'payment' }
      : { ...identity, revenueWei: 0n, kind: 'failed payment' }
  })
}

async function tipsOf(node: OracleNode, { blockHash }: OracleBlock): Promise<bigint> {
  const block = await rpc(node.executionUrl, 'eth_getBlockByHash', [blockHash, false])
  const receipts = await Promise.all(
    (block.transactions as readonly string[]).map((hash) =>
      rpc(node.executionUrl, 'eth_getTransactionReceipt', [hash]),
    ),
  )
  const baseFee = BigInt(block.baseFeePerGas as string)
  return receipts.reduce(
    (sum, receipt) => sum + BigInt(receipt.gasUsed as string) * (BigInt(receipt.effectiveGasPrice as string) - baseFee),
    0n,
  )
}

/** The newest epoch of which every slot is final. */
export async function finalEpochOf(node: OracleNode): Promise<number> {
  const response = await fetch(`${node.beaconUrl}/eth/v1/beacon/states/head/finality_checkpoints`)
  const { data } = (await response.json()) as { data: { finalized: { epoch: string } } }
  return Number(data.finalized.epoch) - 1
}

/** Decimal ETH text of an integer amount. */
export function eth(amount: bigint, decimals: 9 | 18): string {
  const sign = amount < 0n ? '-' : ''
  const digits = `${amount < 0n ? -amount : amount}`.padStart(decimals + 1, '0')
  const text = `${digits.slice(0, digits.length - decimals)}.${digits.slice(digits.length - decimals)}`
  return sign + text.replace(/0+$/, '').replace(/\.$/, '')
}
