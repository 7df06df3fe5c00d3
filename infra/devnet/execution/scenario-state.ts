export const USERS = 12
export const BUILDERS = 4
/** Account numbers of the scenario's phrase. */
export const FIRST_BUILDER = USERS
export const DEPOSITOR = USERS + BUILDERS
export const ACCOUNTS = USERS + BUILDERS + 1

export const TOKENS = 40 // few, because anvil hashes the whole state anew for every block
export const ITEM_IDS = 2

export interface DepositData {
  readonly pubkey: Hex
  readonly withdrawalCredentials: Hex
  readonly amountGwei: bigint
  readonly signature: Hex
  readonly depositDataRoot: Hex
}

export type DepositsFor = (validatorNumber: number, amountGwei: bigint, withdrawalAddress: Hex) => DepositData

export interface PlannedDeposit {
  readonly slot: number
  readonly validatorNumber: number
  readonly amountGwei: bigint
}

/** What the next block's transactions depend on; immutable, one value per block, so that a rollback is a look-up. */
export interface ScenarioState {
  readonly nonces: readonly number[]
  readonly depositsSent: number
  /** Owner of each ERC-721 token as account number + 1; 0 when it does not exist. */
  readonly tokenOwners: Uint8Array
  /** ERC-1155 balances: [id * USERS + user]. */
  readonly itemBalances: Uint16Array
  readonly authorizationNonce: number
}

export const INITIAL_STATE: ScenarioState = {
  nonces: new Array<number>(ACCOUNTS).fill(0),
  depositsSent: 0,
  tokenOwners: new Uint8Array(TOKENS),
  itemBalances: new Uint16Array(ITEM_IDS * USERS),
  authorizationNonce: 0,
}

/** Fields of eth_sendTransaction without `from` and `nonce`. */
export type TransactionFields = Readonly<Record<string, unknown>>

export interface PlannedTransaction {
  readonly sender: number
  readonly nonce: number
  readonly fields: TransactionFields
  /** To be signed by the delegating account and put into the authorization list (EIP-7702). */
  readonly authorization?: { readonly address: Hex; readonly nonce: number }
}

/**
 * What kind of chain the transactions are for. `ethereum`: proposers, builders, blobs. `rollup`: one sequencer makes every block,
 * there are neither builders nor blobs, and most blocks move tokens.
 */
export type Profile = 'ethereum' | 'rollup'

export interface ScenarioSetup {
  readonly seed: string
  readonly profile: Profile
  /** Addresses of the scenario's accounts, by account number. */
  readonly addresses: readonly Hex[]
  readonly deposits: readonly PlannedDeposit[]
  readonly depositsFor: DepositsFor
}

import type { Hex } from '../../../schemas/eth/hex.ts'
