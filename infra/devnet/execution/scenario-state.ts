export const USERS = 12
export const BUILDERS = 4
/** Account numbers of the scenario's phrase. */
export const FIRST_BUILDER = USERS
export const DEPOSITOR = USERS + BUILDERS
/** Makes the collections, and nothing else: their addresses follow from its nonces. */
export const PUBLISHER = DEPOSITOR + 1
export const ACCOUNTS = PUBLISHER + 1

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

/** Collections of OpenZeppelin's (scenario-collections.ts). */
export interface CollectionsState {
  /** How many of them have been made. */
  readonly published: number
  /** Owner of each token that there is one of, as account number + 1; 0 when it does not exist. */
  readonly owners: Uint8Array
  /** [id * USERS + user] */
  readonly provisions: Uint16Array
  /** By user. */
  readonly halves: Uint8Array
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
  readonly collections: CollectionsState
}

/** Tokens that are moved of each collection whose tokens there is one of. */
export const COLLECTION_TOKENS = 8
/** Lanterns, Charts, Echoes, Inscriptions, Almanac. */
export const SINGLE_COLLECTIONS = 5
export const PROVISION_IDS = 3

export const INITIAL_STATE: ScenarioState = {
  nonces: new Array<number>(ACCOUNTS).fill(0),
  depositsSent: 0,
  tokenOwners: new Uint8Array(TOKENS),
  itemBalances: new Uint16Array(ITEM_IDS * USERS),
  authorizationNonce: 0,
  collections: {
    published: 0,
    owners: new Uint8Array(SINGLE_COLLECTIONS * COLLECTION_TOKENS),
    provisions: new Uint16Array(PROVISION_IDS * USERS),
    halves: new Uint8Array(USERS),
  },
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
  /** Where documents of tokens are: part of what the contracts are made with. */
  readonly metadataUrl: string
}

import type { Hex } from '../../../schemas/eth/hex.ts'
