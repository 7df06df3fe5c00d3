import type { Hex } from '../../schemas/eth/hex.ts'

export interface ContractCall {
  /** Lower-case hex. */
  readonly to: string
  readonly data: Hex
}

export type CallAnswer =
  | { readonly status: 'returned'; readonly data: Uint8Array }
  /** Reverted with whatever reason, or out of gas: nothing that it says is followed, `OffchainLookup` (EIP-3668) neither. */
  | { readonly status: 'reverted' }
  /** More than anybody wants of a contract, by its size; or the node has given it up because it took too long. */
  | { readonly status: 'too_large' | 'timed_out' }

/** What calls were answered, all after one block and by one node. */
export interface CallAnswers {
  readonly block: { readonly number: number; readonly hash: string; readonly timeSec: number }
  readonly answers: readonly CallAnswer[]
}

/** Why a node cannot say who made a contract, or when. */
export const UNKNOWN_DEPLOYMENTS = ['not_a_contract', 'no_old_states', 'made_by_contract'] as const
export type UnknownDeployment = (typeof UNKNOWN_DEPLOYMENTS)[number]

/**
 * The block that a contract is there from, where states of before it show that it was not, or the node knows the transaction; and who sent
 * the transaction whose receipt names it.
 */
export interface Deployment {
  readonly block: number | null
  /** Lower-case hex. */
  readonly deployer: string | null
  /** Why one of them, or both, are null. */
  readonly reason: UnknownDeployment | null
}

/**
 * What reading token contracts needs of a chain's execution nodes, nothing more. Questions throw AppError of a node fault where no node
 * answers: transient ones were already retried, on the fallbacks too.
 */
export interface ContractNode extends AsyncDisposable {
  /**
   * After the newest block. Each call has a bounded amount of gas, and its answer a bounded size: what goes beyond is that call's answer,
   * and neither the node's fault nor the other calls'.
   */
  call(calls: readonly ContractCall[]): Promise<CallAnswers>
  deploymentOf(contract: string): Promise<Deployment>
}
