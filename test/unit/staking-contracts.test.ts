import { type Abi, decodeEventLog, encodeFunctionData } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withdrawalAddressOf } from '../../infra/devnet/consensus/keys.ts'
import artifacts from '../../infra/devnet/contracts/artifacts.json' with { type: 'json' }
import { type Hex, hexOf } from '../../schemas/eth/hex.ts'
import type { SignedDeposit } from '../../schemas/eth/signed-deposit.ts'
import { gasOf, type StakingContractKind, stakingCall } from '../../schemas/eth/staking-transaction.ts'
import { HAS_FIXTURES } from '../fixture-folder.ts'
import testArtifacts from '../staking-contracts/artifacts.json' with { type: 'json' }
import { depositRootOf, littleEndian64 } from './deposit-root.ts'
import { signedDeposits } from './signed-deposits.ts'
import { openStakingAnvil, type Receipt, type Sent, STAKEFISH_FEE_WEI, type StakingAnvil } from './staking-anvil.ts'

const WEI_PER_ETH = 10n ** 18n
const KINDS: readonly StakingContractKind[] = ['deposit', 'abyss', 'kiln', 'stakefish']
const SHARED_ADDRESS: Hex = '0x00000000000000000000000000000000000000aa'
const KILN_MAX = 512

describe.skipIf(!HAS_FIXTURES)('a staking transaction', () => {
  let chain: StakingAnvil
  let ownCredentials: SignedDeposit[]
  let sharedCredentials: SignedDeposit[]

  beforeAll(async () => {
    chain = await openStakingAnvil()
    ownCredentials = signedDeposits(KILN_MAX, withdrawalAddressOf)
    sharedCredentials = signedDeposits(100, () => SHARED_ADDRESS)
  })

  afterAll(() => chain[Symbol.asyncDispose]())

  function depositsFor(kind: StakingContractKind, count: number): SignedDeposit[] {
    return (kind === 'stakefish' ? sharedCredentials : ownCredentials).slice(0, count)
  }

  function callOf(kind: StakingContractKind, deposits: readonly SignedDeposit[]): Sent {
    const call = stakingCall(chain.contracts[kind], deposits)
    if (call.status !== 'ok') throw new Error(call.reason)
    return call
  }

  function depositEvents(receipt: Receipt) {
    const { address } = chain.contracts.deposit
    const logs = receipt.logs.filter((log) => log.address === address)
    return logs.map((log) => decodeEventLog({ abi: chain.officialAbi, ...log }).args)
  }

  /** The official contract's root and count are those of exactly these deposits. */
  async function expectDeposited(deposits: readonly SignedDeposit[]): Promise<void> {
    expect(await chain.readDepositContract('get_deposit_count')).toBe(hexOf(littleEndian64(deposits.length)))
    const root = depositRootOf(deposits.map(({ dataRoot }) => dataRoot))
    expect(await chain.readDepositContract('get_deposit_root')).toBe(hexOf(root))
  }

  async function expectRefused(transaction: Sent): Promise<void> {
    const receipt = await chain.undoing(async () => {
      const sent = await chain.send(transaction)
      await expectDeposited([])
      return sent
    })
    expect([receipt.status, receipt.logs]).toEqual(['0x0', []])
  }

  const accepted = [
    ['deposit', 1] as const,
    ...(['abyss', 'kiln', 'stakefish'] as const).flatMap((kind) =>
      [1, 2, 64, 65, 100].map((count) => [kind, count] as const),
    ),
    ['kiln', KILN_MAX] as const,
  ]
  it.each(accepted)(
    'of kind %s for %i validators makes their deposits in the official deposit contract',
    (kind, count) =>
      chain.undoing(async () => {
        const deposits = depositsFor(kind, count)
        // What is sent where no node estimates the gas: it has to be enough.
        const receipt = await chain.send({ ...callOf(kind, deposits), gas: gasOf(count) })
        expect(receipt.status).toBe('0x1')
        await expectDeposited(deposits)
        expect(depositEvents(receipt)).toEqual(
          deposits.map((deposit, index) => ({
            pubkey: hexOf(deposit.pubkey),
            withdrawal_credentials: hexOf(deposit.withdrawalCredentials),
            amount: hexOf(littleEndian64(32_000_000_000n)),
            signature: hexOf(deposit.signature),
            index: hexOf(littleEndian64(index)),
          })),
        )
        const feeWei = kind === 'stakefish' ? STAKEFISH_FEE_WEI * BigInt(count) : 0n
        if (kind !== 'deposit') expect(await chain.balanceWei(chain.contracts[kind].address)).toBe(feeWei)
      }),
  )

  it.each(accepted)(
    'of kind %s for %i validators has gas enough where a deposit climbs all levels of the tree',
    (kind, count) =>
      chain.undoing(async () => {
        await chain.setDepositCount(2 ** 31 - 1)
        const receipt = await chain.send({ ...callOf(kind, depositsFor(kind, count)), gas: gasOf(count) })
        expect(receipt.status).toBe('0x1')
      }),
  )

  it('continues the tree that earlier ones of other kinds began', () =>
    chain.undoing(async () => {
      const all: SignedDeposit[] = []
      for (const [kind, count] of [
        ['kiln', 3],
        ['deposit', 1],
        ['abyss', 65],
        ['stakefish', 2],
      ] as const) {
        const deposits = depositsFor(kind, count)
        expect((await chain.send(callOf(kind, deposits))).status).toBe('0x1')
        all.push(...deposits)
        await expectDeposited(all)
      }
    }))

  it('tells in an event of the batch contract who deposited, and how many or which fee', () =>
    chain.undoing(async () => {
      const told = async (kind: 'abyss' | 'stakefish', abi: unknown) => {
        const receipt = await chain.send(callOf(kind, depositsFor(kind, 2)))
        const own = receipt.logs.filter((log) => log.address === chain.contracts[kind].address)
        return own.map((log) => decodeEventLog({ abi: abi as Abi, ...log }))
      }
      expect(await told('abyss', artifacts.contracts.BatchDeposit.abi)).toEqual([
        { eventName: 'DepositEvent', args: { from: chain.sender, nodesAmount: 2n } },
      ])
      expect(await told('stakefish', testArtifacts.contracts.StakefishBatchDeposit.abi)).toEqual([
        { eventName: 'FeeCollected', args: { payee: chain.sender, weiAmount: 2n * STAKEFISH_FEE_WEI } },
      ])
    }))

  const pairs = KINDS.flatMap((receiver) =>
    KINDS.filter((kind) => kind !== receiver).map((kind) => [kind, receiver] as const),
  )
  it.each(pairs)('with the call data of kind %s is refused by the contract of kind %s', async (kind, receiver) => {
    for (const count of kind === 'deposit' ? [1] : [2, 65]) {
      const { data } = callOf(kind, depositsFor(kind, count))
      // The receiver's own value for as many validators: the call data alone are wrong.
      const valueWei = (32n * WEI_PER_ETH + chain.contracts[receiver].feeWei) * BigInt(count)
      await expectRefused({ to: chain.contracts[receiver].address, valueWei, data })
    }
  })

  it('for one validator is the same call for Kiln’s and stakefish’s contracts: Kiln’s keeps the other’s fee', () =>
    chain.undoing(async () => {
      const deposits = depositsFor('stakefish', 1)
      const [kiln, stakefish] = [callOf('kiln', deposits), callOf('stakefish', deposits)]
      expect(kiln.data).toBe(stakefish.data)
      await expectRefused({ ...kiln, to: stakefish.to })
      expect((await chain.send({ ...stakefish, to: kiln.to })).status).toBe('0x1')
      expect(await chain.balanceWei(kiln.to)).toBe(STAKEFISH_FEE_WEI)
    }))

  it.each(KINDS)('of kind %s with too low a value is refused', async (kind) => {
    const call = callOf(kind, depositsFor(kind, kind === 'deposit' ? 1 : 2))
    await expectRefused({ ...call, valueWei: call.valueWei - 10n ** 9n })
  })

  it.each(['deposit', 'abyss', 'stakefish'] as const)('of kind %s with too high a value is refused', async (kind) => {
    const call = callOf(kind, depositsFor(kind, kind === 'deposit' ? 1 : 2))
    await expectRefused({ ...call, valueWei: call.valueWei + 10n ** 9n })
  })

  it('with too high a value is accepted by Kiln’s contract, which keeps it', () =>
    chain.undoing(async () => {
      const deposits = depositsFor('kiln', 2)
      const call = callOf('kiln', deposits)
      expect((await chain.send({ ...call, valueWei: call.valueWei + 1n })).status).toBe('0x1')
      await expectDeposited(deposits)
      expect(await chain.balanceWei(call.to)).toBe(1n)
    }))

  it.each(KINDS)('of kind %s with one wrong data root makes no deposit at all', async (kind) => {
    const deposits = depositsFor(kind, kind === 'deposit' ? 1 : 65)
    const wrong = deposits.map((deposit, index) =>
      index === deposits.length - 1 ? { ...deposit, dataRoot: new Uint8Array(32).fill(1) } : deposit,
    )
    await expectRefused(callOf(kind, wrong))
  })

  it.each([
    ['abyss', artifacts.contracts.BatchDeposit.abi, 'deposit', 101],
    ['kiln', testArtifacts.contracts.KilnBatchDeposit.abi, 'batchDeposit', 65],
    ['stakefish', testArtifacts.contracts.StakefishBatchDeposit.abi, 'batchDeposit', 101],
  ] as const)(
    'is refused by the contract of kind %s for more validators than it takes',
    async (kind, abi, functionName, count) => {
      const { address, feeWei } = chain.contracts[kind]
      const deposits = ownCredentials.slice(0, count)
      const column = (field: 'pubkey' | 'withdrawalCredentials' | 'signature', owners = deposits) =>
        kind === 'abyss'
          ? owners.map((deposit) => hexOf(deposit[field]))
          : hexOf(Buffer.concat(owners.map((deposit) => deposit[field])))
      const credentials = column('withdrawalCredentials', kind === 'stakefish' ? deposits.slice(0, 1) : deposits)
      const roots = deposits.map(({ dataRoot }) => hexOf(dataRoot))
      const args = [column('pubkey'), credentials, column('signature'), roots]
      const data = encodeFunctionData({ abi: abi as Abi, functionName, args })
      await expectRefused({ to: address, valueWei: (32n * WEI_PER_ETH + feeWei) * BigInt(count), data })
    },
  )

  it('is refused by stakefish’s contract after its fee has changed, and while it is paused', () =>
    chain.undoing(async () => {
      const call = callOf('stakefish', depositsFor('stakefish', 2))
      const abi = testArtifacts.contracts.StakefishBatchDeposit.abi as Abi
      const asOwner = async (functionName: string, args: readonly unknown[] = []) => {
        const data = encodeFunctionData({ abi, functionName, args })
        expect((await chain.send({ to: call.to, valueWei: 0n, data })).status).toBe('0x1')
      }
      await asOwner('changeFee', [STAKEFISH_FEE_WEI * 2n])
      await expectRefused(call)
      await asOwner('changeFee', [STAKEFISH_FEE_WEI])
      await asOwner('pause')
      await expectRefused(call)
      await asOwner('unpause')
      expect((await chain.send(call)).status).toBe('0x1')
    }))

  it('without call data is refused by the devnet’s batch contract', async () => {
    await expectRefused({ to: chain.contracts.abyss.address, valueWei: 32n * WEI_PER_ETH, data: '0x' })
  })
})
