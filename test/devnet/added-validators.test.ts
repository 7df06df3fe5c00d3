import { afterAll, beforeAll, expect, test } from 'vitest'
import { openHttpBeaconSource } from '../../infra/beacon/http-source.ts'
import type { BeaconSource } from '../../infra/ports/beacon-source.ts'
import type { ExecutionSource } from '../../infra/ports/execution-source.ts'
import { type Backfilled, backfill } from '../../ingest/backfill/backfill.ts'
import { openLogFacts } from '../../processors/loop/log-facts.ts'
import { slotTimeSec } from '../../schemas/eth/time.ts'
import { rebuildFrom } from '../unit/projecting.ts'
import { silentLog } from '../unit/silent-log.ts'
import { emptyBlock } from '../unit/synthetic-execution-chain.ts'
import { storesOfFile } from '../unit/warehouse-of-file.ts'
import { JOINED, type LightHistory, NEXT_EPOCH, openLightHistory, track } from './light-way.ts'
import {
  EXITED_BY_REQUEST,
  SLASHED_ATTESTER,
  SLASHED_PROPOSER,
  TOPPED_UP,
  VOLUNTARILY_EXITED,
} from './short-history.ts'

// One history, told by reward endpoints under two names: of all validators at once, and of some, whom the others are added to later.

const AT_ONCE = 'at_once'
const ADDED = 'added_to'
/** Of both kinds are some that propose, sign in the sync committee, are slashed, leave, join and are topped up. */
const FIRST = [0, 1, 2, 3, 4, 5, 6, 7, SLASHED_PROPOSER, EXITED_BY_REQUEST]
const LATER = [8, 9, 10, 11, 12, 13, 14, 15, TOPPED_UP, JOINED, VOLUNTARILY_EXITED, SLASHED_ATTESTER]
/** What both chains must say alike, but for versions. */
const TABLES = [
  ...['validator_epochs', 'ledger_entries', 'day_balances', 'finalized_blocks', 'epoch_residuals', 'epoch_proofs'],
  ...['daily_rewards', 'closed_days', 'execution_blocks', 'beacon_blocks'],
]
const never = new AbortController().signal

const stores = storesOfFile()
let history: LightHistory
let later: Backfilled | undefined

beforeAll(async () => {
  history = await openLightHistory()
  const { devnet } = history
  await using eventLog = await stores().openLog()
  await openLogFacts(eventLog, 0, never)
  const node = { log: silentLog, rewardsBy: 'endpoints' as const }
  await using beacon = await openHttpBeaconSource({ ...node, urls: [devnet.beaconUrl] })
  const execution = await executionOf(beacon)
  const fill = (chain: string) => {
    const ingester = { chain, writer: eventLog, eventLog, unnamedChain: 'mainnet', log: silentLog, beacon, execution }
    return backfill(ingester, { fromEpoch: 0, toEpoch: NEXT_EPOCH - 1 }, never)
  }
  await track(eventLog, new Map([[AT_ONCE, [...FIRST, ...LATER]], [ADDED, FIRST]])) // biome-ignore format: a table
  await fill(AT_ONCE)
  await fill(ADDED)
  await track(eventLog, new Map([[ADDED, LATER]]))
  later = await fill(ADDED)
  await rebuildFrom(eventLog, stores().warehouse)
})
/** The execution blocks of the history, all of them empty. */
async function executionOf(beacon: BeaconSource): Promise<ExecutionSource> {
  const { clock, depositChainId } = await beacon.chain()
  const unasked = () => Promise.reject(new Error('a backfill asks for blocks by hash'))
  return {
    chainId: async () => depositChainId,
    blockByHash: async (hash) => {
      const block = history.blocks.find(({ executionBlockHash }) => executionBlockHash === hash)
      if (block === undefined) return unasked()
      const { executionBlockNumber: number, slot, feeRecipient: coinbase } = block
      const parentHash =
        history.blocks.find((one) => one.executionBlockNumber === number - 1)?.executionBlockHash ?? hash
      const empty = emptyBlock({ number, hash, parentHash })
      return { ...empty, header: { ...empty.header, timestampSec: slotTimeSec(clock, slot), coinbase } }
    },
    head: unasked,
    finalized: unasked,
    blockByNumber: unasked,
    balanceChanges: unasked,
    status: () => [],
    [Symbol.asyncDispose]: async () => {},
  }
}

afterAll(() => history?.[Symbol.asyncDispose]())

test('all epochs that the log had of others are told by asking for those who came', () => {
  expect(later).toEqual({
    ...{ ingested: NEXT_EPOCH, added: NEXT_EPOCH, skipped: 0, validators: new Set([...FIRST, ...LATER]).size },
  })
})

test.each(TABLES)('%s then says what it says of a history that was told of all at once', async (table) => {
  const rowsOf = async (chain: string) => {
    const rows = await stores().warehouse.query<Record<string, unknown>>(
      `SELECT * EXCEPT (chain) FROM ${table} FINAL WHERE chain = {chain:String}`,
      { chain },
    )
    const texts = rows.map((row) =>
      JSON.stringify(Object.entries(row).filter(([name]) => !/version/.test(name) && name !== 'proof_versions')),
    )
    return texts.sort()
  }
  const expected = await rowsOf(AT_ONCE)
  if (table !== 'epoch_residuals') expect(expected.length).toBeGreaterThan(0)
  expect(await rowsOf(ADDED)).toEqual(expected)
})

test('among what is said are slashings, withdrawals, deposits and proposals of those who came', async () => {
  const kinds = await stores().warehouse.query<{ kind: string }>(
    `SELECT DISTINCT kind FROM ledger_entries FINAL WHERE chain = '${ADDED}' AND validator_index IN (${LATER.join()})`,
  )
  expect(kinds.map(({ kind }) => kind).sort()).toEqual(
    expect.arrayContaining(['deposit', 'proposer', 'slashing_penalty', 'sync', 'withdrawal']),
  )
})
