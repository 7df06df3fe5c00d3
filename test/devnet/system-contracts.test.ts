import { createHash } from 'node:crypto'
import {
  encodeFunctionData,
  getContractAddress,
  keccak256,
  parseAbi,
  parseEventLogs,
  recoverAddress,
  toHex,
  toRlp,
} from 'viem'
import { describe, expect, it } from 'vitest'
import { depositDataFor } from '../../infra/devnet/consensus/deposits.ts'
import predeploys from '../../infra/devnet/contracts/predeploys.json' with { type: 'json' }
import type { BuiltPayload } from '../../infra/devnet/engine.ts'
import {
  CONSOLIDATION_REQUESTS_ADDRESS,
  DEVNET_CHAIN_ID,
  EXIT_REQUEST_ADDRESS,
  MULTICALL3_ADDRESS,
  WITHDRAWAL_REQUESTS_ADDRESS,
} from '../../infra/devnet/execution/genesis.ts'
import { openJsonRpc } from '../../infra/devnet/execution/json-rpc.ts'
import { type DevnetExecution, openExecutionEngine } from '../../infra/devnet/execution/open.ts'
import type { Hex } from '../../schemas/eth/hex.ts'
import { isKeptLog, KEPT_CONTRACTS } from '../../schemas/eth/kept-logs.ts'
import { WALLET } from '../wallets.ts'
import { headerHash, type RpcBlock } from './json-rpc.ts'

const GENESIS_TIME_SEC = 1_700_000_000
const ZERO_HASH: Hex = `0x${'00'.repeat(32)}`
const GWEI = 1_000_000_000n

/** The transactions that deploy the contracts on every network (EIP-7002, EIP-7251, mds1/multicall3): signed by nobody's key. */
const DEPLOYMENTS = [
  { name: 'WithdrawalRequests', address: WITHDRAWAL_REQUESTS_ADDRESS, s: '0x5feeb084551e4e03a3581e269bc2ea2f8d0008' },
  {
    name: 'ConsolidationRequests',
    address: CONSOLIDATION_REQUESTS_ADDRESS,
    s: '0x0c0730f92dc275b663d377a7cbb141b6600052',
  },
] as const

/** EIP-7002 and EIP-7251: floor(numerator-weighted Taylor series of e^(excess / 17)), at least 1 wei. */
function feeAt(excess: number): bigint {
  let [output, accumulated] = [0n, 17n]
  for (let i = 1n; accumulated > 0n; i++) {
    output += accumulated
    accumulated = (accumulated * BigInt(excess)) / (17n * i)
  }
  return output / 17n
}

function pubkey(number: number): Hex {
  return `0x${'ab'.repeat(46)}${number.toString(16).padStart(4, '0')}`
}

/** An engine without scenario deposits, and what a wallet and a beacon node do with it. */
async function openWorld() {
  const engine = await openExecutionEngine({
    seed: 'system contracts',
    genesisTimeSec: GENESIS_TIME_SEC,
    depositsFor: depositDataFor,
    deposits: [],
  })
  const rpc = openJsonRpc(engine.url)
  let [nonce, slot] = [0, 0]
  async function send(to: Hex, data: Hex, value: bigint): Promise<void> {
    const fees = { gas: 300_000n, maxFeePerGas: 100n * GWEI, maxPriorityFeePerGas: GWEI }
    const fields = { to, data, value, nonce: nonce++, chainId: DEVNET_CHAIN_ID, type: 'eip1559', ...fees } as const
    await rpc.call('eth_sendRawTransaction', [await WALLET.signTransaction(fields)])
  }
  function build(parentHash: Hex = engine.headHash): Promise<BuiltPayload> {
    slot++
    const facts = { parentBeaconBlockRoot: ZERO_HASH, prevRandao: ZERO_HASH, proposerIndex: 0, withdrawals: [] }
    const feeRecipient: Hex = `0x${'ee'.repeat(20)}`
    return engine.build({ slot, timestampSec: GENESIS_TIME_SEC + 12 * slot, parentHash, feeRecipient, ...facts })
  }
  const fee = async (of: Hex) => BigInt((await rpc.call('eth_call', [{ to: of }, 'latest'])) as Hex)
  return {
    engine,
    rpc,
    send,
    build,
    fee,
    async [Symbol.asyncDispose]() {
      await rpc[Symbol.asyncDispose]()
      await engine[Symbol.asyncDispose]()
    },
  }
}

const askWithdrawal = (number: number): Hex => `${pubkey(number)}${'00'.repeat(7)}05`
const askConsolidation = (source: number, target: number): Hex => `${pubkey(source)}${pubkey(target).slice(2)}`
const REVERTED = '0x0'

async function outsideStatuses(engine: DevnetExecution): Promise<Hex[]> {
  await using rpc = openJsonRpc(engine.url)
  const receipts = (await rpc.call('eth_getBlockReceipts', ['latest'])) as { from: Hex; status: Hex }[]
  return receipts.filter(({ from }) => from === WALLET.address.toLowerCase()).map(({ status }) => status)
}

describe('the code of the contracts', () => {
  it.each(DEPLOYMENTS)('of $name is what the deployment of every network deploys at its address', async (known) => {
    const { deployedBytecode } = predeploys[known.name]
    const length = ((deployedBytecode.length - 2) / 2).toString(16).padStart(4, '0')
    // sstore(0, 2^256 - 1), and return what follows
    const input: Hex = `0x7f${'ff'.repeat(32)}5f5561${length}80602d5f395ff3${deployedBytecode.slice(2)}`
    const hash = keccak256(toRlp(['0x', '0xe8d4a51000', '0x03d090', '0x', '0x', input]))
    const signature = { r: toHex(0x539n, { size: 32 }), s: toHex(BigInt(known.s), { size: 32 }), v: 27n }
    const from = await recoverAddress({ hash, signature })
    expect(getContractAddress({ from, nonce: 0n }).toLowerCase()).toBe(known.address)
  })

  it('of Multicall3 is what the deployment of every network deploys at its address', async () => {
    const creation = '608060405234801561001057600080fd5b50610ee0806100206000396000f3fe'
    const input: Hex = `0x${creation}${predeploys.Multicall3.deployedBytecode.slice(2)}`
    const hash = keccak256(toRlp(['0x', '0x174876e800', '0x0f4240', '0x', '0x', input]))
    const r = '0xedce47092c0f398cebf3ffc267f05c8e7076e3b89445e0fe50f6332273d4569b'
    const s = '0x1b0b9d000e19b24c5869b0fc3b22b0d6fa47cd63316875cbbd577d76e6fde086'
    const from = await recoverAddress({ hash, signature: { r, s, v: 28n } })
    expect(getContractAddress({ from, nonce: 0n }).toLowerCase()).toBe(MULTICALL3_ADDRESS)
  })

  it('has the addresses whose logs are kept', () => {
    expect(KEPT_CONTRACTS.withdrawalRequests).toBe(WITHDRAWAL_REQUESTS_ADDRESS)
    expect(KEPT_CONTRACTS.consolidationRequests).toBe(CONSOLIDATION_REQUESTS_ADDRESS)
  })
})

describe('withdrawal requests', () => {
  it('leave in their order, sixteen in a block, and a burst raises the fee by what the excess says, until blocks lower it', async () => {
    await using world = await openWorld()
    expect(await world.fee(WITHDRAWAL_REQUESTS_ADDRESS)).toBe(1n)
    for (let number = 0; number < 40; number++)
      await world.send(WITHDRAWAL_REQUESTS_ADDRESS, askWithdrawal(number), 10n)
    const left: string[][] = []
    const fees: bigint[] = []
    for (let block = 0; block < 25; block++) {
      const { requests } = await world.build()
      left.push(requests.withdrawals.map((request) => toHex(request.validatorPubkey)))
      fees.push(await world.fee(WITHDRAWAL_REQUESTS_ADDRESS))
      for (const request of requests.withdrawals) {
        expect([toHex(request.sourceAddress), request.amount]).toEqual([WALLET.address.toLowerCase(), 5n])
      }
    }
    const inOrder = Array.from({ length: 40 }, (_, number) => pubkey(number))
    expect(left.slice(0, 4)).toEqual([inOrder.slice(0, 16), inOrder.slice(16, 32), inOrder.slice(32), []])
    expect(fees).toEqual(Array.from({ length: 25 }, (_, block) => feeAt(Math.max(0, 38 - 2 * block))))
  })

  it('that pay less than the fee revert, and are in no block', async () => {
    await using world = await openWorld()
    for (let number = 0; number < 30; number++)
      await world.send(WITHDRAWAL_REQUESTS_ADDRESS, askWithdrawal(number), 10n)
    await world.build()
    const fee = await world.fee(WITHDRAWAL_REQUESTS_ADDRESS)
    expect(fee).toBeGreaterThan(1n)
    // The excess is that of the block before: it counts for all of a block.
    await world.send(WITHDRAWAL_REQUESTS_ADDRESS, askWithdrawal(1_000), fee - 1n)
    await world.send(WITHDRAWAL_REQUESTS_ADDRESS, askWithdrawal(1_001), fee)
    await world.send(WITHDRAWAL_REQUESTS_ADDRESS, pubkey(1), fee) // without an amount
    const second = await world.build()
    expect(await outsideStatuses(world.engine)).toEqual([REVERTED, '0x1', REVERTED])
    const third = await world.build()
    const pubkeys = [second, third].flatMap(({ requests }) => requests.withdrawals.map((r) => toHex(r.validatorPubkey)))
    expect(pubkeys).toEqual([...Array.from({ length: 14 }, (_, index) => pubkey(16 + index)), pubkey(1_001)])
  })

  it('are in the hash of the block that they leave with', async () => {
    await using world = await openWorld()
    await world.send(WITHDRAWAL_REQUESTS_ADDRESS, askWithdrawal(7), 1n)
    await world.send(CONSOLIDATION_REQUESTS_ADDRESS, askConsolidation(1, 2), 1n)
    const { payload, requests } = await world.build()
    expect([requests.withdrawals.length, requests.consolidations.length]).toEqual([1, 1])
    const block = (await world.rpc.call('eth_getBlockByNumber', ['0x1', true])) as RpcBlock
    expect(headerHash(block)).toBe(toHex(payload.blockHash))
    // EIP-7685, over the type and the bytes as EIP-7002 and EIP-7251 have them
    const source = WALLET.address.slice(2).toLowerCase()
    const withdrawal = `01${source}${pubkey(7).slice(2)}05${'00'.repeat(7)}`
    const consolidation = `02${source}${pubkey(1).slice(2)}${pubkey(2).slice(2)}`
    const sha256 = (...hex: string[]) =>
      createHash('sha256')
        .update(Buffer.from(hex.join(''), 'hex'))
        .digest('hex')
    expect(block.requestsHash).toBe(`0x${sha256(sha256(withdrawal), sha256(consolidation))}`)
  })

  it('come again on the branch that replaces their block, with the fee that it had', async () => {
    await using world = await openWorld()
    const parent = toHex((await world.build()).payload.blockHash)
    for (let number = 0; number < 20; number++)
      await world.send(WITHDRAWAL_REQUESTS_ADDRESS, askWithdrawal(number), 10n)
    const orphan = await world.build(parent)
    const fee = await world.fee(WITHDRAWAL_REQUESTS_ADDRESS)
    await world.engine.rollbackTo(parent)
    expect(await world.fee(WITHDRAWAL_REQUESTS_ADDRESS)).toBe(1n)
    const replacement = await world.build(parent)
    expect(replacement.requests.withdrawals).toEqual(orphan.requests.withdrawals)
    expect(await world.fee(WITHDRAWAL_REQUESTS_ADDRESS)).toBe(fee)
    expect((await world.build()).requests.withdrawals).toHaveLength(4)
  })
})

describe('consolidation requests', () => {
  it('leave two in a block; one in a block is the target', async () => {
    await using world = await openWorld()
    for (let number = 0; number < 5; number++)
      await world.send(CONSOLIDATION_REQUESTS_ADDRESS, askConsolidation(number, number + 100), 1n)
    const counts: number[] = []
    const fees: bigint[] = []
    for (let block = 0; block < 6; block++) {
      counts.push((await world.build()).requests.consolidations.length)
      fees.push(await world.fee(CONSOLIDATION_REQUESTS_ADDRESS))
    }
    expect(counts).toEqual([2, 2, 1, 0, 0, 0])
    expect(fees).toEqual([4, 3, 2, 1, 0, 0].map(feeAt))
  })
})

describe('the exit-request contract', () => {
  const abi = parseAbi([
    'function requestExits(bytes pubkeys)',
    'function requestAllExits()',
    'event ExitsRequested(address indexed withdrawalAddress, bytes pubkeys)',
    'event AllExitsRequested(address indexed withdrawalAddress)',
  ])
  const packed = (count: number): Hex =>
    `0x${Array.from({ length: count }, (_, number) => pubkey(number).slice(2)).join('')}`
  const ask = (pubkeys: Hex) => encodeFunctionData({ abi, functionName: 'requestExits', args: [pubkeys] })

  it('says who asks for which exits, in logs that are kept', async () => {
    await using world = await openWorld()
    await world.send(EXIT_REQUEST_ADDRESS, ask(packed(1)), 0n)
    await world.send(EXIT_REQUEST_ADDRESS, ask(packed(100)), 0n)
    await world.send(EXIT_REQUEST_ADDRESS, encodeFunctionData({ abi, functionName: 'requestAllExits' }), 0n)
    await world.build()
    const filter = { address: EXIT_REQUEST_ADDRESS, fromBlock: '0x1', toBlock: '0x1' }
    const logs = (await world.rpc.call('eth_getLogs', [filter])) as Parameters<typeof parseEventLogs>[0]['logs']
    expect(parseEventLogs({ abi, logs }).map(({ eventName, args }) => ({ eventName, args }))).toEqual([
      { eventName: 'ExitsRequested', args: { withdrawalAddress: WALLET.address, pubkeys: packed(1) } },
      { eventName: 'ExitsRequested', args: { withdrawalAddress: WALLET.address, pubkeys: packed(100) } },
      { eventName: 'AllExitsRequested', args: { withdrawalAddress: WALLET.address } },
    ])
    expect(logs.map((log) => isKeptLog(log as { address: Hex; topics: Hex[] }))).toEqual([true, true, true])
  })

  it.each([
    ['no validator', ask('0x'), 0n],
    ['a hundred and one', ask(packed(101)), 0n],
    ['half a public key', ask(`${packed(1)}${'ab'.repeat(24)}`), 0n],
    ['ether', ask(packed(1)), 1n],
  ])('refuses %s', async (_, data, value) => {
    await using world = await openWorld()
    await world.send(EXIT_REQUEST_ADDRESS, data, value)
    await world.build()
    expect(await outsideStatuses(world.engine)).toEqual([REVERTED])
  })
})

it('aggregates calls through Multicall3', async () => {
  await using world = await openWorld()
  const abi = parseAbi([
    'function aggregate3Value((address target, bool allowFailure, uint256 value, bytes callData)[] calls) payable returns ((bool success, bytes returnData)[])',
  ])
  const to = `0x${'aa'.repeat(20)}` as const
  const calls = [1n, 2n].map((value) => ({ target: to, allowFailure: false, value, callData: '0x' as const }))
  await world.send(MULTICALL3_ADDRESS, encodeFunctionData({ abi, functionName: 'aggregate3Value', args: [calls] }), 3n)
  await world.build()
  expect(await world.rpc.call('eth_getBalance', [to, 'latest'])).toBe('0x3')
})
