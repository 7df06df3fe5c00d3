import type { StakedValidator, UnstakeFacts } from '../../infra/ports/unstake-node.ts'

/** What an address wants of a validator, and how the chain stands. */
export interface UnstakeView {
  /** Lower-case hex. */
  readonly address: string
  /** Undefined: all of it. */
  readonly amountGwei: bigint | undefined
  /** Undefined where the registry does not know the validator. */
  readonly validator: StakedValidator | undefined
  readonly headEpoch: number
  readonly facts: UnstakeFacts
  /** What of the validator's balance waits to be paid out in part. */
  readonly pendingGwei: bigint
}

export type UnstakeDecision =
  /** `requestGwei`: 0 is all, an exit. */
  | { readonly status: 'accepted'; readonly requestGwei: bigint }
  /** The chain would pass over the request, whose fee is gone all the same; the sentence says why. */
  | { readonly status: 'ignored'; readonly reason: string }

const ETH1 = '0x01'
const COMPOUNDING = '0x02'

/**
 * What becomes of a withdrawal request: it pays its fee in any case, and the consensus layer may do nothing about it.
 * ethereum/consensus-specs:specs/electra/beacon-chain.md (process_withdrawal_request).
 */
export function decideUnstake(view: UnstakeView): UnstakeDecision {
  const { address, validator, headEpoch, facts } = view
  if (validator === undefined) return ignored('the chain does not know the validator')
  const { withdrawalCredentials: credentials, activationEpoch, exitEpoch } = validator
  const type = credentials.slice(0, ETH1.length)
  if (type !== ETH1 && type !== COMPOUNDING) return ignored('the validator has no withdrawal address')
  if (credentials.slice(-40) !== address.slice(2))
    return ignored('address is not the withdrawal address of the validator')
  if (activationEpoch === undefined || activationEpoch > headEpoch) return ignored('the validator is not active yet')
  if (exitEpoch !== undefined) return ignored('the validator is exiting already')
  const fromEpoch = activationEpoch + facts.shardCommitteePeriodEpochs
  if (headEpoch < fromEpoch) return ignored(`the validator may exit from epoch ${fromEpoch} on, and it is ${headEpoch}`)
  return decideAmount(view, validator, type === COMPOUNDING)
}

function decideAmount(
  { amountGwei, facts, pendingGwei }: UnstakeView,
  { balanceGwei, effectiveBalanceGwei }: StakedValidator,
  isCompounding: boolean,
): UnstakeDecision {
  if (amountGwei === undefined || amountGwei === balanceGwei || amountGwei === effectiveBalanceGwei) {
    if (pendingGwei > 0n) return ignored('partial withdrawals of the validator are pending: it exits after them')
    return { status: 'accepted', requestGwei: 0n }
  }
  if (!isCompounding) return ignored('a validator without compounding credentials (0x02) is unstaked as a whole')
  const { minActivationBalanceGwei } = facts
  const leftGwei = balanceGwei - minActivationBalanceGwei - pendingGwei
  const mostGwei = effectiveBalanceGwei >= minActivationBalanceGwei && leftGwei > 0n ? leftGwei : 0n
  if (amountGwei > mostGwei)
    return ignored(`amount is more than the validator can pay out without exiting, which is ${mostGwei} gwei`)
  return { status: 'accepted', requestGwei: amountGwei }
}

function ignored(reason: string): UnstakeDecision {
  return { status: 'ignored', reason }
}
