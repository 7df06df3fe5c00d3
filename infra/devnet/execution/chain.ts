import { bytesOf, type Hex } from '../../../schemas/eth/hex.ts'
import { bloomTester, type ReceiptLog } from '../../../schemas/eth/receipts.ts'
import { type BlockTurn, type BuiltPayload, type PayloadRequest, ROLLBACK_BLOCKS_MAX } from '../engine.ts'
import { nextBaseFeeWei } from './base-fee.ts'
import type { BlockStore } from './block-store.ts'
import { creditCalls } from './credits.ts'
import { createExclusive } from './exclusive.ts'
import { DEPOSIT_CONTRACT_ADDRESS } from './genesis.ts'
import { type Call, type CallResult, expectOk, type JsonRpc } from './json-rpc.ts'
import { commitmentsOf, type MinedBlock, type RpcReceipt, toNewBlock } from './mined-block.ts'
import { type Mined, toMining } from './mining.ts'
import type { Pool, WaitingTransaction } from './pool.ts'
import { requestsHashOf, toExecutionRequests } from './requests.ts'
import type { ScenarioSetup, ScenarioState } from './scenario-state.ts'
import { sealBlock } from './sealed-block.ts'
import type { SenderSignatures } from './sender-signatures.ts'
import { dumpState } from './state-dump.ts'
import { type EndOfBlock, endOfBlock } from './system-calls.ts'

/** A block that the chain may return to, with everything that the next one depends on. */
export interface Head {
  readonly hash: Hex
  readonly number: number
  readonly slot: number
  readonly timestampSec: number
  readonly nextBaseFeeWei: bigint
  /** Nonces and owners when this block's transactions are in. */
  readonly scenario: ScenarioState
  /** System contracts whose queues or fees go on moving by themselves. */
  readonly busy: EndOfBlock['busy']
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
  readonly senders: SenderSignatures
}

/** What comes after a block. */
interface Following {
  /** Of anvil's state, beside the block's transactions. */
  readonly changes: readonly Call[]
  /** Of the next block, when it may be mined now. */
  readonly turn: BlockTurn | undefined
}

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
  /** The block after the head when anvil has mined it already; nobody sees it before it is asked for. */
  #ahead: Mined | undefined
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
      await this.#dropAhead()
      const step = this.#step
      const state = await dumpState(this.#parts.anvil)
      return { head: this.#head(), step, waiting: this.#parts.pool.waitingBefore(step), state }
    })
  }

  /** Resolves when anvil has the head's state, by its number: a block may be mined ahead. */
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
      await this.#dropAhead() // or it would come a block later than the journal says
      return this.#parts.pool.submit(raw, this.#step, this.#head().slot)
    })
  }

  #head(): Head {
    const head = this.#heads[this.#heads.length - 1]
    if (head === undefined) throw new Error('there is always a head')
    return head
  }

  /**
   * Brings in the transactions of the slot after `at` together with other calls, and mines them when the block's turn is known;
   * resolves with the other calls' results in order.
   */
  async #fillPool(at: Head, first: readonly Call[], turn?: BlockTurn): Promise<readonly CallResult[]> {
    const arrivals = await this.#parts.pool.arrivals(at.slot + 1, at.scenario)
    this.#nextScenario = arrivals.state
    const mining = turn === undefined ? undefined : toMining(this.#parts.setup, turn, at, arrivals.state)
    const waiting = [...first, ...arrivals.calls]
    const results = await this.#parts.anvil.batch([...waiting, ...(mining?.calls ?? [])])
    for (const [index, call] of waiting.entries()) expectOk(call, results[index])
    this.#ahead = mining?.read(results.slice(waiting.length))
    return results
  }

  async #build(request: PayloadRequest): Promise<BuiltPayload> {
    await this.#settled
    const parent = this.#head()
    if (request.parentHash !== parent.hash) throw new Error(`the head is ${parent.hash}, not ${request.parentHash}`)
    if (request.timestampSec <= parent.timestampSec || request.slot <= parent.slot) throw new Error('time goes forward')
    const { plan, coinbase, scenario, ...mined } = (await this.#takeAhead(request)) ?? (await this.#mine(request))
    const executed = this.#parts.senders.sign(mined.executed)
    const ending = await endOfBlock(this.#parts.anvil, executed.logsBloom, parent.busy)
    const requests = toExecutionRequests(await this.#depositLogs(executed), DEPOSIT_CONTRACT_ADDRESS, ending)
    const sealed = sealBlock(executed, {
      parentHash: parent.hash,
      coinbase,
      timestampSec: request.timestampSec,
      prevRandao: request.prevRandao,
      parentBeaconBlockRoot: request.parentBeaconBlockRoot,
      extraData: new TextEncoder().encode(plan.extraData),
      withdrawals: request.withdrawals,
      requestsHash: requestsHashOf(requests),
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
      busy: ending.busy,
    }
    const changes = [...creditCalls(request.withdrawals), ...ending.effects]
    const receipts = this.#advance(next, { changes, turn: request.next }, executed)
    this.#settle(receipts)
    this.#parts.store.append(toNewBlock(sealed, executed, receipts))
    return { payload: sealed.payload, requests, blobKzgCommitments: commitmentsOf(executed) }
  }

  /** Mines what waits in the pool. */
  async #mine(turn: BlockTurn): Promise<Mined> {
    const mining = toMining(this.#parts.setup, turn, this.#head(), this.#nextScenario)
    return mining.read(await this.#parts.anvil.batch(mining.calls))
  }

  /** The block that was mined ahead when it is the one asked for; another one is taken back. */
  async #takeAhead(turn: BlockTurn): Promise<Mined | undefined> {
    const ahead = this.#ahead
    if (ahead === undefined) return undefined
    const { slot, timestampSec, feeRecipient } = ahead.turn
    if (slot !== turn.slot || timestampSec !== turn.timestampSec || feeRecipient !== turn.feeRecipient) {
      await this.#dropAhead()
      return undefined
    }
    this.#ahead = undefined
    return ahead
  }

  /** Makes anvil's state the head's again, with the same transactions waiting. */
  async #dropAhead(): Promise<void> {
    if (this.#ahead === undefined) return
    this.#ahead = undefined
    await this.#stepBack(1)
    await this.#refillPool(this.#head())
  }

  async #stepBack(blocks: number): Promise<void> {
    await this.#parts.anvil.call('anvil_dropAllTransactions', [])
    await this.#parts.anvil.call('anvil_rollback', [blocks])
  }

  /** Receipts are asked for at once only where the bloom says that there may be a deposit. */
  async #depositLogs(executed: MinedBlock): Promise<readonly ReceiptLog[]> {
    if (!mayHaveDeposits(bytesOf(executed.logsBloom))) return []
    const receipts = (await this.#parts.anvil.call('eth_getBlockReceipts', [executed.number])) as RpcReceipt[]
    return receipts.flatMap((receipt) => receipt.logs)
  }

  /**
   * Makes a mined block the head; resolves with its receipts when its withdrawals are credited, its system contracts have done their
   * part, and the next transactions wait, or the block after it is mined ahead. These changes come after the block's transactions and
   * before anvil keeps the block's state, which it does when it mines the next one: so balances and storage at a block have them, while
   * anvil's state root has them one block later.
   */
  async #advance(next: Head, { changes, turn }: Following, executed: MinedBlock): Promise<readonly RpcReceipt[]> {
    const { pool } = this.#parts
    const hashes = executed.transactions.map((transaction) => transaction.hash)
    this.#heads.push(next)
    if (this.#heads.length > ROLLBACK_BLOCKS_MAX + 1) this.#heads.shift()
    pool.markIncluded(next.number, hashes)
    this.#step++
    const receipts: Call = ['eth_getBlockReceipts', [executed.number]]
    // What came from outside in an earlier run has to be in the pool before the block after the head is mined.
    const ahead = pool.hasRecorded(this.#step) ? undefined : turn
    const results = await this.#fillPool(next, hashes.length === 0 ? changes : [receipts, ...changes], ahead)
    await pool.replay(this.#step)
    return hashes.length === 0 ? [] : (expectOk(receipts, results[0]) as RpcReceipt[])
  }

  async #rollbackTo(blockHash: Hex): Promise<void> {
    await this.#settled
    const { store } = this.#parts
    const index = this.#heads.findIndex((candidate) => candidate.hash === blockHash)
    const target = this.#heads[index]
    if (target === undefined) throw new Error(`only the last ${ROLLBACK_BLOCKS_MAX} blocks can be rolled back to`)
    const depth = this.#head().number - target.number
    if (depth === 0) return
    await this.#stepBack(this.#ahead === undefined ? depth : depth + 1)
    this.#ahead = undefined
    this.#heads.splice(index + 1)
    store.unwindTo(target.hash)
    this.#step++
    await this.#settle(this.#refillPool(target).then(() => this.#parts.pool.replay(this.#step)))
  }

  /** The same transactions arrive again for the slot after the target, then those from outside in their order. */
  async #refillPool(target: Head): Promise<void> {
    await this.#fillPool(target, [])
    await this.#parts.pool.restoreAbove(target.number)
  }

  /** What the next call waits for first. Its failure is that call's (and a reader's of the receipts), no crash until then. */
  #settle(work: Promise<unknown>): Promise<unknown> {
    work.catch(() => undefined)
    this.#settled = work
    return work
  }
}
