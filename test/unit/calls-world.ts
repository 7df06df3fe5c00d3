import type { KeyVault } from '../../infra/ports/key-vault.ts'
import type { Log } from '../../infra/ports/log.ts'
import type { StakingNode } from '../../infra/ports/staking-node.ts'
import type { StakedValidator, UnstakeNode } from '../../infra/ports/unstake-node.ts'
import { type ExitCustody, toExitCustody } from '../../processors/validators/exit/exit-custody.ts'
import { OwnersOnLog } from '../../processors/validators/exit/owners-on-log.ts'
import { takeCalls } from '../../processors/validators/exit/take-calls.ts'
import { StakingBook } from '../../processors/validators/staking-book.ts'
import { AppError } from '../../schemas/errors.ts'
import { ACCOUNTS_KEY, validatorsTracked, validatorsUntracked } from '../../schemas/events/accounts.ts'
import { decodeEvent, type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { validatorsCreated } from '../../schemas/events/created-validators.ts'
import { type ExitCallRead, exitCallRead } from '../../schemas/events/exit-calls.ts'
import { type ExitAsked, exitRequested } from '../../schemas/events/exits.ts'
import { keysImported } from '../../schemas/events/vault-keys.ts'
import type { TakenCall } from '../../schemas/jobs/take-exit-calls.ts'
import { logOfEvents, writerOfEvents } from './log-of-events.ts'

export const CHAIN = 'mainnet'
export const CONTRACT = `0x${'e4'.repeat(20)}`
export const NOW_MS = Date.UTC(2026, 10, 22)
/** The machine's clock, where the chain's was led days ahead of it. */
const WALL_MS = NOW_MS - 5 * 86_400_000
export const CALL_SEC = NOW_MS / 1_000 - 900
/** Its present is in epoch 10,000. */
export const CLOCK = { genesisTimeSec: NOW_MS / 1_000 - 10_000 * 384, secondsPerSlot: 12, slotsPerEpoch: 32 }
export const [ALICE, BOB] = [`0x${'aa'.repeat(20)}`, `0x${'bb'.repeat(20)}`] as const
export const credentialsOf = (address: string, type = '01') => `0x${type}${'00'.repeat(11)}${address.slice(2)}`
export const pubkeyOf = (n: number) => `0x${n.toString(16).padStart(96, '0')}`

/** All that lasts for calls for exits: the log, the registry, the vault. Processes come and go. */
export class CallsWorld {
  readonly events: EncodedEvent[] = []
  readonly registry = new Map<string, StakedValidator>()
  readonly lost = new Set<string>()
  readonly warnings: object[] = []
  isNodeAway = false
  /** Public keys that the node was asked for, at each question. */
  readonly asked: (readonly string[])[] = []
  /** Called before and after each append: throws where the process dies. */
  onAppend: (moment: 'before' | 'after') => void = () => {}
  custody: ExitCustody = this.#custody()

  startAgain(): void {
    this.custody = this.#custody()
  }

  #custody(): ExitCustody {
    const book = new StakingBook()
    for (const event of this.events) book.add(event)
    const log: Log = { debug() {}, info() {}, warn: (fields) => void this.warnings.push(fields), error() {} }
    const vault = { lacking: async (pubkeys: readonly string[]) => pubkeys.filter((pubkey) => this.lost.has(pubkey)) }
    const owners = new OwnersOnLog(logOfEvents(this.events), AbortSignal.timeout(60_000))
    return toExitCustody({
      vault: vault as unknown as KeyVault,
      writer: writerOfEvents(this.events, (moment) => this.onAppend(moment)),
      book,
      owners,
      log,
      now: () => NOW_MS,
      wallNow: () => WALL_MS,
    })
  }

  readonly unstakeNode: UnstakeNode = {
    facts: async () => ({ shardCommitteePeriodEpochs: 256, minActivationBalanceGwei: 32_000_000_000n }),
    headEpoch: async () => 10_000,
    registered: async (pubkeys) => {
      if (this.isNodeAway) throw new AppError('node_unreachable', 'away', { retryable: true })
      this.asked.push(pubkeys)
      return new Map([...this.registry].filter(([pubkey]) => pubkeys.includes(pubkey)))
    },
    pendingPartials: async () => new Map(),
    async [Symbol.asyncDispose]() {},
  }

  #tell(event: EncodedEvent): void {
    this.events.push(event)
    this.custody.book.add(event)
  }

  /** Validators that were created here for a withdrawal address. */
  created(address: string, pubkeys: readonly string[], account = 'acme'): void {
    const data = {
      ...{ chain: CHAIN, account, requestId: pubkeys[0]?.slice(-64) ?? '', pubkeys: [...pubkeys] },
      ...{ withdrawalCredentials: credentialsOf(address), depositFrom: address, feeRecipient: address },
      ...{ amountGwei: '32000000000', depositDataRoots: [] },
    }
    const id = `created:${pubkeys[0]}`
    this.#tell(encodeEvent(validatorsCreated, { id, key: ACCOUNTS_KEY, time: '2026-11-01T00:00:00.000Z', data }))
  }

  imported(pubkeys: readonly string[], unixSec: number, account = 'acme'): void {
    const data = { chain: CHAIN, account, pubkeys: [...pubkeys] }
    const fact = { key: ACCOUNTS_KEY, time: new Date(unixSec * 1_000).toISOString(), data }
    this.#tell(encodeEvent(keysImported, { ...fact, id: `imported:${pubkeys[0]}` }))
    this.#tell(encodeEvent(validatorsTracked, { ...fact, id: `tracked:${pubkeys[0]}` }))
  }

  /** From the start of all history they are nobody's. */
  untracked(pubkeys: readonly string[]): void {
    const data = { chain: CHAIN, pubkeys: [...pubkeys], from: '1970-01-01' }
    const fact = { key: ACCOUNTS_KEY, time: '2026-11-02T00:00:00.000Z', data }
    this.#tell(encodeEvent(validatorsUntracked, { ...fact, id: `untracked:${pubkeys[0]}` }))
  }

  registered(address: string, pubkeys: readonly string[], change: Partial<StakedValidator> = {}): void {
    for (const pubkey of pubkeys)
      this.registry.set(pubkey, {
        ...{ index: this.registry.size, withdrawalCredentials: credentialsOf(address), balanceGwei: 32_000_000_007n },
        ...{ effectiveBalanceGwei: 32_000_000_000n, activationEpoch: 3, exitEpoch: undefined, ...change },
      })
  }

  #calls = 0
  call(withdrawalAddress: string, pubkeys: readonly string[] | 'all', change: Partial<TakenCall> = {}): TakenCall {
    const hash = `0x${(++this.#calls).toString(16).padStart(64, '0')}`
    const calledFor =
      pubkeys === 'all' ? ({ kind: 'all' } as const) : { kind: 'listed' as const, pubkeys: [...pubkeys] }
    const place = { blockNumber: 100, blockHash: hash, logIndex: 0, timeSec: CALL_SEC, txHash: hash }
    return { ...place, withdrawalAddress, calledFor, deposits: [], ...change }
  }

  take(calls: readonly TakenCall[], contract = CONTRACT): Promise<void> {
    const facts = async () => ({
      ...{ chainId: 1, genesisForkVersion: new Uint8Array(4), depositContract: CONTRACT, clock: CLOCK },
    })
    const node = { facts } as unknown as StakingNode
    const chain = { name: CHAIN, node, unstakeNode: this.unstakeNode, exitContract: CONTRACT }
    return takeCalls(this.custody, chain, { chain: CHAIN, contract, calls: [...calls] })
  }

  requests(): readonly ExitAsked[] {
    return this.events.filter(({ type }) => type === exitRequested.name).map((e) => decodeEvent(exitRequested, e))
  }

  reads(): readonly ExitCallRead[] {
    return this.events.filter(({ type }) => type === exitCallRead.name).map((e) => decodeEvent(exitCallRead, e))
  }

  /** Takes one call alone, and tells what became of it. */
  async outcome(call: TakenCall): Promise<ExitCallRead['outcome'] | undefined> {
    await this.take([call])
    return this.reads().at(-1)?.outcome
  }
}
