import { createHash, hash } from 'node:crypto'
import { SecretKey } from '@chainsafe/blst'
import { type Hex, hexOf } from '../../../schemas/eth/hex.ts'

// The program looks its demo account's keys up here as well: nothing that takes long to load belongs into this file.

/** Validators of one owner share a withdrawal address, as customers' validators do. */
const VALIDATORS_PER_OWNER = 8

const FEE_POOLS = 8

/** Order of the group that secret keys are numbers of (consensus-specs, BLS12-381). */
const CURVE_ORDER = 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001n
const KEY_BYTES = 32

/**
 * The secret key of a validator number: the publicly known interop keys (ethereum/eth2.0-pm, interop/mocked_start): the hash of the
 * number, 32 bytes with the lowest first, read the same way and taken modulo the curve's order.
 */
export function secretKeyOf(validatorNumber: number): SecretKey {
  const number = Buffer.alloc(KEY_BYTES)
  number.writeUInt32LE(validatorNumber)
  const hashed = hash('sha256', number, 'buffer').reverse().toString('hex')
  const key = (BigInt(`0x${hashed}`) % CURVE_ORDER).toString(16).padStart(2 * KEY_BYTES, '0')
  return SecretKey.fromBytes(Buffer.from(key, 'hex'))
}

/** 48 bytes. Numbers below the genesis count are the genesis validators, those above belong to deposits. */
export function pubkeyOf(validatorNumber: number): Uint8Array {
  return secretKeyOf(validatorNumber).toPublicKey().toBytes()
}

function addressFrom(label: string): Hex {
  return hexOf(createHash('sha256').update(`epochline devnet ${label}`).digest().subarray(0, 20))
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
