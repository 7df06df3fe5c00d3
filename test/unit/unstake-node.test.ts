import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openUnstakeNode } from '../../infra/beacon/unstake-node.ts'
import { openStakingNode } from '../../infra/execution/staking-node.ts'
import type { BeaconChain, BeaconSource } from '../../infra/ports/beacon-source.ts'
import type { StakingNode } from '../../infra/ports/staking-node.ts'
import type { UnstakeNode } from '../../infra/ports/unstake-node.ts'
import { silentLog } from './silent-log.ts'

const ROOT = `0x${'4b'.repeat(32)}`
const KEY = `0x${'a1'.repeat(48)}`
const CREDENTIALS = `0x02${'00'.repeat(11)}${'ad'.repeat(20)}`
const FAR = String(2n ** 64n - 1n)
const LIMITS = { attemptsPerNode: 1 }
const SPEC = { SHARD_COMMITTEE_PERIOD: '256', MIN_ACTIVATION_BALANCE: '32000000000' }

/** What the node answers, by path; a path that is not there is 404. JSON-RPC is asked at /. */
let answers: Record<string, unknown>
let asked: { readonly path: string; readonly body: string }[]

const server = createServer(async (request, response) => {
  const path = request.url ?? ''
  const body = await text(request)
  asked.push({ path, body })
  const answer = path === '/' ? rpcAnswer(body) : answers[path]
  response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(answer ?? {}))
})

function rpcAnswer(body: string): unknown {
  const { id, method } = JSON.parse(body) as { id: number; method: string }
  return { jsonrpc: '2.0', id, ...(answers[method] as object) }
}

let spec: BeaconChain['spec']
let unstaking: UnstakeNode
let staking: StakingNode

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(() => void server.close())

beforeEach(async () => {
  asked = []
  spec = SPEC
  answers = {
    '/eth/v1/beacon/genesis': { data: { genesis_validators_root: ROOT } },
    eth_chainId: { result: '0x1' },
  }
  const clock = { genesisTimeSec: 0, secondsPerSlot: 12, slotsPerEpoch: 32 }
  const beacon: Pick<BeaconSource, 'chain' | 'head'> = {
    chain: async () => ({ genesisValidatorsRoot: ROOT, depositChainId: 1, clock, spec }) as BeaconChain,
    head: async () => ({ slot: 3_205, root: ROOT }),
  }
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  unstaking = openUnstakeNode({ beacon, urls: [url], log: silentLog, limits: LIMITS })
  staking = await openStakingNode({ beacon, executionUrls: [url], log: silentLog, limits: LIMITS })
})

const REGISTRY = '/eth/v1/beacon/states/head/validators'
const PARTIALS = '/eth/v1/beacon/states/head/pending_partial_withdrawals'
const row = (change: object = {}) => ({
  index: '7',
  balance: '40000000005',
  status: 'active_ongoing',
  validator: {
    pubkey: KEY.toUpperCase().replace('0X', '0x'),
    withdrawal_credentials: CREDENTIALS,
    effective_balance: '40000000000',
    activation_epoch: '3',
    exit_epoch: FAR,
    ...change,
  },
})

describe('the beacon node of unstaking', () => {
  test('tells what the registry says at the head, of those that were asked for', async () => {
    const stranger = row({ pubkey: `0x${'b2'.repeat(48)}` })
    answers[REGISTRY] = { execution_optimistic: false, finalized: false, data: [row(), stranger] }
    expect(await unstaking.registered([KEY], 'head')).toEqual(
      new Map([
        [
          KEY,
          {
            index: 7,
            withdrawalCredentials: CREDENTIALS,
            balanceGwei: 40_000_000_005n,
            effectiveBalanceGwei: 40_000_000_000n,
            activationEpoch: 3,
            exitEpoch: undefined,
          },
        ],
      ]),
    )
    expect(JSON.parse(asked.find(({ path }) => path === REGISTRY)?.body ?? '')).toEqual({ ids: [KEY] })
    expect(await unstaking.headEpoch()).toBe(100)
  })

  test('sums the parts that are pending, and knows none where the node has no such path', async () => {
    expect(await unstaking.pendingPartials()).toEqual(new Map())
    const part = (validator_index: string, amount: string) => ({ validator_index, amount, withdrawable_epoch: '9' })
    answers[PARTIALS] = { data: [part('7', '5'), part('8', '1'), part('7', '6')] }
    expect(await unstaking.pendingPartials()).toEqual(
      new Map([
        [7, 11n],
        [8, 1n],
      ]),
    )
  })

  test.each<[string, string, unknown, string]>([
    [
      'of another genesis',
      '/eth/v1/beacon/genesis',
      { data: { genesis_validators_root: `0x${'00'.repeat(32)}` } },
      'node_inconsistent',
    ],
    ['without the registry', REGISTRY, undefined, 'node_lagging'],
    ['with a registry of another shape', REGISTRY, { data: [{ ...row(), balance: 7 }] }, 'node_malformed'],
    ['that is optimistic', REGISTRY, { execution_optimistic: true, data: [row()] }, 'node_lagging'],
  ])('is not believed when it is one %s', async (_, path, answer, code) => {
    answers = { ...answers, [REGISTRY]: { data: [row()] }, [path]: answer }
    await expect(unstaking.registered([KEY], 'head')).rejects.toMatchObject({ code })
  })

  test('has to tell the parameters that decide about requests', async () => {
    expect(await unstaking.facts()).toEqual({
      shardCommitteePeriodEpochs: 256,
      minActivationBalanceGwei: 32_000_000_000n,
    })
  })

  test.each(['SHARD_COMMITTEE_PERIOD', 'MIN_ACTIVATION_BALANCE'])('is malformed without %s', async (name) => {
    spec = { ...SPEC, [name]: '' }
    await expect(unstaking.facts()).rejects.toMatchObject({ code: 'node_malformed' })
  })
})

describe('a simulation', () => {
  const call = { from: `0x${'ad'.repeat(20)}`, to: `0x${'de'.repeat(20)}`, valueWei: 32n * 10n ** 18n, data: '0x01' }

  test('lends the sender the ether that the call takes', async () => {
    answers.eth_estimateGas = { result: '0x186a0' }
    expect(await staking.simulate(call)).toEqual({ status: 'done', gas: 100_000n })
    const { params } = JSON.parse(asked.at(-1)?.body ?? '') as { params: unknown[] }
    const balance = `0x${(32n * 10n ** 18n + 2n ** 64n).toString(16)}`
    const value = `0x${(32n * 10n ** 18n).toString(16)}`
    expect(params).toEqual([
      { from: call.from, to: call.to, value, data: '0x01' },
      'latest',
      { [call.from]: { balance } },
    ])
  })

  test('is held to a limit of gas', async () => {
    answers.eth_estimateGas = { result: '0x186a0' }
    await staking.simulate({ ...call, gas: 100_000n })
    const { params } = JSON.parse(asked.at(-1)?.body ?? '') as { params: unknown[] }
    expect(params[0]).toMatchObject({ gas: '0x186a0' })
  })

  test.each([
    [3, 'execution reverted: paused', 'reverted'],
    [-32_000, 'VM Exception while processing transaction: revert', 'reverted'],
    [-32_602, 'too many arguments, want at most 2', 'unknown'],
    [-32_000, 'insufficient funds for gas * price + value', 'unknown'],
    [-32_601, 'the method eth_estimateGas does not exist', 'unknown'],
  ])('that the node answers with error %d (%s) is %s', async (code, message, status) => {
    answers.eth_estimateGas = { error: { code, message } }
    expect(await staking.simulate(call)).toEqual({ status })
  })

  test('whose gas is no quantity is the node’s fault', async () => {
    answers.eth_estimateGas = { result: 'plenty' }
    await expect(staking.simulate(call)).rejects.toMatchObject({ code: 'node_malformed' })
  })

  test('a word of storage is read as a number', async () => {
    answers.eth_getStorageAt = { result: `0x${'0'.repeat(62)}2a` }
    expect(await staking.storageAt(call.to, '0x0')).toBe(42n)
  })
})
