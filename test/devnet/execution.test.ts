import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ssz } from '@lodestar/types'
import { keccak256, parseTransaction, recoverTransactionAddress, toHex } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { depositDataFor } from '../../infra/devnet/consensus/deposits.ts'
import { seededBytes } from '../../infra/devnet/consensus/random.ts'
import type { BuiltPayload, PayloadRequest } from '../../infra/devnet/engine.ts'
import { nextBaseFeeWei } from '../../infra/devnet/execution/base-fee.ts'
import { type DevnetExecution, type ExecutionOptions, openExecutionEngine } from '../../infra/devnet/execution/open.ts'
import { planBlock, planSlot } from '../../infra/devnet/execution/scenario.ts'
import { DEPOSITOR, INITIAL_STATE } from '../../infra/devnet/execution/scenario-state.ts'
import { METADATA_URL } from '../../infra/devnet/metadata/documents.ts'
import { openExecutionSource } from '../../infra/execution/source.ts'
import type { Hex } from '../../schemas/eth/hex.ts'
import { receiptsRoot } from '../../schemas/eth/receipts.ts'
import { encodeRlp, rlpInteger } from '../../schemas/eth/rlp.ts'
import { signerOf } from '../../schemas/eth/signed-transaction.ts'
import { orderedTrieRoot } from '../../schemas/eth/trie.ts'
import { silentLog } from '../unit/silent-log.ts'
import { WALLET } from '../wallets.ts'
import { headerHash, type RpcBlock, type RpcReceipt, toCommitted } from './json-rpc.ts'

const GENESIS_TIME_SEC = 1_700_000_000
const SEED = 'test'
const CONTRACT_RECIPIENT: Hex = '0x00000000000000000000000000000000000c0de0'
const GWEI = 1_000_000_000n

function openEngine(options: Partial<ExecutionOptions> = {}): Promise<DevnetExecution> {
  return openExecutionEngine({
    seed: SEED,
    genesisTimeSec: GENESIS_TIME_SEC,
    depositsFor: depositDataFor,
    deposits: [{ slot: 3, validatorNumber: 256, amountGwei: 32n * GWEI }],
    contractRecipients: [CONTRACT_RECIPIENT],
    ...options,
  })
}

function recipientOf(slot: number): Hex {
  return toHex(seededBytes('recipient', String(slot % 8)).subarray(0, 20))
}

function requestFor(slot: number, parentHash: Hex, changes: Partial<PayloadRequest> = {}): PayloadRequest {
  return {
    slot,
    timestampSec: GENESIS_TIME_SEC + 12 * slot,
    parentHash,
    parentBeaconBlockRoot: toHex(seededBytes('parent', String(slot))),
    prevRandao: toHex(seededBytes('randao', String(slot))),
    proposerIndex: slot,
    feeRecipient: recipientOf(slot),
    withdrawals: [{ index: slot, validatorIndex: slot, address: recipientOf(slot + 1), amountGwei: 1_234_567n }],
    ...changes,
  }
}

async function buildSlots(engine: DevnetExecution, from: number, to: number, parentHash: Hex): Promise<BuiltPayload[]> {
  const built: BuiltPayload[] = []
  for (let slot = from; slot <= to; slot++) {
    const parent = built[built.length - 1]
    built.push(await engine.build(requestFor(slot, parent === undefined ? parentHash : hashOf(parent))))
  }
  return built
}

function hashOf({ payload }: BuiltPayload): Hex {
  return toHex(payload.blockHash)
}

async function post(engine: DevnetExecution, body: unknown): Promise<unknown> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return (await fetch(engine.url, { method: 'POST', body: text })).json()
}

async function rpc<Result>(engine: DevnetExecution, method: string, params: readonly unknown[] = []): Promise<Result> {
  const answer = (await post(engine, { jsonrpc: '2.0', id: 1, method, params })) as { result: Result; error?: object }
  if (answer.error !== undefined) throw new Error(`${method}: ${JSON.stringify(answer.error)}`)
  return answer.result
}

function transferFrom(nonce: number, valueWei: bigint): Promise<Hex> {
  return WALLET.signTransaction({
    chainId: 7_017_017,
    type: 'eip1559',
    nonce,
    to: recipientOf(0),
    value: valueWei,
    gas: 21_000n,
    maxFeePerGas: 50n * GWEI,
    maxPriorityFeePerGas: GWEI,
  })
}

describe('a chain of the default scenario', () => {
  const LAST_SLOT = 150
  let engine: DevnetExecution
  let built: BuiltPayload[]

  beforeAll(async () => {
    engine = await openEngine()
    built = await buildSlots(engine, 1, LAST_SLOT, engine.genesisHash)
  })
  afterAll(() => engine[Symbol.asyncDispose]())

  const blockAt = (number: number) => rpc<RpcBlock>(engine, 'eth_getBlockByNumber', [toHex(number), true])
  const receiptsAt = (number: number) => rpc<RpcReceipt[]>(engine, 'eth_getBlockReceipts', [toHex(number)])

  it('has headers whose hash and roots follow from their contents', async () => {
    for (const { payload } of built) {
      const number = payload.blockNumber
      const block = await blockAt(number)
      expect(headerHash(block), `block ${number}`).toBe(toHex(payload.blockHash))
      expect(block.hash).toBe(toHex(payload.blockHash))
      expect(toHex(orderedTrieRoot(payload.transactions))).toBe(block.transactionsRoot)
      expect(toHex(receiptsRoot((await receiptsAt(number)).map(toCommitted)))).toBe(block.receiptsRoot)
      const withdrawals = payload.withdrawals.map((withdrawal) =>
        encodeRlp([
          rlpInteger(withdrawal.index),
          rlpInteger(withdrawal.validatorIndex),
          withdrawal.address,
          rlpInteger(withdrawal.amount),
        ]),
      )
      expect(toHex(orderedTrieRoot(withdrawals))).toBe(block.withdrawalsRoot)
    }
  })

  it('has blocks that a reader of nodes finds to be what their hashes commit to', async () => {
    await using source = await openExecutionSource({ urls: [engine.url], log: silentLog, binding: 'ethereum' })
    for (const { payload } of built) {
      const block = await source.blockByHash(toHex(payload.blockHash))
      expect(block.matchesHash, `block ${payload.blockNumber}`).toBe(true)
    }
  })

  it('gives payloads that survive SSZ and header transactions that are those of JSON-RPC', async () => {
    for (const { payload } of built) {
      const copy = ssz.deneb.ExecutionPayload.deserialize(ssz.deneb.ExecutionPayload.serialize(payload))
      expect(toHex(ssz.deneb.ExecutionPayload.hashTreeRoot(copy))).toBe(
        toHex(ssz.deneb.ExecutionPayload.hashTreeRoot(payload)),
      )
      const block = await blockAt(payload.blockNumber)
      expect(block.transactions.map(({ hash }) => hash)).toEqual(payload.transactions.map((raw) => keccak256(raw)))
    }
  })

  it('holds transactions of all five types, signed by their senders', async () => {
    const types = new Set<string>()
    for (const { payload } of built) {
      const block = await blockAt(payload.blockNumber)
      for (const [index, raw] of payload.transactions.entries()) {
        const transaction = block.transactions[index]
        const serialized = toHex(raw)
        types.add(parseTransaction(serialized as never).type ?? 'unknown')
        const isFirstOfItsType = types.size > 0 && index === 0 && payload.blockNumber < 40
        if (isFirstOfItsType) {
          const sender = await recoverTransactionAddress({ serializedTransaction: serialized as never })
          expect(sender.toLowerCase()).toBe(transaction?.from)
        }
      }
    }
    expect([...types].sort()).toEqual(['eip1559', 'eip2930', 'eip4844', 'eip7702', 'legacy'])
  })

  it('signs every transaction for its sender, and traces it by the hash that readers know', async () => {
    for (const { payload } of built) {
      const block = await blockAt(payload.blockNumber)
      for (const transaction of block.transactions) expect(signerOf(transaction)).toBe(transaction.from)
    }
    const [newest] = built.filter(({ payload }) => payload.transactions.length > 0).slice(-1)
    const [receipt] = await receiptsAt(newest?.payload.blockNumber ?? 0)
    const trace = await rpc<{ gas: number }>(engine, 'debug_traceTransaction', [receipt?.transactionHash, {}])
    expect(trace.gas).toBe(Number(receipt?.gasUsed))
  })

  it('tells the commitments of the blobs that its payload names', () => {
    const withBlobs = built.filter(({ payload }) => payload.blobGasUsed > 0n)
    expect(withBlobs.length).toBeGreaterThan(0)
    for (const { payload, blobKzgCommitments } of withBlobs) {
      expect(BigInt(blobKzgCommitments.length) * 131_072n).toBe(payload.blobGasUsed)
    }
  })

  it('has transactions that fail and blocks that are empty', async () => {
    const receipts = (await Promise.all(built.map(({ payload }) => receiptsAt(payload.blockNumber)))).flat()
    expect(receipts.filter((receipt) => receipt.status === '0x0').length).toBeGreaterThan(3)
    expect(built.filter(({ payload }) => payload.transactions.length === 0).length).toBeGreaterThan(3)
  })

  it("pays the proposer in the last transaction of a builder's block, and names the builder", async () => {
    let payments = 0
    for (const { payload } of built) {
      const plan = planBlock(SEED, payload.blockNumber) // no slot is missed here
      const block = await blockAt(payload.blockNumber)
      expect(Buffer.from(block.extraData.slice(2), 'hex').toString()).toBe(plan.extraData)
      const last = block.transactions[block.transactions.length - 1]
      if (plan.kind === 'builder' && plan.payment.kind === 'last_transaction') {
        payments++
        expect(last?.from).toBe(block.miner)
        expect(last?.to).toBe(recipientOf(payload.blockNumber))
        expect(BigInt(last?.value ?? 0)).toBe(plan.payment.valueWei)
      } else {
        expect(block.miner).toBe(recipientOf(payload.blockNumber))
      }
    }
    expect(payments).toBeGreaterThan(30)
  })

  it('turns a deposit into a request of the same block, and into a log with the sealed hash', async () => {
    const [deposited] = built.filter(({ requests }) => requests.deposits.length > 0)
    expect(deposited?.payload.blockNumber).toBe(3)
    const data = depositDataFor(256, 32n * GWEI, '0x0000000000000000000000000000000000000000')
    expect(toHex(deposited?.requests.deposits[0]?.pubkey ?? new Uint8Array())).toBe(data.pubkey)
    expect(deposited?.requests.deposits[0]?.amount).toBe(32_000_000_000)
    const filter = { address: engine.depositContractAddress, fromBlock: '0x0', toBlock: 'latest' }
    const logs = await rpc<{ blockHash: Hex }[]>(engine, 'eth_getLogs', [filter])
    expect(logs.map((log) => log.blockHash)).toEqual([toHex(deposited?.payload.blockHash ?? new Uint8Array())])
    expect(
      await rpc(engine, 'eth_getLogs', [{ blockHash: logs[0]?.blockHash, topics: [`0x${'11'.repeat(32)}`] }]),
    ).toEqual([])
  })

  it('credits withdrawals to their addresses', async () => {
    const recipient = recipientOf(1)
    const number = built.length
    const before = BigInt(await rpc<Hex>(engine, 'eth_getBalance', [recipient, toHex(number)]))
    const slot = LAST_SLOT + 1
    const withdrawals = [
      { index: 1, validatorIndex: 1, address: recipient, amountGwei: 5n },
      { index: 2, validatorIndex: 2, address: recipient, amountGwei: 7n },
    ]
    const parent = built[built.length - 1] as BuiltPayload
    const feeRecipient = recipientOf(2)
    built.push(await engine.build(requestFor(slot, hashOf(parent), { withdrawals, feeRecipient })))
    const block = await blockAt(number + 1)
    const transferred = block.transactions
      .filter(({ to }) => to === recipient)
      .reduce((sum, { value }) => sum + BigInt(value), 0n)
    const after = BigInt(await rpc<Hex>(engine, 'eth_getBalance', [recipient, 'latest']))
    expect(after - before).toBe(12n * GWEI + transferred)
    expect(BigInt(await rpc<Hex>(engine, 'eth_getBalance', [recipient, toHex(number)]))).toBe(before)
  })

  it('answers by hash, number, tag and transaction with sealed hashes only', async () => {
    const full = built.find(({ payload }) => payload.transactions.length > 2) as BuiltPayload
    const hash = hashOf(full)
    const block = await rpc<RpcBlock>(engine, 'eth_getBlockByHash', [hash, true])
    expect(block.transactions.every(({ blockHash }) => blockHash === hash)).toBe(true)
    const transactionHash = block.transactions[1]?.hash
    const receipt = await rpc<RpcReceipt>(engine, 'eth_getTransactionReceipt', [transactionHash])
    expect([receipt.blockHash, receipt.transactionHash]).toEqual([hash, transactionHash])
    expect(await rpc(engine, 'eth_getTransactionByHash', [transactionHash])).toEqual(block.transactions[1])
    expect(await rpc(engine, 'eth_getBlockReceipts', [hash])).toEqual(await receiptsAt(full.payload.blockNumber))
    expect(await rpc(engine, 'eth_blockNumber')).toBe(toHex(built.length))
    expect((await rpc<RpcBlock>(engine, 'eth_getBlockByNumber', ['earliest', false])).hash).toBe(engine.genesisHash)
    expect(await rpc(engine, 'eth_getBlockByNumber', [toHex(built.length + 1), false])).toBeNull()
    expect(await rpc(engine, 'eth_getTransactionByHash', [`0x${'00'.repeat(32)}`])).toBeNull()
    expect(
      await rpc(engine, 'eth_getBalance', [
        recipientOf(1),
        { blockHash: hashOf(built[built.length - 1] as BuiltPayload) },
      ]),
    ).toBe(await rpc(engine, 'eth_getBalance', [recipientOf(1), 'latest']))
  })

  it('answers batches in order and refuses what could change the chain', async () => {
    const answers = (await post(engine, [
      { jsonrpc: '2.0', id: 'a', method: 'eth_chainId' },
      { jsonrpc: '2.0', id: 'b', method: 'anvil_setBalance', params: [recipientOf(1), '0x0'] },
      { jsonrpc: '2.0', id: 'c', method: 'evm_mine', params: [] },
      { jsonrpc: '2.0', id: 'd', method: 'eth_sendTransaction', params: [{}] },
    ])) as { id: string; result?: unknown; error?: { code: number } }[]
    expect(answers.map(({ id, result, error }) => [id, result ?? error?.code])).toEqual([
      ['a', toHex(7_017_017)],
      ['b', -32_601],
      ['c', -32_601],
      ['d', -32_601],
    ])
    expect(await post(engine, '{"jsonrpc"')).toMatchObject({ error: { code: -32_700 } })
    expect(await post(engine, [])).toMatchObject({ error: { code: -32_600 } })
    expect(await post(engine, { id: 1, method: 'eth_getBlockByNumber', params: ['0xzz', true] })).toMatchObject({
      error: { code: -32_602 },
    })
  })

  it('is made again, hash for hash, from the same seed', async () => {
    await using again = await openEngine()
    const copies = await buildSlots(again, 1, 40, again.genesisHash)
    expect(copies.map(hashOf)).toEqual(built.slice(0, 40).map(hashOf))
  })

  it('is another one with another seed', async () => {
    await using other = await openEngine({ seed: 'another' })
    const [first] = (await buildSlots(other, 1, 12, other.genesisHash)).slice(-1)
    expect(hashOf(first as BuiltPayload)).not.toBe(hashOf(built[11] as BuiltPayload))
  })
})

describe('a rollback', () => {
  it('gives the state back exactly: the same blocks again have the same hashes', async () => {
    await using engine = await openEngine()
    const before = await buildSlots(engine, 1, 30, engine.genesisHash)
    await engine.rollbackTo(hashOf(before[25] as BuiltPayload))
    expect(await rpc(engine, 'eth_blockNumber')).toBe(toHex(26))
    const after = await buildSlots(engine, 27, 34, hashOf(before[25] as BuiltPayload))
    await using straight = await openEngine()
    const expected = await buildSlots(straight, 1, 34, straight.genesisHash)
    expect([...before.slice(0, 26), ...after].map(hashOf)).toEqual(expected.map(hashOf))
  })

  it('leaves the orphaned block readable by hash, and its transactions in the chain once only', async () => {
    await using engine = await openEngine()
    const [, parent, orphan] = await buildSlots(engine, 1, 3, engine.genesisHash)
    if (parent === undefined || orphan === undefined) throw new Error('three blocks were built')
    await engine.rollbackTo(hashOf(parent))
    const replacement = await engine.build(requestFor(4, hashOf(parent)))
    expect(replacement.requests.deposits).toEqual(orphan.requests.deposits)
    expect(hashOf(replacement)).not.toBe(hashOf(orphan))
    const read = await rpc<RpcBlock>(engine, 'eth_getBlockByHash', [hashOf(orphan), false])
    expect(read.number).toBe('0x3')
    expect((await rpc<RpcBlock>(engine, 'eth_getBlockByNumber', ['0x3', false])).hash).toBe(hashOf(replacement))
    const shared = keccak256(orphan.payload.transactions[0] as Uint8Array)
    expect((await rpc<RpcReceipt>(engine, 'eth_getTransactionReceipt', [shared])).blockHash).toBe(hashOf(replacement))
  })
})

describe('a block that is executed ahead', () => {
  const turn = (slot: number) => {
    const { timestampSec, feeRecipient } = requestFor(slot, '0x')
    return { slot, timestampSec, feeRecipient }
  }

  /** Slot 20 brings a rollback of two, and slots 5 and 12 have no block; `next` says what the engine is told of a slot's follower. */
  async function run(next: (slot: number) => PayloadRequest['next'], options: Partial<ExecutionOptions> = {}) {
    await using engine = await openEngine(options)
    const hashes = [engine.genesisHash]
    for (const slot of [1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22]) {
      if (slot === 20) {
        hashes.splice(-2)
        await engine.rollbackTo(hashes.at(-1) ?? '0x')
      }
      if (slot === 15 && options.journalFile !== undefined && !existsSync(options.journalFile)) {
        await rpc(engine, 'eth_sendRawTransaction', [await transferFrom(0, 7n)])
      }
      hashes.push(hashOf(await engine.build(requestFor(slot, hashes.at(-1) ?? '0x', { next: next(slot) }))))
    }
    const balances = ['latest', toHex(15)].map((at) => rpc<Hex>(engine, 'eth_getBalance', [recipientOf(1), at]))
    return { hashes, balances: await Promise.all(balances) }
  }

  it('is the one that would have been made when it was asked for, and is taken back when it is not asked for', async () => {
    const expected = await run(() => undefined)
    expect(await run((slot) => turn(slot + 1))).toEqual(expected)
    expect(await run((slot) => turn(slot % 3 === 0 ? slot + 2 : slot + 1))).toEqual(expected)
  })

  it('does not keep an outside transaction from the block that comes next, then and after a restart', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'epochline-journal-'))
    const journalFile = (name: string) => ({ journalFile: join(folder, name) })
    const expected = await run(() => undefined, journalFile('one'))
    expect(expected).not.toEqual(await run(() => undefined))
    expect(await run((slot) => turn(slot + 1), journalFile('other'))).toEqual(expected)
    expect(await run((slot) => turn(slot + 1), journalFile('other'))).toEqual(expected)
    await rm(folder, { recursive: true })
  })
})

describe('a transaction from outside', () => {
  it('is in the next block, comes back after a rollback, and a restart makes the same chain from the journal', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'epochline-journal-'))
    const journalFile = join(folder, 'journal.jsonl')
    const raw = await transferFrom(0, 5n)
    const run = async (send: boolean): Promise<Hex[]> => {
      await using engine = await openEngine({ journalFile })
      const built = await buildSlots(engine, 1, 5, engine.genesisHash)
      if (send) expect(await rpc(engine, 'eth_sendRawTransaction', [raw])).toBe(keccak256(raw))
      built.push(await engine.build(requestFor(6, hashOf(built[4] as BuiltPayload))))
      const isIn = ({ payload }: BuiltPayload) => payload.transactions.some((transaction) => toHex(transaction) === raw)
      expect(isIn(built[5] as BuiltPayload)).toBe(true)
      await engine.rollbackTo(hashOf(built[4] as BuiltPayload))
      const replacement = await engine.build(requestFor(8, hashOf(built[4] as BuiltPayload)))
      expect(isIn(replacement)).toBe(true)
      const refused = await post(engine, { id: 1, method: 'eth_sendRawTransaction', params: [raw] })
      expect(refused).toMatchObject({ error: { code: -32_003 } })
      return [...built, replacement].map(hashOf)
    }
    const first = await run(true)
    expect((await readFile(journalFile, 'utf8')).trim().split('\n')).toHaveLength(1)
    expect(await run(false)).toEqual(first)
    await rm(folder, { recursive: true })
  })
})

describe("a builder's payment", () => {
  it('fails when the fee recipient is a contract that takes nothing', async () => {
    await using engine = await openEngine()
    const slot = Array.from({ length: 50 }, (_, index) => index + 1).find((candidate) => {
      const plan = planBlock(SEED, candidate)
      return plan.kind === 'builder' && plan.payment.kind === 'last_transaction'
    })
    await engine.build(requestFor(slot ?? 1, engine.genesisHash, { feeRecipient: CONTRACT_RECIPIENT }))
    const receipts = await rpc<RpcReceipt[]>(engine, 'eth_getBlockReceipts', ['latest'])
    expect(receipts[receipts.length - 1]?.status).toBe('0x0')
  })
})

describe('the plan of the scenario', () => {
  const plans = Array.from({ length: 7_200 }, (_, slot) => planBlock('any', slot))

  it('has local blocks, paid blocks, 1-wei payments and blocks that pay by their coinbase', () => {
    const count = (isIt: (plan: (typeof plans)[number]) => boolean) => plans.filter(isIt).length
    expect(count((plan) => plan.kind === 'local')).toBeGreaterThan(2_000)
    expect(count((plan) => plan.kind === 'builder' && plan.payment.kind === 'none')).toBeGreaterThan(50)
    const oneWei = (plan: (typeof plans)[number]) =>
      plan.kind === 'builder' && plan.payment.kind === 'last_transaction' && plan.payment.valueWei === 1n
    expect(count(oneWei)).toBeGreaterThan(50)
  })

  it('sends a deposit whose slot had no block with the next one, and once only', () => {
    const addresses = Array.from({ length: 30 }, (_, index) => toHex(index, { size: 20 }))
    const deposits = [{ slot: 40, validatorNumber: 300, amountGwei: 32n * GWEI }]
    const profile = 'ethereum' as const
    const setup = { seed: 'any', profile, addresses, deposits, depositsFor: depositDataFor, metadataUrl: METADATA_URL }
    const late = planSlot(setup, 42, INITIAL_STATE)
    expect(late.state.depositsSent).toBe(1)
    const next = planSlot(setup, 43, late.state)
    expect(next.transactions.filter(({ sender }) => sender === DEPOSITOR)).toEqual([])
  })
})

describe('nextBaseFeeWei', () => {
  it.each([
    ['rises by an eighth after a full block', 8n * GWEI, 36_000_000n, 9n * GWEI],
    ['stays at the target', 8n * GWEI, 18_000_000n, 8n * GWEI],
    ['falls by an eighth after an empty block', 8n * GWEI, 0n, 7n * GWEI],
    ['does not fall below the floor', GWEI, 0n, GWEI],
  ])('%s', (_, baseFeeWei, gasUsed, expected) => {
    expect(nextBaseFeeWei(baseFeeWei, gasUsed, 36_000_000n)).toBe(expected)
  })
})

describe('anvil', () => {
  it('ends when the process that started it is killed', async () => {
    const script = `
      import { openAnvil } from './infra/devnet/execution/anvil-process.ts'
      import { writeGenesisFile } from './infra/devnet/execution/genesis.ts'
      const genesisFile = await writeGenesisFile([])
      const anvil = await openAnvil({ chainId: 7017017, genesisTimeSec: 1700000000, accounts: 1, accountBalanceEth: 1,
        mnemonic: 'legal winner thank year wave sausage worth useful legal winner thank yellow',
        gasLimit: 36000000, baseFeeWei: 1n, genesisFile: genesisFile.path })
      await genesisFile[Symbol.asyncDispose]()
      process.stdout.write(String(anvil.pid))
      setInterval(() => {}, 1000)
    `
    const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [pid] = (await once(child.stdout, 'data')) as [Buffer]
    expect(existsSync(`/proc/${pid}`)).toBe(true)
    child.kill('SIGKILL')
    await expect.poll(() => existsSync(`/proc/${pid}`)).toBe(false)
  })

  it('refuses a chain id of a real network', async () => {
    await expect(openEngine({ chainId: 1 })).rejects.toMatchObject({ code: 'config' })
  })
})
