import { encodeFunctionData, parseAbi, parseTransaction, serializeTransaction } from 'viem'
import { describe, expect, it } from 'vitest'
import { hexOf } from '../../schemas/eth/hex.ts'
import type { SignedDeposit } from '../../schemas/eth/signed-deposit.ts'
import {
  gasOf,
  type StakingContract,
  type StakingContractKind,
  serializeUnsigned,
  stakingCall,
  TRANSACTION_GAS_MAX,
} from '../../schemas/eth/staking-transaction.ts'

const ADDRESS = '0x00000000219ab540356cbb839cbe05303d7705fa'
const WEI_PER_ETH = 10n ** 18n

/** Bytes that tell where they are from: another place or order of any of them is another text. */
function bytes(length: number, validator: number, field: number): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => (validator * 31 + field * 17 + index * 7 + 1) % 256)
}

function depositOf(validator: number, changed: Partial<SignedDeposit> = {}): SignedDeposit {
  return {
    pubkey: bytes(48, validator, 1),
    withdrawalCredentials: bytes(32, validator, 2),
    amountGwei: 32_000_000_000n,
    signature: bytes(96, validator, 3),
    messageRoot: bytes(32, validator, 4),
    dataRoot: bytes(32, validator, 5),
    ...changed,
  }
}

/** With one credential for all where the kind wants it. */
function depositsFor(kind: StakingContractKind, count: number): SignedDeposit[] {
  const shared = kind === 'stakefish' ? { withdrawalCredentials: bytes(32, 0, 2) } : {}
  return Array.from({ length: count }, (_, validator) => depositOf(validator, shared))
}

function contractOf(kind: StakingContractKind, feeWei = 0n): StakingContract {
  return { kind, address: ADDRESS, feeWei }
}

const ABI = parseAbi([
  'function deposit(bytes pubkey, bytes withdrawal_credentials, bytes signature, bytes32 deposit_data_root)',
  'function deposit(bytes[] pubkeys, bytes[] withdrawal_credentials, bytes[] signatures, bytes32[] deposit_data_roots)',
  'function batchDeposit(bytes pubkeys, bytes withdrawal_credentials, bytes signatures, bytes32[] deposit_data_roots)',
  'function bigBatchDeposit(bytes pubkeys, bytes withdrawal_credentials, bytes signatures, bytes32[] deposit_data_roots)',
])

type Column = 'pubkey' | 'withdrawalCredentials' | 'signature' | 'dataRoot'

/** The same call, as an encoder for any ABI makes it. */
function encodedByViem(kind: StakingContractKind, deposits: readonly SignedDeposit[]): string {
  const list = (field: Column) => deposits.map((deposit) => hexOf(deposit[field]))
  const packed = (field: Column) => hexOf(Buffer.concat(deposits.map((deposit) => deposit[field])))
  const first = deposits[0] ?? depositOf(0)
  const single = (field: Column) => hexOf(first[field])
  switch (kind) {
    case 'deposit': {
      const args = [single('pubkey'), single('withdrawalCredentials'), single('signature'), single('dataRoot')] as const
      return encodeFunctionData({ abi: ABI, functionName: 'deposit', args })
    }
    case 'abyss': {
      const args = [list('pubkey'), list('withdrawalCredentials'), list('signature'), list('dataRoot')] as const
      return encodeFunctionData({ abi: ABI, functionName: 'deposit', args })
    }
    case 'kiln': {
      const args = [packed('pubkey'), packed('withdrawalCredentials'), packed('signature'), list('dataRoot')] as const
      return encodeFunctionData({
        abi: ABI,
        functionName: deposits.length > 64 ? 'bigBatchDeposit' : 'batchDeposit',
        args,
      })
    }
    case 'stakefish': {
      const args = [packed('pubkey'), single('withdrawalCredentials'), packed('signature'), list('dataRoot')] as const
      return encodeFunctionData({ abi: ABI, functionName: 'batchDeposit', args })
    }
  }
}

describe('the call of a staking transaction', () => {
  it.each([
    ['deposit', 1, '0x22895118'],
    ...[1, 2, 64, 65, 100].map((count) => ['abyss', count, '0x4f498c73'] as const),
    ...[1, 2, 64].map((count) => ['kiln', count, '0xc82655b7'] as const),
    ...[65, 100, 512].map((count) => ['kiln', count, '0x4aeab911'] as const),
    ...[1, 2, 64, 65, 100].map((count) => ['stakefish', count, '0xc82655b7'] as const),
  ] as const)('is encoded as the ABI of the kind %s says, for %i validators', (kind, count, selector) => {
    const deposits = depositsFor(kind, count)
    const data = encodedByViem(kind, deposits)
    expect(data.slice(0, 10)).toBe(selector)
    const valueWei = 32n * WEI_PER_ETH * BigInt(count)
    expect(stakingCall(contractOf(kind), deposits)).toEqual({ status: 'ok', to: ADDRESS, valueWei, data })
  })

  it('carries the fee of a contract that takes one, for each validator', () => {
    const call = stakingCall(contractOf('stakefish', WEI_PER_ETH / 20n), depositsFor('stakefish', 3))
    expect(call).toMatchObject({ status: 'ok', valueWei: 96n * WEI_PER_ETH + (3n * WEI_PER_ETH) / 20n })
  })

  it('deposits any amount through the deposit contract itself', () => {
    const call = stakingCall(contractOf('deposit'), [depositOf(0, { amountGwei: 1_000_000_001n })])
    expect(call).toMatchObject({ status: 'ok', valueWei: 1_000_000_001_000_000_000n })
  })

  const amountGwei = 31_000_000_000n
  it.each<[string, StakingContract, SignedDeposit[], RegExp]>([
    ['no validator', contractOf('abyss'), [], /at least one/],
    [
      'two at the deposit contract',
      contractOf('deposit'),
      depositsFor('deposit', 2),
      /^2 validators .* takes 1 at most$/,
    ],
    [
      '101 at a contract like Abyss’s',
      contractOf('abyss'),
      depositsFor('abyss', 101),
      /^101 validators .* takes 100 at most$/,
    ],
    ['513 at Kiln’s', contractOf('kiln'), depositsFor('kiln', 513), /^513 validators .* takes 512 at most$/],
    [
      '101 at stakefish’s',
      contractOf('stakefish'),
      depositsFor('stakefish', 101),
      /^101 validators .* takes 100 at most$/,
    ],
    ['two credentials at stakefish’s', contractOf('stakefish'), depositsFor('kiln', 2), /one withdrawal address/],
    ['a fee that the contract would keep as a gift', contractOf('kiln', 1n), depositsFor('kiln', 1), /takes no fee/],
    ['another amount in a batch', contractOf('abyss'), [depositOf(0), depositOf(1, { amountGwei })], /32 ETH/],
  ])('is refused for %s', (_, contract, deposits, reason) => {
    expect(stakingCall(contract, deposits)).toEqual({ status: 'refused', reason: expect.stringMatching(reason) })
  })

  it.each(['pubkey', 'withdrawalCredentials', 'signature', 'dataRoot'] as const)(
    'is never made with a %s of another length',
    (field) => {
      const short = depositOf(1, { [field]: depositOf(1)[field].subarray(1) })
      expect(() => stakingCall(contractOf('kiln'), [depositOf(0), short])).toThrow(field)
    },
  )
})

describe('the gas of a staking transaction', () => {
  it('grows with each validator, up to what the protocol allows a transaction', () => {
    expect([1, 2, 100, 512].map(gasOf)).toEqual([192_000n, 224_000n, 3_360_000n, 16_544_000n])
    expect([519, 520, 100_000].map(gasOf)).toEqual([16_768_000n, 16_777_216n, TRANSACTION_GAS_MAX])
  })
})

describe('a transaction that is not signed yet', () => {
  const fields = {
    chainId: 17_000,
    nonce: 7,
    gas: 92_000n,
    maxFeePerGas: 30n * 10n ** 9n,
    maxPriorityFeePerGas: 10n ** 9n,
  }

  it.each<[string, object]>([
    ['with all fields', {}],
    ['whose nonce and priority fee are zero', { nonce: 0, maxPriorityFeePerGas: 0n }],
    ['with the call of a hundred validators', { count: 100 }],
  ])('has the bytes that wallets read, %s', (_, { count = 1, ...changed }: { count?: number }) => {
    const call = stakingCall(contractOf('abyss'), depositsFor('abyss', count))
    if (call.status !== 'ok') throw new Error(call.reason)
    const { to, valueWei, data } = call
    const serialized = serializeUnsigned({ ...fields, to, valueWei, data, ...changed })
    const transaction = { ...fields, to: ADDRESS, value: valueWei, data, type: 'eip1559', ...changed } as const
    expect(serialized).toBe(serializeTransaction(transaction))
    expect(parseTransaction(serialized)).toMatchObject({
      type: 'eip1559',
      chainId: 17_000,
      to: ADDRESS,
      value: valueWei,
      data,
    })
  })
})
