import { type Abi, decodeFunctionResult, encodeFunctionData, type Hex, keccak256, toHex } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import artifacts from '../../infra/devnet/collections/artifacts.json' with { type: 'json' }
import { SCENARIO_MNEMONIC } from '../../infra/devnet/execution/genesis.ts'
import {
  COLLECTIONS,
  type CollectionName,
  collectionAddress,
} from '../../infra/devnet/execution/scenario-collections.ts'
import { PUBLISHER } from '../../infra/devnet/execution/scenario-state.ts'
import { openMetadataServer } from '../../infra/devnet/metadata/open-metadata-server.ts'
import { openSecondChain, type SecondChain } from '../../infra/devnet/second/open.ts'
import { openShortDevnet } from './short-history.ts'

const GENESIS_TIME_SEC = 1_800_000_000
const HEAD = 300
const publisher = mnemonicToAccount(SCENARIO_MNEMONIC, { addressIndex: PUBLISHER }).address
const addressOf = (name: CollectionName) => collectionAddress(name, publisher)

interface Receipt {
  readonly status: Hex
  readonly to: Hex | null
  readonly contractAddress: Hex | null
  readonly logs: readonly { readonly address: Hex; readonly topics: readonly Hex[] }[]
}

let chain: SecondChain
let receipts: readonly Receipt[]

async function rpc<Result>(method: string, params: readonly unknown[]): Promise<Result> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const answer = (await (await fetch(chain.url, { method: 'POST', body })).json()) as { result: Result }
  return answer.result
}

async function read(name: CollectionName, functionName: string, args: readonly unknown[]): Promise<unknown> {
  const abi = artifacts.contracts[name].abi as Abi
  const data = encodeFunctionData({ abi, functionName, args })
  const result = await rpc<Hex>('eth_call', [{ to: addressOf(name), data }, 'latest'])
  return decodeFunctionResult({ abi, functionName, data: result })
}

beforeAll(async () => {
  chain = await openSecondChain({
    seed: 'collections',
    host: '127.0.0.1',
    port: 0,
    directory: undefined,
    clock: 'manual',
    now: () => GENESIS_TIME_SEC,
    signal: new AbortController().signal,
    genesisTimeSec: GENESIS_TIME_SEC,
  })
  await chain.advanceTo(HEAD)
  const numbers = Array.from({ length: HEAD }, (_, at) => toHex(at + 1))
  receipts = (await Promise.all(numbers.map((at) => rpc<Receipt[]>('eth_getBlockReceipts', [at])))).flat()
})
afterAll(() => chain[Symbol.asyncDispose]())

describe("the devnet's collections", () => {
  it('are created in the first blocks, at addresses that follow from who creates them', async () => {
    const created = receipts.flatMap(({ contractAddress }) => contractAddress ?? [])
    expect(created.slice(0, COLLECTIONS.length)).toEqual(COLLECTIONS.map(addressOf))
    for (const name of COLLECTIONS) expect(await rpc('eth_getCode', [addressOf(name), 'latest'])).not.toBe('0x')
  })

  it('have creators, whom the chain still knows when it has no states of then', async () => {
    for (const name of COLLECTIONS) {
      const { hash } = await rpc<{ hash: Hex }>('ots_getContractCreator', [addressOf(name)])
      expect(await rpc('eth_getTransactionReceipt', [hash])).toMatchObject({
        contractAddress: addressOf(name),
        from: publisher.toLowerCase(),
      })
    }
    expect(await rpc('ots_getContractCreator', [`0x${'ee'.repeat(20)}`])).toBeNull()
  })

  it('log every event that tokens are moved or announced by', () => {
    const logged = new Set(receipts.flatMap(({ logs }) => logs.map(({ topics: [topic] }) => topic)))
    const events = [
      'Transfer(address,address,uint256)',
      'TransferSingle(address,address,address,uint256,uint256)',
      'TransferBatch(address,address,address,uint256[],uint256[])',
      'ConsecutiveTransfer(uint256,uint256,address,address)',
      'ERC721Transfer(address,address,uint256)',
      'MetadataUpdate(uint256)',
      'BatchMetadataUpdate(uint256,uint256)',
      'URI(string,uint256)',
    ]
    for (const event of events) expect(logged, event).toContain(keccak256(toHex(event)))
  })

  it('refuse nothing of what the scenario has them do, reorgs or not', () => {
    const addresses: readonly (string | null)[] = COLLECTIONS.map(addressOf)
    const calls = receipts.filter(({ to }) => addresses.includes(to))
    expect(calls.length).toBeGreaterThan(100)
    expect(calls.filter(({ status }) => status !== '0x1')).toEqual([])
  })

  it('name documents that the devnet serves, of tokens, of collections, and their pictures', async () => {
    await using server = await openMetadataServer({ host: '127.0.0.1', port: 0 })
    const serve = async (address: unknown) => {
      const { pathname, search } = new URL(String(address))
      return await fetch(`${server.url}${pathname}${search}`)
    }
    const [id] = (await Promise.all(
      [1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n].map(async (token) => {
        const owner = await read('Lanterns', 'ownerOf', [token]).catch(() => undefined)
        return owner === undefined ? [] : [token]
      }),
    ).then((found) => found.flat())) as [bigint]
    const response = await serve(await read('Lanterns', 'tokenURI', [id]))
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8'])
    const text = await response.text()
    const document = JSON.parse(text) as { name: string; image: string }
    expect(document.name).toBe(`Lantern ${id} on the rollup`)
    expect(text).toContain(`"value":${2n ** 53n + 1n + id}`)
    const picture = await fetch(document.image)
    expect([picture.status, picture.headers.get('content-type')]).toEqual([200, 'image/svg+xml'])
    expect(await (await serve(await read('Lanterns', 'contractURI', []))).json()).toMatchObject({
      name: 'Paper Lanterns',
    })

    const uri = String(await read('Provisions', 'uri', [2n ** 255n]))
    const provision = await serve(uri.replace('{id}', (2n ** 255n).toString(16)))
    expect(await provision.json()).toMatchObject({ name: `Provision ${2n ** 255n} on the rollup` })
  })

  it('have no documents of what there cannot be', async () => {
    await using server = await openMetadataServer({ host: '127.0.0.1', port: 0 })
    const paths = ['/', '/rollup/boats/1', '/moon/lanterns/1', '/rollup/lanterns/-1', `/rollup/lanterns/${2n ** 256n}`]
    for (const path of [...paths, '/rollup/lanterns/1/image.png', '/rollup/inscriptions/1'])
      expect([path, (await fetch(server.url + path)).status]).toEqual([path, 404])
  })
})

describe('a devnet that serves documents', () => {
  it('tells where, and names the setting when the port is taken', async () => {
    await using devnet = await openShortDevnet({ metadataPort: 0 })
    expect((await fetch(`${devnet.metadataUrl}/ethereum/echoes/3`)).status).toBe(200)
    const metadataPort = Number(new URL(devnet.metadataUrl ?? '').port)
    await expect(openShortDevnet({ metadataPort })).rejects.toThrow('choose another DEVNET_METADATA_PORT')
  })
})
