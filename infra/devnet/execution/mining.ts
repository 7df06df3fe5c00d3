import type { Hex } from '../../../schemas/eth/hex.ts'
import type { BlockTurn } from '../engine.ts'
import { type Call, type CallResult, expectOk } from './json-rpc.ts'
import type { MinedBlock } from './mined-block.ts'
import { type BlockPlan, planBlock, SEQUENCER_PLAN } from './scenario.ts'
import { FIRST_BUILDER, type ScenarioSetup, type ScenarioState } from './scenario-state.ts'
import { paymentFields } from './scenario-transactions.ts'

/** A block that anvil has mined and nobody has sealed yet. */
export interface Mined {
  readonly turn: BlockTurn
  readonly plan: BlockPlan
  readonly coinbase: Hex
  readonly executed: MinedBlock
  /** The state when this block's transactions are in. */
  readonly scenario: ScenarioState
}

/** The calls that mine a block, and what their outcomes say. */
export interface Mining {
  readonly calls: readonly Call[]
  read(outcomes: readonly CallResult[]): Mined
}

interface Parent {
  readonly number: number
  readonly nextBaseFeeWei: bigint
}

/** Mines what waits in the pool, whose transactions lead to `scenario`, and the builder's payment after it. */
export function toMining(setup: ScenarioSetup, turn: BlockTurn, parent: Parent, waiting: ScenarioState): Mining {
  const plan = setup.profile === 'rollup' ? SEQUENCER_PLAN : planBlock(setup.seed, turn.slot)
  const coinbase = coinbaseOf(setup, plan, turn)
  const { payments, scenario } = planPayment(setup, plan, turn, waiting)
  const calls: Call[] = [
    ['anvil_setCoinbase', [coinbase]],
    ['anvil_setNextBlockBaseFeePerGas', [`0x${parent.nextBaseFeeWei.toString(16)}`]],
    ...payments,
    ['evm_mine_detailed', [{ timestamp: turn.timestampSec }]],
  ]
  return {
    calls,
    read(outcomes) {
      const results = calls.map((call, index) => expectOk(call, outcomes[index]))
      const [executed] = results[results.length - 1] as MinedBlock[]
      if (executed === undefined || Number(executed.number) !== parent.number + 1) {
        throw new Error('anvil mined another block than the one after the head')
      }
      const last = executed.transactions[executed.transactions.length - 1]
      if (payments.length > 0 && last?.from !== coinbase) {
        throw new Error("a builder's payment must be the last transaction of its block")
      }
      return { turn, plan, coinbase, executed, scenario }
    },
  }
}

/** In a builder's block the builder takes the fees, unless it lets the proposer have them directly. */
function coinbaseOf(setup: ScenarioSetup, plan: BlockPlan, turn: BlockTurn): Hex {
  if (plan.kind === 'local' || plan.payment.kind === 'none') return turn.feeRecipient
  const builder = setup.addresses[FIRST_BUILDER + plan.builder]
  if (builder === undefined) throw new Error(`the scenario has no builder ${plan.builder}`)
  return builder
}

/** The builder's payment to the proposer, to be sent after everything else so that it is mined last. */
function planPayment(setup: ScenarioSetup, plan: BlockPlan, turn: BlockTurn, scenario: ScenarioState) {
  if (plan.kind === 'local' || plan.payment.kind === 'none') return { payments: [], scenario }
  const account = FIRST_BUILDER + plan.builder
  const nonce = scenario.nonces[account] ?? 0
  const fields = paymentFields(turn.feeRecipient, plan.payment.valueWei)
  const call: Call = [
    'eth_sendTransaction',
    [{ from: setup.addresses[account], nonce: `0x${nonce.toString(16)}`, ...fields }],
  ]
  return { payments: [call], scenario: { ...scenario, nonces: scenario.nonces.with(account, nonce + 1) } }
}
