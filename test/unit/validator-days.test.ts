import { expect, test } from 'vitest'
import type { Standing } from '../../api/http/standings.ts'
import type { Horizon } from '../../api/rewards/horizon.ts'
import { validatorDays } from '../../api/rewards/validator-days.ts'
import type { QueryParams, WordsReader } from '../../infra/ports/warehouse.ts'
import { checkParameterSizes } from '../../infra/warehouse/parameter-sizes.ts'
import { formatDay } from '../../schemas/eth/time.ts'

const DAY = 20_000
const horizon: Horizon = {
  chain: 'mainnet',
  epoch: 9,
  clock: { genesisTimeSec: 0, secondsPerSlot: 12, slotsPerEpoch: 32 },
  closedDays: [DAY, DAY + 1, DAY + 3].map((day) => ({ day, lastEpoch: 1, version: '1' })),
  summedMonths: new Map(),
  daysWithoutStart: [],
  openDays: [],
  openEpochs: [],
  exchanges: '',
}

/** Tables in which validator 7 was the account's until the second day, and every validator has a row of every day. */
function tables(validators: number) {
  const asked: QueryParams[] = []
  const warehouse: WordsReader = {
    queryWords: () => Promise.resolve(new Uint32Array()),
    async query<Row>(sql: string, params: QueryParams = {}) {
      if (!sql.includes('FROM daily_rewards')) {
        const seen = Array.from({ length: validators }, (_, validator_index) => ({
          account: 'demo',
          pubkey: `key ${validator_index}`,
          from_day: 0,
          to_day: validator_index === 7 ? DAY + 1 : 65_535,
          is_registered: 1,
          validator_index,
          withdrawal_credentials: '',
        }))
        return seen as Row[]
      }
      checkParameterSizes(sql, params)
      asked.push(params)
      const days = [DAY, DAY + 1, DAY + 2, DAY + 3].map(formatDay)
      const isAsked = (day: string) => String(params.from) <= day && day < String(params.to)
      const indices = params.indices as readonly number[]
      return days
        .filter(isAsked)
        .flatMap((day) => indices.map((validator_index) => ({ day, validator_index }))) as Row[]
    },
  }
  const standing: Standing = {
    figures: {},
    chain: 'mainnet',
    position: '1',
    tokenOf: () => undefined,
    validatorsOf: () => validators,
    warehouse,
  }
  const ask = async (indices: readonly number[], from: number, to: number) => {
    const scope = { standing, account: 'demo', shared: warehouse, warehouse }
    const rows = await validatorDays(scope, horizon, { indices: new Set(indices), days: { from, to } })
    return rows.map(({ day, validator_index }) => `${validator_index} on ${day}`)
  }
  return { asked, ask }
}

test.each([10, 1_000])('finds closed days on which an account of %i validators has them', async (validators) => {
  const { ask } = tables(validators)
  expect(await ask([7, 8], DAY - 20, DAY + 4)).toEqual([
    '7 on 2024-10-04',
    '8 on 2024-10-04',
    '8 on 2024-10-05',
    '8 on 2024-10-07',
  ])
  expect(await ask([8], DAY + 1, DAY + 3)).toEqual(['8 on 2024-10-05'])
  expect(await ask([8], DAY, DAY)).toEqual([])
})

test('reads the days of all validators of an account once, unless they are too many', async () => {
  const small = tables(10)
  for (const index of [1, 2, 3]) await small.ask([index], DAY, DAY + 1)
  expect(small.asked).toHaveLength(1)
  const large = tables(1_000)
  for (const index of [1, 2, 3]) await large.ask([index], DAY, DAY + 1)
  expect(large.asked.map(({ indices }) => indices)).toEqual([[1], [2], [3]])
})

test('finds a day of more validators than one statement may name', async () => {
  const { asked, ask } = tables(25_000)
  const all = Array.from({ length: 25_000 }, (_, index) => index)
  expect(await ask(all, DAY, DAY + 1)).toEqual(all.map((index) => `${index} on 2024-10-04`))
  expect(asked).toHaveLength(3)
})
