import type { deneb } from '@lodestar/types'
import { bytesOf } from '../../../schemas/eth/hex.ts'
import { bloomTester } from '../../../schemas/eth/receipts.ts'
import type { BuiltPayload, EngineWithdrawal, Hex, PayloadRequest } from '../engine.ts'
import { nextBaseFeeWei } from './base-fee.ts'
import type { BlockStore } from './block-store.ts'
import { createExclusive } from './exclusive.ts'
import { DEPOSIT_CONTRACT_ADDRESS } from './genesis.ts'
import { type Call, type CallResult, expectOk, type JsonRpc } from './json-rpc.ts'
import { type MinedBlock, type RpcReceipt, toNewBlock } from './mined-block.ts'
import type { Pool, WaitingTransaction } from './pool.ts'
import { depositRequests, requestsHashOf } from './requests.ts'
import { type BlockPlan, planBlock, SEQUENCER_PLAN } from './scenario.ts'
import { FIRST_BUILDER, type ScenarioSetup, type ScenarioState } from './scenario-state.ts'
import { paymentFields } from './scenario-transactions.ts'
import { sealBlock } from './sealed-block.ts'
import { dumpState } from './state-dump.ts'

/** A block that the chain may return to, with everything that the next one depends on. */
export interface Head {
  readonly hash: Hex
  readonly number: number
  readonly slot: number
  readonly timestampSec: number
  readonly nextBaseFeeWei: bigint
  /** Nonces and owners when this block's transactions are in. */
  readonly scenario: ScenarioState
}

/** What the next block depends on besides anvil's own state. Plain data. */
export interface ExecutionCheckpoint {
  readonly head: Head
  /** See ExecutionChain.#step. */
  readonly step: number
  /** Outside transactions from before the head. */
  readonly waiting: readonly WaitingTransaction[]
  /** anvil's state at the head, for `loadState`. */
  readonly state: string
}

interface Parts {
  readonly anvil: JsonRpc
  readonly pool: Pool
  readonly setup: ScenarioSetup
  readonly store: BlockStore
}

const ROLLBACK_BLOCKS_MAX = 4
const WEI_PER_GWEI = 1_000_000_000n
const mayHaveDeposits = bloomTester(DEPOSIT_CONTRACT_ADDRESS)

/**
 * The moving part: builds a block on the head, or steps back. Between two calls the transactions for the slot after the
 * head are in the pool already, so that a block waits for its mining only, and the head's receipts come in the same
 * round trip as those transactions. One call runs at a time, the others wait.
 */
export class ExecutionChain {
  readonly #parts: Parts
  readonly #exclusive = createExclusive()
  /** The head last, and the blocks that a rollback may return to. */
  readonly #heads: Head[]
  /** Blocks built and rollbacks done: the journal's clock. */
  #step: number
  /** The state when what waits in the pool is in a block. */
  #nextScenario: ScenarioState
  #settled: Promise<unknown> = Promise.resolve()

  private constructor(parts: Parts, head: Head, step: number) {
    this.#parts = parts
    this.#heads = [head]
    this.#step = step
    this.#nextScenario = head.scenario
  }

  /** Goes on from a head, whose state anvil has; `waiting` came before the head and is in no block. */
  static async open(
    parts: Parts,
    { head, step, waiting }: Pick<ExecutionCheckpoint, 'head' | 'step' | 'waiting'>,
  ): Promise<ExecutionChain> {
    const chain = new ExecutionChain(parts, head, step)
    await parts.pool.restore(waiting)
    await chain.#fillPool(head, [])
    await parts.pool.replay(step)
    return chain
  }

  checkpoint(): Promise<ExecutionCheckpoint> {
    return this.#exclusive(async () => {
      await this.#settled
      const step = this.#step
      const state = await dumpState(this.#parts.anvil)
      return { head: this.#head(), step, waiting: this.#parts.pool.waitingBefore(step), state }
    })
  }

  /** Resolves when anvil's state is the head's. */
  settled(): Promise<unknown> {
    return this.#settled
  }

  /** Resolves when nothing is under way any more. */
  idle(): Promise<void> {
    return this.#exclusive(async () => void (await this.#settled))
  }

  build(request: PayloadRequest): Promise<BuiltPayload> {
    return this.#exclusive(() => this.#build(request))
  }

  rollbackTo(blockHash: Hex): Promise<void> {
    return this.#exclusive(() => this.#rollbackTo(blockHash))
  }

  /** Puts an outside transaction behind those that wait already. */
  submit(raw: Hex): Promise<CallResult> {
    return this.#exclusive(async () => {
      await this.#settled
      return this.#parts.pool.submit(raw, this.#step, this.#head().slot)
    })
  }

  #head(): Head {
    const head = this.#heads[this.#heads.length - 1]
    if (head === undefined) throw new Error('there is always a head')
    return head
  }

  /** Brings in the transactions of the slot after `at` together with other calls; resolves with all results in order. */
  async #fillPool(at: Head, first: readonly Call[]): Promise<readonly CallResult[]> {
    const arrivals = await this.#parts.pool.arrivals(at.slot + 1, at.scenario)
    this.#nextScenario = arrivals.state
    const calls = [...first, ...arrivals.calls]
    const results = await this.#parts.anvil.batch(calls)
    for (const [index, call] of calls.entries()) expectOk(call, results[index])
    return results
  }

  async #build(request: PayloadRequest): Promise<BuiltPayload> {
    await this.#settled
    const parent = this.#head()
    if (request.parentHash !== parent.hash) throw new Error(`the head is ${parent.hash}, not ${request.parentHash}`)
    if (request.timestampSec <= parent.timestampSec || request.slot <= parent.slot) throw new Error('time goes forward')
    const { profile, seed } = this.#parts.setup
    const plan = profile === 'rollup' ? SEQUENCER_PLAN : planBlock(seed, request.slot)
    const coinbase = coinbaseOf(this.#parts.setup, plan, request)
    const { executed, scenario } = await this.#mine(request, plan, coinbase)
    const deposits = await this.#depositsOf(executed)
    const sealed = sealBlock(executed, {
      parentHash: parent.hash,
      coinbase,
      timestampSec: request.timestampSec,
      prevRandao: request.prevRandao,
      parentBeaconBlockRoot: request.parentBeaconBlockRoot,
      extraData: new TextEncoder().encode(plan.extraData),
      withdrawals: request.withdrawals,
      requestsHash: requestsHashOf(deposits),
    })
    const next: Head = {
      hash: sealed.hash,
      number: parent.number + 1,
      slot: request.slot,
      timestampSec: request.timestampSec,
      nextBaseFeeWei: nextBaseFeeWei(
        BigInt(executed.baseFeePerGas),
        BigInt(executed.gasUsed),
        BigInt(executed.gasLimit),
      ),
      scenario,
    }
    const receipts = this.#advance(next, request.withdrawals, executed)
    this.#settle(receipts)
    this.#parts.store.append(toNewBlock(sealed, executed, receipts))
    const requests = { deposits, withdrawals: [], consolidations: [] }
    return { payload: sealed.payload, requests, blobKzgCommitments: commitmentsOf(executed) }
  }

  /** Mines what waits in the pool, and the builder's payment after it. */
  async #mine(request: PayloadRequest, plan: BlockPlan, coinbase: Hex) {
    const { anvil, setup } = this.#parts
    const { payments, scenario } = planPayment(setup, plan, request, this.#nextScenario)
    const parent = this.#head()
    const calls: Call[] = [
      ['anvil_setCoinbase', [coinbase]],
      ['anvil_setNextBlockBaseFeePerGas', [`0x${parent.nextBaseFeeWei.toString(16)}`]],
      ...payments,
      ['evm_mine_detailed', [{ timestamp: request.timestampSec }]],
    ]
    const outcomes = await anvil.batch(calls)
    const results = calls.map((call, index) => expectOk(call, outcomes[index]))
    const [executed] = results[results.length - 1] as MinedBlock[]
    if (executed === undefined || Number(executed.number) !== parent.number + 1) {
      throw new Error('anvil mined another block than the one after the head')
    }
    const last = executed.transactions[executed.transactions.length - 1]
    if (payments.length > 0 && last?.from !== coinbase) {
      throw new Error("a builder's payment must be the last transaction of its block")
    }
    return { executed, scenario }
  }

  /** Receipts are asked for at once only where the bloom says that there may be a deposit. */
  async #depositsOf(executed: MinedBlock) {
    if (!mayHaveDeposits(bytesOf(executed.logsBloom))) return []
    const receipts = (await this.#parts.anvil.call('eth_getBlockReceipts', [executed.number])) as RpcReceipt[]
    const logs = receipts.flatMap((receipt) => receipt.logs)
    return depositRequests(logs, DEPOSIT_CONTRACT_ADDRESS)
  }

  /**
   * Makes a mined block the head; resolves with its receipts when its withdrawals are credited and the next transactions
   * wait. Withdrawals come after the block's transactions and before anvil keeps the block's state, which it does when it
   * mines the next one: so balances at a block have them, while anvil's state root has them one block later.
   */
  async #advance(
    next: Head,
    withdrawals: readonly EngineWithdrawal[],
    executed: MinedBlock,
  ): Promise<readonly RpcReceipt[]> {
    const { pool } = this.#parts
    const hashes = executed.transactions.map((transaction) => transaction.hash)
    this.#heads.push(next)
    if (this.#heads.length > ROLLBACK_BLOCKS_MAX + 1) this.#heads.shift()
    pool.markIncluded(next.number, hashes)
    this.#step++
    const receipts: Call = ['eth_getBlockReceipts', [executed.number]]
    const credits = creditCalls(withdrawals)
    const results = await this.#fillPool(next, hashes.length === 0 ? credits : [receipts, ...credits])
    await pool.replay(this.#step)
    return hashes.length === 0 ? [] : (expectOk(receipts, results[0]) as RpcReceipt[])
  }

  async #rollbackTo(blockHash: Hex): Promise<void> {
    await this.#settled
    const { anvil, store } = this.#parts
    const index = this.#heads.findIndex((candidate) => candidate.hash === blockHash)
    const target = this.#heads[index]
    if (target === undefined) throw new Error(`only the last ${ROLLBACK_BLOCKS_MAX} blocks can be rolled back to`)
    const depth = this.#head().number - target.number
    if (depth === 0) return
    await anvil.call('anvil_dropAllTransactions', [])
    await anvil.call('anvil_rollback', [depth])
    this.#heads.splice(index + 1)
    store.unwindTo(target.hash)
    this.#step++
    await this.#settle(this.#refillPool(target))
  }

  /** The same transactions arrive again for the slot after the target, then those from outside in their order. */
  async #refillPool(target: Head): Promise<void> {
    await this.#fillPool(target, [])
    await this.#parts.pool.restoreAbove(target.number)
    await this.#parts.pool.replay(this.#step)
  }

  /** What the next call waits for first. Its failure is that call's (and a reader's of the receipts), no crash until then. */
  #settle(work: Promise<unknown>): Promise<unknown> {
    work.catch(() => undefined)
    this.#settled = work
    return work
  }
}

/** Withdrawals as credits, one call per address. */
function creditCalls(withdrawals: readonly EngineWithdrawal[]): Call[] {
  const gweiByAddress = new Map<Hex, bigint>()
  for (const { address, amountGwei } of withdrawals) {
    gweiByAddress.set(address, (gweiByAddress.get(address) ?? 0n) + amountGwei)
  }
  return [...gweiByAddress].map(([address, gwei]) => [
    'anvil_addBalance',
    [address, `0x${(gwei * WEI_PER_GWEI).toString(16)}`],
  ])
}

function commitmentsOf(executed: MinedBlock): deneb.BlobKzgCommitments {
  return executed.transactions.flatMap((transaction) => ((transaction.commitments ?? []) as Hex[]).map(bytesOf))
}

/** In a builder's block the builder takes the fees, unless it lets the proposer have them directly. */
function coinbaseOf(setup: ScenarioSetup, plan: BlockPlan, request: PayloadRequest): Hex {
  if (plan.kind === 'local' || plan.payment.kind === 'none') return request.feeRecipient
  const builder = setup.addresses[FIRST_BUILDER + plan.builder]
  if (builder === undefined) throw new Error(`the scenario has no builder ${plan.builder}`)
  return builder
}

/** The builder's payment to the proposer, to be sent after everything else so that it is mined last. */
function planPayment(setup: ScenarioSetup, plan: BlockPlan, request: PayloadRequest, scenario: ScenarioState) {
  if (plan.kind === 'local' || plan.payment.kind === 'none') return { payments: [], scenario }
  const account = FIRST_BUILDER + plan.builder
  const nonce = scenario.nonces[account] ?? 0
  const fields = paymentFields(request.feeRecipient, plan.payment.valueWei)
  const call: Call = [
    'eth_sendTransaction',
    [{ from: setup.addresses[account], nonce: `0x${nonce.toString(16)}`, ...fields }],
  ]
  return { payments: [call], scenario: { ...scenario, nonces: scenario.nonces.with(account, nonce + 1) } }
}
