import { createECDH, pbkdf2Sync } from 'node:crypto'
import { HDKey } from 'viem/accounts'
import { type Hex, hexOf } from '../../../schemas/eth/hex.ts'
import { keccak256 } from '../../../schemas/eth/keccak.ts'
import { encodeTransaction, signingBytes } from '../../../schemas/eth/signed-transaction.ts'
import { seededBytes } from '../consensus/random.ts'
import { SCENARIO_MNEMONIC } from './genesis.ts'
import type { MinedBlock } from './mined-block.ts'
import { ACCOUNTS } from './scenario-state.ts'

/**
 * anvil executes the scenario's transactions for unlocked senders, without a signature: signing one and recovering its sender takes
 * anvil 0.6 milliseconds, four times as long as everything else about it. The signature that readers see, and the hash that belongs
 * to it, are made here.
 */
export interface SenderSignatures {
  /** The block with a signature on every transaction that anvil has left without. */
  sign(block: MinedBlock): MinedBlock
  /** What anvil calls a transaction of a recent block; a transaction that came signed has one hash. */
  anvilHash(hash: Hex): Hex
}

type MinedTransaction = MinedBlock['transactions'][number]

/** ECDSA's secret number, its inverse, and what a signature tells of it. */
interface Nonce {
  readonly r: bigint
  readonly inverse: bigint
  readonly isOdd: boolean
}

/** Order of secp256k1 (SEC 2, section 2.4.1). */
const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
/** Ready-made ones serve all signatures. They would give the keys away, had the phrase not done so before. */
const NONCES = 64
const UNSIGNED = '0x0'
const V_WITH_CHAIN = 35n // EIP-155
/** More than are in the blocks that anvil can still tell about. */
const HASHES_KEPT = 2_048

function bigintOf(bytes: Uint8Array): bigint {
  return BigInt(hexOf(bytes))
}

function quantity(value: bigint): Hex {
  return `0x${value.toString(16)}`
}

function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let result = 1n
  for (let [square, rest] = [base % modulus, exponent]; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % modulus
    square = (square * square) % modulus
  }
  return result
}

function toNonce(scalar: Uint8Array): Nonce {
  const curve = createECDH('secp256k1')
  curve.setPrivateKey(scalar)
  const point = curve.getPublicKey(null, 'compressed')
  const inverse = power(bigintOf(scalar), CURVE_ORDER - 2n, CURVE_ORDER) // Fermat: the order is a prime
  return { r: bigintOf(point.subarray(1)) % CURVE_ORDER, inverse, isOdd: point[0] === 3 }
}

/** Private keys by account number (BIP-39 without a passphrase, BIP-44's path for Ethereum). */
function secretsOf(phrase: string): readonly bigint[] {
  const wallet = HDKey.fromMasterSeed(pbkdf2Sync(phrase, 'mnemonic', 2_048, 64, 'sha512')).derive("m/44'/60'/0'/0")
  return Array.from({ length: ACCOUNTS }, (_, account) => {
    const { privateKey } = wallet.deriveChild(account)
    if (privateKey === null) throw new Error('a phrase gives private keys')
    return bigintOf(privateKey)
  })
}

/** `addresses`: those of the scenario's accounts, by account number. */
export function createSenderSignatures(addresses: readonly Hex[]): SenderSignatures {
  const nonces = Array.from({ length: NONCES }, (_, i) => toNonce(seededBytes('transactions', `nonce ${i}`)))
  const secrets = new Map(secretsOf(SCENARIO_MNEMONIC).map((secret, account) => [addresses[account], secret]))
  const anvilHashes = new Map<Hex, Hex>()

  function signatureOf(secret: bigint, digest: Uint8Array) {
    const { r, inverse, isOdd } = nonces[(digest[0] ?? 0) % NONCES] as Nonce
    const s = (inverse * (bigintOf(digest) + r * secret)) % CURVE_ORDER
    const isHigh = s > CURVE_ORDER / 2n // EIP-2
    return { r: quantity(r), s: quantity(isHigh ? CURVE_ORDER - s : s), parity: isOdd === isHigh ? 0n : 1n }
  }

  function signed(transaction: MinedTransaction): MinedTransaction {
    if (transaction.r !== UNSIGNED || transaction.s !== UNSIGNED) return transaction
    const secret = secrets.get(transaction.from)
    if (secret === undefined) throw new Error(`${transaction.from} is no account of the scenario`)
    const isLegacy = Number(transaction.type ?? 0) === 0
    const vOf = (parity: bigint) =>
      quantity(isLegacy ? V_WITH_CHAIN + 2n * BigInt(transaction.chainId ?? 0) + parity : parity)
    const { r, s, parity } = signatureOf(secret, keccak256(signingBytes({ ...transaction, v: vOf(0n) })))
    const { yParity, ...rest } = transaction
    const parities = isLegacy ? {} : { yParity: quantity(parity) }
    const complete = { ...rest, ...parities, v: vOf(parity), r, s }
    const hash = hexOf(keccak256(encodeTransaction(complete)))
    anvilHashes.set(hash, transaction.hash)
    return { ...complete, hash }
  }

  return {
    sign(block) {
      for (const oldest of anvilHashes.keys()) {
        if (anvilHashes.size <= HASHES_KEPT) break
        anvilHashes.delete(oldest)
      }
      return block.transactions.length === 0 ? block : { ...block, transactions: block.transactions.map(signed) }
    },
    anvilHash: (hash) => anvilHashes.get(hash) ?? hash,
  }
}
