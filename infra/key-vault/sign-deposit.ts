import { PublicKey, type SecretKey, Signature, verifyMultipleAggregateSignatures } from '@chainsafe/blst'
import { depositDataRoot, depositDomain, depositMessageRoot } from '../../schemas/eth/deposit-data.ts'
import { signingRoot } from '../../schemas/eth/signing-root.ts'
import type { DepositTerms, SignedDeposit } from '../ports/key-vault.ts'
import { deriveSigningKey } from './derive.ts'

/** Deposits, and whether all of their signatures hold. */
export interface VerifiedDeposits {
  readonly deposits: readonly SignedDeposit[]
  readonly hold: boolean
}

/** A deposit for the key at each index of a seed, whose key at m/12381/3600 is given; verified in one batch. */
export function signDeposits(commonKey: SecretKey, indices: readonly number[], terms: DepositTerms): VerifiedDeposits {
  const deposits = indices.map((index) => signDeposit(deriveSigningKey(commonKey, index), terms))
  return { deposits, hold: signaturesHold(deposits, terms.genesisForkVersion) }
}

/** A deposit of the key's, signed as process_deposit of the consensus specification checks it. */
export function signDeposit(key: SecretKey, terms: DepositTerms): SignedDeposit {
  const { withdrawalCredentials, amountGwei } = terms
  const message = { pubkey: key.toPublicKey().toBytes(), withdrawalCredentials, amountGwei }
  const messageRoot = depositMessageRoot(message)
  const signature = key.sign(signingRoot(messageRoot, depositDomain(terms.genesisForkVersion))).toBytes()
  return { ...message, signature, messageRoot, dataRoot: depositDataRoot(message, signature) }
}

/**
 * Whether every deposit's signature holds, in one batch (https://ethresear.ch/t/5407). It reads the bytes that are handed out, and makes
 * the roots anew: the deposit contract takes a wrong signature, and the deposit is lost.
 */
export function signaturesHold(deposits: readonly SignedDeposit[], genesisForkVersion: Uint8Array): boolean {
  const domain = depositDomain(genesisForkVersion)
  const sets = deposits.map((deposit) => ({
    msg: signingRoot(depositMessageRoot(deposit), domain),
    pk: PublicKey.fromBytes(deposit.pubkey),
    sig: Signature.fromBytes(deposit.signature),
  }))
  return verifyMultipleAggregateSignatures(sets, true, true)
}
