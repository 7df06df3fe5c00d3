import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { JsonRpcProvider, WebSocketProvider } from 'ethers'
import { createPublicClient, http, webSocket } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Anvil, openAnvil } from '../../infra/devnet/execution/anvil-process.ts'
import {
  DEVNET_CHAIN_ID,
  GAS_LIMIT,
  SCENARIO_MNEMONIC,
  writeGenesisFile,
} from '../../infra/devnet/execution/genesis.ts'
import { TOKEN } from './given-api.ts'
import { type GivenGateway, openGivenGateway, untilHealthy } from './given-gateway.ts'
import { openClient, socketUrl } from './given-socket.ts'

// Clients of EVM chains as their users have them, before a real node behind two doors that close.

const PLACE = 'ethereum/mainnet'
/** As decision 44 says. */
const REPLAYED_BLOCKS_MAX = 128
const SOON = { interval: 10 }
const TEST_MS = 60_000
const SENDER = mnemonicToAccount(SCENARIO_MNEMONIC).address
/** Has a log for each call: PUSH1 0, PUSH1 0, LOG0, STOP. */
const LOGGER = '0x00000000000000000000000000000000000109e5'
const LOGGER_CODE = '0x60006000a000'

interface Door extends AsyncDisposable {
  readonly url: string
  /** Of WebSockets that are open through it. */
  readonly webSockets: number
  /** Breaks all connections, and lets nobody in. */
  close(): Promise<void>
  open(): Promise<void>
}

const open = new AsyncDisposableStack()
const doors: Door[] = []
let anvil: Anvil
let gateway: GivenGateway
let url: string
beforeAll(async () => {
  await using genesisFile = await writeGenesisFile([])
  anvil = open.use(
    await openAnvil({
      ...{ chainId: DEVNET_CHAIN_ID, genesisTimeSec: 1_700_000_000, mnemonic: SCENARIO_MNEMONIC, accounts: 1 },
      ...{ accountBalanceEth: 10_000, gasLimit: GAS_LIMIT, baseFeeWei: 1_000_000_000n, genesisFile: genesisFile.path },
    }),
  )
  await anvil.rpc.call('anvil_setCode', [LOGGER, LOGGER_CODE])
  for (let i = 0; i < 2; i++) doors.push(open.use(await openDoor(Number(new URL(anvil.url).port))))
  const identity = `0x${DEVNET_CHAIN_ID.toString(16)}`
  const upstreams = doors.map((door) => ({
    url: door.url,
    wsUrl: door.url.replace('http', 'ws'),
    headers: {},
    weight: 1,
  }))
  gateway = open.use(
    await openGivenGateway([{ protocol: 'ethereum', network: 'mainnet', service: '', identity, upstreams }]),
  )
  await untilHealthy(gateway, PLACE)
  url = `${gateway.api.url}/${PLACE}/${TOKEN}`
})
afterAll(() => open.disposeAsync())

async function openDoor(port: number): Promise<Door> {
  const sockets = new Set<Socket>()
  const webSockets = new Set<Socket>()
  let server: Server | undefined
  let ownPort = 0
  const door = {
    get url() {
      return `http://127.0.0.1:${ownPort}`
    },
    get webSockets() {
      return webSockets.size
    },
    async open() {
      server = createServer((client) => {
        const node = connect(port, '127.0.0.1')
        for (const [socket, other] of [[client, node] as const, [node, client] as const]) {
          sockets.add(socket)
          socket.on('error', () => {})
          socket.on('close', () => {
            sockets.delete(socket)
            webSockets.delete(socket)
            other.destroy()
          })
        }
        client.once('data', (head) => {
          if (/^upgrade: websocket/im.test(head.toString('latin1'))) webSockets.add(client)
        })
        client.pipe(node).pipe(client)
      }).listen(ownPort, '127.0.0.1')
      await once(server, 'listening')
      ownPort = (server.address() as AddressInfo).port
    },
    async close() {
      const closing = server
      server = undefined
      if (closing === undefined) return
      closing.close()
      for (const socket of sockets) socket.resetAndDestroy()
      await once(closing, 'close')
    },
    [Symbol.asyncDispose]: () => door.close(),
  }
  await door.open()
  return door
}

async function tipNumber(): Promise<number> {
  return Number(await anvil.rpc.call('eth_blockNumber', []))
}

/** Blocks with a log each, one after the other as a chain makes them. */
async function mine(blocks: number): Promise<void> {
  for (let i = 0; i < blocks; i++) {
    await anvil.rpc.call('eth_sendTransaction', [{ from: SENDER, to: LOGGER }])
    await anvil.rpc.call('anvil_mine', ['0x1'])
  }
}

/** Mines until each list has grown and has the newest block: subscriptions begin when they begin. Returns where they were. */
async function untilHeard(...lists: readonly (readonly number[])[]): Promise<readonly number[]> {
  const before = lists.map(({ length }) => length)
  await expect
    .poll(async () => {
      await mine(1)
      return lists.every(({ length }, i) => length > (before[i] as number))
    }, SOON)
    .toBe(true)
  await untilTold(...lists)
  return before
}

async function untilTold(...lists: readonly (readonly number[])[]): Promise<void> {
  const tip = await tipNumber()
  await expect.poll(() => lists.map((list) => list.at(-1)), SOON).toEqual(lists.map(() => tip))
}

const heardThrough = () => doors.filter(({ webSockets }) => webSockets > 0)

/** The door that the subscriptions go through closes while the chain goes on, and opens again. */
async function loseOne(): Promise<void> {
  await expect.poll(() => heardThrough().length, SOON).toBe(1)
  const [through] = heardThrough() as [Door]
  await through.close()
  await mine(3)
  await expect.poll(() => heardThrough().length, SOON).toBe(1)
  await through.open()
}

/** Both do, for longer than is told again: the gateway closes sockets with 1012. */
async function loseAll(): Promise<void> {
  using witness = await openClient(socketUrl(gateway, PLACE))
  await witness.ask('{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}')
  for (const door of doors) await door.close()
  await anvil.rpc.call('anvil_mine', [`0x${(REPLAYED_BLOCKS_MAX + 2).toString(16)}`])
  for (const door of doors) await door.open()
  expect((await witness.closed).code).toBe(1012)
}

/** Each block once, in order, from the first that was told to the newest. */
async function expectWhole(list: readonly number[]): Promise<void> {
  const [first = Number.NaN] = list
  const length = (await tipNumber()) - first + 1
  expect(list).toEqual(Array.from({ length }, (_, i) => first + i))
}

/** Of the block in which a subscription began its node may have told the head behind the logs: these are looked up when it is lost. */
function sinceFirst(logs: readonly number[]): readonly number[] {
  return logs.filter((number) => number >= (logs[0] as number))
}

describe('viem', () => {
  test('reads in batches what the node has', async () => {
    const client = createPublicClient({ transport: http(url, { batch: true, retryCount: 0 }) })
    const [chainId, number, code] = await Promise.all([
      client.getChainId(),
      client.getBlockNumber({ cacheTime: 0 }),
      client.getCode({ address: LOGGER }),
    ])
    expect([chainId, Number(number), code]).toEqual([DEVNET_CHAIN_ID, await tipNumber(), LOGGER_CODE])
  })

  test(
    'hears every block and log while a door closes, and connects again by itself when its own socket is closed',
    async () => {
      const reconnect = { attempts: 5, delay: 50 }
      const transport = webSocket(socketUrl(gateway, PLACE), { reconnect, keepAlive: { interval: 100 } })
      const client = createPublicClient({ transport })
      const heads: number[] = []
      const logs: number[] = []
      const faults: string[] = []
      const onError = ({ name }: Error) => faults.push(name)
      const ends = [
        client.watchBlockNumber({ onBlockNumber: (number) => heads.push(Number(number)), onError }),
        client.watchEvent({
          address: LOGGER,
          onLogs: (told) => logs.push(...told.map(({ blockNumber }) => Number(blockNumber))),
          onError,
        }),
      ]
      await untilHeard(heads, logs)
      await loseOne()
      await mine(1)
      await untilTold(heads, logs)
      for (const list of [heads, sinceFirst(logs)]) await expectWhole(list)
      expect(faults).toEqual([])

      await loseAll()
      const [ofHeads, ofLogs] = await untilHeard(heads, logs)
      await mine(2)
      await untilTold(heads, logs)
      for (const list of [heads.slice(ofHeads), logs.slice(ofLogs)]) await expectWhole(list)
      expect(faults).toContain('SocketClosedError')
      for (const end of ends) end()
      // viem connects again whenever it is closed.
      const rpc = await transport({}).value?.getRpcClient()
      rpc?.subscriptions.clear()
      rpc?.close()
      await expect.poll(() => heardThrough().length, SOON).toBe(0)
    },
    TEST_MS,
  )
})

describe('ethers', () => {
  test('reads in batches what the node has', async () => {
    const provider = new JsonRpcProvider(url)
    const answers = await Promise.all([provider.getNetwork(), provider.getBlockNumber(), provider.getCode(LOGGER)])
    expect(answers).toMatchObject([{ chainId: BigInt(DEVNET_CHAIN_ID) }, await tipNumber(), LOGGER_CODE])
    provider.destroy()
  })

  test(
    'hears every block and log while a door closes; when its own socket is closed, a new provider hears on',
    async () => {
      const [heads, logs]: [number[], number[]] = [[], []]
      const listen = async (): Promise<WebSocketProvider> => {
        const provider = new WebSocketProvider(socketUrl(gateway, PLACE))
        await provider.on('block', (number: number) => heads.push(number))
        await provider.on({ address: LOGGER }, ({ blockNumber }) => logs.push(blockNumber))
        return provider
      }
      const first = await listen()
      await untilHeard(heads, logs)
      await loseOne()
      await untilTold(heads, logs)
      for (const list of [heads, sinceFirst(logs)]) await expectWhole(list)

      await loseAll()
      const socket = first.websocket as unknown as WebSocket
      await expect.poll(() => socket.readyState, SOON).toBe(WebSocket.CLOSED)
      const second = await listen()
      const [ofHeads, ofLogs] = await untilHeard(heads, logs)
      await mine(2)
      await untilTold(heads, logs)
      for (const list of [heads.slice(ofHeads), logs.slice(ofLogs)]) await expectWhole(list)
      for (const provider of [first, second]) await provider.destroy().catch(() => {})
    },
    TEST_MS,
  )
})
