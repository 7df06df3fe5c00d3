import type { PendingDeposit } from '../../infra/ports/beacon-source.ts'
import { AppError } from '../../schemas/errors.ts'
import type { CreditedDeposit } from '../../schemas/events/balance-effects.ts'

/** Compressed point at infinity of G2: what the protocol puts as signature of balances that it queues itself. */
const G2_INFINITY = `0xc0${'00'.repeat(95)}`

export interface HandledDeposit {
  readonly deposit: PendingDeposit
  /** Place in the queue before the transition: its number among the entries handled. */
  readonly ordinal: number
}

/**
 * Deposits that a transition took from the queue: those of the queue before it that are not in the queue after it, counted
 * as a multiset. Postponed deposits move to the queue's end and are still there; equal entries are interchangeable.
 */
export function handledDeposits(
  before: readonly PendingDeposit[],
  after: readonly PendingDeposit[],
): readonly HandledDeposit[] {
  const left = new Map<string, number>()
  for (const deposit of after) left.set(keyOf(deposit), (left.get(keyOf(deposit)) ?? 0) + 1)
  const handled: HandledDeposit[] = []
  before.forEach((deposit, ordinal) => {
    const key = keyOf(deposit)
    const still = left.get(key) ?? 0
    if (still > 0) left.set(key, still - 1)
    else handled.push({ deposit, ordinal })
  })
  return handled
}

function keyOf({ pubkey, withdrawalCredentials, amountGwei, signature, slot }: PendingDeposit): string {
  return `${pubkey} ${withdrawalCredentials} ${amountGwei} ${signature} ${slot}`
}

/**
 * Which of the handled deposits of one new validator were credited. An unknown key's deposit with a bad signature is dropped;
 * from the first valid one on, all are credited without a check (consensus-specs, electra: apply_pending_deposit). So the
 * credited ones are the last of them, and their sum is the balance that the validator came with.
 */
export function creditedToNewValidator(
  handled: readonly HandledDeposit[],
  firstBalanceGwei: bigint,
): readonly HandledDeposit[] {
  let sumGwei = 0n
  for (let from = handled.length - 1; from >= 0; from--) {
    sumGwei += (handled[from] as HandledDeposit).deposit.amountGwei
    if (sumGwei === firstBalanceGwei) return handled.slice(from)
  }
  throw new AppError(
    'node_inconsistent',
    `the balance of new validator ${handled[0]?.deposit.pubkey} is not the sum of its deposits`,
    { retryable: true },
  )
}

/** The event's form of a credited deposit. `slot` is the first of the epoch that the transition leads into. */
export function toCreditedDeposit(
  { deposit, ordinal }: HandledDeposit,
  validatorIndex: number,
  slot: number,
): CreditedDeposit {
  const fromQueue = deposit.slot === 0 && deposit.signature === G2_INFINITY
  return {
    slot,
    validatorIndex,
    kind: fromQueue ? 'returned_from_queue' : 'deposit',
    ordinal,
    amountGwei: deposit.amountGwei.toString(),
  }
}
