import { openHttpBeaconSource } from '../../infra/beacon/http-source.ts'
import { pubkeyOf } from '../../infra/devnet/consensus/keys.ts'
import type { Devnet } from '../../infra/devnet/open.ts'
import type { BeaconBlock, BeaconSource } from '../../infra/ports/beacon-source.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Log } from '../../infra/ports/log.ts'
import { followEpochs } from '../../ingest/epochs/epoch-follower.ts'
import { chainKey } from '../../schemas/chains.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { formatInstant, slotTimeSec } from '../../schemas/eth/time.ts'
import { ACCOUNTS_KEY, hashToken, tokenCreated, validatorsTracked } from '../../schemas/events/accounts.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { executionBlock } from '../../schemas/events/execution-block.ts'
import { TOKEN } from '../contract/given-api.ts'
import { transactionColumns } from '../unit/execution-columns.ts'
import { openShortDevnet, shortScenario, TOPPED_UP } from './short-history.ts'

// A chain with a whole UTC+8 day behind it, and what came true in it by its own balances, for who is told of it by reward endpoints.

/** A day is three epochs' worth of slots. */
const SECONDS_PER_SLOT = 900
const FIRST_SLOT_OF_DAY = 45
const SLOTS_OF_DAY = 96
const SLOTS_PER_EPOCH = 32
const HEAD_SLOT = 300
/** The first that is not read. */
export const NEXT_EPOCH = 7
/** The day of the genesis, a whole one that is closed, and one that is open. */
export const DAYS = ['2026-01-10', '2026-01-11', '2026-01-12'] as const
/** Answers that are waited for in vain before a node is given up on. */
const WAITS_MAX = 2
const RUN_TIMEOUT_MS = 60_000

export interface LightHistory extends AsyncDisposable {
  readonly devnet: Devnet
  readonly blocks: readonly BeaconBlock[]
}

export async function openLightHistory(): Promise<LightHistory> {
  const devnet = await openShortDevnet({
    genesisTimeSec: Date.UTC(2026, 0, 10, 16) / 1_000 + 11 - FIRST_SLOT_OF_DAY * SECONDS_PER_SLOT,
    scenario: { ...shortScenario, version: 'light-1', secondsPerSlot: SECONDS_PER_SLOT },
  })
  await devnet.advanceTo(HEAD_SLOT)
  await using source = await openHttpBeaconSource({ urls: [devnet.beaconUrl], log: NO_LOG })
  const slots = Array.from({ length: HEAD_SLOT }, (_, i) => i + 1)
  const blocks = (await Promise.all(slots.map((slot) => source.blockAt(slot)))).filter((block) => block !== undefined)
  return { devnet, blocks, [Symbol.asyncDispose]: () => devnet[Symbol.asyncDispose]() }
}

const nothing = () => undefined
const NO_LOG: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing }

/** Joins by the deposit of slot 5. */
export const JOINED = 128
const DEPOSITED_GWEI: ReadonlyMap<number, bigint> = new Map([
  [JOINED, 32_000_000_000n],
  [TOPPED_UP, 1_000_000_000n],
])

/** What was deposited to a validator from a slot to another: nothing else makes a balance rise by half as much at once. */
function depositedGwei({ devnet }: LightHistory, index: number, from: number, to: number): bigint {
  const amount = DEPOSITED_GWEI.get(index)
  if (amount === undefined) return 0n
  const balanceAt = (slot: number) => devnet.history.slot(slot)?.balances[index] ?? 0
  for (let slot = from; slot <= to; slot++)
    if (balanceAt(slot) - balanceAt(slot - 1) > Number(amount) / 2) return amount
  return 0n
}

/**
 * What a validator earned on each of the days, gwei: its balance's change without its deposit, and what it was paid. A day that goes on when `nextEpoch` begins is
 * told of up to there, once an epoch has begun in it.
 */
export function trueIncomes(history: LightHistory, index: number, nextEpoch: number): readonly bigint[] {
  const { devnet, blocks } = history
  const last = Math.max(0, nextEpoch * SLOTS_PER_EPOCH - 1)
  const balanceAt = (slot: number) => BigInt(devnet.history.slot(slot)?.balances[index] ?? 0)
  return DAYS.map((_, day) => {
    const first = day === 0 ? 1 : FIRST_SLOT_OF_DAY + (day - 1) * SLOTS_OF_DAY
    const to = Math.min(FIRST_SLOT_OF_DAY + day * SLOTS_OF_DAY - 1, last)
    if (day > 0 && Math.ceil(first / SLOTS_PER_EPOCH) >= nextEpoch) return 0n
    const paid = blocks
      .filter(({ slot }) => first <= slot && slot <= to)
      .flatMap(({ withdrawals }) => withdrawals)
      .filter(({ validatorIndex }) => validatorIndex === index)
    const paidGwei = paid.reduce((sum, { amountGwei }) => sum + amountGwei, 0n)
    return balanceAt(to) - balanceAt(first - 1) + paidGwei - depositedGwei(history, index, first, to)
  })
}

/** An account that tracks validators of a chain. */
export async function track(eventLog: EventLog, chains: ReadonlyMap<string, readonly number[]>): Promise<void> {
  const shared = { key: ACCOUNTS_KEY, time: '2026-01-01T00:00:00.000Z' }
  const tokenHash = hashToken(TOKEN)
  await eventLog.append('accounts', [
    encodeEvent(tokenCreated, {
      ...{ ...shared, id: `account.token-created:${tokenHash}` },
      data: { account: 'demo', tokenHash, name: '', scopes: ['read'] },
    }),
    ...[...chains].map(([chain, indices]) => {
      const pubkeys = indices.map((index) => hexOf(pubkeyOf(index)))
      const id = `account.validators-tracked:${chain}:demo:${pubkeys[0]}:${pubkeys.length}`
      return encodeEvent(validatorsTracked, { ...shared, id, data: { chain, account: 'demo', pubkeys } })
    }),
  ])
}

/** The execution blocks of the history, all of them empty: without them no day of a proposer is closed. */
export async function appendExecution(
  eventLog: EventLog,
  chain: string,
  blocks: readonly BeaconBlock[],
  source: BeaconSource,
): Promise<void> {
  const { clock } = await source.chain()
  const events = blocks.map(({ slot, executionBlockHash: hash, executionBlockNumber: number, feeRecipient }) => {
    const timestampSec = slotTimeSec(clock, slot)
    return encodeEvent(executionBlock, {
      id: `execution.block:${chain}:${hash}`,
      key: chainKey(chain, hash),
      time: formatInstant(timestampSec),
      data: {
        header: {
          ...{
            chain,
            number,
            hash,
            parentHash: blocks.find((one) => one.executionBlockNumber === number - 1)?.executionBlockHash ?? hash,
          },
          ...{ timestampSec, coinbase: feeRecipient, extraData: '0x', baseFeePerGasWei: '7', gasUsed: 0 },
          ...{ logParts: 0, logsCheck: 'receipts', hasOutcomes: true, provenSenders: [] },
        },
        columns: transactionColumns([]),
      },
    })
  })
  await eventLog.append('execution.blocks', events)
}

/** Follows finality as the ingester does, until all of the history is in the log or a node is waited for in vain; what it logged. */
export async function followLight(
  eventLog: EventLog,
  {
    chain,
    urls,
    rewardsBy,
  }: { readonly chain: string; readonly urls: readonly string[]; readonly rewardsBy: 'states' | 'endpoints' },
): Promise<readonly string[]> {
  const told: string[] = []
  const done = new AbortController()
  let waits = 0
  const heed = (line: string): void => {
    if (line.includes(' waits: ') && ++waits >= WAITS_MAX) done.abort()
  }
  const note = (_: object, line: string): void => {
    if (!told.includes(line)) told.push(line)
    heed(line)
  }
  const log: Log = { ...NO_LOG, debug: (_, line) => heed(line), warn: note, error: note }
  const limits = { attemptsPerNode: 2, retryDelayMs: 1, restMs: 1 }
  await using beacon = await openHttpBeaconSource({ urls, log, limits, rewardsBy })
  const shared = { chain, writer: eventLog, eventLog, unnamedChain: 'mainnet', log, concurrency: 2 }
  const onProgress = ({ nextEpoch }: { readonly nextEpoch: number }) => nextEpoch >= NEXT_EPOCH && done.abort()
  const signal = AbortSignal.any([done.signal, AbortSignal.timeout(RUN_TIMEOUT_MS)])
  await followEpochs({ ...shared, beacon, startEpoch: 0, onProgress, pollMs: 50, outageWaitMs: 1 }, signal)
  if (!done.signal.aborted) throw new Error(`neither through nor refused: ${told.join('\n')}`)
  return told
}
