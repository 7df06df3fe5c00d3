import { hexOf } from './hex.ts'
import { KEPT_CONTRACTS } from './kept-logs.ts'
import type { RawTransaction, RawTransactionFault } from './raw-transaction.ts'
import { decodeStakingCall, type StakingCallFault } from './staking-call.ts'
import { type CalledDeposit, type StakingContract, TRANSACTION_GAS_MAX } from './staking-transaction.ts'

/** What a validator was created with; hex is lower-case. */
export interface CreatedTerms {
  readonly withdrawalCredentials: string
  readonly depositFrom: string
  /** Of the deposit that was signed, with its signature; undefined where it is not known here. */
  readonly depositDataRoot: string | undefined
}

/** What a transaction has to be; what is undefined is not known here and not looked at. */
export interface StakingRules {
  readonly chainId: number | undefined
  /** Configured for several deposits at once. */
  readonly contract: StakingContract | undefined
  readonly depositContract: string | undefined
  /** Of the account's created validators, by public key. */
  readonly createdOf: (pubkey: string) => CreatedTerms | undefined
}

export type StakingFault =
  | RawTransactionFault
  | StakingCallFault
  | 'wrong_chain'
  | 'wrong_contract'
  | 'withdrawal_request'
  | 'consolidation_request'
  | 'unknown_validator'
  | 'wrong_sender'
  | 'gas_too_low'
  | 'gas_too_high'

export type CheckedStaking =
  | { readonly status: 'ok'; readonly deposits: readonly CalledDeposit[] }
  | { readonly status: 'refused'; readonly reason: StakingFault; readonly sentence: string }
  /** It goes to an address of which it is not known here whether it is the deposit contract's. */
  | { readonly status: 'undecided' }

/** Whether a transaction deposits for validators of one account as they were created, and does nothing else. */
export function checkStaking(transaction: RawTransaction, rules: StakingRules): CheckedStaking {
  const { chainId, gas, to } = transaction
  if (rules.chainId !== undefined && chainId !== rules.chainId)
    return refused('wrong_chain', `the transaction is for chain ${chainId}, and this network is chain ${rules.chainId}`)
  if (to === KEPT_CONTRACTS.withdrawalRequests)
    return refused('withdrawal_request', 'the transaction is a withdrawal request (EIP-7002), not a deposit')
  if (to === KEPT_CONTRACTS.consolidationRequests)
    return refused('consolidation_request', 'the transaction is a consolidation request (EIP-7251), not a deposit')
  if (gas > TRANSACTION_GAS_MAX)
    return refused('gas_too_high', `no transaction may have more than ${TRANSACTION_GAS_MAX} gas (EIP-7825)`)
  const contract = contractOf(transaction, rules)
  if (contract === undefined) {
    if (to !== undefined && rules.depositContract === undefined) return { status: 'undecided' }
    return refused('wrong_contract', 'the transaction does not call the staking contract of this network')
  }
  const decoded = decodeStakingCall(contract, transaction)
  if (decoded.status === 'refused') return decoded
  return checkDeposits(transaction, decoded.deposits, rules)
}

/** By its address and its configured kind: what a function is called says nothing. */
function contractOf({ to }: RawTransaction, { contract, depositContract }: StakingRules): StakingContract | undefined {
  if (to === undefined) return undefined
  if (to === depositContract) return { kind: 'deposit', address: to, feeWei: 0n }
  return to === contract?.address ? contract : undefined
}

function checkDeposits(
  transaction: RawTransaction,
  deposits: readonly CalledDeposit[],
  { createdOf }: StakingRules,
): CheckedStaking {
  for (const deposit of deposits) {
    const pubkey = hexOf(deposit.pubkey)
    const created = createdOf(pubkey)
    if (created === undefined)
      return refused('unknown_validator', `${pubkey} is no validator that this account created`)
    if (created.depositFrom !== transaction.sender)
      return refused('wrong_sender', `${pubkey} is to be deposited from another address than the transaction's sender`)
    const { depositDataRoot: root = hexOf(deposit.dataRoot), withdrawalCredentials } = created
    if (hexOf(deposit.withdrawalCredentials) !== withdrawalCredentials || hexOf(deposit.dataRoot) !== root)
      return refused('altered_deposit_data', `the deposit data of ${pubkey} is not what it was created with`)
  }
  const gasMin = leastGas(transaction, deposits.length)
  if (transaction.gas < gasMin)
    return refused('gas_too_low', `the transaction uses at least ${gasMin} gas, and its limit is ${transaction.gas}`)
  return { status: 'ok', deposits }
}

const GAS_TRANSACTION = 21_000n
/** EIP-2028 and EIP-7623: per byte of call data, and the floor below which no transaction with call data is. */
const GAS_ZERO_BYTE = 4n
const GAS_BYTE = 16n
const GAS_FLOOR_TOKEN = 10n
/** EIP-2930. */
const GAS_ACCESS_ADDRESS = 2_400n
const GAS_ACCESS_KEY = 1_900n
/** The contract's own work for a deposit, of which its log alone is 4,000 and the hashes are 2,000: below what any has been seen to use. */
const GAS_DEPOSIT_MIN = 15_000n

/** Below this a transaction fails for sure, and its fee is lost. */
function leastGas({ data, accessList }: RawTransaction, deposits: number): bigint {
  const bytes = BigInt(data.length / 2 - 1)
  const zeros = BigInt((data.slice(2).match(/../g) ?? []).filter((byte) => byte === '00').length)
  const tokens = zeros + (bytes - zeros) * (GAS_BYTE / GAS_ZERO_BYTE)
  const keys = accessList.reduce((sum, { storageKeys }) => sum + storageKeys.length, 0)
  const access = GAS_ACCESS_ADDRESS * BigInt(accessList.length) + GAS_ACCESS_KEY * BigInt(keys)
  const used = GAS_TRANSACTION + access + GAS_ZERO_BYTE * tokens + GAS_DEPOSIT_MIN * BigInt(deposits)
  const floor = GAS_TRANSACTION + GAS_FLOOR_TOKEN * tokens
  return used > floor ? used : floor
}

function refused(reason: StakingFault, sentence: string): CheckedStaking {
  return { status: 'refused', reason, sentence }
}
