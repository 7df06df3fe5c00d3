import { keccak256, recoverTransactionAddress, toHex } from 'viem'
import { describe, expect, it, test } from 'vitest'
import { headerHash } from '../../schemas/eth/header.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { encodeRlp } from '../../schemas/eth/rlp.ts'
import { encodeTransaction, isKnownType, signerOf } from '../../schemas/eth/signed-transaction.ts'
import { accountOf, addressOf, signedTransaction } from './given-rpc-block.ts'
import { headerOf, listOf, MAINNET_BLOCKS, readBlock, toRpc } from './mainnet-blocks.ts'

const ACCOUNT = accountOf('c')
const TO = `0x${'12'.repeat(20)}` as const
const HASH = `0x${'34'.repeat(32)}` as const
const accessList = [{ address: TO, storageKeys: [HASH] }]
const dynamic = { to: TO, chainId: 7, maxFeePerGas: 20n, maxPriorityFeePerGas: 2n, gas: 21_000n, value: 3n } as const

test.each([
  ['legacy without a chain', { type: 'legacy', to: TO, gasPrice: 7n, gas: 21_000n }],
  ['legacy', { type: 'legacy', to: TO, gasPrice: 7n, gas: 21_000n, chainId: 2 ** 40, data: '0x0102' }],
  ['EIP-2930', { type: 'eip2930', chainId: 7, gasPrice: 7n, accessList }],
  ['EIP-1559', { type: 'eip1559', ...dynamic, nonce: 9, accessList }],
  ['EIP-4844', { type: 'eip4844', ...dynamic, maxFeePerBlobGas: 5n, blobVersionedHashes: [`0x01${'ab'.repeat(31)}`] }],
  [
    'EIP-7702',
    {
      type: 'eip7702',
      ...dynamic,
      authorizationList: [{ chainId: 0, address: TO, nonce: 4, r: HASH, s: HASH, yParity: 1 }],
    },
  ],
] as const)('a transaction of type %s has the bytes of its hash, and its signer', async (_, fields) => {
  const transaction = await signedTransaction(ACCOUNT, fields)
  expect(keccak256(encodeTransaction(transaction))).toBe(transaction.hash)
  expect(signerOf(transaction)).toBe(addressOf(ACCOUNT))
  expect(signerOf({ ...transaction, value: '0xff' })).not.toBe(addressOf(ACCOUNT))
  expect(signerOf({ ...transaction, r: '0x0' })).toBeUndefined()
})

test('types of other layers are not known', () => {
  expect([0, 1, 2, 3, 4].every(isKnownType)).toBe(true)
  expect(isKnownType(0x7e)).toBe(false)
})

describe.skipIf(MAINNET_BLOCKS.length === 0)('real mainnet blocks', () => {
  it.each(MAINNET_BLOCKS)(
    '%s: the header and every transaction have their hashes, the last one its signer',
    async (file) => {
      const { header, body } = readBlock(file)
      expect(headerHash(headerOf(header) as never)).toBe(hexOf(keccak256(encodeRlp(header), 'bytes')))
      const raws = listOf(body[0]).map((tx) => toHex(tx instanceof Uint8Array ? tx : encodeRlp(tx)))
      for (const raw of raws) expect(keccak256(encodeTransaction(toRpc(raw)))).toBe(keccak256(raw))
      const last = raws.at(-1) as `0x02${string}`
      const signer = await recoverTransactionAddress({ serializedTransaction: last })
      expect(signerOf(toRpc(last))).toBe(signer.toLowerCase())
    },
  )
})
