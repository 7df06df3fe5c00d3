import { PublicKey, Signature, verify } from '@chainsafe/blst'
import { ssz } from '@lodestar/types'

// What the standard deposit tools ask of a deposit_data.json before they send it: ethereum/staking-launchpad (validateDepositKey.ts) and
// ethereum/staking-deposit-cli (utils/validation.py). Nothing of the product's code is used here.

const GWEI_PER_ETH = 1_000_000_000
const AMOUNT_GWEI_MIN = GWEI_PER_ETH
const AMOUNT_GWEI_MAX = 32 * GWEI_PER_ETH
const CLI_VERSION_MAJOR_MIN = 1
/** Digits of each field: hex without a prefix. */
const DIGITS = {
  pubkey: 96,
  withdrawal_credentials: 64,
  signature: 192,
  deposit_message_root: 64,
  deposit_data_root: 64,
  fork_version: 8,
} as const
/** 0x01 and 0x02 name an address behind eleven zero bytes. */
const TO_ADDRESS = /^0[12]0{22}/
const DOMAIN_DEPOSIT = Buffer.from('03000000', 'hex')

export interface ToolsNetwork {
  /** As the tools name it. */
  readonly name: string
  /** Of the genesis, 8 digits. */
  readonly forkVersion: string
  /** Of the owner, 40 digits. */
  readonly withdrawalAddress: string
}

/** Why the tools would not take the file; empty when they would. */
export function faultsOfDeposits(text: string, network: ToolsNetwork): readonly string[] {
  const entries = JSON.parse(text) as readonly Record<string, unknown>[]
  if (!Array.isArray(entries) || entries.length === 0) return ['no list of deposits']
  const pubkeys = entries.map(({ pubkey }) => pubkey)
  const twice = new Set(pubkeys).size < pubkeys.length ? ['a public key twice'] : []
  return [...twice, ...entries.flatMap((entry) => faultsOfDeposit(entry, network))]
}

function faultsOfDeposit(entry: Readonly<Record<string, unknown>>, network: ToolsNetwork): readonly string[] {
  const malformed = Object.entries(DIGITS).flatMap(([name, digits]) =>
    new RegExp(`^[0-9a-f]{${digits}}$`).test(String(entry[name])) && typeof entry[name] === 'string' ? [] : [name],
  )
  if (malformed.length > 0) return malformed
  const { amount, deposit_cli_version: version } = entry
  const isAmount = Number.isInteger(amount) && Number(amount) >= AMOUNT_GWEI_MIN && Number(amount) <= AMOUNT_GWEI_MAX
  const [, major] = /^(\d+)\.\d+\.\d+$/.exec(String(version)) ?? []
  const credentials = String(entry.withdrawal_credentials)
  const isOwners = TO_ADDRESS.test(credentials) && credentials.endsWith(network.withdrawalAddress)
  const checks = {
    amount: isAmount,
    deposit_cli_version: Number(major) >= CLI_VERSION_MAJOR_MIN,
    fork_version: entry.fork_version === network.forkVersion,
    network_name: entry.network_name === network.name,
    withdrawal_credentials: isOwners,
    ...(isAmount ? signedChecks(entry) : {}),
  }
  return Object.entries(checks).flatMap(([name, isRight]) => (isRight ? [] : [name]))
}

function signedChecks(entry: Readonly<Record<string, unknown>>): Readonly<Record<string, boolean>> {
  const bytes = (name: keyof typeof DIGITS) => Buffer.from(String(entry[name]), 'hex')
  const { DepositData, DepositMessage, ForkData, SigningData } = ssz.phase0
  const [pubkey, signature] = [bytes('pubkey'), bytes('signature')]
  const message = { pubkey, withdrawalCredentials: bytes('withdrawal_credentials'), amount: Number(entry.amount) }
  const messageRoot = DepositMessage.hashTreeRoot(message)
  // A deposit belongs to no fork: no chain's validators are in its domain.
  const fork = { currentVersion: bytes('fork_version'), genesisValidatorsRoot: new Uint8Array(32) }
  const domain = Buffer.concat([DOMAIN_DEPOSIT, ForkData.hashTreeRoot(fork).subarray(0, 28)])
  const signed = SigningData.hashTreeRoot({ objectRoot: messageRoot, domain })
  return {
    deposit_message_root: bytes('deposit_message_root').equals(messageRoot),
    deposit_data_root: bytes('deposit_data_root').equals(DepositData.hashTreeRoot({ ...message, signature })),
    signature: isSignature(signed, pubkey, signature),
  }
}

function isSignature(root: Uint8Array, pubkey: Uint8Array, signature: Uint8Array): boolean {
  try {
    return verify(root, PublicKey.fromBytes(pubkey, true), Signature.fromBytes(signature, true))
  } catch {
    return false // no point of the curve
  }
}
