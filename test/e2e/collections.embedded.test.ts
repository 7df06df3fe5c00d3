import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mnemonicToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SCENARIO_MNEMONIC } from '../../infra/devnet/execution/genesis.ts'
import { COLLECTIONS, collectionAddress } from '../../infra/devnet/execution/scenario-collections.ts'
import { ACCOUNTS, PUBLISHER } from '../../infra/devnet/execution/scenario-state.ts'
import type { NftAsset, NftContract } from '../../schemas/routes/nft/fields.ts'
import { createToken } from './account.ts'
import { ethereumChain, executionChain, writeChains } from './configuration.ts'
import {
  type DevnetChild,
  type Environment,
  eventually,
  freePort,
  type Running,
  runCommand,
  STEP_TIMEOUT_MS,
  startDevnetChild,
  startProgram,
} from './processes.ts'
import { dump, expectEqualTables, isProcessed, openLog, type Tables } from './stores.ts'

/** How far the chains are when the program is started to be killed. */
const DEATHS = [
  { slot: 40, block: 60 },
  { slot: 64, block: 100 },
  { slot: 96, block: 160 },
] as const
const CHAINS = ['eth_mainnet', 'scroll_mainnet'] as const
const NAMES = ['Paper Lanterns', "Ship's Provisions", 'Sea Charts', 'Echoes', 'Inscriptions', 'Almanac', 'Halves']

const accounts = Array.from({ length: ACCOUNTS }, (_, addressIndex) =>
  mnemonicToAccount(SCENARIO_MNEMONIC, { addressIndex }).address.toLowerCase(),
)
const contracts = COLLECTIONS.map((name) => collectionAddress(name, accounts[PUBLISHER] as `0x${string}`))

/** Documents as the devnet serves them, and the program that reads them, dies, and makes its tables again. */
describe('collections of the devnet', () => {
  const directory = mkdtempSync(join(tmpdir(), 'epochline-collections-'))
  let devnet: DevnetChild | undefined
  let program: Running
  let env: Environment
  let token: string
  let answers: Answers

  beforeAll(async () => {
    const metadataPort = await freePort()
    const opened = await startDevnetChild({ metadataPort })
    devnet = opened
    const file = join(directory, 'epochline.yaml')
    writeChains(file, { mainnet: ethereumChain(opened), scroll_mainnet: executionChain(opened.secondExecutionUrl) })
    env = {
      EPOCHLINE_DATA: join(directory, 'data'),
      EPOCHLINE_CONFIG: file,
      METADATA_ALLOWED_SERVER: `127.0.0.1:${metadataPort}`,
    }
    token = await createToken(env)
  })

  afterAll(async () => {
    await program?.kill()
    await devnet?.[Symbol.asyncDispose]()
    rmSync(directory, { recursive: true, force: true })
  })

  async function ask<Body>(chain: string, path: string): Promise<Body> {
    const response = await fetch(`${program.url}/nft/${chain}/${token}/${path}`)
    expect(response.status, `${chain} ${path}`).toBe(200)
    return (await response.json()) as Body
  }

  interface Answers {
    readonly contracts: readonly NftContract[]
    readonly tokens: readonly NftAsset[]
  }

  /** What is told of all contracts and of all tokens that anybody holds. */
  async function askAll(): Promise<Answers> {
    const [named, held] = [[] as NftContract[], [] as NftAsset[]]
    for (const chain of CHAINS) {
      named.push(...(await ask<NftContract[]>(chain, `getContractMetadataBatch?contract_addresses=${contracts}`)))
      for (const owner of accounts)
        held.push(...(await ask<{ owner_nfts: NftAsset[] }>(chain, `getNFTsForOwner?owner=${owner}`)).owner_nfts)
    }
    return {
      contracts: named,
      tokens: held.filter(({ contract_address: address }) => contracts.includes(address as never)),
    }
  }

  /** How many documents and names the log has. */
  async function eventsTold(): Promise<bigint> {
    await using eventLog = await openLog(env)
    return (await eventLog.ends('nft.metadata')).get(0) ?? 0n
  }

  it('have their names and all documents, though the program is killed while it reads and folds them', async () => {
    let told = 0n
    for (const { slot, block } of DEATHS) {
      await Promise.all([devnet?.advanceTo(slot), devnet?.advanceSecondTo(block)])
      program = await startProgram(['all'], env)
      const more = told + 5n
      await eventually(
        'something that was read',
        async () => (await eventsTold()) >= more || undefined,
        STEP_TIMEOUT_MS,
        20,
      )
      await program.kill()
      told = await eventsTold()
    }
    program = await startProgram(['all'], env)
    const isRead = ({ metadata_state: { status } }: NftAsset | NftContract) => status === 'fetched'
    answers = await eventually('everything that there is to read', async () => {
      const all = await askAll().catch(() => undefined)
      return all !== undefined && all.tokens.length > 40 && [...all.contracts, ...all.tokens].every(isRead)
        ? all
        : undefined
    })
    expect(answers.contracts.map(({ name }) => name)).toEqual(CHAINS.flatMap(() => NAMES))
    for (const { deployer } of answers.contracts) expect(deployer).toBe(accounts[PUBLISHER])
    for (const { token_uri: uri, token_id: id, metadata_json: json, metadata } of answers.tokens) {
      expect(metadata.title, uri ?? id).toBeTruthy()
      if (uri?.startsWith('http') !== true) continue
      const served = await fetch(uri.replace('{id}', BigInt(id).toString(16).padStart(64, '0')))
      expect(json, uri).toBe(await served.text())
    }
  })

  it('are the same in tables that are made again with no node and no server of documents', async () => {
    expect(await program.stop(), program.output()).toBe(0)
    await devnet?.[Symbol.asyncDispose]()
    devnet = undefined
    // What came with the stop is in the log alone.
    const processing = await startProgram(['process'], env, { announces: false })
    await eventually('an end of the work', async () => (await isProcessed(env)) || undefined)
    expect(await processing.stop(), processing.output()).toBe(0)
    const tables: Tables = await dump(env)
    expect(tables.nft_token_told.length).toBeGreaterThan(40)
    const { code, stderr } = await runCommand(['rebuild'], env)
    expect(code, stderr).toBe(0)
    expectEqualTables(await dump(env), tables)
    program = await startProgram(['api'], env)
    expect(await askAll()).toEqual(answers)
  })
})
