import { once } from 'node:events'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { callOver } from '../call-over.ts'
import { openStub, type Stub } from '../contract/given-gateway.ts'
import {
  type Environment,
  eventually,
  FREE_DEVNET_PORTS,
  type Running,
  runCommand,
  STEP_TIMEOUT_MS,
  startProgram,
} from './processes.ts'

/** The devnet's, of its Ethereum and of the chain beside it. */
const CHAIN_IDS = { ethereum: '0x6b1239', scroll: '0x72f710' } as const
const TOKEN = 'demo'

/** The program as it is started without any configuration, and then told of another node. */
describe('the gateway of a program with its devnet', () => {
  const directory = mkdtempSync(join(tmpdir(), 'epochline-gateway-'))
  const file = join(directory, 'epochline.yaml')
  let env: Environment
  let program: Running
  let bsc: Stub

  function configure(gateway: object): void {
    writeFileSync(`${file}.next`, JSON.stringify({ gateway }))
    renameSync(`${file}.next`, file)
  }

  beforeAll(async () => {
    bsc = await openStub('bsc', 'mainnet')
    configure({})
    env = { ...FREE_DEVNET_PORTS, EPOCHLINE_DATA: join(directory, 'data'), EPOCHLINE_CONFIG: file, BSC_NODE: bsc.url }
    program = await startProgram(['all'], env)
  })
  afterAll(async () => {
    await program?.kill()
    await bsc?.[Symbol.asyncDispose]()
    rmSync(directory, { recursive: true, force: true })
  })

  async function call(place: string, method: string) {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method, params: [] })
    const response = await program.ask(`/${place}/${TOKEN}`, { method: 'POST', body })
    const { result } = (await response.json()) as { readonly result?: unknown }
    return { status: response.status, result }
  }
  const answered = (place: string, method: string) =>
    eventually(place, async () => {
      const { status, result } = await call(place, method)
      return status === 200 ? result : undefined
    })

  it('calls both execution chains by JSON-RPC, with the key that is there', async () => {
    for (const [protocol, chainId] of Object.entries(CHAIN_IDS))
      expect(await answered(`${protocol}/mainnet`, 'eth_chainId'), protocol).toBe(chainId)
    expect(await call('ethereum/sepolia', 'eth_chainId')).toMatchObject({ status: 503 })
  })

  it.each(Object.keys(CHAIN_IDS))(
    'tells heads of %s over WebSocket as they come, each behind the one before, or on another branch',
    async (protocol) => {
      await answered(`${protocol}/mainnet`, 'eth_chainId')
      const socket = new WebSocket(`${program.url.replace('http', 'ws')}/ws/${protocol}/mainnet/${TOKEN}`)
      const heads: { readonly hash: string; readonly parentHash: string; readonly number: string }[] = []
      socket.on('message', (data) => {
        const { params } = JSON.parse(data.toString()) as { params?: { result: (typeof heads)[number] } }
        if (params !== undefined) heads.push(params.result)
      })
      await once(socket, 'open')
      socket.send('{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}')
      await eventually('three heads', async () => (heads.length >= 3 ? true : undefined))
      socket.terminate()
      for (const [i, { parentHash, number }] of heads.slice(1).entries()) {
        const before = heads[i]
        // The devnet's chains change over to other branches now and then, whose first block is no higher.
        if (Number(number) > Number(before?.number)) expect(parentHash).toBe(before?.hash)
      }
    },
    2 * STEP_TIMEOUT_MS,
  )

  it('reads the Beacon API, and its events as they happen', async () => {
    const path = `/ethereum2/mainnet/${TOKEN}/eth/v1`
    const syncing = async () => {
      const response = await program.ask(`${path}/node/syncing`)
      const body = await response.json()
      return response.status === 200 ? body : undefined
    }
    expect(await eventually('the beacon node', syncing)).toMatchObject({
      data: { head_slot: expect.stringMatching(/^\d+$/) },
    })
    const leaving = new AbortController()
    const events = await program.ask(`${path}/events?topics=head`, { signal: leaving.signal })
    expect(events.headers.get('content-type')).toMatch(/^text\/event-stream/)
    let heard = ''
    for await (const chunk of events.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      heard += chunk
      if (/^data: \{.*\}$/m.test(heard)) break
    }
    expect(heard).toMatch(/^event: head$/m)
    expect(heard).toMatch(/^data: \{.*"slot":"\d+"/m)
    leaving.abort()
  })

  it('has a network as soon as the file names a node of it, and no longer than that, without a restart', async () => {
    expect(await call('bsc/mainnet', 'eth_gasPrice')).toMatchObject({ status: 503 })
    configure({ networks: { 'bsc/mainnet': { upstreams: [{ url: 'env:BSC_NODE' }] } } })
    expect(await answered('bsc/mainnet', 'eth_gasPrice')).toBe('0x2a')
    expect(bsc.got.map(({ body }) => body)).toEqual([expect.stringContaining('eth_gasPrice')])
    const { stdout } = await runCommand(['status'], env)
    expect(stdout).toContain('bsc/mainnet')
    expect(stdout).not.toContain(`:${bsc.port}`)
    configure({})
    const isGone = async () => ((await call('bsc/mainnet', 'eth_gasPrice')).status === 503 ? true : undefined)
    await eventually('its end', isGone)
    expect(await call('ethereum/mainnet', 'eth_chainId')).toEqual({ status: 200, result: CHAIN_IDS.ethereum })
  })
  it('ends when it is told to, though clients call on and hold sockets and streams open', async () => {
    const url = `${program.url}/ethereum/mainnet/${TOKEN}`
    const [events, socket] = [
      await program.ask(`/ethereum2/mainnet/${TOKEN}/eth/v1/events?topics=head`),
      new WebSocket(`${program.url.replace('http', 'ws')}/ws/ethereum/mainnet/${TOKEN}`),
    ]
    const closed = new Promise((resolve) => socket.once('close', resolve))
    await once(socket, 'open')
    socket.send('{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}')
    await once(socket, 'message')
    const answers = new Set<string>()
    let calls = 0
    const callers = Array.from({ length: 4 }, async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      const body = '{"jsonrpc":"2.0","id":7,"method":"eth_chainId"}'
      for (let answer = ''; answer !== 'ECONNREFUSED'; calls++, answers.add(answer))
        answer = await callOver(agent, url, body)
      agent.destroy()
    })
    await eventually('calls', async () => (calls > 100 ? true : undefined))
    expect(await program.stop()).toBe(0)
    await Promise.all(callers)
    // A call may be on its way over a connection that is closed because none was there.
    answers.delete('ECONNRESET')
    expect(answers).toEqual(new Set([`{"jsonrpc":"2.0","id":7,"result":"${CHAIN_IDS.ethereum}"}`, 'ECONNREFUSED']))
    expect(await closed).toBe(1001)
    await expect(events.text()).rejects.toThrow()
  })
})
