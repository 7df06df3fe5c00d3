import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Abi, decodeFunctionResult, encodeFunctionData, type Hex, toHex } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import artifacts from '../../infra/devnet/collections/artifacts.json' with { type: 'json' }
import { SCENARIO_MNEMONIC } from '../../infra/devnet/execution/genesis.ts'
import { collectionAddress } from '../../infra/devnet/execution/scenario-collections.ts'
import { ACCOUNTS, PUBLISHER } from '../../infra/devnet/execution/scenario-state.ts'
import { createToken } from './account.ts'
import { ethereumChain, executionChain, writeChains } from './configuration.ts'
import { rpc } from './oracle.ts'
import {
  type DevnetChild,
  type Environment,
  eventually,
  type Running,
  runCommand,
  startDevnetChild,
  startProgram,
} from './processes.ts'
import { copyAccounts, dump, expectEqualTables, isProcessed, ofAnyLog, type Tables } from './stores.ts'

const ETHEREUM = 'mainnet'
const CHAIN = 'scroll_mainnet'
const DEEP_REORG = { slot: 70, depth: 60 }
/** Of the Ethereum: when the next slot brings the other branch. */
const ORPHANED_SLOT = DEEP_REORG.slot + DEEP_REORG.depth - 1
const LAST_SLOT = 150
const FIRST_BLOCK = 130
/** Where the program begins with the second chain, before it is told to bring what was before: that is final. */
const START_BLOCK = 60

interface Ready {
  readonly chains: Readonly<Record<string, { readonly head_slot?: number | null; readonly head_block?: number | null }>>
}

/** Chains that really go back, and the program that follows them. */
describe('the whole program on chains that take their newest blocks back', () => {
  const directory = mkdtempSync(join(tmpdir(), 'epochline-reorgs-'))
  let devnet: DevnetChild
  let program: Running
  let env: Environment
  let token: string
  let head = FIRST_BLOCK
  let headSlot = ORPHANED_SLOT

  const environmentOf = (name: string, startBlock: number): Environment => {
    const file = join(directory, `${name}.yaml`)
    writeChains(file, {
      [ETHEREUM]: ethereumChain(devnet),
      [CHAIN]: { ...executionChain(devnet.secondExecutionUrl), start: { block: startBlock } },
    })
    return { EPOCHLINE_DATA: join(directory, name), EPOCHLINE_CONFIG: file }
  }

  async function replaceNewest(depth: number): Promise<void> {
    await devnet.orphanSecond(depth)
    await devnet.advanceSecondTo(++head)
  }

  async function untilAtHead(): Promise<void> {
    const isAtHead = async () => {
      const { chains } = (await (await fetch(`${program.url}/ready`)).json()) as Ready
      return (chains[CHAIN]?.head_block === head && chains[ETHEREUM]?.head_slot === headSlot) || undefined
    }
    await eventually(`block ${head} and slot ${headSlot}`, isAtHead)
  }

  async function advanceTo(slot: number): Promise<void> {
    await devnet.advanceTo(slot)
    headSlot = slot
  }

  /** What its tables say when they have everything. */
  async function tablesOf(env: Environment): Promise<Tables> {
    await untilAtHead()
    await eventually('the end of the work', async () => (await isProcessed(env)) || undefined)
    await program.stop()
    return ofAnyLog(await dump(env))
  }

  beforeAll(async () => {
    devnet = await startDevnetChild({ deepReorg: DEEP_REORG })
    await Promise.all([devnet.advanceSecondTo(FIRST_BLOCK), devnet.advanceTo(ORPHANED_SLOT)])
  })

  afterAll(async () => {
    await program?.kill()
    await devnet?.[Symbol.asyncDispose]()
    rmSync(directory, { recursive: true, force: true })
  })

  it('ends in the tables of a program that has seen the final chain alone', async () => {
    env = environmentOf('followed', START_BLOCK)
    token = await createToken(env)
    program = await startProgram(['all'], env)
    await untilAtHead()
    await advanceTo(ORPHANED_SLOT + 1)
    for (const depth of [1, 7, 60]) {
      await replaceNewest(depth)
      await untilAtHead()
    }
    // In the time of four blocks, and while earlier ones are brought.
    const past = ['--from', 'block:1', '--to', `block:${START_BLOCK - 1}`]
    const backfill = runCommand(['backfill', '--chain', CHAIN, ...past], env)
    for (const depth of [5, 2, 5]) await replaceNewest(depth)
    await untilAtHead()
    expect(await backfill).toMatchObject({ code: 0 })
    await program.kill()
    await Promise.all([replaceNewest(60), advanceTo(LAST_SLOT)])
    program = await startProgram(['all'], env)
    const followed = await tablesOf(env)

    const clean = environmentOf('clean', 0)
    await copyAccounts(env, clean)
    program = await startProgram(['all'], clean)
    const expected = await tablesOf(clean)
    expectEqualTables(followed, expected)
    const rowsOf = (chain: string) => expected.nft_token_holders.filter((row) => row.chain === chain).length
    expect(expected.nft_blocks.filter(({ chain }) => chain === CHAIN)).toHaveLength(head)
    expect([rowsOf(CHAIN) > 50, rowsOf(ETHEREUM) > 20]).toEqual([true, true])
    const slots = expected.beacon_blocks.map(({ slot }) => Number(slot))
    expect(slots.filter((slot) => slot >= DEEP_REORG.slot && slot <= ORPHANED_SLOT)).toEqual([])
  })

  it('answers who has what as the contracts do, at the head and before', async () => {
    program = await startProgram(['all'], env)
    await untilAtHead()
    const chains = [
      { name: 'scroll_mainnet', url: devnet.secondExecutionUrl },
      { name: 'eth_mainnet', url: devnet.executionUrl },
    ]
    let holders = 0
    for (const { name, url } of chains) {
      const newest = Number(await rpc<Hex>(url, 'eth_blockNumber', []))
      for (const block of [newest, newest - 10]) {
        for (const contract of ['Lanterns', 'Provisions'] as const)
          for (const id of IDS[contract]) {
            const told = await ownersTold(name, contract, id, block)
            holders += Object.keys(told).length
            expect(told, `${contract} ${id} of ${name} after ${block}`).toEqual(
              await ownersOf(url, contract, id, block),
            )
          }
      }
    }
    expect(holders).toBeGreaterThan(20)
  })

  /** By the API: owners of a token with what they have. */
  async function ownersTold(
    chain: string,
    contract: Contract,
    id: bigint,
    block: number,
  ): Promise<Record<string, string>> {
    const question = `contract_address=${addressOf(contract)}&token_id=${id}&block=${block}`
    const response = await fetch(`${program.url}/nft/${chain}/${token}/getOwnersForNFT?${question}`)
    const { owners } = (await response.json()) as { owners: { owner_address: string; amount: string }[] }
    return Object.fromEntries(owners.map(({ owner_address, amount }) => [owner_address, amount]))
  }
})

type Contract = 'Lanterns' | 'Provisions'
const IDS = { Lanterns: [1n, 2n, 3n, 4n], Provisions: [1n, 2n, 2n ** 255n] }
const accountOf = (addressIndex: number): Hex =>
  mnemonicToAccount(SCENARIO_MNEMONIC, { addressIndex }).address.toLowerCase() as Hex
const addressOf = (contract: Contract) => collectionAddress(contract, accountOf(PUBLISHER))

/** By the contract itself. */
async function ownersOf(url: string, contract: Contract, id: bigint, block: number): Promise<unknown> {
  const abi = artifacts.contracts[contract].abi as Abi
  const read = async (functionName: string, args: readonly unknown[]) => {
    const call = { to: addressOf(contract), data: encodeFunctionData({ abi, functionName, args }) }
    const data = await rpc<Hex>(url, 'eth_call', [call, toHex(block)])
    return decodeFunctionResult({ abi, functionName, data })
  }
  if (contract === 'Lanterns') {
    const exists = (await read('supportsInterface', ['0x80ac58cd'])) === true // or its answer would be no answer
    const owner = await read('ownerOf', [id]).catch(() => undefined)
    return exists && owner === undefined ? {} : { [String(owner).toLowerCase()]: '1' }
  }
  const accounts = Array.from({ length: ACCOUNTS }, (_, index) => accountOf(index))
  const amounts = await Promise.all(accounts.map(async (account) => String(await read('balanceOf', [account, id]))))
  return Object.fromEntries(accounts.map((account, i) => [account, amounts[i]]).filter(([, amount]) => amount !== '0'))
}
