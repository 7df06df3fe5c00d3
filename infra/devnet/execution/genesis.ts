import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Hex } from '../../../schemas/eth/hex.ts'
import artifacts from '../contracts/artifacts.json' with { type: 'json' }
import predeploys from '../contracts/predeploys.json' with { type: 'json' }
import type { Profile } from './scenario-state.ts'

export const DEPOSIT_CONTRACT_ADDRESS: Hex = '0x4242424242424242424242424242424242424242'
/** Makes up to a hundred deposits in one call, by the ABI that staking services know (batch-deposit.sol). */
export const BATCH_DEPOSIT_ADDRESS: Hex = '0xba7c000000000000000000000000000000004242'
/** Takes exit requests of withdrawal addresses (exit-request.sol). */
export const EXIT_REQUEST_ADDRESS: Hex = '0xe417000000000000000000000000000000004242'
/** Of every network, with its own code. */
export const MULTICALL3_ADDRESS = predeploys.Multicall3.address as Hex
/** EIP-7002 and EIP-7251: of every network, with their own code; see system-calls.ts. */
export const WITHDRAWAL_REQUESTS_ADDRESS = predeploys.WithdrawalRequests.address as Hex
export const CONSOLIDATION_REQUESTS_ADDRESS = predeploys.ConsolidationRequests.address as Hex
export const COLLECTIBLE_721_ADDRESS: Hex = '0x7210000000000000000000000000000000000721'
export const ITEMS_1155_ADDRESS: Hex = '0x1155000000000000000000000000000000001155'
/** Refuses plain transfers. As a proposer's fee recipient it makes a builder's payment fail. */
export const REVERTING_RECEIVER_ADDRESS: Hex = '0xdead00000000000000000000000000000000dead'

/** A network id of our own: a signed devnet transaction is worth nothing on another network. */
export const DEVNET_CHAIN_ID = 7_017_017
/** Of the second chain: Scroll's 534352 behind a 7, likewise. */
export const SECOND_CHAIN_ID = 7_534_352

export const GAS_LIMIT = 36_000_000
/** EIP-1559's base fee would fall to 7 wei on a quiet chain; the devnet keeps it where it matters in every reward. */
export const BASE_FEE_WEI_MIN = 1_000_000_000n

/** Senders of the scenario, each with a million ETH; the phrase is a public test vector of BIP-39. */
export const SCENARIO_MNEMONIC = 'legal winner thank year wave sausage worth useful legal winner thank yellow'
export const SCENARIO_BALANCE_ETH = 1_000_000

/** Accounts of the phrase "test test … junk", known to every wallet and tool, for whoever wants to send transactions. */
const OUTSIDERS: readonly Hex[] = [
  '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266',
  '0x70997970c51812dc3a010c7d01b50e0d17dc79c8',
  '0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc',
  '0x90f79bf6eb2c4f870365e785982e1f101e93b906',
  '0x15d34aaf54267db7d7c367839aaf71a00a2c6a65',
  '0x9965507d1a55bcc2695c58ba16fb37d819b0a4dc',
  '0x976ea74026e726554db657fa54763abd0c3a0aa9',
  '0x14dc79964da2c08b23698b3d3cc7ca32193d9955',
  '0x23618e81e3f5cdf7f54c3d65f7fbc0abf5b21e8f',
  '0xa0ee7a142d267c1f36714e4a8f75612f20a79720',
]
const OUTSIDER_BALANCE: Hex = '0x84595161401484a000000' // 10,000,000 ETH: enough for many validators

/**
 * EIP-2935's contract, which keeps 8,191 block hashes: anvil hashes the whole state anew for every block, and with it a
 * block soon takes three times as long. The hashes would be anvil's own ones anyway.
 */
const HISTORY_STORAGE_ADDRESS: Hex = '0x0000f90827f1c53a10cb7a02335b175320002935'

interface AllocEntry {
  readonly balance: Hex
  readonly code?: string
}

/**
 * The system contracts of an Ethereum. Their storage is that after their first system call, which lifts the refusal of requests that
 * they are deployed with.
 */
function systemContracts(profile: Profile): readonly (readonly [Hex, AllocEntry])[] {
  if (profile === 'rollup') return []
  const { WithdrawalRequests, ConsolidationRequests } = predeploys
  return [
    [WITHDRAWAL_REQUESTS_ADDRESS, { balance: '0x0', code: WithdrawalRequests.deployedBytecode }],
    [CONSOLIDATION_REQUESTS_ADDRESS, { balance: '0x0', code: ConsolidationRequests.deployedBytecode }],
  ]
}

function genesisAlloc(contractRecipients: readonly Hex[], profile: Profile): Record<string, AllocEntry> {
  const { DepositContract, BatchDeposit, ExitRequest, Collectible721, Items1155, RevertingReceiver } =
    artifacts.contracts
  return Object.fromEntries([
    ...OUTSIDERS.map((address) => [address, { balance: OUTSIDER_BALANCE }]),
    [HISTORY_STORAGE_ADDRESS, { balance: '0x0', code: '0x' }],
    [DEPOSIT_CONTRACT_ADDRESS, { balance: '0x0', code: DepositContract.deployedBytecode }],
    [BATCH_DEPOSIT_ADDRESS, { balance: '0x0', code: BatchDeposit.deployedBytecode }],
    [EXIT_REQUEST_ADDRESS, { balance: '0x0', code: ExitRequest.deployedBytecode }],
    [MULTICALL3_ADDRESS, { balance: '0x0', code: predeploys.Multicall3.deployedBytecode }],
    ...systemContracts(profile),
    [COLLECTIBLE_721_ADDRESS, { balance: '0x0', code: Collectible721.deployedBytecode }],
    [ITEMS_1155_ADDRESS, { balance: '0x0', code: Items1155.deployedBytecode }],
    ...[REVERTING_RECEIVER_ADDRESS, ...contractRecipients].map((address) => [
      address,
      { balance: '0x0', code: RevertingReceiver.deployedBytecode },
    ]),
  ])
}

/**
 * A genesis.json with the contracts in place, in a folder that the returned value removes. The contracts have neither
 * constructors nor immutables, so block 0 holds their code and no block has to deploy them.
 */
export async function writeGenesisFile(
  contractRecipients: readonly Hex[],
  profile: Profile = 'ethereum',
): Promise<{ readonly path: string } & AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), 'epochline-devnet-'))
  const path = join(folder, 'genesis.json')
  const alloc = genesisAlloc(contractRecipients, profile)
  // anvil takes chain id, time, gas limit and base fee from its arguments; the format wants the fields all the same.
  await writeFile(path, JSON.stringify({ config: {}, gasLimit: '0x0', difficulty: '0x0', alloc }))
  return { path, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}
