import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StoredEvent } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { migrate, readMigrations } from '../../infra/warehouse/migrate.ts'
import { openWarehouse } from '../../infra/warehouse/open.ts'
import { executionBlockEvents } from '../../ingest/execution/block-events.ts'
import { joinRows } from '../../processors/loop/rows.ts'
import { foldChain } from '../../processors/nft/fold.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import { benchNftApi } from './nft-api.ts'
import { Report } from './report.ts'
import { type TokenChainSize, tokenChain } from './synthetic-tokens.ts'

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
/** As a process takes them off the log: 512 events a batch, several of each block. */
const BLOCKS_PER_BATCH = 250
const BATCHES_PER_LINE = 20
const CHAIN = 'mainnet'
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
    await tellSizes(warehouse, size, report)
    report.heading('answers: never given before; wherever pages begin, at the head and in the past')
    await benchNftApi(warehouse, size, report)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
  return report.within
}

/** Seconds from the first event to the last holding; what makes the events is not counted. */
async function fill(warehouse: Warehouse, size: TokenChainSize, report: Report): Promise<number> {
  let seconds = 0
  let batches = 0
  let batch: EncodedEvent[] = []
  let blocks = 0
  let decoding = 0
  const work = async (): Promise<void> => {
    const begin = performance.now()
    // Blocks that are there are folded while those after them become rows.
    const folding = foldChain(warehouse, CHAIN, new AbortController().signal)
    await project(warehouse, batch)
    decoding += performance.now() - begin
    await folding
    seconds += (performance.now() - begin) / 1_000
    if (++batches % BATCHES_PER_LINE === 0)
      report.info(`transfers per second up to block ${blocks}`, (blocks * size.transfersPerBlock) / seconds, 0)
    batch = []
  }
  for (const block of tokenChain(size)) {
    const { blocks: told, logs } = executionBlockEvents(CHAIN, block, TIME)
    batch.push(...logs, ...told)
    if (++blocks % BLOCKS_PER_BATCH === 0) await work()
  }
  await work()
  const begin = performance.now()
  await foldChain(warehouse, CHAIN, new AbortController().signal)
  report.info('until rows are there', decoding / 1_000, 1, 's')
  return seconds + (performance.now() - begin) / 1_000
}

let offset = 0n

async function project(warehouse: Warehouse, events: readonly EncodedEvent[]): Promise<void> {
  const rows = events.flatMap((event) => {
    const stored: StoredEvent = { position: { partition: 0, offset: offset++ }, event }
    const topic = event.type === 'execution.logs' ? 'execution.logs' : 'execution.blocks'
    return PROJECTORS.find((one) => one.topic === topic)?.project(stored, CHAIN).rows ?? []
  })
  for (const { table, columns } of joinRows(rows)) await warehouse.insert(table, columns)
}

async function tellSizes(warehouse: Warehouse, size: TokenChainSize, report: Report): Promise<void> {
  const [sizes] = await warehouse.query<{ bytes: string }>(
    `SELECT sum(bytes_on_disk) AS bytes FROM system.parts WHERE active AND database = currentDatabase() AND table LIKE 'nft_%'`,
  )
  report.info('bytes on disk per transfer', Number(sizes?.bytes) / size.transfers, 0, 'B')
}
