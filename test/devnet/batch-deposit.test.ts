import { parseTransaction } from 'viem'
import { expect, it } from 'vitest'
import { depositDataFor } from '../../infra/devnet/consensus/deposits.ts'
import { withdrawalAddressOf } from '../../infra/devnet/consensus/keys.ts'
import { BATCH_DEPOSIT_ADDRESS, DEVNET_CHAIN_ID } from '../../infra/devnet/execution/genesis.ts'
import { openJsonRpc } from '../../infra/devnet/execution/json-rpc.ts'
import { openExecutionEngine } from '../../infra/devnet/execution/open.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { gasOf, serializeUnsigned, stakingCall } from '../../schemas/eth/staking-transaction.ts'
import { signedDeposits } from '../unit/signed-deposits.ts'
import { WALLET } from '../wallets.ts'

const GENESIS_TIME_SEC = 1_700_000_000
const ZERO_HASH = `0x${'00'.repeat(32)}` as const

it('takes a staking transaction of a hundred validators: its block requests their deposits, in their order', async () => {
  await using engine = await openExecutionEngine({
    seed: 'batch',
    genesisTimeSec: GENESIS_TIME_SEC,
    depositsFor: depositDataFor,
    deposits: [],
  })
  await using rpc = openJsonRpc(engine.url)
  const deposits = signedDeposits(100, withdrawalAddressOf)
  const call = stakingCall({ kind: 'abyss', address: BATCH_DEPOSIT_ADDRESS, feeWei: 0n }, deposits)
  if (call.status !== 'ok') throw new Error(call.reason)
  const fees = { gas: gasOf(deposits.length), maxFeePerGas: 50_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n }
  const unsigned = serializeUnsigned({ ...call, ...fees, chainId: DEVNET_CHAIN_ID, nonce: 0 })
  const signed = await WALLET.signTransaction(parseTransaction(unsigned))
  await rpc.call('eth_sendRawTransaction', [signed])

  const { requests } = await engine.build({
    slot: 1,
    timestampSec: GENESIS_TIME_SEC + 12,
    parentHash: engine.genesisHash,
    parentBeaconBlockRoot: ZERO_HASH,
    prevRandao: ZERO_HASH,
    proposerIndex: 0,
    feeRecipient: `0x${'ee'.repeat(20)}`,
    withdrawals: [],
  })
  expect(
    requests.deposits.map((request) => ({
      pubkey: hexOf(request.pubkey),
      withdrawalCredentials: hexOf(request.withdrawalCredentials),
      amountGwei: BigInt(request.amount),
      signature: hexOf(request.signature),
    })),
  ).toEqual(
    deposits.map(({ pubkey, withdrawalCredentials, amountGwei, signature }) => ({
      pubkey: hexOf(pubkey),
      withdrawalCredentials: hexOf(withdrawalCredentials),
      amountGwei,
      signature: hexOf(signature),
    })),
  )
})
