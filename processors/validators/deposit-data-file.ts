import { depositDataRoot, depositMessageRoot } from '../../schemas/eth/deposit-data.ts'
import { bytesOf, hexOf } from '../../schemas/eth/hex.ts'
import type { Created } from '../../schemas/routes/validators/create-validators.ts'

/** Of the deposit tools that this file is like; who reads it asks for 1.0.0 or newer. */
const DEPOSIT_CLI_VERSION = '2.7.0'

/** A deposit as the standard tools write and read it (ethereum/staking-deposit-cli): hex without 0x, the amount in gwei. */
export interface DepositFileEntry {
  readonly pubkey: string
  readonly withdrawal_credentials: string
  readonly amount: number
  readonly signature: string
  readonly deposit_message_root: string
  readonly deposit_data_root: string
  readonly fork_version: string
  readonly network_name: string
  readonly deposit_cli_version: string
}

/**
 * The deposit of a created validator. Both roots are made anew of what it says. Undefined where the answer has no such validator, or its
 * deposit is not to these credentials (32 bytes).
 */
export function toDepositEntry(
  { validators }: Created,
  { pubkey, withdrawalCredentials }: { readonly pubkey: string; readonly withdrawalCredentials: Uint8Array },
): DepositFileEntry | undefined {
  const validator = validators.find((one) => one.pubkey === pubkey)
  if (validator === undefined) return undefined
  const { amount, signature, deposit_data_root, deposit_message_root, fork_version } = validator.deposit_data
  const message = { pubkey: bytesOf(pubkey), withdrawalCredentials, amountGwei: BigInt(amount) }
  const isItsOwn =
    hexOf(depositMessageRoot(message)) === deposit_message_root &&
    hexOf(depositDataRoot(message, bytesOf(signature))) === deposit_data_root
  if (!isItsOwn) return undefined
  return {
    pubkey: bare(pubkey),
    withdrawal_credentials: bare(hexOf(withdrawalCredentials)),
    amount,
    signature: bare(signature),
    deposit_message_root: bare(deposit_message_root),
    deposit_data_root: bare(deposit_data_root),
    fork_version: bare(fork_version),
    network_name: validator.network,
    deposit_cli_version: DEPOSIT_CLI_VERSION,
  }
}

function bare(hex: string): string {
  return hex.slice('0x'.length)
}
