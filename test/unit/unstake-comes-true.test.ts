import { FAR_FUTURE_EPOCH, MIN_ACTIVATION_BALANCE, SLOTS_PER_EPOCH } from '@lodestar/params'
import type { CachedBeaconStateElectra, CachedBeaconStateFulu } from '@lodestar/state-transition'
import { processWithdrawalRequest } from '@lodestar/state-transition/block'
import { ssz } from '@lodestar/types'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { createGenesis } from '../../infra/devnet/consensus/genesis.ts'
import { pubkeyOf } from '../../infra/devnet/consensus/keys.ts'
import type { StakingNode } from '../../infra/ports/staking-node.ts'
import type { StakedValidator, UnstakeNode } from '../../infra/ports/unstake-node.ts'
import { decideUnstake, type UnstakeView } from '../../processors/validators/decide-unstake.ts'
import { quoteUnstakeFor } from '../../processors/validators/quote-unstake.ts'
import { bytesOf, hexOf } from '../../schemas/eth/hex.ts'
import { openSyntheticEngine } from '../devnet/synthetic-engine.ts'
import { tries } from '../long-form.ts'
import { CallsWorld } from './calls-world.ts'
import { silentLog } from './silent-log.ts'

const GENESIS_TIME_SEC = 1_700_000_000
const GWEI_PER_ETH = 1_000_000_000n
const MINIMUM_GWEI = BigInt(MIN_ACTIVATION_BALANCE)
const EPOCH = 420_000
const [ADDRESS, OTHER_ADDRESS] = [`0x${'ad'.repeat(20)}`, `0x${'ae'.repeat(20)}`]
/** Validators of the state; the first one is asked for. */
const VALIDATORS = 4

let genesis: CachedBeaconStateFulu
let exitPeriodEpochs: number
beforeAll(async () => {
  const engine = await openSyntheticEngine({ genesisTimeSec: GENESIS_TIME_SEC })
  const { chainId, depositContractAddress } = engine
  const facts = { genesisTimeSec: GENESIS_TIME_SEC, chainId, depositContractAddress, validators: VALIDATORS }
  const made = createGenesis({ seed: 'unstake', facts, engine })
  genesis = made.state
  exitPeriodEpochs = made.config.SHARD_COMMITTEE_PERIOD
})

/** A validator and what is asked of it. Epochs count from `EPOCH`; null is never. */
interface Case {
  readonly type: number
  readonly isOwn: boolean
  readonly isKnown: boolean
  readonly balanceGwei: bigint
  readonly effectiveEth: number
  /** From the first epoch in which the validator may leave. */
  readonly leavingFrom: number | null
  readonly exitFrom: number | null
  readonly pending: readonly { readonly index: number; readonly amountGwei: bigint }[]
  readonly amount: 'all' | 'balance' | 'effective' | { readonly aboveLeft: bigint } | bigint
}

const gwei = (fromEth: bigint, toEth: bigint) => fc.bigInt({ min: fromEth * GWEI_PER_ETH, max: toEth * GWEI_PER_ETH })
const cases: fc.Arbitrary<Case> = fc.record({
  type: fc.constantFrom(0, 1, 2, 2, 2),
  isOwn: mostly(true, fc.constant(false)),
  isKnown: mostly(true, fc.constant(false)),
  balanceGwei: fc.oneof(gwei(31n, 33n), gwei(32n, 64n), gwei(0n, 2_049n), fc.constant(MINIMUM_GWEI)),
  effectiveEth: fc.oneof(fc.integer({ min: 31, max: 33 }), fc.integer({ min: 31, max: 2_048 })),
  leavingFrom: mostly<number | null>(-1, fc.constantFrom(0, 1, 255, 256, 257, null)),
  exitFrom: mostly<number | null>(null, fc.constantFrom(-1, 0, 1, 9)),
  pending: fc.oneof(
    fc.constant([]),
    fc.array(fc.record({ index: fc.constantFrom(0, 0, 1), amountGwei: gwei(0n, 3n) }), { maxLength: 4 }),
  ),
  amount: fc.oneof(
    fc.constantFrom('all' as const, 'balance' as const, 'effective' as const),
    { weight: 3, arbitrary: fc.constantFrom(-1n, 0n, 1n).map((aboveLeft) => ({ aboveLeft })) },
    gwei(0n, 40n).filter((amount) => amount > 0n),
    fc.constant(1n),
  ),
})

function mostly<Value>(usual: Value, seldom: fc.Arbitrary<Value>): fc.Arbitrary<Value> {
  return fc.oneof({ weight: 6, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: seldom })
}

const credentialsOf = (type: number) => `0x0${type}${'00'.repeat(11)}${ADDRESS.slice(2)}`
const activationEpochOf = ({ leavingFrom }: Case) =>
  leavingFrom === null ? undefined : EPOCH + leavingFrom - exitPeriodEpochs
const exitEpochOf = ({ exitFrom }: Case) => (exitFrom === null ? undefined : EPOCH + exitFrom)
const pendingGweiOf = ({ pending }: Case) =>
  pending.reduce((sum, { index, amountGwei }) => (index === 0 ? sum + amountGwei : sum), 0n)

/** Undefined: all of it. */
function amountOf(given: Case): bigint | undefined {
  const { amount, balanceGwei, effectiveEth } = given
  if (amount === 'all') return undefined
  if (amount === 'balance') return balanceGwei === 0n ? undefined : balanceGwei
  if (amount === 'effective') return BigInt(effectiveEth) * GWEI_PER_ETH
  if (typeof amount === 'bigint') return amount
  const wanted = balanceGwei - MINIMUM_GWEI - pendingGweiOf(given) + amount.aboveLeft
  return wanted > 0n ? wanted : 1n
}

function viewOf(given: Case): UnstakeView {
  const validator: StakedValidator = {
    index: 0,
    withdrawalCredentials: credentialsOf(given.type),
    balanceGwei: given.balanceGwei,
    effectiveBalanceGwei: BigInt(given.effectiveEth) * GWEI_PER_ETH,
    activationEpoch: activationEpochOf(given),
    exitEpoch: exitEpochOf(given),
  }
  return {
    address: given.isOwn ? ADDRESS : OTHER_ADDRESS,
    amountGwei: amountOf(given),
    validator: given.isKnown ? validator : undefined,
    headEpoch: EPOCH,
    facts: { shardCommitteePeriodEpochs: exitPeriodEpochs, minActivationBalanceGwei: MINIMUM_GWEI },
    pendingGwei: pendingGweiOf(given),
  }
}

/** What the library's process_withdrawal_request makes of a request for so many gwei, 0 being all. */
function played(given: Case, amountGwei: bigint): 'ignored' | 'exit' | { readonly paidGwei: bigint } {
  const state = genesis.clone() as unknown as CachedBeaconStateElectra
  state.slot = EPOCH * SLOTS_PER_EPOCH
  state.epochCtx.epoch = EPOCH
  const validator = state.validators.get(0)
  validator.withdrawalCredentials = bytesOf(credentialsOf(given.type))
  validator.effectiveBalance = given.effectiveEth * Number(GWEI_PER_ETH)
  validator.activationEpoch = activationEpochOf(given) ?? FAR_FUTURE_EPOCH
  const exitEpoch = exitEpochOf(given) ?? FAR_FUTURE_EPOCH
  validator.exitEpoch = exitEpoch
  state.balances.set(0, Number(given.balanceGwei))
  for (const { index, amountGwei } of given.pending) {
    const part = { validatorIndex: index, amount: amountGwei, withdrawableEpoch: EPOCH }
    state.pendingPartialWithdrawals.push(ssz.electra.PendingPartialWithdrawal.toViewDU(part))
  }
  processWithdrawalRequest(state.config.getForkSeq(state.slot), state, {
    sourceAddress: bytesOf(given.isOwn ? ADDRESS : OTHER_ADDRESS),
    validatorPubkey: pubkeyOf(given.isKnown ? 0 : VALIDATORS),
    amount: amountGwei,
  })
  if (state.validators.get(0).exitEpoch !== exitEpoch) return 'exit'
  const parts = state.pendingPartialWithdrawals.getAllReadonly()
  const added = parts.slice(given.pending.length)
  return added[0] === undefined ? 'ignored' : { paidGwei: added[0].amount }
}

test('a withdrawal request is quoted exactly where the state transition does all that it asks for', () => {
  const seen = { quoted: 0, partly: 0, ignored: 0 }
  fc.assert(
    fc.property(cases, (given) => {
      const view = viewOf(given)
      const decision = decideUnstake(view)
      if (decision.status === 'accepted') {
        const { requestGwei } = decision
        expect(played(given, requestGwei)).toEqual(requestGwei === 0n ? 'exit' : { paidGwei: requestGwei })
        seen.quoted++
        return
      }
      const whole = [undefined, view.validator?.balanceGwei, view.validator?.effectiveBalanceGwei]
      const askedGwei = view.amountGwei === undefined || whole.includes(view.amountGwei) ? 0n : view.amountGwei
      const outcome = played(given, askedGwei)
      // Of what is above the most that can be paid out the chain would pay that most: the sentence names it.
      const [, most] = / which is ([0-9]+) gwei$/.exec(decision.reason) ?? []
      if (most === undefined || most === '0') expect(outcome, decision.reason).toBe('ignored')
      else expect(outcome, decision.reason).toEqual({ paidGwei: BigInt(most) })
      if (most !== undefined) expect(BigInt(most)).toBeLessThan(askedGwei)
      if (outcome === 'ignored') seen.ignored++
      else seen.partly++
    }),
    { numRuns: tries(1_500, 50_000) },
  )
  // Random cases that never get to the end of the rules would prove nothing.
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(20)
})

test('a part of a compounding validator is quoted as the request that the state transition pays out', async () => {
  const given: Case = {
    ...{ type: 2, isOwn: true, isKnown: true, leavingFrom: 0, exitFrom: null },
    ...{ balanceGwei: 40n * GWEI_PER_ETH + 5n, effectiveEth: 40, amount: 3n * GWEI_PER_ETH + 7n },
    pending: [{ index: 0, amountGwei: GWEI_PER_ETH }],
  }
  const view = viewOf(given)
  const pubkey = hexOf(pubkeyOf(0))
  const unstakeNode: UnstakeNode = {
    facts: async () => view.facts,
    headEpoch: async () => EPOCH,
    registered: async () => new Map([[pubkey, view.validator as StakedValidator]]),
    pendingPartials: async () => new Map([[0, view.pendingGwei]]),
    async [Symbol.asyncDispose]() {},
  }
  const clock = { genesisTimeSec: 0, secondsPerSlot: 12, slotsPerEpoch: 32 }
  const node: Partial<StakingNode> = {
    facts: async () => ({ chainId: 1, genesisForkVersion: new Uint8Array(4), depositContract: OTHER_ADDRESS, clock }),
    hasCode: async () => true,
    storageAt: async () => 0n,
    simulate: async () => ({ status: 'done', gas: 100_000n }),
  }
  const chain = { name: 'mainnet', node: node as StakingNode, unstakeNode, exitContract: undefined }
  const funded = { has: () => false, readOn: async () => {}, addSeen: () => {} }
  const registered = { credentialsOf: () => undefined, readOn: async () => {} }
  const unquoting = { ...new CallsWorld().custody, funded, registered, log: silentLog }
  const input = { chain: 'mainnet', address: ADDRESS, pubkeys: [pubkey], notAfterMs: unquoting.wallNow() }
  const quote = await quoteUnstakeFor(unquoting, chain, { ...input, amountGwei: String(view.amountGwei) })
  if (quote.status !== 'quoted') throw new Error(JSON.stringify(quote))
  expect(quote.transaction).toMatchObject({ to: '0x00000961Ef480Eb55e80D19ad83579A64c007002', chainId: '0x1' })
  expect(quote.transaction.from.toLowerCase()).toBe(ADDRESS)
  // EIP-7002: 48 bytes of the public key, 8 bytes of the amount.
  const [, key, amount] = /^(0x[0-9a-f]{96})([0-9a-f]{16})$/.exec(quote.transaction.data) ?? []
  expect(key).toBe(pubkey)
  expect(played(given, BigInt(`0x${amount}`))).toEqual({ paidGwei: view.amountGwei })
  // Without requests before it a request costs 1 wei: what is offered is the fee after 32 more of them.
  expect(BigInt(quote.transaction.value)).toBeGreaterThanOrEqual(1n)
})
