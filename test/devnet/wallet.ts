import { encodeFunctionData } from 'viem'
import { depositDataFor } from '../../infra/devnet/consensus/deposits.ts'
import artifacts from '../../infra/devnet/contracts/artifacts.json' with { type: 'json' }
import { DEPOSIT_CONTRACT_ADDRESS, DEVNET_CHAIN_ID } from '../../infra/devnet/execution/genesis.ts'
import type { Hex } from '../../schemas/eth/hex.ts'
import { askJsonRpc } from '../ask-json-rpc.ts'
import { WALLET } from '../wallets.ts'

const GWEI = 1_000_000_000n
const VALIDATOR_GWEI = 32n * GWEI

export const WALLET_ADDRESS = WALLET.address.toLowerCase() as Hex

/** Signs with the first account of "test test … junk", which is rich on the devnet, and sends. */
export async function sendFromWallet(url: string, to: Hex, data: Hex, valueWei: bigint): Promise<void> {
  const nonce = Number(await askJsonRpc(url, 'eth_getTransactionCount', [WALLET_ADDRESS, 'pending']))
  const fees = { gas: 300_000n, maxFeePerGas: 100n * GWEI, maxPriorityFeePerGas: GWEI }
  const fields = { to, data, value: valueWei, nonce, chainId: DEVNET_CHAIN_ID, type: 'eip1559', ...fees } as const
  await askJsonRpc(url, 'eth_sendRawTransaction', [await WALLET.signTransaction(fields)])
}

/** 32 ETH for the interop key of a number, with the wallet as withdrawal address. */
export async function depositFromWallet(url: string, validatorNumber: number): Promise<Hex> {
  const deposit = depositDataFor(validatorNumber, VALIDATOR_GWEI, WALLET_ADDRESS)
  const args = [deposit.pubkey, deposit.withdrawalCredentials, deposit.signature, deposit.depositDataRoot]
  const { abi } = artifacts.contracts.DepositContract
  const data = encodeFunctionData({ abi, functionName: 'deposit', args })
  await sendFromWallet(url, DEPOSIT_CONTRACT_ADDRESS, data, VALIDATOR_GWEI * GWEI)
  return deposit.pubkey
}
