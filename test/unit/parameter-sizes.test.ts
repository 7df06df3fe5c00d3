import { describe, expect, test } from 'vitest'
import { seenByParams, seenInStatements } from '../../api/http/small-accounts.ts'
import { attestationDuties } from '../../api/rewards/attestation-duties.ts'
import { openParams } from '../../api/rewards/open-sums.ts'
import { periodSums } from '../../api/rewards/period-sums.ts'
import { selectDifferences, selectOrphans } from '../../api/rewards/select-chain.ts'
import { selectProposals, selectValidatorEpochs } from '../../api/rewards/select-detail.ts'
import { selectEvidence } from '../../api/rewards/select-evidence.ts'
import { selectMissed } from '../../api/rewards/select-missed.ts'
import type { QueryParams, Warehouse, WarehouseReader } from '../../infra/ports/warehouse.ts'
import { checkParameterSizes } from '../../infra/warehouse/parameter-sizes.ts'
import { takeBack } from '../../processors/loop/drop-chains.ts'
import { FAR_FUTURE_EPOCH } from '../../schemas/eth/far-future.ts'
import { type DayNumber, parseDay } from '../../schemas/eth/time.ts'
import { SUMMED_COLUMNS } from '../../schemas/tables/months.ts'
import { inStatements } from '../../schemas/tables/statement-parts.ts'

const chain = 'mainnet'
const clock = { genesisTimeSec: 0, secondsPerSlot: 12, slotsPerEpoch: 32 }
/** More than one statement may name, none of which follows on another. */
const indices = Array.from({ length: 25_000 }, (_, nth) => 1_000_000 + 2 * nth)
const hashes = Array.from({ length: 2_500 }, (_, nth) => `0x${nth.toString(16).padStart(64, '0')}`)

/** A warehouse that refuses what a server would, and answers with a row for each of what was asked for. */
function reader(list: string, rowOf: (item: unknown) => object) {
  const asked: unknown[] = []
  const warehouse: WarehouseReader = {
    async query<Row>(sql: string, params: QueryParams = {}) {
      checkParameterSizes(sql, params)
      const some = params[list] as readonly unknown[]
      asked.push(...some)
      return some.map(rowOf) as Row[]
    },
  }
  return { warehouse, asked }
}

describe('a parameter', () => {
  test('may have as many bytes as a server takes, and no more', () => {
    const beyond = 'The parameter text of a statement has 131073 bytes: a server takes 131072.'
    expect(() => checkParameterSizes('', { text: 'x'.repeat(131_072) })).not.toThrow()
    expect(() => checkParameterSizes('', { text: 'x'.repeat(131_073) })).toThrow(beyond)
    expect(() => checkParameterSizes('', { text: `漢${'x'.repeat(131_070)}` })).toThrow(beyond)
    // With brackets, quotes and escapes.
    expect(() => checkParameterSizes('', { text: [`'${'x'.repeat(131_067)}`] })).toThrow(beyond)
  })

  test('that is long makes a field of the statement, too', () => {
    const text = 'x'.repeat(131_073)
    expect(() => checkParameterSizes(text, { chain })).not.toThrow()
    expect(() => checkParameterSizes(text, { hashes: hashes.slice(0, 100) })).toThrow(
      'The text of a statement with long parameters has 131073 bytes',
    )
  })
})

describe('statements about more than one may name are asked in several', () => {
  const range = { chain, indices, fromEpoch: 0, toEpoch: 1, fromSlot: 0, toSlot: 32, days: ['2024-10-04'] }
  const block = (proposer_index: unknown) => ({ proposer_index, slot: String(proposer_index), day: '2024-10-04' })
  const duty = (validator_index: unknown) => ({
    ...{ validator_index, epoch: 1, source_gwei: '0', target_gwei: '0', head_gwei: '0' },
    ...{ effective_balance_gwei: '32000000000', activation_epoch: '0', exit_epoch: '9' },
  })
  const index = (validator_index: unknown) => ({ validator_index })
  test.each<
    [
      string,
      string,
      readonly unknown[],
      (item: unknown) => object,
      (from: WarehouseReader) => Promise<readonly unknown[]>,
    ]
  >([
    ['epochs of validators', 'indices', indices, index, (from) => selectValidatorEpochs(from, range)],
    ['blocks', 'indices', indices, block, (from) => selectProposals(from, range)],
    ['blocks that were taken back', 'indices', indices, block, (from) => selectOrphans(from, range)],
    ['missed slots', 'indices', indices, block, (from) => selectMissed(from, range, clock)],
    [
      'attestations',
      'indices',
      indices,
      duty,
      (from) => attestationDuties(from, { ...range, firstEpoch: 1, lastEpoch: 1 }),
    ],
    [
      'differences of epochs',
      'epochs',
      indices,
      (epoch) => ({ epoch }),
      (from) => selectDifferences(from, { chain, epochs: indices }),
    ],
    [
      'evidence of blocks',
      'hashes',
      hashes,
      (hash) => ({ block_hash: hash }),
      (from) => selectEvidence(from, { chain, hashes }),
    ],
  ])('%s', async (_, list, items, rowOf, ask) => {
    const { warehouse, asked } = reader(list, rowOf)
    expect(await ask(warehouse)).toHaveLength(items.length)
    expect(new Set(asked)).toEqual(new Set(items))
  })

  test('validators with the days on which an account has them, also those that are never active', () => {
    const validators = indices.map((index) => ({
      index,
      intervals: [0, 1, 2].map((nth) => ({ fromDay: 20_000 + 2 * nth, toDay: 20_001 + 2 * nth })),
    }))
    const statements = seenInStatements(validators)
    expect(statements.flat()).toEqual(validators)
    for (const some of statements)
      checkParameterSizes(
        '',
        seenByParams([some], () => FAR_FUTURE_EPOCH),
      )
  })

  test('months of which an account has validators in part, each once', async () => {
    const months: readonly [DayNumber, DayNumber] = [
      parseDay('2024-10-01') as DayNumber,
      parseDay('2024-11-01') as DayNumber,
    ]
    const horizon = {
      ...{ chain, clock, summedMonths: new Map(months.map((month) => [month, '1'])) },
      closedDays: months.map((day) => ({ day, lastEpoch: 1, version: '1' })),
    } as unknown as Parameters<typeof periodSums>[1]
    const pairs = indices.slice(0, 9_000).flatMap((index) => months.map((month) => [index, month] as const))
    const nothing = Object.fromEntries([...SUMMED_COLUMNS, 'days', 'days_rounded'].map((column) => [column, '0']))
    const asked: string[] = []
    const warehouse = {
      async query(sql: string, params: QueryParams = {}) {
        checkParameterSizes(sql, params)
        if (sql.includes('FROM monthly_rewards')) return [{ ...nothing, split: [...pairs, ...pairs], moved: '0' }]
        const of = params.splitMonths as readonly number[]
        asked.push(...(params.splitIndices as readonly number[]).map((index, nth) => `${index}/${of[nth]}`))
        return []
      },
    } as unknown as WarehouseReader
    const scope = { warehouse, shared: warehouse } as unknown as Parameters<typeof periodSums>[0]
    const validators = indices.slice(0, 9_000).map((index) => ({ index, intervals: [{ fromDay: 0, toDay: 65_535 }] }))
    const days = { from: months[0], to: months[1] + 1 }
    const question = { validators, days, by: 'month', each: true } as unknown as Parameters<typeof periodSums>[2]
    await periodSums(scope, horizon, question)
    expect(asked).toEqual(pairs.map((pair) => pair.join('/')))
  })

  test('open epochs of a year, while months are backfilled', () => {
    const openEpochs = Array.from({ length: 80_000 }, (_, nth) => 300_000 + nth + (nth > 40_000 ? 5 : 0))
    const horizon = { chain, clock, openDays: [] } as unknown as Parameters<typeof openParams>[0]
    const params = openParams(horizon, openEpochs)
    checkParameterSizes('', params)
    expect(params).toMatchObject({ openFirsts: [300_000, 340_006], openLasts: [340_000, 380_004] })
  })

  test('rows of a batch that came too late', async () => {
    const texts: string[] = []
    const warehouse: Pick<Warehouse, 'command'> = {
      async command(sql, params = {}) {
        checkParameterSizes(sql, params)
        texts.push(sql)
      },
    }
    const late = Array.from({ length: 2_048 }, (_, nth) => ({
      chain,
      version: BigInt(nth),
      rows: [{ table: 'deposits' as const, columns: { chain: [chain], pubkey: [hashes[0] as string] } }],
    }))
    await takeBack(warehouse as Warehouse, late as unknown as Parameters<typeof takeBack>[1])
    expect(Math.max(...texts.map(({ length }) => length))).toBeLessThan(256 * 1024)
    expect(texts.join().match(/version = /g)).toHaveLength(late.length)
  })
})

test('lists for statements are cut by the sizes of their items', () => {
  expect(inStatements([], 2)).toEqual([])
  expect(inStatements([1, 2, 3], 2)).toEqual([[1, 2], [3]])
  expect(inStatements([1, 1, 3, 1, 2], 2, (size) => size)).toEqual([[1, 1], [3], [1], [2]])
})
