import fc from 'fast-check'
import { encodeFunctionData, parseAbi } from 'viem'
import { describe, expect, test } from 'vitest'
import { depositDataRoot } from '../../schemas/eth/deposit-data.ts'
import { bytesOf, type Hex, hexOf } from '../../schemas/eth/hex.ts'
import { type DecodedStakingCall, decodeStakingCall } from '../../schemas/eth/staking-call.ts'
import {
  type CalledDeposit,
  type StakingContract,
  type StakingContractKind,
  stakingCall,
} from '../../schemas/eth/staking-transaction.ts'

const ADDRESS = `0x${'5a'.repeat(20)}`
const ETH_WEI = 10n ** 18n
const FEE_WEI = 25n * 10n ** 15n
const SHARED = new Uint8Array(32).fill(1)
const KINDS: readonly StakingContractKind[] = ['deposit', 'abyss', 'kiln', 'stakefish']

function contractOf(kind: StakingContractKind): StakingContract {
  return { kind, address: ADDRESS, feeWei: kind === 'stakefish' ? FEE_WEI : 0n }
}

/** Deposits whose roots hold; keys and signatures are any bytes, which a call says nothing of. */
function depositsFor(kind: StakingContractKind, seeds: readonly number[]): CalledDeposit[] {
  return seeds.map((seed, i) => {
    const pubkey = new Uint8Array(48).fill(seed)
    new DataView(pubkey.buffer).setUint32(0, i)
    const withdrawalCredentials = kind === 'stakefish' ? SHARED : new Uint8Array(32).fill(seed ^ 1)
    const signature = new Uint8Array(96).fill(seed ^ 2)
    const message = { pubkey, withdrawalCredentials, amountGwei: 32_000_000_000n }
    return { ...message, signature, dataRoot: depositDataRoot(message, signature) }
  })
}

const someDeposits = (kind: StakingContractKind, count: number) =>
  depositsFor(
    kind,
    Array.from({ length: count }, (_, i) => (i * 7 + 3) & 0xff),
  )

function callOf(kind: StakingContractKind, deposits: readonly CalledDeposit[]) {
  const call = stakingCall(contractOf(kind), deposits)
  if (call.status !== 'ok') throw new Error(call.reason)
  return call
}

function plain(decoded: DecodedStakingCall) {
  if (decoded.status !== 'ok') return decoded
  return decoded.deposits.map((deposit) =>
    [deposit.pubkey, deposit.withdrawalCredentials, deposit.signature, deposit.dataRoot].map(hexOf),
  )
}

const reasonOf = (decoded: DecodedStakingCall) => (decoded.status === 'ok' ? 'ok' : decoded.reason)

describe.each(KINDS)('a staking call of kind %s', (kind) => {
  const counts = kind === 'deposit' ? [1] : kind === 'kiln' ? [1, 2, 64, 65, 512] : [1, 2, 64, 65, 100]
  const few = kind === 'deposit' ? 1 : 2

  test.each(counts)('for %d validators is read as it was written', (count) => {
    const deposits = someDeposits(kind, count)
    const decoded = decodeStakingCall(contractOf(kind), callOf(kind, deposits))
    expect(plain(decoded)).toEqual(plain({ status: 'ok', deposits }))
  })

  test('of any deposits is read as it was written', () => {
    const seeds = fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 1, maxLength: kind === 'deposit' ? 1 : 9 })
    fc.assert(
      fc.property(seeds, (given) => {
        const deposits = depositsFor(kind, given)
        expect(plain(decodeStakingCall(contractOf(kind), callOf(kind, deposits)))).toEqual(
          plain({ status: 'ok', deposits }),
        )
      }),
    )
  })

  test('with any byte changed is refused: every byte of it means something or is zero', () => {
    const call = callOf(kind, someDeposits(kind, few))
    const bytes = bytesOf(call.data)
    for (let at = 0; at < bytes.length; at++) {
      for (const flip of [0x01, 0x20, 0xff]) {
        const data = hexOf(bytes.with(at, (bytes[at] ?? 0) ^ flip))
        expect(reasonOf(decodeStakingCall(contractOf(kind), { ...call, data })), `byte ${at} ^ ${flip}`).not.toBe('ok')
      }
    }
  })

  test('cut short, or with anything behind it, is refused', () => {
    const call = callOf(kind, someDeposits(kind, few))
    for (let end = 2; end < call.data.length; end += 2) {
      const data = call.data.slice(0, end) as Hex
      expect(reasonOf(decodeStakingCall(contractOf(kind), { ...call, data })), `${end}`).not.toBe('ok')
    }
    for (const tail of ['00', '00'.repeat(32), 'ff']) {
      const data: Hex = `${call.data}${tail}`
      expect(reasonOf(decodeStakingCall(contractOf(kind), { ...call, data }))).toBe('malformed_call')
    }
  })

  test('with its words in any other place, or any word replaced, is refused', () => {
    const call = callOf(kind, someDeposits(kind, few))
    const words = call.data.slice(10).match(/.{64}/g) as string[]
    const place = fc.integer({ min: 0, max: words.length - 1 })
    fc.assert(
      fc.property(place, place, (from, to) => {
        const data = `${call.data.slice(0, 10)}${words.with(to, words[from] as string).join('')}` as Hex
        const decoded = decodeStakingCall(contractOf(kind), { ...call, data })
        expect(reasonOf(decoded) === 'ok').toBe(words[from] === words[to])
      }),
      { numRuns: 500 },
    )
  })

  test.each([-1n, 1n, -32n * ETH_WEI, 32n * ETH_WEI, FEE_WEI, -FEE_WEI])(
    'that carries %d wei more is refused',
    (more) => {
      const call = callOf(kind, someDeposits(kind, few))
      const decoded = decodeStakingCall(contractOf(kind), { ...call, valueWei: call.valueWei + more })
      expect(reasonOf(decoded)).toBe('wrong_value')
    },
  )

  test.each(KINDS.filter((other) => other !== kind))('is none of kind %s', (other) => {
    const call = callOf(kind, someDeposits(kind, few))
    expect(reasonOf(decodeStakingCall(contractOf(other), call))).not.toBe('ok')
  })
})

describe('a staking call', () => {
  test('that deposits twice for one key is refused', () => {
    const [first] = someDeposits('abyss', 1) as [CalledDeposit]
    const call = callOf('abyss', [first, first])
    expect(reasonOf(decodeStakingCall(contractOf('abyss'), call))).toBe('repeated_pubkey')
  })

  test.each(KINDS)('of kind %s with the root of other deposit data is refused', (kind) => {
    const [deposit] = someDeposits(kind, 1) as [CalledDeposit]
    const call = callOf(kind, [{ ...deposit, dataRoot: new Uint8Array(32).fill(9) }])
    expect(reasonOf(decodeStakingCall(contractOf(kind), call))).toBe('altered_deposit_data')
  })

  const DEPOSIT = someDeposits('abyss', 1)[0] as CalledDeposit
  const [pubkey, credentials, signature, root] = [
    DEPOSIT.pubkey,
    DEPOSIT.withdrawalCredentials,
    DEPOSIT.signature,
    DEPOSIT.dataRoot,
  ].map(hexOf) as [Hex, Hex, Hex, Hex]
  const abi = parseAbi([
    'function batchDeposit(bytes[],bytes[],bytes[],bytes32[])',
    'function deposit(bytes[],bytes[],bytes[],bytes32[],uint256[])',
    'function batchDepositCustom(bytes,bytes,bytes,bytes32[],uint256)',
    'function bigBatchDepositCustom(bytes,bytes,bytes,bytes32[],uint256)',
    'function pause()',
  ])
  test.each<[string, Hex]>([
    [
      'the batch function of old contracts',
      encodeFunctionData({ abi, functionName: 'batchDeposit', args: [[pubkey], [credentials], [signature], [root]] }),
    ],
    [
      'a deposit with amounts',
      encodeFunctionData({ abi, functionName: 'deposit', args: [[pubkey], [credentials], [signature], [root], [1n]] }),
    ],
    [
      "Kiln's function with an amount",
      encodeFunctionData({
        abi,
        functionName: 'batchDepositCustom',
        args: [pubkey, credentials, signature, [root], 1n],
      }),
    ],
    [
      "Kiln's big function with an amount",
      encodeFunctionData({
        abi,
        functionName: 'bigBatchDepositCustom',
        args: [pubkey, credentials, signature, [root], 1n],
      }),
    ],
    ['something else', encodeFunctionData({ abi, functionName: 'pause' })],
    ['nothing', '0x'],
    ['half a selector', '0x4f49'],
  ])('to %s is no deposit', (_, data) => {
    for (const kind of KINDS)
      expect(decodeStakingCall(contractOf(kind), { data, valueWei: 32n * ETH_WEI })).toMatchObject({
        reason: 'not_a_deposit',
      })
  })

  test("of Kiln's big function is taken for many only", () => {
    const call = callOf('kiln', someDeposits('kiln', 2))
    const data: Hex = `0x4aeab911${call.data.slice(10)}`
    expect(reasonOf(decodeStakingCall(contractOf('kiln'), { ...call, data }))).toBe('malformed_call')
  })

  test('whose arrays share their bytes is refused, though a contract would take it', () => {
    const deposits = someDeposits('abyss', 2).map((deposit) => ({ ...deposit, signature: new Uint8Array(96).fill(4) }))
    const rooted = deposits.map((deposit) => ({ ...deposit, dataRoot: depositDataRoot(deposit, deposit.signature) }))
    const call = callOf('abyss', rooted)
    const words = call.data.slice(10).match(/.{64}/g) as string[]
    const signatures = Number(`0x${words[2]}`) / 32
    // Both offsets of the array of signatures name the first one.
    const data =
      `${call.data.slice(0, 10)}${words.with(signatures + 2, words[signatures + 1] as string).join('')}` as Hex
    expect(reasonOf(decodeStakingCall(contractOf('abyss'), { ...call, data }))).toBe('malformed_call')
  })

  test.each([2 ** 31, 2 ** 32 - 1])('that says it has %d deposits is refused at once', (count) => {
    const call = callOf('abyss', someDeposits('abyss', 1))
    const length = count.toString(16).padStart(64, '0')
    const words = (call.data.slice(10).match(/.{64}/g) as string[]).with(4, length)
    const data = `${call.data.slice(0, 10)}${words.join('')}` as Hex
    expect(reasonOf(decodeStakingCall(contractOf('abyss'), { ...call, data }))).toBe('malformed_call')
  })
})
