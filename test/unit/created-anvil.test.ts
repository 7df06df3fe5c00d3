import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PublicKey, Signature, verify } from '@chainsafe/blst'
import { DOMAIN_DEPOSIT } from '@lodestar/params'
import { computeDomain, computeSigningRoot } from '@lodestar/state-transition'
import { ssz } from '@lodestar/types'
import { decodeEventLog, parseTransaction } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DEVNET_CHAIN_ID } from '../../infra/devnet/execution/genesis.ts'
import { openStakingNode } from '../../infra/execution/staking-node.ts'
import { openLocalKeyVault } from '../../infra/key-vault/open-local.ts'
import type { BeaconChain } from '../../infra/ports/beacon-source.ts'
import type { KeyVault } from '../../infra/ports/key-vault.ts'
import type { StakingNode } from '../../infra/ports/staking-node.ts'
import { createForAccount } from '../../processors/validators/create-validators.ts'
import { bytesOf, type Hex, hexOf } from '../../schemas/eth/hex.ts'
import type { StakingContractKind } from '../../schemas/eth/staking-transaction.ts'
import type { Created } from '../../schemas/routes/validators/create-validators.ts'
import { HAS_FIXTURES } from '../fixture-folder.ts'
import { depositRootOf, littleEndian64 } from './deposit-root.ts'
import { askedFor, FACTS, givenCreating } from './given-creating.ts'
import { silentLog } from './silent-log.ts'
import { openStakingAnvil, type Receipt, STAKEFISH_FEE_WEI, type StakingAnvil } from './staking-anvil.ts'

const WITHDRAWAL_ADDRESS = `0x${'ad'.repeat(20)}`
const WITHDRAWAL_CREDENTIALS = `0x01${'00'.repeat(11)}${'ad'.repeat(20)}`
const COUNTS = [1, 2, 64, 65, 100]
const DEPOSIT_WEI = 32n * 10n ** 18n

/** With keys of the vault, terms of the node, and the deposit contract that mainnet has. */
describe.skipIf(!HAS_FIXTURES)('the transaction that is answered with created validators', () => {
  let folder: string
  let vault: KeyVault
  let anvil: StakingAnvil
  let node: StakingNode

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'epochline-created-'))
    const keySource = { kind: 'file', file: join(folder, 'key'), mayCreate: true } as const
    vault = await openLocalKeyVault({ directory: join(folder, 'vault'), keySource })
    anvil = await openStakingAnvil()
    const chain: Partial<BeaconChain> = {
      clock: FACTS.clock,
      forks: [{ version: hexOf(FACTS.genesisForkVersion), epoch: 0 }],
      depositChainId: DEVNET_CHAIN_ID,
      depositContractAddress: anvil.contracts.deposit.address,
    }
    const beacon = { chain: async () => chain as BeaconChain, head: async () => ({ slot: 1, root: '0x' }) }
    node = await openStakingNode({ beacon, executionUrls: [anvil.url], log: silentLog })
  })
  afterAll(async () => {
    await node[Symbol.asyncDispose]()
    await anvil[Symbol.asyncDispose]()
    await vault[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  let requests = 0
  async function create(kind: StakingContractKind, count: number): Promise<Created> {
    const contract = kind === 'deposit' ? undefined : anvil.contracts[kind]
    const input = askedFor(count, {
      requestId: (requests++).toString(16).padStart(64, '0'),
      depositFrom: anvil.sender.toLowerCase(),
      withdrawalAddress: WITHDRAWAL_ADDRESS,
    })
    const chain = { name: 'mainnet', network: 'mainnet', node, contract }
    const output = await createForAccount(givenCreating(vault).creating, chain, input)
    if (output.status !== 'created') throw new Error(JSON.stringify(output))
    return JSON.parse(output.answer)
  }

  /** What the deposit contract has logged, in its order. */
  function depositsIn({ logs }: Receipt) {
    return logs
      .filter(({ address }) => address === anvil.contracts.deposit.address)
      .map((log) => decodeEventLog({ abi: anvil.officialAbi, ...log }).args as unknown as Record<string, Hex>)
  }

  const all = (['abyss', 'kiln', 'stakefish'] as const).flatMap((kind) => COUNTS.map((count) => [kind, count] as const))
  it.each([['deposit', 1] as const, ...all])(
    'to a contract of kind %s makes the deposits of all %i of them',
    async (kind, count) =>
      anvil.undoing(async () => {
        const { validators, staking_transaction: told } = await create(kind, count)
        const feeWei = kind === 'stakefish' ? STAKEFISH_FEE_WEI : 0n
        expect(told.amount_wei).toBe(String((DEPOSIT_WEI + feeWei) * BigInt(count)))
        const unsigned = told.unsigned_transaction as Hex
        const { to, value, data } = parseTransaction(unsigned)
        const parts = { to: told.to.toLowerCase(), value: BigInt(told.amount_wei), data: told.contract_call_data }
        expect({ to: to?.toLowerCase(), value, data }).toEqual(parts)

        const receipt = await anvil.signAndSend(unsigned)
        expect(receipt.status).toBe('0x1')
        const deposits = depositsIn(receipt)
        expect(deposits).toEqual(
          validators.map(({ pubkey, deposit_data: { signature } }, index) => ({
            ...{ pubkey, signature, withdrawal_credentials: WITHDRAWAL_CREDENTIALS },
            ...{ amount: hexOf(littleEndian64(32_000_000_000n)), index: hexOf(littleEndian64(index)) },
          })),
        )
        expect(deposits.map(isSigned)).toEqual(deposits.map(() => true))
        expect(await anvil.readDepositContract('get_deposit_count')).toBe(hexOf(littleEndian64(count)))
        const roots = validators.map(({ deposit_data: { deposit_data_root: root } }) => bytesOf(root))
        expect(await anvil.readDepositContract('get_deposit_root')).toBe(hexOf(depositRootOf(roots)))
      }),
  )

  it('is known to fail with less gas than it uses', async () => {
    const { staking_transaction: told } = await create('abyss', 2)
    const { from, to, amount_wei: valueWei, contract_call_data: data } = told
    const call = { from: from.toLowerCase(), to: to.toLowerCase(), valueWei: BigInt(valueWei), data }
    const simulated = await node.simulate(call)
    if (simulated.status !== 'done') throw new Error(simulated.status)
    expect((await node.simulate({ ...call, gas: simulated.gas })).status).toBe('done')
    let used = 0n
    await anvil.undoing(async () => {
      used = BigInt((await anvil.signAndSend(told.unsigned_transaction as Hex)).gasUsed)
    })
    expect(used).toBeLessThanOrEqual(simulated.gas)
    expect((await node.simulate({ ...call, gas: used - 1n })).status).not.toBe('done')
  })
})

/** By the library's roots: whether the chain would take the deposit for a new validator's (consensus-specs, is_valid_deposit_signature). */
function isSigned({ pubkey, withdrawal_credentials: credentials, signature }: Record<string, Hex>): boolean {
  const message = { pubkey: bytesOf(pubkey ?? ''), withdrawalCredentials: bytesOf(credentials ?? ''), amount: 32e9 }
  const domain = computeDomain(DOMAIN_DEPOSIT, FACTS.genesisForkVersion, new Uint8Array(32))
  const root = computeSigningRoot(ssz.phase0.DepositMessage, message, domain)
  return verify(root, PublicKey.fromBytes(message.pubkey), Signature.fromBytes(bytesOf(signature ?? '')))
}
