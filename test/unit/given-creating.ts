import type { KeyVault } from '../../infra/ports/key-vault.ts'
import type { StakingFacts, StakingNode } from '../../infra/ports/staking-node.ts'
import type { Creating } from '../../processors/validators/create-validators.ts'
import { StakingBook } from '../../processors/validators/staking-book.ts'
import { UnfundedRoom } from '../../processors/validators/unfunded-room.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import type { CreateValidatorsInput } from '../../schemas/jobs/create-validators.ts'
import { DEFAULT_UNFUNDED_RULES } from '../../schemas/validator-lifecycle.ts'
import { writerOfEvents } from './log-of-events.ts'

const NOW_MS = Date.UTC(2026, 10, 22)
const ADDRESS = `0x${'ad'.repeat(20)}`
export const FACTS: StakingFacts = {
  chainId: 7_017_017,
  genesisForkVersion: Uint8Array.of(0x10, 0xe7, 0, 0),
  depositContract: `0x${'42'.repeat(20)}`,
  clock: { genesisTimeSec: 1_700_000_000, secondsPerSlot: 12, slotsPerEpoch: 32 },
}

/** Whoever asks for more than it has been given fails. */
export function nodeOf(change: Partial<StakingNode> = {}): StakingNode {
  const unasked = () => Promise.reject(new Error('nobody asks for it'))
  return {
    facts: async () => FACTS,
    headSlot: async () => 5_000_000,
    hasCode: async () => true,
    terms: async () => ({ nonce: 0, maxFeePerGasWei: 2n, maxPriorityFeePerGasWei: 1n }),
    storageAt: unasked,
    simulate: unasked,
    async [Symbol.asyncDispose]() {},
    ...change,
  }
}

export function askedFor(count: number, change: Partial<CreateValidatorsInput> = {}): CreateValidatorsInput {
  return {
    ...{ chain: 'mainnet', account: 'acme', requestId: 'a'.repeat(64), bodyHash: 'b'.repeat(64), count },
    ...{ withdrawalAddress: ADDRESS, depositFrom: ADDRESS, feeRecipient: ADDRESS, notAfterMs: NOW_MS + 10_000 },
    ...change,
  }
}

/** A role with this vault, whose log begins empty. */
export function givenCreating(vault: Pick<KeyVault, 'request' | 'prepare' | 'commit'>) {
  const told: EncodedEvent[] = []
  const errors: string[] = []
  const book = new StakingBook()
  const writer = writerOfEvents(told)
  const funded = { has: () => false, readOn: async () => {} }
  const creating: Creating = {
    vault: vault as KeyVault,
    writer,
    log: { debug() {}, info() {}, warn() {}, error: (_, message) => void errors.push(message) },
    book,
    room: new UnfundedRoom({ book, funded, rules: DEFAULT_UNFUNDED_RULES }),
    now: () => NOW_MS,
    wallNow: () => NOW_MS,
  }
  return { creating, told, errors }
}
