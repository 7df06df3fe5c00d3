import { keccak256, toBytes } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { Hex } from '../../../schemas/eth/hex.ts'
import { ROLLBACK_BLOCKS_MAX } from '../engine.ts'
import type { Journal } from './journal.ts'
import { type Call, type CallResult, expectOk, type JsonRpc } from './json-rpc.ts'
import { planSlot } from './scenario.ts'
import type { PlannedTransaction, ScenarioSetup, ScenarioState } from './scenario-state.ts'

/** A transaction that somebody sent us, kept until no rollback can take it out of the chain again. */
interface OutsideTransaction {
  readonly raw: Hex
  /** When it came, by the journal's clock. */
  readonly step: number
  includedIn: number | undefined
}

/** A transaction from outside that no block contains yet. */
export type WaitingTransaction = Readonly<{ raw: Hex; step: number }>

export interface Pool {
  /** The calls that bring in a slot's own transactions, and the state when they are in a block. */
  arrivals(
    slot: number,
    state: ScenarioState,
  ): Promise<{ readonly calls: readonly Call[]; readonly state: ScenarioState }>
  /** Hands over an outside transaction and records it. */
  submit(raw: Hex, step: number, slot: number): Promise<CallResult>
  /** Whether something came after this step in an earlier run. */
  hasRecorded(step: number): boolean
  /** Brings it in. */
  replay(step: number): Promise<void>
  markIncluded(number: number, hashes: readonly Hex[]): void
  /** Outside transactions that came before this step and wait for a block, in their order. */
  waitingBefore(step: number): readonly WaitingTransaction[]
  /** Brings them in again, into an empty pool. */
  restore(waiting: readonly WaitingTransaction[]): Promise<void>
  /** After the pool was emptied and blocks above `number` are gone: outside transactions come back in their order. */
  restoreAbove(number: number): Promise<void>
}

/** Deeper than any rollback. */
const SETTLED_BLOCKS = ROLLBACK_BLOCKS_MAX + 4

const delegatorKey = keccak256(toBytes('epochline devnet delegator'))

async function toCall(setup: ScenarioSetup, chainId: number, planned: PlannedTransaction): Promise<Call> {
  const from = setup.addresses[planned.sender]
  const fields = { from, nonce: `0x${planned.nonce.toString(16)}`, ...planned.fields }
  if (planned.authorization === undefined) return ['eth_sendTransaction', [fields]]
  const { address, nonce } = planned.authorization
  const signed = await privateKeyToAccount(delegatorKey).signAuthorization({ address, nonce, chainId })
  const { r, s, yParity } = signed
  const numbers = { chainId, nonce, yParity: yParity ?? 0 }
  const hexNumbers = Object.fromEntries(Object.entries(numbers).map(([key, value]) => [key, `0x${value.toString(16)}`]))
  return ['eth_sendTransaction', [{ ...fields, authorizationList: [{ address, r, s, ...hexNumbers }] }]]
}

function toWaiting({ raw, step }: OutsideTransaction): WaitingTransaction {
  return { raw, step }
}

export interface PoolOptions {
  readonly anvil: JsonRpc
  readonly setup: ScenarioSetup
  readonly chainId: number
  readonly journal: Journal
  /** Told of every outside transaction that begins to wait, be it because its block was rolled back. */
  readonly onPending: (hash: Hex) => void
}

/** Where transactions wait for the next block: anvil's pool, and our memory of what came from outside. */
export function createPool({ anvil, setup, chainId, journal, onPending }: PoolOptions): Pool {
  const outside = new Map<string, OutsideTransaction>()

  async function send(raw: Hex, step: number): Promise<CallResult> {
    const [outcome] = await anvil.batch([['eth_sendRawTransaction', [raw]]])
    if (outcome === undefined) throw new Error('anvil answered a batch of one with nothing')
    if (outcome.status === 'ok') outside.set(String(outcome.result), { raw, step, includedIn: undefined })
    return outcome
  }

  async function sendNew(raw: Hex, step: number): Promise<CallResult> {
    const outcome = await send(raw, step)
    if (outcome.status === 'ok') onPending(String(outcome.result) as Hex)
    return outcome
  }

  return {
    async arrivals(slot, state) {
      const plan = planSlot(setup, slot, state)
      const calls = await Promise.all(plan.transactions.map((planned) => toCall(setup, chainId, planned)))
      return { calls, state: plan.state }
    },
    async submit(raw, step, slot) {
      const outcome = await sendNew(raw, step)
      if (outcome.status === 'ok') journal.append({ step, slot, raw })
      return outcome
    },
    hasRecorded: (step) => journal.recorded(step).length > 0,
    async replay(step) {
      for (const { raw } of journal.recorded(step))
        expectOk(['eth_sendRawTransaction', [raw]], await sendNew(raw, step))
    },
    waitingBefore: (step) =>
      [...outside.values()].filter((each) => each.includedIn === undefined && each.step < step).map(toWaiting),
    async restore(waiting) {
      // A refusal is a fact about the chain as it is now, as in restoreAbove.
      for (const { raw, step } of waiting) await send(raw, step)
    },
    markIncluded(number, hashes) {
      if (outside.size === 0) return
      for (const hash of hashes) {
        const transaction = outside.get(hash)
        if (transaction !== undefined) transaction.includedIn = number
      }
      for (const [hash, { includedIn }] of outside) {
        if (includedIn !== undefined && includedIn < number - SETTLED_BLOCKS) outside.delete(hash)
      }
    },
    async restoreAbove(number) {
      const waiting = [...outside].filter(([, { includedIn }]) => includedIn === undefined || includedIn > number)
      for (const [hash, { raw, step, includedIn }] of waiting) {
        outside.delete(hash)
        // A refusal here is a fact about the new chain, as for any transaction that an orphaned block made possible.
        await (includedIn === undefined ? send(raw, step) : sendNew(raw, step))
      }
    },
  }
}
