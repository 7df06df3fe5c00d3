import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StoredEvent } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { migrate, readMigrations } from '../../infra/warehouse/migrate.ts'
import { openWarehouse } from '../../infra/warehouse/open.ts'
import { executionBlockEvents, executionRevertEvent } from '../../ingest/execution/block-events.ts'
import { restMs } from '../../processors/derivation-work.ts'
import { BATCH_EVENTS_MAX } from '../../processors/loop/consume.ts'
import { insertAll, joinRows } from '../../processors/loop/rows.ts'
import { foldChain } from '../../processors/nft/fold.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { proveTokens } from '../../processors/verify/prove-tokens.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import { pause } from '../../schemas/wait.ts'
import { benchNftApi } from './nft-api.ts'
import { Report } from './report.ts'
import { type TokenChainSize, tokenBranch, tokenChain } from './synthetic-tokens.ts'

const SIZE: TokenChainSize = {
  transfers: 10_000_000,
  transfersPerBlock: 200,
  tokens: 1_000_000,
  contracts: 300_000,
  holders: 400_000,
  tokensOfLarge: 500_000,
  tokensOfWhale: 100_000,
}
/** With `--small`: a minute's work, whose figures are those of a small chain. */
const SMALL: TokenChainSize = {
  transfers: 100_000,
  transfersPerBlock: 200,
  tokens: 50_000,
  contracts: 3_000,
  holders: 20_000,
  tokensOfLarge: 20_000,
  tokensOfWhale: 5_000,
}
const TRANSFERS_PER_SECOND_MIN = 50_000
/** Of Ethereum mainnet, about. */
const TRANSFERS_PER_DAY = 300_000
/** Made beforehand: what makes them is not counted. What begins and ends with each of them is. */
const BLOCKS_AT_ONCE = 10_000
/** Of the chain's transfers, so many more were reverted, in so many reorgs. */
const REVERTED_SHARE = 0.01
const BRANCHES = 10
const CHAIN = 'mainnet'
const LAST_TABLES = new Set(PROJECTORS.map(({ lastTable }) => lastTable))
const TIME = '2026-01-01T00:00:00.000Z'

/** Measures how fast transfers become holdings, from the events of a log to rows that answer who holds what, and how fast that is answered. */
export async function benchNft(): Promise<boolean> {
  const report = new Report()
  const directory = mkdtempSync(join(tmpdir(), 'epochline-nft-'))
  const whole = process.argv.includes('--small') ? SMALL : SIZE
  const size = { ...whole, transfers: Number(process.env.BENCH_NFT_TRANSFERS ?? whole.transfers) }
  try {
    await using warehouse = await openWarehouse({ directory: join(directory, 'warehouse') })
    await migrate(warehouse, await readMigrations())
    report.heading(`${size.transfers} transfers, ${size.transfersPerBlock} a block, from events to who holds what`)
    const seconds = await fill(warehouse, size, report)
    const perSecond = size.transfers / seconds
    report.atLeast('transfers per second, all of it', perSecond, { digits: 0, unit: '', min: TRANSFERS_PER_SECOND_MIN })
    report.info(`a day of ${TRANSFERS_PER_DAY} transfers, at this rate`, TRANSFERS_PER_DAY / perSecond, 1, 's')
    await revertSome(warehouse, size, report)
    await tellSizes(warehouse, size, report)
    report.heading('answers: never given before; wherever pages begin, at the head and in the past')
    await benchNftApi(warehouse, size, report)
    // Behind the answers: it reads all of the tables, which would have been read then.
    report.heading('verify: who holds what, held against all transfers')
    await proveAll(warehouse, size, report)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
  return report.within
}

/** Folds branches on the chain's last block, one after the other, and reverts each: so many more rows count for nobody. */
async function revertSome(warehouse: Warehouse, size: TokenChainSize, report: Report): Promise<void> {
  const never = new AbortController().signal
  const fork = Math.ceil(size.transfers / size.transfersPerBlock)
  const blocks = Math.ceil((fork * REVERTED_SHARE) / BRANCHES)
  let seconds = 0
  for (let branch = 1; branch <= BRANCHES; branch++) {
    const told = [...tokenBranch(size, { fork, branch, blocks })]
    const events = told.map((block) => executionBlockEvents(CHAIN, block, TIME))
    const begin = performance.now()
    await project(
      warehouse,
      events.flatMap(({ logs, blocks: own }) => [...logs, ...own]),
    )
    await foldChain(warehouse, CHAIN, never)
    await project(
      warehouse,
      told.toReversed().map(({ header: { number, hash } }) => executionRevertEvent(CHAIN, { number, hash }, TIME)),
    )
    seconds += (performance.now() - begin) / 1_000
  }
  report.info('transfers of blocks that were folded and reverted', BRANCHES * blocks * size.transfersPerBlock, 0)
  report.info(`  from the events of ${blocks} of them to their reverts`, seconds / BRANCHES, 1, 's')
}

/** As `verify` does it. */
async function proveAll(warehouse: Warehouse, { transfers }: TokenChainSize, report: Report): Promise<void> {
  const begin = performance.now()
  for await (const { checked, wrong } of proveTokens(warehouse)) {
    const seconds = (performance.now() - begin) / 1_000
    report.info('transfers per second, proven', transfers / seconds, 0)
    report.info('  rows per second', checked / seconds, 0)
    report.info('  rows that are wrong', wrong, 0)
  }
}

/** Seconds from the first event to the last holding. */
async function fill(warehouse: Warehouse, size: TokenChainSize, report: Report): Promise<number> {
  let seconds = 0
  let blocks = 0
  for (const events of eventsAtOnce(size)) {
    const begin = performance.now()
    const stop = new AbortController()
    const folding = foldAsTheyCome(warehouse, stop.signal)
    for (let first = 0; first < events.length; first += BATCH_EVENTS_MAX)
      await project(warehouse, events.slice(first, first + BATCH_EVENTS_MAX))
    stop.abort()
    await folding
    seconds += (performance.now() - begin) / 1_000
    blocks = Math.min(blocks + BLOCKS_AT_ONCE, size.transfers / size.transfersPerBlock)
    report.info(`transfers per second up to block ${blocks}`, (blocks * size.transfersPerBlock) / seconds, 0)
  }
  return seconds
}

/** The chain's events, some thousand blocks at a time. */
function* eventsAtOnce(size: TokenChainSize): Generator<readonly EncodedEvent[]> {
  let events: EncodedEvent[] = []
  let blocks = 0
  for (const block of tokenChain(size)) {
    const { blocks: told, logs } = executionBlockEvents(CHAIN, block, TIME)
    events.push(...logs, ...told)
    if (++blocks % BLOCKS_AT_ONCE > 0) continue
    yield events
    events = []
  }
  if (events.length > 0) yield events
}

/** As the role does it: folds what is there, rests, folds what came meanwhile; after the abort the last of it. */
async function foldAsTheyCome(warehouse: Warehouse, signal: AbortSignal): Promise<void> {
  for (;;) {
    const isLast = signal.aborted
    const begin = performance.now()
    await foldChain(warehouse, CHAIN, new AbortController().signal)
    if (isLast) return
    await pause(restMs(performance.now() - begin), signal)
  }
}

let offset = 0n

async function project(warehouse: Warehouse, events: readonly EncodedEvent[]): Promise<void> {
  const rows = events.flatMap((event) => {
    const stored: StoredEvent = { position: { partition: 0, offset: offset++ }, event }
    const topic = event.type === 'execution.logs' ? 'execution.logs' : 'execution.blocks'
    return PROJECTORS.find((one) => one.topic === topic)?.project(stored, CHAIN).rows ?? []
  })
  // Those that say that the others are complete come after them, as in the pipeline.
  const [complete, others] = [true, false].map((isLast) =>
    rows.filter(({ table }) => LAST_TABLES.has(table) === isLast),
  )
  for (const some of [others, complete]) await insertAll(warehouse, joinRows(some ?? []))
}

async function tellSizes(warehouse: Warehouse, size: TokenChainSize, report: Report): Promise<void> {
  const [sizes] = await warehouse.query<{ bytes: string }>(
    `SELECT sum(bytes_on_disk) AS bytes FROM system.parts WHERE active AND database = currentDatabase() AND table LIKE 'nft_%'`,
  )
  report.info('bytes on disk per transfer', Number(sizes?.bytes) / size.transfers, 0, 'B')
}
