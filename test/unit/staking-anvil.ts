import { readFileSync } from 'node:fs'
import { type Abi, decodeFunctionResult, encodeDeployData, encodeFunctionData, parseTransaction } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { type Anvil, openAnvil } from '../../infra/devnet/execution/anvil-process.ts'
import {
  BATCH_DEPOSIT_ADDRESS,
  DEPOSIT_CONTRACT_ADDRESS,
  DEVNET_CHAIN_ID,
  GAS_LIMIT,
  SCENARIO_MNEMONIC,
  writeGenesisFile,
} from '../../infra/devnet/execution/genesis.ts'
import type { Hex } from '../../schemas/eth/hex.ts'
import {
  type StakingContract,
  type StakingContractKind,
  serializeUnsigned,
  TRANSACTION_GAS_MAX,
} from '../../schemas/eth/staking-transaction.ts'
import { fixturePath } from '../fixture-folder.ts'
import artifacts from '../staking-contracts/artifacts.json' with { type: 'json' }

const GENESIS_TIME_SEC = 1_700_000_000
const SLOT_SEC = 12
const GWEI = 10n ** 9n

// Storage of the official contract: the branch (a slot per level), the count, and `zero_hashes`, which its constructor fills.
const TREE_DEPTH = 32
const COUNT_SLOT = TREE_DEPTH
const ZERO_HASHES_SLOT = COUNT_SLOT + 1

export const STAKEFISH_FEE_WEI = 25n * 10n ** 15n

export interface Receipt {
  readonly status: Hex
  readonly gasUsed: Hex
  readonly contractAddress: Hex
  readonly logs: readonly { readonly address: Hex; readonly topics: [Hex, ...Hex[]]; readonly data: Hex }[]
}

/** What a wallet is told to send; gas is the most that is allowed unless it is given. */
export interface Sent {
  readonly to: string
  readonly valueWei: bigint
  readonly data: Hex
  readonly gas?: bigint
}

/** The devnet's genesis with the official deposit contract in place of the devnet's, and a batch contract of each kind. */
export interface StakingAnvil extends AsyncDisposable {
  readonly contracts: Readonly<Record<StakingContractKind, StakingContract>>
  readonly officialAbi: Abi
  readonly sender: Hex
  /** Of its JSON-RPC. */
  readonly url: string
  send(transaction: Sent): Promise<Receipt>
  /** Signs a transaction as a wallet does, as `serializeUnsigned` writes it, sends it, and mines a block. */
  signAndSend(unsigned: Hex): Promise<Receipt>
  readDepositContract(functionName: 'get_deposit_root' | 'get_deposit_count'): Promise<unknown>
  /** The deposit contract as after this many deposits, of anything. */
  setDepositCount(count: number): Promise<void>
  balanceWei(address: string): Promise<bigint>
  /** What `action` does to the chain is undone after it. */
  undoing<T>(action: () => Promise<T>): Promise<T>
}

function official(): { readonly abi: Abi; readonly bytecode: Hex } {
  const file = fixturePath('staking', 'deposit_contract.json')
  return JSON.parse(readFileSync(file, 'utf8'))
}

export async function openStakingAnvil(): Promise<StakingAnvil> {
  const anvil = await openDevnetAnvil()
  const account = mnemonicToAccount(SCENARIO_MNEMONIC)
  const { abi: officialAbi, bytecode } = official()
  let timestampSec = GENESIS_TIME_SEC

  async function mine(): Promise<void> {
    timestampSec += SLOT_SEC
    await anvil.rpc.call('evm_mine', [{ timestamp: timestampSec }])
  }

  async function send({ to, valueWei, data, gas = TRANSACTION_GAS_MAX }: Sent): Promise<Receipt> {
    const nonce = Number(await anvil.rpc.call('eth_getTransactionCount', [account.address, 'latest']))
    const fees = { maxFeePerGas: 10n * GWEI, maxPriorityFeePerGas: GWEI }
    return await signAndSend(serializeUnsigned({ chainId: DEVNET_CHAIN_ID, nonce, to, valueWei, data, gas, ...fees }))
  }

  async function signAndSend(unsigned: Hex): Promise<Receipt> {
    const signed = await account.signTransaction(parseTransaction(unsigned))
    const hash = await anvil.rpc.call('eth_sendRawTransaction', [signed])
    await mine()
    return (await anvil.rpc.call('eth_getTransactionReceipt', [hash])) as Receipt
  }

  async function deploy(input: Hex): Promise<Hex> {
    const hash = await anvil.rpc.call('eth_sendTransaction', [{ from: account.address, input, gas: '0x7a1200' }])
    await mine()
    return ((await anvil.rpc.call('eth_getTransactionReceipt', [hash])) as Receipt).contractAddress
  }

  await replaceDepositContract(anvil, await deploy(bytecode))
  const args = [DEPOSIT_CONTRACT_ADDRESS]
  const { KilnBatchDeposit: kiln, StakefishBatchDeposit: stakefish } = artifacts.contracts
  const kilnAddress = await deploy(encodeDeployData({ abi: kiln.abi as Abi, bytecode: kiln.bytecode as Hex, args }))
  const stakefishAddress = await deploy(
    encodeDeployData({
      abi: stakefish.abi as Abi,
      bytecode: stakefish.bytecode as Hex,
      args: [...args, STAKEFISH_FEE_WEI],
    }),
  )
  return {
    contracts: {
      deposit: { kind: 'deposit', address: DEPOSIT_CONTRACT_ADDRESS, feeWei: 0n },
      abyss: { kind: 'abyss', address: BATCH_DEPOSIT_ADDRESS, feeWei: 0n },
      kiln: { kind: 'kiln', address: kilnAddress, feeWei: 0n },
      stakefish: { kind: 'stakefish', address: stakefishAddress, feeWei: STAKEFISH_FEE_WEI },
    },
    officialAbi,
    sender: account.address,
    url: anvil.url,
    send,
    signAndSend,
    async readDepositContract(functionName) {
      const data = encodeFunctionData({ abi: officialAbi, functionName })
      const result = await anvil.rpc.call('eth_call', [{ to: DEPOSIT_CONTRACT_ADDRESS, data }, 'latest'])
      return decodeFunctionResult({ abi: officialAbi, functionName, data: result as Hex })
    },
    async setDepositCount(count) {
      for (let level = 0; level < TREE_DEPTH; level++) await setStorage(anvil, level, `0x${'11'.repeat(32)}`)
      await setStorage(anvil, COUNT_SLOT, wordOf(count))
    },
    balanceWei: async (address) => BigInt((await anvil.rpc.call('eth_getBalance', [address, 'latest'])) as Hex),
    async undoing(action) {
      const snapshot = await anvil.rpc.call('evm_snapshot', [])
      try {
        return await action()
      } finally {
        await anvil.rpc.call('evm_revert', [snapshot])
      }
    },
    [Symbol.asyncDispose]: () => anvil[Symbol.asyncDispose](),
  }
}

async function openDevnetAnvil(): Promise<Anvil> {
  await using genesisFile = await writeGenesisFile([])
  return await openAnvil({
    chainId: DEVNET_CHAIN_ID,
    genesisTimeSec: GENESIS_TIME_SEC,
    mnemonic: SCENARIO_MNEMONIC,
    accounts: 1,
    accountBalanceEth: 1_000_000,
    gasLimit: GAS_LIMIT,
    baseFeeWei: GWEI,
    genesisFile: genesisFile.path,
  })
}

/** Puts what was deployed, code and storage, to the address that the devnet's batch contract knows. */
async function replaceDepositContract({ rpc }: Anvil, deployed: Hex): Promise<void> {
  await rpc.call('anvil_setCode', [DEPOSIT_CONTRACT_ADDRESS, await rpc.call('eth_getCode', [deployed, 'latest'])])
  for (let slot = ZERO_HASHES_SLOT; slot < ZERO_HASHES_SLOT + TREE_DEPTH; slot++) {
    await setStorage({ rpc }, slot, await rpc.call('eth_getStorageAt', [deployed, wordOf(slot), 'latest']))
  }
}

async function setStorage({ rpc }: Pick<Anvil, 'rpc'>, slot: number, value: unknown): Promise<void> {
  await rpc.call('anvil_setStorageAt', [DEPOSIT_CONTRACT_ADDRESS, wordOf(slot), value])
}

function wordOf(value: number): Hex {
  return `0x${value.toString(16).padStart(64, '0')}`
}
