import type { Hex } from 'viem'
import type { BroadcastNode, LoggedDeposit, SendOutcome, TransactionState } from '../../infra/ports/broadcast-node.ts'
import type { ExecutionBlock } from '../../infra/ports/execution-source.ts'
import type { Simulation } from '../../infra/ports/staking-node.ts'
import type { ValidatorClient } from '../../infra/ports/validator-client.ts'
import type { BroadcastChain, Broadcasting } from '../../processors/validators/broadcast-staking.ts'
import { StakingBook } from '../../processors/validators/staking-book.ts'
import { Turns } from '../../processors/validators/turns.ts'
import { AppError } from '../../schemas/errors.ts'
import { depositDataRoot } from '../../schemas/eth/deposit-data.ts'
import { bytesOf, hexOf } from '../../schemas/eth/hex.ts'
import { type CalledDeposit, type StakingContract, stakingCall } from '../../schemas/eth/staking-transaction.ts'
import { ACCOUNTS_KEY } from '../../schemas/events/accounts.ts'
import { decodeEvent, type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { validatorsCreated } from '../../schemas/events/created-validators.ts'
import { type StakingEnded, stakingBroadcast, stakingEnded } from '../../schemas/events/staking-broadcast.ts'
import { DEFAULT_UNFUNDED_RULES } from '../../schemas/validator-lifecycle.ts'
import { accountOf } from './given-rpc-block.ts'
import { silentLog } from './silent-log.ts'

// A role that broadcasts, with a chain whose nodes say what a test wants them to say.

export const CHAIN_ID = 560_048
export const DEPOSIT_CONTRACT: Hex = '0x00000000219ab540356cbb839cbe05303d7705fa'
export const ABYSS: StakingContract = { kind: 'abyss', address: `0x${'ab'.repeat(20)}`, feeWei: 0n }
export const SENDER = accountOf('a')
export const STRANGER = accountOf('b')
const CREATED_AT = '2026-01-01T00:00:00.000Z'
const CREATED_MS = Date.parse(CREATED_AT)
/** The chain's clock was led days ahead of the machine's. */
const AHEAD_MS = 5 * 86_400_000
/** The slot of `CREATED_AT`. */
export const CREATED_SLOT = 32 * 100
export const HOUR_BLOCKS = 300
const CLOCK = { genesisTimeSec: CREATED_MS / 1_000 - 12 * CREATED_SLOT, secondsPerSlot: 12, slotsPerEpoch: 32 }

export const credentialsOf = (digit: string) => bytesOf(`0x01${'00'.repeat(11)}${digit.repeat(40)}`)

/** The deposit of a validator by its number, whose signature nobody looks at. */
export function depositOf(number: number, withdrawalCredentials = credentialsOf('c')): CalledDeposit {
  const pubkey = new Uint8Array(48).fill(0x80)
  new DataView(pubkey.buffer).setUint32(44, number)
  return depositFor(pubkey, withdrawalCredentials, number & 0xff)
}

/** `signature`: what it is filled with. */
export function depositFor(pubkey: Uint8Array, withdrawalCredentials: Uint8Array, signature: number): CalledDeposit {
  const message = { pubkey, withdrawalCredentials, amountGwei: 32_000_000_000n }
  const filled = new Uint8Array(96).fill(signature)
  return { ...message, signature: filled, dataRoot: depositDataRoot(message, filled) }
}

export const keyOf = (deposit: Pick<CalledDeposit, 'pubkey'>) => hexOf(deposit.pubkey)

/** As the deposit contract logs it, in a block that is not final and by a transaction of nobody here unless others are named. */
export function loggedOf(deposit: CalledDeposit, of: Partial<LoggedDeposit> = {}): LoggedDeposit {
  const at = { transactionHash: `0x${'0e'.repeat(32)}`, blockNumber: 100_000 }
  return { pubkey: keyOf(deposit), depositDataRoot: hexOf(deposit.dataRoot), ...at, ...of }
}

/** What a transaction is signed with; everything else is what it has to be. */
export interface Signing {
  readonly deposits: readonly CalledDeposit[]
  readonly contract?: StakingContract
  readonly nonce?: number
  readonly tip?: bigint
  readonly sender?: typeof SENDER
  readonly chainId?: number
  readonly to?: string
  readonly value?: bigint
  readonly gas?: bigint
  /** Makes other call data of what the deposits are written as. */
  readonly change?: (data: Hex) => Hex
}

export function signStaking(signing: Signing): Promise<Hex> {
  const { deposits, contract = ABYSS, nonce = 0, tip = 1n, sender = SENDER, chainId = CHAIN_ID } = signing
  const call = stakingCall(contract, deposits)
  if (call.status !== 'ok') throw new Error(call.reason)
  const { to = call.to, value = call.valueWei, gas = 300_000n + 35_000n * BigInt(deposits.length) } = signing
  const data = signing.change?.(call.data) ?? call.data
  const fees = { maxFeePerGas: 100n, maxPriorityFeePerGas: tip }
  return sender.signTransaction({ type: 'eip1559', chainId, nonce, to: to as Hex, value, gas, data, ...fees })
}

export interface GivenStaking {
  readonly chain: BroadcastChain
  readonly broadcasting: Broadcasting
  /** What the nodes say; a test changes it. */
  readonly says: {
    outcomes: readonly SendOutcome[] | ((raw: string) => readonly SendOutcome[])
    known: ReadonlySet<string> | 'unanswered'
    states: Map<string, TransactionState | 'unanswered'>
    registered: readonly string[]
    deposits: readonly LoggedDeposit[]
    /** Blocks behind the head at which they are. */
    depositDepth: number
    headSlot: number
    simulation: Simulation['status']
    /** What a simulation tells, and the least that is enough. */
    simulatedGas: bigint
    neededGas: bigint
    lacking: readonly string[]
    /** Keys that the vault has marked as exported. */
    exported: readonly string[] | 'all'
    validatorClient: ValidatorClient | undefined
    headNumber: number
    finalNumber: number
    blocks: Map<number, Pick<ExecutionBlock, 'columns'> & { readonly header: { readonly hash: string } }>
    isAway: boolean
    /** Of whatever sender: one before it may be taken, too. */
    nextNonce: number
    nowMs: number
  }
  /** Raw transactions, in the order of their sending. */
  readonly sent: string[]
  readonly told: EncodedEvent[]
  ends(): readonly StakingEnded[]
  hashes(): readonly string[]
}

/** Of a block of the chain as the nodes tell it. */
export function blockHash(number: number): string {
  return `0x${number.toString(16).padStart(64, '0')}`
}

export interface Creation {
  readonly account: string
  readonly deposits: readonly CalledDeposit[]
  readonly depositFrom?: string
}

export function givenStaking(
  creations: readonly Creation[],
  contract: StakingContract | undefined = ABYSS,
): GivenStaking {
  const told: EncodedEvent[] = []
  const sent: string[] = []
  const says: GivenStaking['says'] = {
    outcomes: [{ status: 'accepted' }],
    known: new Set<string>(),
    states: new Map(),
    registered: [],
    deposits: [],
    depositDepth: 0,
    headSlot: 0,
    simulation: 'done',
    simulatedGas: 1n,
    neededGas: 1n,
    lacking: [],
    exported: 'all',
    validatorClient: undefined,
    headNumber: 100,
    finalNumber: 50,
    blocks: new Map(),
    isAway: false,
    nextNonce: 1,
    nowMs: CREATED_MS + 60_000,
  }
  const book = new StakingBook()
  for (const [i, creation] of creations.entries()) book.add(createdEvent(creation, i))
  const writer = {
    append: async (_: unknown, events: readonly EncodedEvent[]) => {
      await Promise.resolve()
      told.push(...events)
      return []
    },
  }
  const vault = {
    request: async () => undefined,
    lacking: async () => says.lacking,
    exportedBefore: async (pubkeys: readonly string[]) =>
      pubkeys.filter((pubkey) => says.exported === 'all' || says.exported.includes(pubkey)),
    giveKeys: () => Promise.reject(new Error('nobody gives keys away here')),
  }
  const turns = { turns: new Turns(), handing: new Turns() }
  const parts = { vault, writer, log: silentLog, book, ...turns, rules: DEFAULT_UNFUNDED_RULES }
  return {
    chain: chainThatSays(says, sent, contract),
    broadcasting: { ...parts, now: () => says.nowMs, wallNow: () => says.nowMs - AHEAD_MS },
    says,
    sent,
    told,
    ends: () => told.filter(({ type }) => type === stakingEnded.name).map((event) => decodeEvent(stakingEnded, event)),
    hashes: () =>
      told
        .filter(({ type }) => type === stakingBroadcast.name)
        .map((event) => decodeEvent(stakingBroadcast, event).txHash),
  }
}

function createdEvent({ account, deposits, depositFrom = SENDER.address.toLowerCase() }: Creation, i: number) {
  const [first] = deposits
  return encodeEvent(validatorsCreated, {
    id: `created:${i}`,
    key: ACCOUNTS_KEY,
    time: CREATED_AT,
    data: {
      chain: 'hoodi',
      account,
      requestId: String(i).padStart(64, '0'),
      pubkeys: deposits.map(keyOf),
      withdrawalCredentials: hexOf(first?.withdrawalCredentials ?? new Uint8Array(32)),
      depositFrom,
      feeRecipient: depositFrom,
      amountGwei: '32000000000',
      depositDataRoots: deposits.map(({ dataRoot }) => hexOf(dataRoot)),
    },
  })
}

function chainThatSays(
  says: GivenStaking['says'],
  sent: string[],
  contract: StakingContract | undefined,
): BroadcastChain {
  const answered = async <Answer>(answer: Answer): Promise<Answer> => {
    await Promise.resolve()
    if (says.isAway) throw new AppError('node_unreachable', 'no node answers', { retryable: true })
    return answer
  }
  const dispose = { [Symbol.asyncDispose]: async () => {} }
  const facts = {
    chainId: CHAIN_ID,
    genesisForkVersion: new Uint8Array(4),
    depositContract: DEPOSIT_CONTRACT,
    clock: CLOCK,
  }
  const reference = (number: number) => ({ number, hash: blockHash(number), parentHash: '' })
  const broadcast: BroadcastNode = {
    ...dispose,
    send: async (raw) => {
      sent.push(raw)
      return typeof says.outcomes === 'function' ? says.outcomes(raw) : says.outcomes
    },
    isKnown: async (hash) => {
      if (says.known === 'unanswered') throw new AppError('node_unreachable', 'a node does not answer')
      return says.known.has(hash)
    },
    state: async (hash) => {
      const state = says.states.get(hash)
      if (state === 'unanswered') throw new AppError('node_unreachable', 'a node does not answer')
      const head = reference(says.headNumber)
      const missing = { isKnown: false, included: undefined, nonce: 0, head, finalBlockNumber: says.finalNumber }
      return answered(state ?? missing)
    },
    // Nodes tell of an hour more than they are asked for.
    recentDeposits: (_, blocks) => answered(blocks + HOUR_BLOCKS >= says.depositDepth ? says.deposits : []),
  }
  return {
    name: 'hoodi',
    network: 'hoodi',
    contract,
    node: {
      ...dispose,
      facts: () => answered(facts),
      headSlot: () => answered(says.headSlot),
      hasCode: () => answered(true),
      terms: () => answered({ nonce: says.nextNonce, maxFeePerGasWei: 1n, maxPriorityFeePerGasWei: 1n }),
      storageAt: () => Promise.reject(new Error('nobody asks for it')),
      simulate({ gas = says.neededGas }) {
        if (says.simulation !== 'done') return answered({ status: says.simulation })
        return answered(gas < says.neededGas ? { status: 'unknown' } : { status: 'done', gas: says.simulatedGas })
      },
    },
    broadcast,
    blocks: {
      head: () => answered(reference(says.headNumber)),
      finalized: () => answered(reference(says.finalNumber)),
      blockByNumber: (number) => answered(says.blocks.get(number) as ExecutionBlock | undefined),
      blockByHash: () => Promise.reject(new Error('nobody asks for it')),
    },
    get validatorClient() {
      return says.validatorClient
    },
    genesisValidatorsRoot: () => answered(new Uint8Array(32)),
    registered: (keys) => answered(says.registered.filter((key) => keys.includes(key))),
  }
}
