import { DOMAIN_DEPOSIT } from '@lodestar/params'
import { computeDomain, computeSigningRoot } from '@lodestar/state-transition'
import { ssz } from '@lodestar/types'
import { bytesOf, type Hex, hexOf } from '../../../schemas/eth/hex.ts'
import { secretKeyOf } from './keys.ts'

/**
 * The devnet's own network: no signature made for it is valid on another one. Deposits are signed with this version
 * whatever the current fork is (consensus-specs, process_deposit: DOMAIN_DEPOSIT is fork-agnostic).
 */
export const GENESIS_FORK_VERSION = Uint8Array.of(0x10, 0xe7, 0x00, 0x00)

const ETH1_CREDENTIALS_PREFIX = 0x01
const COMPOUNDING_CREDENTIALS_PREFIX = 0x02
const CREDENTIALS_ADDRESS_OFFSET = 12

/** What the deposit contract is called with; signature and root are those that the contract and the chain check. */
export interface DepositData {
  readonly pubkey: Hex
  readonly withdrawalCredentials: Hex
  readonly amountGwei: bigint
  readonly signature: Hex
  readonly depositDataRoot: Hex
}

/** 0x01 credentials (partial withdrawals above 32 ETH), or 0x02 ones (compounding up to 2048 ETH). */
export function withdrawalCredentialsFor(address: Hex, kind: 'eth1' | 'compounding' = 'eth1'): Uint8Array {
  const credentials = new Uint8Array(32)
  credentials[0] = kind === 'eth1' ? ETH1_CREDENTIALS_PREFIX : COMPOUNDING_CREDENTIALS_PREFIX
  credentials.set(bytesOf(address), CREDENTIALS_ADDRESS_OFFSET)
  return credentials
}

/**
 * A complete, validly signed deposit for the interop key of a validator number (0x01 credentials). For a number that is
 * already a validator it is a top-up.
 */
export function depositDataFor(validatorNumber: number, amountGwei: bigint, withdrawalAddress: Hex): DepositData {
  const secretKey = secretKeyOf(validatorNumber)
  const message = {
    pubkey: secretKey.toPublicKey().toBytes(),
    withdrawalCredentials: withdrawalCredentialsFor(withdrawalAddress),
    amount: Number(amountGwei),
  }
  const domain = computeDomain(DOMAIN_DEPOSIT, GENESIS_FORK_VERSION, new Uint8Array(32))
  const signature = secretKey.sign(computeSigningRoot(ssz.phase0.DepositMessage, message, domain)).toBytes()
  return {
    pubkey: hexOf(message.pubkey),
    withdrawalCredentials: hexOf(message.withdrawalCredentials),
    amountGwei,
    signature: hexOf(signature),
    depositDataRoot: hexOf(ssz.phase0.DepositData.hashTreeRoot({ ...message, signature })),
  }
}
