import {
  keccak256,
  numberToHex,
  parseTransaction,
  type TransactionSerializable,
  type TransactionSerializableEIP7702,
} from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { encodeTransaction } from '../../schemas/eth/signed-transaction.ts'
import { orderedTrieRoot } from '../../schemas/eth/trie.ts'
import { headerHash } from '../devnet/json-rpc.ts'

// Blocks as a node tells them, whose hashes hold. Transactions are signed, and headers hashed, without the code that checks them.

type Json = Readonly<Record<string, unknown>>

/** An account by the digit that its key consists of. */
export function accountOf(digit: string): PrivateKeyAccount {
  return privateKeyToAccount(`0x${digit.repeat(64)}`)
}

export function addressOf(account: PrivateKeyAccount): string {
  return account.address.toLowerCase()
}

export type RpcTransaction = Awaited<ReturnType<typeof signedTransaction>>

/** A transaction signed by the account, as JSON-RPC shows it. */
export async function signedTransaction(account: PrivateKeyAccount, transaction: TransactionSerializable) {
  const raw = await account.signTransaction(transaction)
  const parsed = parseTransaction(raw)
  const { nonce = 0, gas = 0n, value = 0n, v = 0n, r = '0x0', s = '0x0', yParity = 0 } = parsed
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas, maxFeePerBlobGas, chainId } = parsed
  const quantities = { gasPrice, maxFeePerGas, maxPriorityFeePerGas, maxFeePerBlobGas, chainId }
  const told = Object.entries(quantities).filter(([, quantity]) => quantity !== undefined)
  const type = { legacy: 0, eip2930: 1, eip1559: 2, eip4844: 3, eip7702: 4 }[parsed.type ?? 'legacy']
  return {
    hash: keccak256(raw),
    type: numberToHex(type),
    from: addressOf(account),
    to: parsed.to?.toLowerCase() ?? null,
    value: numberToHex(value),
    nonce: numberToHex(nonce),
    gas: numberToHex(gas),
    input: parsed.data ?? '0x',
    r,
    s,
    ...(type === 0 ? { v: numberToHex(v) } : { v: numberToHex(yParity), yParity: numberToHex(yParity) }),
    accessList: parsed.accessList ?? [],
    ...('blobVersionedHashes' in parsed ? { blobVersionedHashes: parsed.blobVersionedHashes } : {}),
    ...('authorizationList' in parsed ? { authorizationList: authorizationsOf(parsed.authorizationList ?? []) } : {}),
    ...Object.fromEntries(told.map(([name, quantity]) => [name, numberToHex(quantity ?? 0)])),
  }
}

function authorizationsOf(list: NonNullable<TransactionSerializableEIP7702['authorizationList']>) {
  return list.map(({ chainId, address, nonce, r, s, yParity = 0 }) => ({
    chainId: numberToHex(chainId),
    address,
    nonce: numberToHex(nonce),
    r,
    s,
    yParity: numberToHex(yParity),
  }))
}

const ZERO_HASH = `0x${'00'.repeat(32)}`
export const NO_BLOOM = `0x${'00'.repeat(256)}` as const

/** The header fields that no test is about, as a block of Prague has them. */
const HEADER = {
  sha3Uncles: ZERO_HASH,
  stateRoot: ZERO_HASH,
  logsBloom: NO_BLOOM,
  difficulty: '0x0',
  gasLimit: '0x3938700',
  mixHash: ZERO_HASH,
  nonce: '0x0000000000000000',
  withdrawalsRoot: ZERO_HASH,
  blobGasUsed: '0x0',
  excessBlobGas: '0x0',
  parentBeaconBlockRoot: ZERO_HASH,
  requestsHash: ZERO_HASH,
}

/** The block with the root of its transactions, if all are of known types, and with its hash. */
export function sealed<Block extends Json & { readonly transactions: readonly (Json & { readonly value: string })[] }>(
  block: Block,
) {
  const isKnown = block.transactions.every(({ type }) => Number(type) <= 4)
  const transactionsRoot = isKnown ? hexOf(orderedTrieRoot(block.transactions.map(encodeTransaction))) : ZERO_HASH
  const whole = { ...HEADER, ...block, transactionsRoot }
  return { ...whole, hash: headerHash(whole) }
}
