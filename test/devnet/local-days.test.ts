import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Devnet } from '../../infra/devnet/open.ts'
import { slotTimeSec } from '../../schemas/eth/time.ts'
import { formatEthFromGwei } from '../../schemas/eth/units.ts'
import { insertOwners } from '../contract/api-fixture.ts'
import { JOINER, TRACKED } from '../faults/history.ts'
import { storesOfFile } from '../unit/warehouse-of-file.ts'
import { CHAIN, type HistoryApi, openHistoryApi } from './history-api.ts'

// Days of other offsets than UTC+8, from states to answers. A slot takes a quarter of an hour, so each quarter hour is another cut; which
// slots a date has is counted here by the calendar.

const HEAD_SLOT = 350
const VALIDATOR = 7
/** Goes to another account in the middle of a day. */
const MOVED = 9
/** Of those that are tracked: the others come later, or never. */
const GENESIS_TRACKED = 40
const TIMEOUT_MS = 180_000
const OFFSETS = ['+08:15', '+09:45', '+05:45', '+00:00', '-03:30', '-12:00', '+14:00']

const stores = storesOfFile()
let devnet: Devnet
let history: HistoryApi

beforeAll(async () => {
  history = await openHistoryApi(stores, HEAD_SLOT)
  devnet = history.devnet
}, TIMEOUT_MS)
afterAll(() => history[Symbol.asyncDispose]())

const balance = (slot: number) => BigInt(devnet.history.slot(slot)?.balances[VALIDATOR] ?? 0)

/** Seconds of an offset as text. */
function secondsOf(offset: string): number {
  const [hours = 0, minutes = 0] = offset.slice(1).split(':').map(Number)
  return (offset.startsWith('-') ? -1 : 1) * (hours * 3_600 + minutes * 60)
}

/** Slots of the chain by their dates at an offset. */
function slotsByDate(offset: string): ReadonlyMap<string, readonly number[]> {
  const slots = Array.from({ length: HEAD_SLOT + 1 }, (_, slot) => slot)
  return Map.groupBy(slots, (slot) => {
    return new Date((slotTimeSec(devnet.clock, slot) + secondsOf(offset)) * 1_000).toISOString().slice(0, 10)
  })
}

/** Dates of whole days, whose slots and the one before lie in the three days of UTC+8 that are closed: up to slot 236. */
function wholeDates(offset: string): readonly (readonly [date: string, first: number, last: number])[] {
  return [...slotsByDate(offset)].flatMap(([date, slots]) => {
    const [first = 0, last = 0] = [slots[0], slots.at(-1)]
    return last <= 236 ? [[date, first, last] as const] : []
  })
}

/** The slot whose state a day begins with: before slot 0 there is none but its own, that of the genesis. */
const startOf = (first: number) => Math.max(0, first - 1)

async function rest(offset: string | undefined, accept = 'application/json'): Promise<Response> {
  const dates = 'start_date=2026-01-08&end_date=2026-01-13'
  const query = offset === undefined ? dates : `${dates}&utc_offset=${encodeURIComponent(offset)}`
  const url = `${history.base}/api/v1/validator/rewards?pubkey=${TRACKED[VALIDATOR]}&${query}`
  return await fetch(url, { headers: { accept } })
}

interface Answer {
  readonly data: { readonly rewards: readonly Readonly<Record<string, string>>[] }
  readonly completeness: {
    readonly state: string
    readonly incomplete: readonly { readonly start_date: string; readonly end_date: string }[]
  }
}

test.each(OFFSETS)('the days of %s begin and end with the post-states of their slots', async (offset) => {
  const expected = wholeDates(offset)
  const { data } = (await (await rest(offset)).json()) as Answer
  const eth = (slot: number) => formatEthFromGwei(balance(slot))
  const shown = data.rewards.map((day) => [day.date, day.balance_start, day.balance_end, day.residual])
  expect(shown).toEqual(expected.map(([date, first, last]) => [date, eth(startOf(first)), eth(last), '0']))
  expect(shown.length).toBeGreaterThan(0)
  // A cut one slot beside would be seen, but for a slot without a block.
  for (const [, first, last] of expected)
    for (const slot of [first, last + 1])
      if (devnet.history.block(slot) !== undefined) expect(balance(slot), `slot ${slot}`).not.toBe(balance(slot - 1))
})

test('what a day pays is what its states have more, less what flowed', async () => {
  const { data } = (await (await rest('+05:45')).json()) as Answer
  for (const { date, balance_start, balance_end, cl_reward, withdrawals, deposits } of data.rewards) {
    const gwei = (text = '') => Math.round(Number(text) * 1e9)
    expect([date, gwei(cl_reward)]).toEqual([
      date,
      gwei(balance_end) - gwei(balance_start) - gwei(withdrawals) - gwei(deposits),
    ])
  }
})

/** Each of the days that something of is missing. */
const lackingDates = ({ completeness }: Answer): readonly string[] =>
  completeness.incomplete.flatMap(({ start_date: from, end_date: to }) => {
    const days = (Date.parse(to) - Date.parse(from)) / 86_400_000
    return Array.from({ length: days }, (_, nth) =>
      new Date(Date.parse(from) + nth * 86_400_000).toISOString().slice(0, 10),
    )
  })

test('the same comes as CSV and in GraphQL', async () => {
  const answer = (await (await rest('+05:45')).json()) as Answer
  const { data } = answer
  const [header = '', ...lines] = (await (await rest('+05:45', 'text/csv')).text()).trim().split('\r\n')
  const names = header.split(',')
  const rows = lines.map((line) => Object.fromEntries(line.split(',').map((text, at) => [names[at], text])))
  const figures = (row: Readonly<Record<string, string | undefined>>) => [row.date, row.balance_start, row.cl_reward]
  expect(rows.map(figures)).toEqual(data.rewards.map(figures))
  const query = `{ validators(first: 50) { nodes { index localDays(utcOffset: "+05:45", from: "2026-01-08", to: "2026-01-13") {
    date balanceStart { eth } consensusReward { eth } level } } } }`
  const response = await fetch(`${history.base}/graphql`, { method: 'POST', body: JSON.stringify({ query }) })
  const shown = (await response.json()) as {
    data: { validators: { nodes: { index: number; localDays: Record<string, { eth: string } | null>[] }[] } }
  }
  const all = shown.data.validators.nodes.find(({ index }) => index === VALIDATOR)?.localDays ?? []
  const own = all.filter(({ balanceStart }) => balanceStart !== null)
  expect(all.filter(({ balanceStart }) => balanceStart === null).map(({ date }) => date)).toEqual(lackingDates(answer))
  expect(own.map((day) => [day.date, day.balanceStart?.eth, day.consensusReward?.eth])).toEqual(
    data.rewards.map(figures),
  )
  expect(own.map(({ level }) => level)).toEqual(data.rewards.map(() => 'ANCHORED'))
})

interface AccountDays {
  readonly localDays: readonly {
    readonly date: string
    readonly validatorsCount: number
    readonly validatorsMissingCount: number
    readonly consensusReward: { readonly gwei: string }
    readonly executionReward: { readonly wei: string }
    readonly performance: { readonly components: Readonly<Record<string, { readonly gwei: string }>> }
  }[]
  readonly validators: {
    readonly nodes: readonly {
      readonly localDays: readonly { readonly date: string; readonly executionReward: { readonly wei: string } }[]
    }[]
  }
}

const FLOWS = ['deposits', 'withdrawals', 'returnedFromQueue', 'movedToQueue', 'consolidationsIn', 'consolidationsOut']

async function accountDays(offset: string): Promise<AccountDays> {
  const window = `(utcOffset: "${offset}", from: "2026-01-08", to: "2026-01-13")`
  const query = `{
    localDays${window} { date validatorsCount validatorsMissingCount consensusReward { gwei } executionReward { wei }
      performance { components { ${FLOWS.map((flow) => `${flow} { gwei }`).join(' ')} } } }
    validators(first: 50) { nodes { localDays${window} { date executionReward { wei } } } } }`
  const response = await fetch(`${history.base}/graphql`, { method: 'POST', body: JSON.stringify({ query }) })
  return ((await response.json()) as { data: AccountDays }).data
}

async function dailyRewards(offset: string, accept = 'application/json'): Promise<Response> {
  const query = `start_date=2026-01-08&end_date=2026-01-13&utc_offset=${encodeURIComponent(offset)}`
  return await fetch(`${history.base}/api/v1/validator/daily-rewards?${query}`, { headers: { accept } })
}

test.each(OFFSETS)(
  'a day of %s pays the account what the states of its validators have more, less what flowed',
  async (offset) => {
    const { localDays, validators } = await accountDays(offset)
    const expected = wholeDates(offset)
    expect(localDays.filter((day) => day.validatorsCount > 0).map(({ date }) => date)).toEqual(
      expected.map(([date]) => date),
    )
    for (const [date, first, last] of expected) {
      const day = localDays.find((one) => one.date === date)
      const balances = (slot: number) => devnet.history.slot(slot)?.balances ?? []
      // Its first day begins with nothing, whichever UTC+8 days before it the day lies in.
      const isJoined = balances(last).length > JOINER.index
      const own = [...Array(GENESIS_TRACKED).keys(), ...(isJoined ? [JOINER.index] : [])]
      const sum = (slot: number) => own.reduce((gwei, index) => gwei + BigInt(balances(slot)[index] ?? 0), 0n)
      const flows = FLOWS.reduce((gwei, flow) => gwei + BigInt(day?.performance.components[flow]?.gwei ?? 0), 0n)
      expect([date, day?.validatorsCount, day?.consensusReward.gwei]).toEqual([
        ...[date, own.length],
        String(sum(last) - sum(startOf(first)) - flows),
      ])
      const wei = validators.nodes.flatMap((one) => one.localDays.filter((its) => its.date === date))
      expect(day?.executionReward.wei).toBe(
        String(wei.reduce((total, its) => total + BigInt(its.executionReward.wei), 0n)),
      )
    }
  },
)

test('the account has the same days in REST, as JSON, as CSV and for tax tools, which are told when its day ends', async () => {
  const eth = (gwei: string) => formatEthFromGwei(BigInt(gwei))
  const { localDays } = await accountDays('+05:45')
  const expected = localDays
    .filter((day) => day.validatorsCount > 0)
    .map((day) => [day.date, eth(day.consensusReward.gwei)])
  const { data, completeness } = (await (await dailyRewards('+05:45')).json()) as {
    data: { reward: readonly Readonly<Record<string, string>>[] }
    completeness: Answer['completeness']
  }
  expect(data.reward.map(({ date, cl_reward }) => [date, cl_reward])).toEqual(expected)
  expect(completeness).toMatchObject({ state: 'not_final', incomplete: [] })
  const [, ...lines] = (await (await dailyRewards('+05:45', 'text/csv')).text()).trim().split('\r\n')
  expect(lines.map((line) => line.split(',').filter((_, at) => at === 0 || at === 2))).toEqual(expected)
  const [, entry = ''] = (await (await dailyRewards('+05:45', 'text/csv; profile=koinly')).text()).split('\r\n')
  const [[date, cl] = []] = expected
  expect(entry).toBe(`${date} 18:14:59 UTC,${cl},ETH,reward,Consensus rewards of ${date} (UTC+5:45)`)
  expect(await (await dailyRewards('+05:50')).json()).toMatchObject({ code: '400' })
})

test('+08:00 is what is asked without an offset', async () => {
  expect(await (await rest('+08:00')).json()).toEqual(await (await rest(undefined)).json())
})

test('the UTC+8 day in which the chain began is proven by the states, and lacks nothing', async () => {
  const [[first = '', slots = []] = []] = slotsByDate('+08:00')
  const next = new Date(Date.parse(first) + 86_400_000).toISOString().slice(0, 10)
  const { data } = (await (await rest(undefined)).json()) as Answer
  const eth = (slot = 0) => formatEthFromGwei(balance(slot))
  expect(data.rewards[0]).toMatchObject({
    ...{ date: first, balance_start: eth(0), balance_end: eth(slots.at(-1)), residual: '0' },
    level: 'anchored',
  })
  for (const path of ['validator/daily-rewards', 'cloud/validator/el/settle/rewards']) {
    const response = await fetch(`${history.base}/api/v1/${path}?start_date=${first}&end_date=${next}`)
    const { completeness } = (await response.json()) as Answer
    expect(completeness, path).toMatchObject({ state: 'complete', incomplete: [] })
  }
})

test('GraphQL has the days of UTC+8 by the offset +08:00 as by none, the first one that is whole among them', async () => {
  const dates = 'from: "2026-01-08", to: "2026-01-13"'
  const ofAccount = 'date consensusReward { gwei } executionReward { wei } validatorsCount validatorsMissingCount'
  const ofValidator =
    'date balanceStart { gwei } balanceEnd { gwei } consensusReward { gwei } executionReward { wei } level'
  const both = (fields: string) => `localDays(utcOffset: "+08:00", ${dates}) { ${fields} } days(${dates}) { ${fields} }`
  const query = `{ ${both(ofAccount)} validators(first: 50) { nodes { ${both(ofValidator)} } } }`
  const response = await fetch(`${history.base}/graphql`, { method: 'POST', body: JSON.stringify({ query }) })
  interface Both {
    readonly localDays: readonly unknown[]
    readonly days: readonly { readonly date: string; readonly consensusReward: unknown }[]
  }
  const withFigures = ({ days }: Both) => days.filter(({ consensusReward }) => consensusReward !== null)
  const { data } = (await response.json()) as { data: Both & { validators: { nodes: readonly Both[] } } }
  const closed = [...slotsByDate('+08:00')].flatMap(([date, [first = 0]]) => ([0, 45, 141].includes(first) ? date : []))
  expect(withFigures(data).map(({ date }) => date)).toEqual(closed)
  expect(data.localDays).toEqual(data.days)
  expect(data.validators.nodes.map((node) => withFigures(node).length)).toContain(closed.length)
  for (const { localDays, days } of data.validators.nodes) expect(localDays).toEqual(days)
})

test.each(['+05:50', '+14:15', '-12:15', '5', '+24:00'])('the offset %s is refused', async (offset) => {
  expect(await (await rest(offset)).json()).toMatchObject({ code: '400', msg: expect.stringContaining('utc_offset') })
})

test('a day is left out, and told by completeness, while a UTC+8 day that it lies in is not anchored', async () => {
  const { warehouse } = stores()
  const whole = ((await (await rest('+05:45')).json()) as Answer).data.rewards.map(({ date }) => date)
  await warehouse.command(`
    INSERT INTO daily_rewards SELECT * REPLACE ('consistent' AS level, version + 1 AS version) FROM daily_rewards FINAL
    WHERE chain = '${CHAIN}' AND validator_index = ${VALIDATOR}`)
  await warehouse.command(`INSERT INTO closed_days SELECT * REPLACE (version + 1 AS version) FROM closed_days FINAL`)
  const { data, completeness } = (await (await rest('+05:45')).json()) as Answer
  expect([whole.length > 0, data.rewards]).toEqual([true, []])
  const { localDays } = await accountDays('+05:45')
  const [first] = localDays.filter(({ date }) => date === whole[0])
  expect([first?.validatorsCount, first?.validatorsMissingCount]).toEqual([GENESIS_TRACKED - 1, 1])
  expect(completeness.incomplete).toContainEqual(
    expect.objectContaining({ start_date: whole[0], validators_missing: 1 }),
  )
  expect(((await (await rest(undefined)).json()) as Answer).data.rewards).toHaveLength(3)
})

test('who has a validator on a part of a day lacks it, whoever has the other part', async () => {
  const { warehouse } = stores()
  const before = (await accountDays('+05:45')).localDays
  // The second closed day of UTC+8 begins with slot 141, within a day of the other offset.
  const boundary = [...slotsByDate('+08:00')].find(([, [first]]) => first === 141)?.[0] ?? ''
  const parted = [...slotsByDate('+05:45')].find(([, slots]) => slots.includes(140) && slots.includes(141))?.[0] ?? ''
  const pubkey = TRACKED[MOVED] ?? ''
  await insertOwners(warehouse, [{ account: 'another', pubkey, from: boundary, chain: CHAIN, version: 1_000_000 }])
  const after = (await accountDays('+05:45')).localDays
  const countsOf = (days: AccountDays['localDays']) => {
    const day = days.find(({ date }) => date === parted)
    return [day?.validatorsCount ?? 0, day?.validatorsMissingCount ?? 0] as const
  }
  const [[had, lacked], counts] = [countsOf(before), countsOf(after)]
  expect(counts).toEqual([had - 1, lacked + 1])
  const dates = 'start_date=2026-01-08&end_date=2026-01-13&utc_offset=%2B05:45'
  const own = await fetch(`${history.base}/api/v1/validator/rewards?pubkey=${pubkey}&${dates}`)
  const { completeness } = (await own.json()) as Answer
  expect(completeness.incomplete).toContainEqual(expect.objectContaining({ start_date: parted, validators_missing: 1 }))
})

test('days that lie in the one in which the chain began are not called missing where the log does not tell what it began with', async () => {
  const { warehouse } = stores()
  const [[first = ''] = []] = slotsByDate('+08:00')
  for (const table of ['day_balances', 'closed_days', 'daily_rewards'])
    await warehouse.command(`ALTER TABLE ${table} DELETE WHERE day = '${first}' SETTINGS mutations_sync = 2`)
  await warehouse.command('INSERT INTO closed_days SELECT * REPLACE (version + 1 AS version) FROM closed_days FINAL')
  for (const offset of [undefined, ...OFFSETS]) {
    const { data, completeness } = (await (await rest(offset)).json()) as Answer
    expect(
      data.rewards.map(({ date }) => date),
      offset,
    ).not.toContain(first)
    expect(lackingDates({ data, completeness }), offset).not.toContain(first)
  }
})
