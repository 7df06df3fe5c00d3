import { type Random, seededRandom } from '../consensus/random.ts'
import { addCollections, copyOf } from './scenario-collections.ts'
import {
  BUILDERS,
  type PlannedDeposit,
  type PlannedTransaction,
  type ScenarioSetup,
  type ScenarioState,
} from './scenario-state.ts'
import { addDeposit, addRandom, addTokenMovement, below, type Draft, fillBlock, GWEI } from './scenario-transactions.ts'

/**
 * What happens on the execution side. Per slot, from the seed and the slot alone:
 * - no transaction in three of ten slots, mostly 1 or 2, sometimes up to 10: transfers of types 0, 1, 2, 3 and 4 with
 *   tips from 0 to 5 gwei, ERC-721 mints, transfers and burns, ERC-1155 mints and transfers (single and batch), a
 *   contract creation now and then, transactions that revert or run out of gas, and a pair that fills the block so that
 *   the base fee moves;
 * - who builds: the proposer itself (a local block), or one of four builders, which is the coinbase and pays the
 *   proposer in the block's last transaction. Some payments are 1 wei, and some builder blocks have the proposer's own
 *   recipient as coinbase and no payment;
 * - deposits at fixed slots: three new validators of 32 ETH and a top-up of 1 ETH.
 * - collections of every token standard in the first blocks, whose tokens move in every fourth slot (scenario-collections.ts).
 * On a rollup nine of ten blocks move tokens, with up to two other transactions, and its sequencer builds all of them.
 * Whatever a slot depends on beyond that (nonces, token owners) is in `ScenarioState`, a value per block.
 */

const BUILDER_NAMES = ['Northwind Builder', 'blockyard.example', 'Quartz', 'Lantern Works'] as const
const LOCAL_NAME = 'epochline-devnet'

const EMPTY_SLOT_SHARE = 0.3
const EMPTY_ROLLUP_BLOCK_SHARE = 0.1
const FULL_BLOCK_SHARE = 1 / 40
const BUILDER_SHARE = 0.6
const SAME_COINBASE_SHARE = 0.04
const ONE_WEI_SHARE = 0.04
const ETHER = 10n ** 18n

export type BlockPlan =
  | { readonly kind: 'local'; readonly extraData: string }
  | {
      readonly kind: 'builder'
      readonly extraData: string
      readonly builder: number
      readonly payment: { readonly kind: 'none' } | { readonly kind: 'last_transaction'; readonly valueWei: bigint }
    }

/** Three new validators (numbers follow the genesis ones) and a top-up, in the order of their slots. */
export function defaultDeposits(genesisValidators: number): readonly PlannedDeposit[] {
  return [
    { slot: 40, validatorNumber: genesisValidators, amountGwei: 32_000_000_000n },
    { slot: 400, validatorNumber: genesisValidators + 1, amountGwei: 32_000_000_000n },
    { slot: 900, validatorNumber: 9, amountGwei: 1_000_000_000n },
    { slot: 1_500, validatorNumber: genesisValidators + 2, amountGwei: 32_000_000_000n },
  ]
}

/** Every block of a rollup. */
export const SEQUENCER_PLAN: BlockPlan = { kind: 'local', extraData: LOCAL_NAME }

/** Who builds the block of a slot, and what the proposer is paid. */
export function planBlock(seed: string, slot: number): BlockPlan {
  const random = seededRandom(seed, `execution block ${slot}`)
  if (random() >= BUILDER_SHARE) return { kind: 'local', extraData: LOCAL_NAME }
  const builder = below(random, BUILDERS)
  const extraData = BUILDER_NAMES[builder] ?? LOCAL_NAME
  const draw = random()
  if (draw < SAME_COINBASE_SHARE) return { kind: 'builder', extraData, builder, payment: { kind: 'none' } }
  // Between 0.005 and 0.2 ETH with a long tail of small ones, never a round number.
  const valueWei = ETHER / 200n + BigInt(Math.floor(random() ** 4 * 195_000_000)) * GWEI + BigInt(below(random, 1e9))
  const isOneWei = draw < SAME_COINBASE_SHARE + ONE_WEI_SHARE
  return {
    kind: 'builder',
    extraData,
    builder,
    payment: { kind: 'last_transaction', valueWei: isOneWei ? 1n : valueWei },
  }
}

function transactionCount(random: Random): number {
  const draw = random()
  if (draw < EMPTY_SLOT_SHARE) return 0
  if (draw < 0.93) return 1 + below(random, 2)
  return draw < 0.985 ? 4 + below(random, 3) : 10
}

function addTransactions(draft: Draft): void {
  if (draft.setup.profile === 'rollup') {
    if (draft.random() < EMPTY_ROLLUP_BLOCK_SHARE) return
    addTokenMovement(draft)
    const others = below(draft.random, 3)
    for (let i = 0; i < others; i++) addRandom(draft)
    return
  }
  const count = transactionCount(draft.random)
  for (let i = 0; i < count; i++) addRandom(draft)
}

/**
 * The transactions that arrive before the block of `slot`, and the state once they are in it. A deposit whose slot had
 * no block comes with the next one.
 */
export function planSlot(
  setup: ScenarioSetup,
  slot: number,
  state: ScenarioState,
): { readonly transactions: readonly PlannedTransaction[]; readonly state: ScenarioState } {
  const draft: Draft = {
    setup,
    random: seededRandom(setup.seed, `execution transactions ${slot}`),
    planned: [],
    nonces: [...state.nonces],
    tokenOwners: state.tokenOwners.slice(),
    itemBalances: state.itemBalances.slice(),
    authorizationNonce: state.authorizationNonce,
    collections: copyOf(state.collections),
  }
  addTransactions(draft)
  if (draft.random() < FULL_BLOCK_SHARE) fillBlock(draft)
  const due = setup.deposits.slice(state.depositsSent).filter((planned) => planned.slot <= slot)
  for (const planned of due) addDeposit(draft, planned)
  const collections = addCollections({ ...draft, random: seededRandom(setup.seed, `collections ${slot}`) })
  const { planned: transactions, nonces, tokenOwners, itemBalances, authorizationNonce } = draft
  const depositsSent = state.depositsSent + due.length
  return { transactions, state: { nonces, depositsSent, tokenOwners, itemBalances, authorizationNonce, collections } }
}
