import { type Argument, bytes32, bytes32Array, bytesArray, encodeCall, packedBytes } from './call-data.ts'
import { type Hex, hexOf } from './hex.ts'
import type { SignedDeposit } from './signed-deposit.ts'
import { signingBytes } from './signed-transaction.ts'
import { toWei, type Wei } from './units.ts'

/**
 * How a contract wants deposits: the deposit contract itself takes one, those of Abyss, Kiln and stakefish pass on many. The kind is
 * configured, never guessed from a call: Kiln's and stakefish's share a selector, and mean other things by the second argument.
 */
export type StakingContractKind = 'deposit' | 'abyss' | 'kiln' | 'stakefish'

export interface StakingContract {
  readonly kind: StakingContractKind
  readonly address: string
  /** Wei per validator that the contract takes for itself: stakefish's `fee()`, 0 for all others. */
  readonly feeWei: bigint
}

/** What a wallet sends to make all the deposits, or a sentence for whoever asked for them: why no one call does. */
export type StakingCall =
  | { readonly status: 'ok'; readonly to: string; readonly valueWei: Wei; readonly data: Hex }
  | { readonly status: 'refused'; readonly reason: string }

/** What a call says of a deposit, which is all of it but the root that was signed. */
export type CalledDeposit = Omit<SignedDeposit, 'messageRoot'>

interface Kind {
  readonly validatorsMax: number
  /** The batch contracts pass on 32 ETH with each key; the deposit contract takes what it is sent. */
  readonly takesAnyAmount: boolean
  /** One credential is passed on with all keys. */
  readonly sharesCredentials: boolean
  readonly takesFee: boolean
  encode(deposits: readonly CalledDeposit[]): Hex
}

/** Of each deposit that a batch contract passes on. */
export const BATCH_AMOUNT_GWEI = 32_000_000_000n
/** Kiln has two functions; the one for few validators costs less gas. */
const KILN_SMALL_BATCH_MAX = 64

export const DEPOSIT = '0x22895118' // deposit(bytes,bytes,bytes,bytes32)
export const DEPOSIT_MANY = '0x4f498c73' // deposit(bytes[],bytes[],bytes[],bytes32[])
export const BATCH_DEPOSIT = '0xc82655b7' // batchDeposit(bytes,bytes,bytes,bytes32[])
export const BIG_BATCH_DEPOSIT = '0x4aeab911' // bigBatchDeposit(bytes,bytes,bytes,bytes32[])

const BATCH = { takesAnyAmount: false, sharesCredentials: false, takesFee: false }

// ethereum/consensus-specs:solidity_deposit_contract/deposit_contract.sol
// abyssfinance/abyss-eth2depositor:contracts/AbyssEth2Depositor.sol
// kilnfi/vyper_batch_deposit:src/BatchDeposit.vy
// stakefish/eth2-batch-deposit:contracts/BatchDeposits.sol
const KINDS: Readonly<Record<StakingContractKind, Kind>> = {
  deposit: { ...BATCH, validatorsMax: 1, takesAnyAmount: true, encode: depositCall },
  abyss: { ...BATCH, validatorsMax: 100, encode: abyssCall },
  kiln: { ...BATCH, validatorsMax: 512, encode: kilnCall },
  stakefish: { ...BATCH, validatorsMax: 100, sharesCredentials: true, takesFee: true, encode: stakefishCall },
}

/** The one call that makes the deposits. Throws where a field of a deposit has another length than it is documented to have. */
export function stakingCall(contract: StakingContract, deposits: readonly CalledDeposit[]): StakingCall {
  deposits.forEach(checkLengths)
  const reason = refusalOf(contract, deposits)
  if (reason !== undefined) return { status: 'refused', reason }
  const { kind, address: to, feeWei } = contract
  const valueWei = deposits.reduce((sum, { amountGwei }) => sum + toWei(amountGwei) + feeWei, 0n)
  return { status: 'ok', to, valueWei, data: KINDS[kind].encode(deposits) }
}

function refusalOf({ kind, feeWei }: StakingContract, deposits: readonly CalledDeposit[]): string | undefined {
  const { validatorsMax, takesAnyAmount, sharesCredentials, takesFee } = KINDS[kind]
  const count = deposits.length
  if (count === 0) return 'a staking transaction is for at least one validator'
  if (count > validatorsMax)
    return `${count} validators are too many for one transaction: the staking contract takes ${validatorsMax} at most`
  // Kiln's contract checks no value: what it is sent beyond the deposits is lost.
  if (feeWei !== 0n && !takesFee) return `a staking contract of kind ${kind} takes no fee`
  if (!takesAnyAmount && deposits.some(({ amountGwei }) => amountGwei !== BATCH_AMOUNT_GWEI))
    return 'the staking contract deposits 32 ETH for each validator, no other amount'
  if (sharesCredentials && new Set(deposits.map((deposit) => hexOf(deposit.withdrawalCredentials))).size > 1)
    return 'the staking contract takes one withdrawal address for all validators of a transaction'
  return undefined
}

const FIELD_BYTES = { pubkey: 48, withdrawalCredentials: 32, signature: 96, dataRoot: 32 } as const
const FIELDS = Object.keys(FIELD_BYTES) as (keyof typeof FIELD_BYTES)[]

/** Packed, a field that is too short would move all those behind it. */
function checkLengths(deposit: CalledDeposit): void {
  const wrong = FIELDS.find((field) => deposit[field].length !== FIELD_BYTES[field])
  if (wrong !== undefined) throw new Error(`a deposit's ${wrong} has ${FIELD_BYTES[wrong]} bytes`)
}

type Encoder = (items: readonly Uint8Array[]) => Argument

/** Pubkeys, credentials, signatures: the order of all kinds. The credentials are those of `owners`. */
function fields(encoder: Encoder, deposits: readonly CalledDeposit[], owners = deposits): Argument[] {
  return [
    encoder(deposits.map(({ pubkey }) => pubkey)),
    encoder(owners.map(({ withdrawalCredentials }) => withdrawalCredentials)),
    encoder(deposits.map(({ signature }) => signature)),
  ]
}

function rootsOf(deposits: readonly CalledDeposit[]): Argument {
  return bytes32Array(deposits.map(({ dataRoot }) => dataRoot))
}

function depositCall(deposits: readonly CalledDeposit[]): Hex {
  return encodeCall(DEPOSIT, [...fields(packedBytes, deposits), ...deposits.map(({ dataRoot }) => bytes32(dataRoot))])
}

function abyssCall(deposits: readonly CalledDeposit[]): Hex {
  return encodeCall(DEPOSIT_MANY, [...fields(bytesArray, deposits), rootsOf(deposits)])
}

function kilnCall(deposits: readonly CalledDeposit[]): Hex {
  const selector = deposits.length > KILN_SMALL_BATCH_MAX ? BIG_BATCH_DEPOSIT : BATCH_DEPOSIT
  return encodeCall(selector, [...fields(packedBytes, deposits), rootsOf(deposits)])
}

function stakefishCall(deposits: readonly CalledDeposit[]): Hex {
  return encodeCall(BATCH_DEPOSIT, [...fields(packedBytes, deposits, deposits.slice(0, 1)), rootsOf(deposits)])
}

/** No transaction may have more gas (EIP-7825). */
export const TRANSACTION_GAS_MAX = 16_777_216n

const GAS_PER_VALIDATOR = 32_000n
/**
 * The transaction itself, and the deposit contract's tree where it takes the most: one deposit in 2^31 climbs 31 levels of it, for
 * 115,000 gas more than the usual one; the first deposits of a new chain pay 17,000 more for each level that they begin.
 */
const GAS_BASE = 160_000n

/** Gas for a staking transaction of any kind where no node has estimated it: at least what it uses, whatever was deposited before. */
export function gasOf(count: number): bigint {
  const gas = GAS_BASE + GAS_PER_VALIDATOR * BigInt(count)
  return gas < TRANSACTION_GAS_MAX ? gas : TRANSACTION_GAS_MAX
}

/** All that a sender signs of a transaction of type 2 (EIP-1559) without an access list. */
export interface UnsignedTransaction {
  readonly chainId: number
  readonly nonce: number
  readonly to: string
  readonly valueWei: Wei
  readonly data: Hex
  readonly gas: bigint
  readonly maxFeePerGas: Wei
  readonly maxPriorityFeePerGas: Wei
}

/** The transaction as wallets take it to be signed: the type byte, then the RLP list without a signature. */
export function serializeUnsigned(transaction: UnsignedTransaction): Hex {
  const { chainId, nonce, to, valueWei, data, gas, maxFeePerGas, maxPriorityFeePerGas } = transaction
  return hexOf(
    signingBytes({
      type: '0x2',
      chainId: quantity(chainId),
      nonce: quantity(nonce),
      to,
      value: quantity(valueWei),
      input: data,
      gas: quantity(gas),
      maxFeePerGas: quantity(maxFeePerGas),
      maxPriorityFeePerGas: quantity(maxPriorityFeePerGas),
    }),
  )
}

function quantity(value: number | bigint): Hex {
  return `0x${value.toString(16)}`
}
