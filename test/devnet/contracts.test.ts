import { readFileSync } from 'node:fs'
import { type Abi, decodeFunctionResult, encodeDeployData, encodeFunctionData } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import collectionArtifacts from '../../infra/devnet/collections/artifacts.json' with { type: 'json' }
import { depositDataFor } from '../../infra/devnet/consensus/deposits.ts'
import artifacts from '../../infra/devnet/contracts/artifacts.json' with { type: 'json' }
import { compileContracts, DEVNET_COLLECTIONS, DEVNET_CONTRACTS } from '../../infra/devnet/contracts/compile.ts'
import { type Anvil, openAnvil } from '../../infra/devnet/execution/anvil-process.ts'
import { SCENARIO_MNEMONIC, writeGenesisFile } from '../../infra/devnet/execution/genesis.ts'
import type { Hex } from '../../schemas/eth/hex.ts'
import { fixturePath, HAS_FIXTURES } from '../fixture-folder.ts'
import stakingArtifacts from '../staking-contracts/artifacts.json' with { type: 'json' }
import { STAKING_CONTRACTS } from '../staking-contracts/compile.ts'

const COMPILING_MS = 60_000
const GENESIS_TIME_SEC = 1_700_000_000
const WITHDRAWAL_ADDRESS: Hex = '0x00000000000000000000000000000000000000aa'
const WEI_PER_GWEI = 1_000_000_000n

interface Deployed {
  readonly address: Hex
  readonly abi: Abi
}

interface Receipt {
  readonly status: Hex
  readonly contractAddress: Hex
  readonly logs: readonly { readonly topics: readonly Hex[]; readonly data: Hex }[]
}

describe('the compiled contracts', () => {
  it.each([
    ['of the devnet', DEVNET_CONTRACTS, artifacts],
    ['whose tokens are moved', DEVNET_COLLECTIONS, collectionArtifacts],
    ['that staking transactions are tried on', STAKING_CONTRACTS, stakingArtifacts],
  ])('%s are what the sources compile to', { timeout: COMPILING_MS }, (_, folder, kept) => {
    expect(compileContracts(folder)).toEqual(kept)
  })
})

describe('the deposit contract', () => {
  let anvil: Anvil
  let sender: Hex
  let timestampSec = GENESIS_TIME_SEC

  beforeAll(async () => {
    await using genesisFile = await writeGenesisFile([])
    anvil = await openAnvil({
      chainId: 7_017_017,
      genesisTimeSec: GENESIS_TIME_SEC,
      mnemonic: SCENARIO_MNEMONIC,
      accounts: 1,
      accountBalanceEth: 1_000_000,
      gasLimit: 36_000_000,
      baseFeeWei: WEI_PER_GWEI,
      genesisFile: genesisFile.path,
    })
    sender = ((await anvil.rpc.call('eth_accounts', [])) as Hex[])[0] ?? '0x'
  })

  afterAll(() => anvil[Symbol.asyncDispose]())

  async function transact(fields: object): Promise<Receipt> {
    const hash = await anvil.rpc.call('eth_sendTransaction', [{ from: sender, gas: '0x7a1200', ...fields }])
    timestampSec += 12
    await anvil.rpc.call('evm_mine', [{ timestamp: timestampSec }])
    return (await anvil.rpc.call('eth_getTransactionReceipt', [hash])) as Receipt
  }

  async function deploy(abi: Abi, bytecode: Hex): Promise<Deployed> {
    const { contractAddress: address } = await transact({ input: encodeDeployData({ abi, bytecode }) })
    return { address, abi }
  }

  function deposit(
    contract: Deployed,
    validator: number,
    amountGwei: bigint,
    changed: { root?: Hex; wei?: bigint } = {},
  ) {
    const data = depositDataFor(validator, amountGwei, WITHDRAWAL_ADDRESS)
    const args = [data.pubkey, data.withdrawalCredentials, data.signature, changed.root ?? data.depositDataRoot]
    const value = `0x${(changed.wei ?? amountGwei * WEI_PER_GWEI).toString(16)}`
    const input = encodeFunctionData({ abi: contract.abi, functionName: 'deposit', args })
    return transact({ to: contract.address, value, input })
  }

  async function read(contract: Deployed, functionName: string, args: readonly unknown[] = []): Promise<unknown> {
    const data = encodeFunctionData({ abi: contract.abi, functionName, args })
    const result = (await anvil.rpc.call('eth_call', [{ to: contract.address, data }, 'latest'])) as Hex
    return decodeFunctionResult({ abi: contract.abi, functionName, data: result })
  }

  async function deployOurs(): Promise<Deployed> {
    const { abi, bytecode } = artifacts.contracts.DepositContract
    return deploy(abi as Abi, bytecode as Hex)
  }

  async function deployOfficial(): Promise<Deployed> {
    const file = fixturePath('staking', 'deposit_contract.json')
    const { abi, bytecode } = JSON.parse(readFileSync(file, 'utf8')) as { abi: Abi; bytecode: Hex }
    return deploy(abi, bytecode)
  }

  it('refuses a wrong data root, less than 1 ETH and a value that is not whole gwei, and counts none of them', async () => {
    const contract = await deployOurs()
    const refused = [
      await deposit(contract, 1, 32_000_000_000n, { root: `0x${'11'.repeat(32)}` }),
      await deposit(contract, 1, 900_000_000n),
      await deposit(contract, 1, 1_000_000_000n, { wei: 10n ** 18n + 1n }),
    ]
    expect(refused.map((receipt) => receipt.status)).toEqual(['0x0', '0x0', '0x0'])
    expect(await read(contract, 'get_deposit_count')).toBe('0x0000000000000000')
  })

  it.skipIf(!HAS_FIXTURES)('emits the events and has the roots of the official contract', async () => {
    const [ours, official] = [await deployOurs(), await deployOfficial()]
    expect(await read(ours, 'get_deposit_root')).toBe(await read(official, 'get_deposit_root'))
    for (let validator = 0; validator < 5; validator++) {
      const amountGwei = validator === 3 ? 1_000_000_000n : 32_000_000_000n + BigInt(validator)
      const [left, right] = [await deposit(ours, validator, amountGwei), await deposit(official, validator, amountGwei)]
      expect(left.status).toBe('0x1')
      expect(left.logs.map(({ topics, data }) => ({ topics, data }))).toEqual(
        right.logs.map(({ topics, data }) => ({ topics, data })),
      )
      expect(await read(ours, 'get_deposit_root')).toBe(await read(official, 'get_deposit_root'))
      expect(await read(ours, 'get_deposit_count')).toBe(await read(official, 'get_deposit_count'))
    }
    for (const id of ['0x01ffc9a7', '0x85640907', '0xffffffff']) {
      expect(await read(ours, 'supportsInterface', [id])).toBe(await read(official, 'supportsInterface', [id]))
    }
  })

  it.skipIf(!HAS_FIXTURES)('has every function and event of the official ABI, with the same names', () => {
    const file = fixturePath('staking', 'deposit_contract.json')
    const { abi } = JSON.parse(readFileSync(file, 'utf8')) as { abi: Abi }
    const signatures = (entries: readonly unknown[]) =>
      (entries as { type: string; name?: string; inputs?: { name: string; type: string }[] }[])
        .filter((entry) => entry.type !== 'constructor')
        .map((entry) => `${entry.type} ${entry.name}(${entry.inputs?.map((input) => `${input.type} ${input.name}`)})`)
        .sort()
    expect(signatures(artifacts.contracts.DepositContract.abi)).toEqual(signatures(abi))
  })
})
