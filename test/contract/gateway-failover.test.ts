import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { mnemonicToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Anvil, openAnvil } from '../../infra/devnet/execution/anvil-process.ts'
import {
  DEVNET_CHAIN_ID,
  GAS_LIMIT,
  SCENARIO_MNEMONIC,
  writeGenesisFile,
} from '../../infra/devnet/execution/genesis.ts'
import { tries } from '../long-form.ts'
import { type GivenGateway, openGivenGateway, untilHealthy } from './given-gateway.ts'

// Three fronts before one anvil: one that lags, one that dies and comes back under load, one that is well. What the chain has in the
// end is asked of the anvil.

const BASE_FEE_WEI = 1_000_000_000n
const GENESIS_TIME_SEC = 1_700_000_000
const LAG = 50
const BLOCKS_BEFORE = 2 * LAG

interface Front extends AsyncDisposable {
  readonly port: number
  /** Blocks that it says to be behind. */
  lag: number
  /** Numbers of the blocks that it said to be the newest, to clients. */
  readonly told: number[]
  /** Ends all connections at once, as a process does that is killed. */
  kill(): Promise<void>
  start(): Promise<void>
}

let anvil: Anvil
let gateway: GivenGateway
const fronts: Front[] = []
beforeAll(async () => {
  await using genesisFile = await writeGenesisFile([])
  anvil = await openAnvil({
    ...{ chainId: DEVNET_CHAIN_ID, genesisTimeSec: GENESIS_TIME_SEC, mnemonic: SCENARIO_MNEMONIC, accounts: 1 },
    ...{ accountBalanceEth: 10_000, gasLimit: GAS_LIMIT, baseFeeWei: BASE_FEE_WEI, genesisFile: genesisFile.path },
  })
  // A node can be behind by as many blocks as there are.
  await anvil.rpc.call('anvil_mine', [`0x${BLOCKS_BEFORE.toString(16)}`])
  for (let i = 0; i < 3; i++) fronts.push(await openFront(anvil.url))
  gateway = await openGivenGateway([
    {
      ...{ protocol: 'ethereum', network: 'mainnet', service: '', identity: `0x${DEVNET_CHAIN_ID.toString(16)}` },
      upstreams: fronts.map(({ port }) => ({ url: `http://127.0.0.1:${port}`, headers: {}, weight: 1 })),
    },
  ])
  await untilHealthy(gateway, 'ethereum/mainnet')
})
afterAll(async () => {
  await gateway?.[Symbol.asyncDispose]()
  for (const front of fronts) await front[Symbol.asyncDispose]()
  await anvil?.[Symbol.asyncDispose]()
})

async function openFront(url: string): Promise<Front> {
  let server: Server | undefined
  const open = async (port: number): Promise<void> => {
    server = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const body = Buffer.concat(chunks).toString()
      const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
      let text = await answer.text()
      if (body.includes('"eth_blockNumber"')) {
        const { id, result } = JSON.parse(text) as { readonly id: unknown; readonly result: string }
        const number = Math.max(0, Number(result) - front.lag)
        if (request.headers['user-agent'] === 'epochline') front.told.push(Number(result) - number)
        text = JSON.stringify({ jsonrpc: '2.0', id, result: `0x${number.toString(16)}` })
      }
      response.writeHead(200, { 'content-type': 'application/json' }).end(text)
    }).listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  await open(0)
  const { port } = (server as unknown as Server).address() as AddressInfo
  const kill = async (): Promise<void> => {
    const dying = server
    server = undefined
    if (dying === undefined) return
    dying.close()
    dying.closeAllConnections()
    await once(dying, 'close')
  }
  const front: Front = { port, lag: 0, told: [], kill, start: () => open(port), [Symbol.asyncDispose]: kill }
  return front
}

test('no read fails and no write is made twice while one node lags and another one dies and comes back', async () => {
  const [dying, lagging] = fronts as [Front, Front, Front]
  const account = mnemonicToAccount(SCENARIO_MNEMONIC)
  const stop = new AbortController()
  const failed: string[] = []
  const reads = { count: 0 }
  const mine = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await anvil.rpc.call('anvil_mine', ['0x1'])
      await wait(30)
    }
  }
  const read = async (method: string, params: readonly unknown[]): Promise<void> => {
    while (!stop.signal.aborted) {
      const response = await gateway.call('ethereum/mainnet', method, params)
      const body = (await response.json()) as { readonly result?: unknown }
      if (response.status !== 200 || body.result === undefined)
        failed.push(`${method} ${response.status} ${JSON.stringify(body)}`)
      reads.count++
      await wait(2)
    }
  }
  const sent: string[] = []
  const write = async (): Promise<void> => {
    for (let nonce = 0; !stop.signal.aborted; nonce++) {
      const raw = await account.signTransaction({
        ...{ type: 'eip1559', chainId: DEVNET_CHAIN_ID, nonce, to: account.address, value: 1n, gas: 21_000n },
        ...{ maxFeePerGas: 100n * BASE_FEE_WEI, maxPriorityFeePerGas: 1n },
      })
      const response = await gateway.call('ethereum/mainnet', 'eth_sendRawTransaction', [raw])
      const { result } = (await response.json()) as { readonly result?: string }
      if (result === undefined) failed.push(`write ${nonce}: ${response.status}`)
      else sent.push(result)
      await wait(20)
    }
  }
  const tasks = [
    mine(),
    write(),
    read('eth_getBalance', [account.address, 'latest']),
    read('eth_chainId', []),
    read('eth_blockNumber', []),
  ]
  lagging.lag = LAG
  const toldInAWhile = async (): Promise<number> => {
    lagging.told.length = 0
    await wait(200)
    return lagging.told.length
  }
  await expect.poll(toldInAWhile).toBe(0)
  const losses = tries(8, 100)
  for (let i = 0; i < losses; i++) {
    await dying.kill()
    await wait(250)
    await dying.start()
    await wait(250)
  }
  stop.abort()
  await Promise.all(tasks)
  await anvil.rpc.call('anvil_mine', ['0x1'])
  expect(failed).toEqual([])
  // Some while each node was away, however busy the machine is.
  expect(reads.count).toBeGreaterThan(losses * 5)
  // Nobody was told of a head that is long gone.
  expect(lagging.told).toEqual([])
  expect(new Set(sent).size).toBe(sent.length)
  expect(Number(await anvil.rpc.call('eth_getTransactionCount', [account.address, 'latest']))).toBe(sent.length)
})
