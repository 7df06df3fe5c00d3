import { readConfig } from '../../infra/config/config.ts'
import { openLocalKeyVault } from '../../infra/key-vault/open-local.ts'
import { checksumAddress } from '../../schemas/eth/address.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { ACCOUNTS_KEY } from '../../schemas/events/accounts.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { validatorsCreated } from '../../schemas/events/created-validators.ts'
import type { Created } from '../../schemas/routes/validators/create-validators.ts'
import type { Environment } from './processes.ts'
import { openLog } from './stores.ts'

const ADDRESS = `0x${'ad'.repeat(20)}`
const AMOUNT_GWEI = 32_000_000_000
const CREDENTIALS = new Uint8Array(32).fill(0xad).fill(0, 1, 12).fill(1, 0, 1)
const FORK_VERSION = Uint8Array.of(0x10, 0x00, 0x09, 0x10)

/** Makes validators of the account `acme` as the program does, while it is stopped and without a node. Their public keys. */
export async function createInVault(
  env: Environment,
  {
    count,
    requestId,
    isTold = true,
  }: { readonly count: number; readonly requestId: string; readonly isTold?: boolean },
): Promise<readonly string[]> {
  await using vault = await openLocalKeyVault(readConfig(env).vault)
  const chain = 'mainnet'
  const terms = { chain, genesisForkVersion: FORK_VERSION, withdrawalCredentials: CREDENTIALS }
  const { id, deposits } = await vault.prepare(count, { ...terms, amountGwei: BigInt(AMOUNT_GWEI) })
  const address = checksumAddress(ADDRESS)
  const validators: Created['validators'] = deposits.map(({ pubkey, signature, dataRoot, messageRoot }) => ({
    network: 'mainnet',
    pubkey: hexOf(pubkey),
    amount_wei: `${AMOUNT_GWEI}000000000`,
    withdrawal_address: address,
    deposit_from_address: address,
    fee_recipient_address: address,
    deposit_data: {
      amount: AMOUNT_GWEI,
      signature: hexOf(signature),
      deposit_data_root: hexOf(dataRoot),
      deposit_message_root: hexOf(messageRoot),
      fork_version: hexOf(FORK_VERSION),
    },
  }))
  await vault.commit(id, requestId, { account: 'acme', bodyHash: requestId, answer: JSON.stringify({ validators }) })
  const pubkeys = validators.map(({ pubkey }) => pubkey)
  if (!isTold) return pubkeys
  const data = { chain, account: 'acme', requestId, pubkeys, withdrawalCredentials: hexOf(CREDENTIALS) }
  const depositDataRoots = deposits.map(({ dataRoot }) => hexOf(dataRoot))
  const told = {
    depositDataRoots,
    ...data,
    depositFrom: ADDRESS,
    feeRecipient: ADDRESS,
    amountGwei: String(AMOUNT_GWEI),
  }
  await using eventLog = await openLog(env)
  await using lease = await eventLog.lease('validators', AbortSignal.timeout(30_000))
  const time = '2026-11-01T00:00:00.000Z'
  const event = { id: `account.validators-created:${pubkeys[0]}`, key: ACCOUNTS_KEY, time, data: told }
  await lease.append('accounts', [encodeEvent(validatorsCreated, event)])
  return pubkeys
}
