import { type Hex, keccak256, recoverTransactionAddress, toHex } from 'viem'
import { describe, expect, test } from 'vitest'
import { toExecutionBlock } from '../../infra/execution/block.ts'
import type { NodeBlock, NodeReceipt } from '../../infra/execution/result-shapes.ts'
import { logsBloomOf, receiptsRoot } from '../../schemas/eth/receipts.ts'
import { encodeRlp } from '../../schemas/eth/rlp.ts'
import { orderedTrieRoot } from '../../schemas/eth/trie.ts'
import { givenRevenue } from './given-revenue.ts'
import { bytesOf, headerOf, listOf, MAINNET_BLOCKS, numberOf, readBlock, toReceipt, toRpc } from './mainnet-blocks.ts'
import { storesOfFile } from './warehouse-of-file.ts'

// What real blocks have paid. The figures were computed from the files by another program.

const LIDO_VAULT = '0x388c818ca8b9251b393131c08a736a67ccb19297'
/** Whom the last transaction of block 17034870 sends 0.1 ETH to, with a tip: somebody. */
const LAST_RECIPIENT = '0x45da491624759ffcd4078b7bf70c826695cb863f'
const SOMEBODY = `0x${'51'.repeat(20)}`

const stores = storesOfFile()

/** The block as a node tells it; every root that the header has is made of the file's parts, and its hash of the header's bytes. */
async function verifiedBlock(number: number, blockHash: Hex): Promise<{ block: NodeBlock; receipts: NodeReceipt[] }> {
  const { header, body, receipts } = readBlock(`block-data-${number}.yaml`)
  const raws = listOf(body[0]).map((one) => toHex(one instanceof Uint8Array ? one : encodeRlp(one)))
  const committed = receipts.map(toReceipt)
  expect(keccak256(encodeRlp(header))).toBe(blockHash)
  expect(toHex(orderedTrieRoot(raws.map((raw) => Buffer.from(raw.slice(2), 'hex'))))).toBe(toHex(bytesOf(header[4])))
  expect(toHex(receiptsRoot(committed))).toBe(toHex(bytesOf(header[5])))
  const withdrawals = listOf(body[2] ?? []).map(listOf)
  expect(toHex(orderedTrieRoot(withdrawals.map((one) => encodeRlp(one))))).toBe(toHex(bytesOf(header[16])))

  const transactions = await Promise.all(
    raws.map(async (raw) => {
      const from = await recoverTransactionAddress({ serializedTransaction: raw as `0x02${string}` })
      return { ...toRpc(raw), hash: keccak256(raw), from }
    }),
  )
  const told = withdrawals.map(([index, validator, address, amount]) => ({
    index: toHex(numberOf(index)),
    validatorIndex: toHex(numberOf(validator)),
    address: toHex(bytesOf(address)),
    amount: toHex(numberOf(amount)),
  }))
  const block = { ...headerOf(header), hash: blockHash, transactions, withdrawals: told } as unknown as NodeBlock
  const toTold = ({ type, status, cumulativeGasUsed, logs }: (typeof committed)[number], i: number): NodeReceipt => ({
    transactionHash: transactions[i]?.hash ?? '0x',
    type: toHex(type),
    status: status === 'success' ? '0x1' : '0x0',
    cumulativeGasUsed: toHex(cumulativeGasUsed),
    gasUsed: toHex(cumulativeGasUsed - (committed[i - 1]?.cumulativeGasUsed ?? 0n)),
    contractAddress: SOMEBODY, // of creations: the files do not have it, and no figure here needs it
    logsBloom: toHex(logsBloomOf(logs)),
    logs: logs.map((log) => ({ ...log, topics: [...log.topics] })),
  })
  return { block, receipts: committed.map(toTold) }
}

const local = (revenue: string, recipient: string) => ({
  ...{ revenue_class: 'local', revenue_wei: revenue, claimed_wei: revenue, recipient, is_contradicted: 0 },
})
const unexplained = (claimed: string, recipient: string) => ({
  ...{ revenue_class: 'unexplained', revenue_wei: '0', claimed_wei: claimed, recipient, is_contradicted: 0 },
})

describe.skipIf(MAINNET_BLOCKS.length === 0)('a block of mainnet', () => {
  test.each([
    [
      17_034_870,
      '0xe22c56f211f03baadcc91e4eb9a24344e6848c5df4473988f893b58223f5216c',
      'made by its proposer for Lido’s vault',
      [LIDO_VAULT],
      local('70405934737684144', LIDO_VAULT),
    ],
    [
      17_034_870,
      '0xe22c56f211f03baadcc91e4eb9a24344e6848c5df4473988f893b58223f5216c',
      'of a proposer of whom nothing is told',
      [],
      local('70405934737684144', LIDO_VAULT),
    ],
    [
      17_034_870,
      '0xe22c56f211f03baadcc91e4eb9a24344e6848c5df4473988f893b58223f5216c',
      'whose proposer is said to be paid elsewhere: an ordinary transfer at its end is a claim, and nothing is proven',
      [LAST_RECIPIENT],
      unexplained('100000000000000000', LAST_RECIPIENT),
    ],
    [
      17_062_257,
      '0x059771c1aa04d33c99edffbb19044a6189721f339775e46bcb1b1c60edbfe79b',
      'with 208 transactions and 16 withdrawals',
      ['0x758a4a45dd08d826fc3f2436ce3fa263fb1a4f42'],
      local('34511798923368773', '0x758a4a45dd08d826fc3f2436ce3fa263fb1a4f42'),
    ],
    [
      19_426_587,
      '0xf8e2f40d98fe5862bc947c8c83d34799c50fb344d7445d020a8a946d891b62ee',
      'of Cancun, with a transfer in the last but one place',
      ['0xdae56d85ff707b3d19427f23d8b03b7b76da1006'],
      local('27971679607818778', '0xdae56d85ff707b3d19427f23d8b03b7b76da1006'),
    ],
    [
      19_426_587,
      '0xf8e2f40d98fe5862bc947c8c83d34799c50fb344d7445d020a8a946d891b62ee',
      'whose coinbase is nobody’s that was told',
      [SOMEBODY],
      unexplained('27971679607818778', '0xdae56d85ff707b3d19427f23d8b03b7b76da1006'),
    ],
  ] as const)('%i (%s) %s', async (number, blockHash, _, told, expected) => {
    const { block, receipts } = await verifiedBlock(number, blockHash)
    const read = toExecutionBlock(block, receipts, { binding: 'ethereum', check: 'receipts' })
    expect(read.matchesHash).toBe(true)
    await stores().empty()
    expect(await givenRevenue(stores().warehouse, read, told)).toEqual(expected)
  })

  test('has withdrawals only as its header commits to them', async () => {
    const { block, receipts } = await verifiedBlock(
      19_426_587,
      '0xf8e2f40d98fe5862bc947c8c83d34799c50fb344d7445d020a8a946d891b62ee',
    )
    const rules = { binding: 'ethereum', check: 'receipts' } as const
    const { withdrawals } = toExecutionBlock(block, receipts, rules)
    expect(withdrawals).toHaveLength(16)
    const told = (block.withdrawals ?? []).map((one, i) => (i === 0 ? { ...one, amount: '0x1' } : one))
    expect(toExecutionBlock({ ...block, withdrawals: told }, receipts, rules).withdrawals).toBeUndefined()
    expect(toExecutionBlock({ ...block, withdrawals: null }, receipts, rules).withdrawals).toBeUndefined()
  })
})
