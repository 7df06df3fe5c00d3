import { mnemonicToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withdrawalAddressOf } from '../../infra/devnet/consensus/keys.ts'
import { DEVNET_CHAIN_ID, SCENARIO_MNEMONIC } from '../../infra/devnet/execution/genesis.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { parseRawTransaction } from '../../schemas/eth/raw-transaction.ts'
import type { SignedDeposit } from '../../schemas/eth/signed-deposit.ts'
import { checkStaking } from '../../schemas/eth/staking-check.ts'
import { type StakingContract, type StakingContractKind, stakingCall } from '../../schemas/eth/staking-transaction.ts'
import { HAS_FIXTURES } from '../fixture-folder.ts'
import { signStaking } from './given-staking.ts'
import { signedDeposits } from './signed-deposits.ts'
import { openStakingAnvil, type StakingAnvil } from './staking-anvil.ts'

const SENDER = mnemonicToAccount(SCENARIO_MNEMONIC)
const MANY = 100

/** What contracts of each kind take, on a chain, is what is broadcast. */
describe.skipIf(!HAS_FIXTURES)('a staking transaction that is broadcast', () => {
  let anvil: StakingAnvil
  let deposits: readonly SignedDeposit[]
  let shared: readonly SignedDeposit[]

  beforeAll(async () => {
    anvil = await openStakingAnvil()
    deposits = signedDeposits(MANY, withdrawalAddressOf)
    shared = signedDeposits(MANY, () => `0x${'00'.repeat(19)}aa`)
  })
  afterAll(() => anvil[Symbol.asyncDispose]())

  it.each<[StakingContractKind, readonly number[]]>([
    ['deposit', [1]],
    ['abyss', [1, 2, MANY]],
    ['kiln', [1, 2, 64, 65, MANY]],
    ['stakefish', [1, 2, MANY]],
  ])('to a contract of kind %s is taken by it, and uses no less gas than is asked for', async (kind, counts) => {
    const contract = anvil.contracts[kind] as StakingContract
    for (const count of counts) {
      const chosen = (kind === 'stakefish' ? shared : deposits).slice(0, count)
      const call = stakingCall(contract, chosen)
      if (call.status !== 'ok') throw new Error(call.reason)
      const receipt = await anvil.undoing(() => anvil.send(call))
      expect(receipt.status, `${count}`).toBe('0x1')
      const gas = BigInt(receipt.gasUsed)
      const checked = check(
        await signStaking({ deposits: chosen, contract, sender: SENDER as never, gas, chainId: DEVNET_CHAIN_ID }),
        contract,
      )
      expect(checked, `${count}`).toMatchObject({ status: 'ok' })
    }
  })

  function check(raw: string, contract: StakingContract) {
    const parsed = parseRawTransaction(raw)
    if (parsed.status !== 'ok') throw new Error(parsed.sentence)
    return checkStaking(parsed.transaction, {
      chainId: DEVNET_CHAIN_ID,
      contract: contract.kind === 'deposit' ? undefined : contract,
      depositContract: anvil.contracts.deposit.address,
      createdOf: (pubkey) => {
        const owner = contract.kind === 'stakefish' ? shared : deposits
        const deposit = owner.find((one) => hexOf(one.pubkey) === pubkey)
        if (deposit === undefined) return undefined
        return {
          withdrawalCredentials: hexOf(deposit.withdrawalCredentials),
          depositFrom: SENDER.address.toLowerCase(),
          depositDataRoot: hexOf(deposit.dataRoot),
        }
      },
    })
  }
})
