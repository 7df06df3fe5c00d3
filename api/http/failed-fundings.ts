import { type ChainClock, firstSlotOfEpoch, slotTimeSec } from '../../schemas/eth/time.ts'
import type { StakingStep } from '../../schemas/tables/accounts.ts'
import { inStatements } from '../../schemas/tables/statement-parts.ts'
import { accountDeposits, type OnChainDeposit } from './account-deposits.ts'
import { type AccountScope, seenValidators } from './seen-validators.ts'
import { StandingMemo } from './standing-memo.ts'

/** What was to make a validator of a key, and made none. */
export type FailedFunding =
  /** A final block has the last staking transaction, reverted: no ether has left its sender. */
  | { readonly kind: 'reverted_transaction' }
  /** The deposit is final and no longer queued, and the registry does not know the key: its signature was none (electra, apply_pending_deposit). */
  | { readonly kind: 'dropped_deposit'; readonly slot: number; readonly timeSec: number }

/** Where the tables stand: a horizon's. */
interface Settled {
  readonly clock: ChainClock
  readonly epoch: number
}

/**
 * Epochs that the registry is looked at behind a look at the queue: heads differ by less in what they have taken from it, and names of
 * validators, which come by another topic than their states, are there in seconds, of a chain in time-lapse too. Nothing can be done
 * about such a deposit, so it is told late rather than wrongly.
 */
const REGISTRY_EPOCHS = 16

const failedMemo = new StandingMemo<ReadonlyMap<string, FailedFunding>>((failed) => failed.size)

/** Of the validators that the account has or had, and that the registry does not know, those whose funding has failed. */
export function failedFundings(
  scope: AccountScope,
  horizon: Settled | undefined,
): Promise<ReadonlyMap<string, FailedFunding>> {
  return failedMemo.of(scope.standing, scope.account, async () => {
    const { unregistered } = await seenValidators(scope)
    if (unregistered.length === 0) return new Map()
    const deposits = await accountDeposits(scope, horizon?.clock)
    const reverted = await revertedTransactions(scope)
    const failed = new Map<string, FailedFunding>()
    const waiting: OnChainDeposit[] = []
    for (const { pubkey } of unregistered) {
      const deposit = deposits.get(pubkey)
      const transaction = reverted.get(pubkey)
      if (deposit !== undefined) waiting.push(deposit)
      else if (transaction !== undefined) failed.set(pubkey, transaction)
    }
    if (horizon === undefined) return failed
    for (const [pubkey, dropped] of await droppedDeposits(scope, horizon, waiting)) failed.set(pubkey, dropped)
    return failed
  })
}

interface StepRow {
  readonly transaction_hash: string
  readonly step: StakingStep
  /** Empty of an end. */
  readonly pubkey: string
}

const MINE = `(SELECT pubkey FROM account_validators WHERE account = {account:String} AND chain = {chain:String})`
const STEPS = `
  SELECT toString(transaction_hash) AS transaction_hash, toString(step) AS step, pubkey
  FROM staking_steps FINAL
  WHERE chain = {chain:String} AND (pubkey = '' OR pubkey IN ${MINE}) AND transaction_hash IN
    (SELECT transaction_hash FROM staking_steps WHERE chain = {chain:String} AND pubkey IN ${MINE})
  ORDER BY version`

/** Those whose last transaction was reverted, by public key: what no node has taken, or another has replaced, is as if it had not been. */
async function revertedTransactions({
  standing,
  account,
  shared,
}: AccountScope): Promise<ReadonlyMap<string, FailedFunding>> {
  const rows = await shared.query<StepRow>(STEPS, { chain: standing.chain, account })
  const newest = new Map(rows.map((row) => [row.transaction_hash, row]))
  const told = rows.flatMap(({ pubkey, transaction_hash: hash }) => (pubkey === '' ? [] : [{ pubkey, hash }]))
  const failed = new Map<string, FailedFunding>()
  for (const [pubkey, own] of Map.groupBy(told, (row) => row.pubkey)) {
    const ends = own.flatMap(({ hash }) => newest.get(hash) ?? [])
    if (ends.some(({ step }) => step === 'broadcast' || step === 'mined')) continue
    if (ends.some(({ step }) => step === 'failed')) failed.set(pubkey, { kind: 'reverted_transaction' })
  }
  return failed
}

const NEWEST_FRONT = `
  SELECT max(front_slot) AS front FROM deposit_queue_fronts FINAL WHERE chain = {chain:String} AND epoch <= {epoch:UInt32}`
// The queue is in the order of requests, but for deposits that are put off: they keep their slot, and so keep the front back.
const PASSED = `
  SELECT asked.slot AS slot, min(front.epoch) AS epoch
  FROM (SELECT arrayJoin({slots:Array(UInt64)}) AS slot) AS asked
  CROSS JOIN (
    SELECT epoch, front_slot FROM deposit_queue_fronts FINAL WHERE chain = {chain:String} AND epoch <= {epoch:UInt32}
      AND front_slot > {least:UInt64}
  ) AS front
  WHERE front.front_slot > asked.slot
  GROUP BY asked.slot`

/** Of deposits of keys that the registry does not know those that had left the queue so long ago that it would know them. */
async function droppedDeposits(
  { standing: { chain }, shared }: AccountScope,
  { clock, epoch: horizon }: Settled,
  waiting: readonly OnChainDeposit[],
): Promise<ReadonlyMap<string, FailedFunding>> {
  const failed = new Map<string, FailedFunding>()
  const final = waiting.flatMap(({ pubkey, slot, isFinal }) =>
    isFinal && slot !== undefined ? [{ pubkey, slot }] : [],
  )
  const epoch = horizon - REGISTRY_EPOCHS
  if (final.length === 0 || epoch < 0) return failed
  const [newest] = await shared.query<{ front: string }>(NEWEST_FRONT, { chain, epoch })
  const passed = final.filter(({ slot }) => slot < Number(newest?.front ?? 0))
  for (const some of inStatements([...new Set(passed.map(({ slot }) => slot))])) {
    const params = { chain, epoch, slots: some, least: Math.min(...some) }
    const rows = await shared.query<{ slot: string; epoch: number }>(PASSED, params)
    const epochOf = new Map(rows.map((row) => [Number(row.slot), row.epoch]))
    for (const { pubkey, slot } of passed) {
      const seen = epochOf.get(slot)
      if (seen === undefined) continue
      const at = firstSlotOfEpoch(clock, seen)
      failed.set(pubkey, { kind: 'dropped_deposit', slot: at, timeSec: slotTimeSec(clock, at) })
    }
  }
  return failed
}
