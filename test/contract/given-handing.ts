import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { openValidatorClient } from '../../infra/key-vault/keymanager.ts'
import { type LocalVault, openLocalKeyVault } from '../../infra/key-vault/open-local.ts'
import type { RunChain } from '../../processors/validators/hand-over.ts'
import type { HandingDeposited } from '../../processors/validators/hand-over-deposited.ts'
import { StakingBook } from '../../processors/validators/staking-book.ts'
import { Turns } from '../../processors/validators/turns.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { ACCOUNTS_KEY } from '../../schemas/events/accounts.ts'
import { type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { validatorsCreated } from '../../schemas/events/created-validators.ts'
import { FakeClient } from '../keymanager/fake-client.ts'
import { silentLog } from '../unit/silent-log.ts'
import { requestOf, TERMS } from './key-vault.ts'

// A vault with validators that were created, the log that tells of them, and validator clients.

export const FEE_RECIPIENT = `0x${'fe'.repeat(20)}`
export const CREATED_AT = '2026-01-01T00:00:00.000Z'
export const GENESIS_ROOT = new Uint8Array(32).fill(0x4b)

/** One for all tests of a file: a start of its process takes longer than they do. */
export interface SharedVault extends AsyncDisposable {
  readonly vault: LocalVault
  /** For what a test writes. */
  readonly directory: string
}

export async function openSharedVault(): Promise<SharedVault> {
  const directory = await mkdtemp(join(tmpdir(), 'epochline-handing-'))
  const keySource = { kind: 'file', file: join(directory, 'key'), mayCreate: true } as const
  const vault = await openLocalKeyVault({ directory: join(directory, 'vault'), keySource })
  return {
    vault,
    directory,
    async [Symbol.asyncDispose]() {
      await vault[Symbol.asyncDispose]()
      await rm(directory, { recursive: true })
    },
  }
}

export interface GivenHanding extends Pick<SharedVault, 'vault' | 'directory'> {
  readonly pubkeys: readonly string[]
  readonly told: EncodedEvent[]
  /** The role as it is after a start, with what the log has. */
  start(): HandingDeposited
  /** Appends that fail before the log has anything of them. */
  failing: number
}

/** With validators of its own. */
export async function givenHanding(count: number, { vault, directory }: SharedVault): Promise<GivenHanding> {
  const prepared = await vault.prepare(count, TERMS)
  await vault.commit(prepared.id, prepared.id, requestOf('acme'))
  const pubkeys = prepared.deposits.map(({ pubkey }) => hexOf(pubkey))
  const told: EncodedEvent[] = [
    encodeEvent(validatorsCreated, {
      id: 'created',
      key: ACCOUNTS_KEY,
      time: CREATED_AT,
      data: {
        ...{ chain: TERMS.chain, account: 'acme', requestId: 'ab'.repeat(32), pubkeys: [...pubkeys] },
        withdrawalCredentials: hexOf(TERMS.withdrawalCredentials),
        ...{ depositFrom: FEE_RECIPIENT, feeRecipient: FEE_RECIPIENT, amountGwei: '32000000000' },
        depositDataRoots: prepared.deposits.map(({ dataRoot }) => hexOf(dataRoot)),
      },
    }),
  ]
  const given: GivenHanding = {
    ...{ vault, directory, pubkeys, told, failing: 0 },
    start() {
      const book = new StakingBook()
      for (const event of told) book.add(event)
      const append = async (_: unknown, events: readonly EncodedEvent[]) => {
        await Promise.resolve()
        if (given.failing-- === 1) throw new Error('killed')
        told.push(...events)
        return []
      }
      const parts = { vault, writer: { append }, book, handing: new Turns(), now: Date.now, wallNow: Date.now }
      return { ...parts, log: silentLog, told: new Set(), looks: new Map() }
    },
  }
  return given
}

/** Whatever a test does: what is asked and what is answered are the API's. */
export async function startClient(): Promise<FakeClient> {
  const client = await FakeClient.start()
  onTestFinished(async () => {
    await client[Symbol.asyncDispose]()
    expect(client.faults).toEqual([])
  })
  return client
}

/** The chain with this client, or with none. */
export function chainWith(client: FakeClient | undefined, timeoutMs = 5_000): RunChain {
  return {
    name: TERMS.chain,
    validatorClient: client && openValidatorClient({ url: client.url, token: FakeClient.TOKEN, timeoutMs }),
    genesisValidatorsRoot: async () => GENESIS_ROOT,
  }
}
