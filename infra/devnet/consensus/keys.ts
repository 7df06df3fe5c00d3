import { createHash } from 'node:crypto'
import { DOMAIN_DEPOSIT } from '@lodestar/params'
import { computeDomain, computeSigningRoot, interopSecretKey } from '@lodestar/state-transition'
import { ssz } from '@lodestar/types'
import type { Hex } from '../engine.ts'

/**
 * The devnet's own network: no signature made for it is valid on another one. Deposits are signed with this version
 * whatever the current fork is (consensus-specs, process_deposit: DOMAIN_DEPOSIT is fork-agnostic).
 */
export const GENESIS_FORK_VERSION = Uint8Array.of(0x10, 0xe7, 0x00, 0x00)

const ETH1_CREDENTIALS_PREFIX = 0x01
const COMPOUNDING_CREDENTIALS_PREFIX = 0x02
const CREDENTIALS_ADDRESS_OFFSET = 12

/** Validators of one owner share a withdrawal address, as customers' validators do. */
const VALIDATORS_PER_OWNER = 8

const FEE_POOLS = 8

/** What the deposit contract is called with; signature and root are those that the contract and the chain check. */
export interface DepositData {
  readonly pubkey: Hex
  readonly withdrawalCredentials: Hex
  readonly amountGwei: bigint
  readonly signature: Hex
  readonly depositDataRoot: Hex
}

export function toHex(bytes: Uint8Array): Hex {
  return `0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`
}

export function fromHex(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text.slice(2), 'hex'))
}

/** The secret key of a validator number: the publicly known interop keys (ethereum/eth2.0-pm, interop/mocked_start). */
export function secretKeyOf(validatorNumber: number): ReturnType<typeof interopSecretKey> {
  return interopSecretKey(validatorNumber)
}

/** 48 bytes. Numbers below the genesis count are the genesis validators, those above belong to deposits. */
export function pubkeyOf(validatorNumber: number): Uint8Array {
  return secretKeyOf(validatorNumber).toPublicKey().toBytes()
}

function addressFrom(label: string): Hex {
  return toHex(createHash('sha256').update(`epochline devnet ${label}`).digest().subarray(0, 20))
}

/** Withdrawal address of a validator number; the validators of one owner have the same one. */
export function withdrawalAddressOf(validatorNumber: number): Hex {
  return addressFrom(`owner ${Math.floor(validatorNumber / VALIDATORS_PER_OWNER)}`)
}

/**
 * Fee recipient of a validator number. One in four has its own; the others share one with their pool, as most validators of Ethereum
 * do, and because anvil hashes every account anew for every block.
 */
export function feeRecipientOf(validatorNumber: number): Hex {
  const isOwn = validatorNumber % 256 < 64
  return addressFrom(isOwn ? `fee recipient ${validatorNumber}` : `pool ${validatorNumber % FEE_POOLS}`)
}

/** 0x01 credentials (partial withdrawals above 32 ETH), or 0x02 ones (compounding up to 2048 ETH). */
export function withdrawalCredentialsFor(address: Hex, kind: 'eth1' | 'compounding' = 'eth1'): Uint8Array {
  const credentials = new Uint8Array(32)
  credentials[0] = kind === 'eth1' ? ETH1_CREDENTIALS_PREFIX : COMPOUNDING_CREDENTIALS_PREFIX
  credentials.set(fromHex(address), CREDENTIALS_ADDRESS_OFFSET)
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
    pubkey: toHex(message.pubkey),
    withdrawalCredentials: toHex(message.withdrawalCredentials),
    amountGwei,
    signature: toHex(signature),
    depositDataRoot: toHex(ssz.phase0.DepositData.hashTreeRoot({ ...message, signature })),
  }
}
