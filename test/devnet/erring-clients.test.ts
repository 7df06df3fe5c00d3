import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Api, openApi } from '../../api/http/server.ts'
import { openHttpBeaconSource } from '../../infra/beacon/http-source.ts'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import { chainNames } from '../../schemas/chains.ts'
import { isWithheld } from '../../schemas/tables/day-levels.ts'
import type { DailyRewardRow } from '../../schemas/tables/rewards.ts'
import { type GivenApi, openGivenApi, TOKEN } from '../contract/given-api.ts'
import { type NodeFault, openFaultyNode, TrueNode } from '../faults/faulty-node.ts'
import { changed } from '../faults/replies.ts'
import { processLog } from '../unit/processing.ts'
import { silentLog } from '../unit/silent-log.ts'
import { ERRING_CLIENTS, type ErringClient, lightChainOf } from './erring-clients.ts'
import {
  appendExecution,
  DAYS,
  followLight,
  JOINED,
  type LightHistory,
  NEXT_EPOCH,
  openLightHistory,
  track,
  trueIncomes,
} from './light-way.ts'
import { EXITED_BY_REQUEST, SLASHED_ATTESTER, SLASHED_PROPOSER, VOLUNTARILY_EXITED } from './short-history.ts'

// The light way: figures of a node's reward endpoints, of clients that err as real ones are known to. What they tell goes through the source,
// the ingester, the processors and the API; whatever is answered of it is what has come true by the chain's balances.

/** Some are weak or offline, one joins, one is topped up, two are slashed, two leave. */
const TRACKED = [
  ...Array.from({ length: 16 }, (_, index) => index),
  ...[SLASHED_PROPOSER, EXITED_BY_REQUEST, 37, VOLUNTARILY_EXITED, SLASHED_ATTESTER, JOINED],
]
const WHOLE_DAY = 1
/** Of an epoch, as much as nodes round; what is not settled by balances has it in its sums. */
const ROUNDING_GWEI_MAX = 4n

/** The same history, of two nodes that give its states. */
const COMPUTED = 'computed'
/** And of a second one that names another state after one of the day's epochs. */
const DOUBTED = 'doubted'
const otherRoot: NodeFault = {
  of: ({ path }) => path === '/eth/v1/beacon/states/95/root',
  reply: changed((answer) => ({ ...answer, data: { root: `0x${'ab'.repeat(32)}` } })),
}
const chainOf = (client: ErringClient) => `case${String(ERRING_CLIENTS.indexOf(client)).padStart(2, '0')}`
/** A minute on a machine that does nothing else: as many chains as clients are read, processed and closed. */
const FILLED_TIMEOUT_MS = 400_000
const directory = mkdtempSync(join(tmpdir(), 'epochline-erring-'))
const told = new Map<string, readonly string[]>()
let history: LightHistory
let tracked: ReadonlyMap<string, readonly number[]>
let given: GivenApi
let api: Api

beforeAll(async () => {
  history = await openLightHistory()
  const { devnet, blocks } = history
  await using truth = new TrueNode(devnet.beaconUrl)
  truth.isSettled = true
  await using source = await openHttpBeaconSource({ urls: [devnet.beaconUrl], log: silentLog })
  const chain = lightChainOf(devnet)
  const oneSeat = Array.from({ length: 128 }, (_, index) => index).find((index) => chain.seatsOf(index) === 1)
  if (oneSeat === undefined) throw new Error('everybody has several seats')
  tracked = new Map([
    [COMPUTED, [...new Set([...TRACKED, oneSeat])].sort((a, b) => a - b)],
    [DOUBTED, TRACKED],
    ...ERRING_CLIENTS.map((client) => [chainOf(client), client.isOneSeat === true ? [oneSeat] : TRACKED] as const),
  ])
  await using eventLog = await openSqliteEventLog({ file: join(directory, 'log.sqlite') })
  await track(eventLog, tracked)
  const ways = [
    { name: COMPUTED, nodes: [[], []], rewardsBy: 'states' as const },
    { name: DOUBTED, nodes: [[], [otherRoot]], rewardsBy: 'states' as const },
    ...ERRING_CLIENTS.map((client) => {
      return { name: chainOf(client), nodes: [client.faults(chain)], rewardsBy: 'endpoints' as const }
    }),
  ]
  for (const { name, nodes, rewardsBy } of ways) {
    await using open = new AsyncDisposableStack()
    const urls: string[] = []
    for (const faults of nodes) urls.push(open.use(await openFaultyNode(truth, faults)).url)
    told.set(name, await followLight(eventLog, { chain: name, urls, rewardsBy }))
    await appendExecution(eventLog, name, blocks, source)
  }
  given = await openGivenApi()
  await processLog(eventLog, given.warehouse)
  const chains = [...tracked.keys()].map((name) => ({ names: chainNames('ethereum', name), hasBeacon: true }))
  const now = () => Date.parse('2026-01-13T04:00:00Z')
  api = await openApi({ ...given.partsOf(chains), now, wallNow: now, host: '127.0.0.1', port: 0 })
}, FILLED_TIMEOUT_MS)

afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
  await given?.[Symbol.asyncDispose]()
  await history?.[Symbol.asyncDispose]()
  rmSync(directory, { recursive: true, force: true })
})

async function answer(chain: string, path: string) {
  return (await fetch(`${api.url}/ethereum/${chain}/${TOKEN}/api/v1/validator/${path}`)).json()
}

const toGwei = (eth: string): bigint => {
  const [whole = '', part = ''] = eth.split('.')
  return BigInt(`${whole}${part.slice(0, 9).padEnd(9, '0')}`)
}
const sumOf = (gwei: readonly bigint[]) => gwei.reduce((sum, one) => sum + one, 0n)
const isNear = (one: bigint, other: bigint, by: bigint) => one - other <= by && other - one <= by

interface Figures {
  /** Rows of the whole day. */
  readonly rows: readonly DailyRewardRow[]
  /** The first epoch that is not in the log. */
  readonly nextEpoch: number
  /** What each validator earned on each of the days, up to that epoch. */
  readonly incomes: ReadonlyMap<number, readonly bigint[]>
}

async function figuresOf(chain: string): Promise<Figures> {
  const [horizon] = await given.warehouse.query<{ next: string }>(
    'SELECT toString(if(count() = 0, 0, max(epoch) + 1)) AS next FROM epochs FINAL WHERE chain = {chain:String}',
    { chain },
  )
  const rows = await given.warehouse.query<DailyRewardRow>(
    'SELECT * FROM daily_rewards FINAL WHERE chain = {chain:String} AND day = {day:Date} ORDER BY validator_index',
    { chain, day: DAYS[WHOLE_DAY] },
  )
  const nextEpoch = Number(horizon?.next)
  const indices = tracked.get(chain) ?? []
  return { rows, nextEpoch, incomes: new Map(indices.map((index) => [index, trueIncomes(history, index, nextEpoch)])) }
}

/** Sums that a total may be: of the days that are counted. */
function* countedDays(days: readonly bigint[]): Generator<{ readonly left: readonly number[]; readonly gwei: bigint }> {
  for (let set = 0; set < 2 ** days.length; set++) {
    const isLeft = (day: number) => ((set >> day) & 1) === 1
    const left = [...days.keys()].filter(isLeft)
    yield { left, gwei: sumOf(days.filter((_, day) => !isLeft(day))) }
  }
}

/** How many validators each of the days lacks, as totals say it. */
function lacking(incomplete: readonly { start_date: string; end_date: string; validators_missing: number | null }[]) {
  return DAYS.map((date) => {
    const found = incomplete.find(({ start_date: from, end_date: to }) => from <= date && date < to)
    return found?.validators_missing ?? 0
  })
}

const COMPONENTS = [
  ...(['source_gwei', 'target_gwei', 'head_gwei', 'inactivity_gwei', 'sync_gwei', 'proposer_gwei'] as const),
  'slashing_penalty_gwei',
] as const
const componentsOf = (row: DailyRewardRow) => COMPONENTS.map((name) => String(row[name]))

describe.each(ERRING_CLIENTS.map((client) => ({ client, name: `${client.issue}: ${client.error}` })))(
  '$name',
  ({ client }) => {
    const chain = chainOf(client)

    test('what is answered of a day is what has come true', async () => {
      const { rows, incomes } = await figuresOf(chain)
      const published = rows.filter(({ is_whole: isWhole, level }) => isWhole === 1 && !isWithheld(level))
      const trueOf = (index: number) => incomes.get(index)?.[WHOLE_DAY] ?? 0n
      for (const row of published) {
        expect(row, `validator ${row.validator_index}`).toMatchObject({
          cl_reward_gwei: String(trueOf(row.validator_index)),
          level: expect.stringMatching(/^(consistent|rounding)$/),
        })
      }
      const sum = sumOf(published.map(({ validator_index: index }) => trueOf(index)))
      const path = `daily-rewards?start_date=${DAYS[WHOLE_DAY]}&end_date=${DAYS[WHOLE_DAY + 1]}`
      const { data, completeness } = await answer(chain, path)
      expect(sumOf(data.reward.map((day: { readonly cl_reward: string }) => toGwei(day.cl_reward)))).toBe(sum)
      if (rows.length === 0) expect(completeness.state).toBe('not_final')
      else expect(lacking(completeness.incomplete)[WHOLE_DAY]).toBe(rows.length - published.length)
    })

    test('what is proven has the components that states explain', async () => {
      const { rows: computed } = await figuresOf(COMPUTED)
      expect(computed.map(({ level }) => level)).toEqual(computed.map(() => 'agreed'))
      for (const row of (await figuresOf(chain)).rows.filter(({ level }) => level === 'consistent')) {
        const same = computed.find(({ validator_index: index }) => index === row.validator_index) as DailyRewardRow
        expect(componentsOf(row), `validator ${row.validator_index}`).toEqual(componentsOf(same))
      }
    })

    test('totals are what has come true on the days that are counted, open ones too', async () => {
      const { incomes, nextEpoch } = await figuresOf(chain)
      const { data, completeness } = await answer(chain, 'total-rewards?limit=100')
      const roundingGwei = client.fate === 'rounded' ? ROUNDING_GWEI_MAX * BigInt(nextEpoch) : 0n
      const missing = DAYS.map(() => 0)
      for (const { validator_index: index, cl_total_reward: eth } of data.validator_details) {
        const days = incomes.get(index) ?? []
        const likely = [...countedDays(days)].filter(({ gwei }) => isNear(gwei, toGwei(eth), roundingGwei))
        const [fewest] = likely.toSorted((one, other) => one.left.length - other.left.length)
        expect(fewest, `validator ${index} has ${toGwei(eth)} of ${days}`).toBeDefined()
        for (const day of fewest?.left ?? []) missing[day] = (missing[day] ?? 0) + 1
      }
      expect(lacking(completeness.incomplete)).toEqual(missing)
    })

    test(`figures are ${client.fate}`, async () => {
      const { rows, nextEpoch } = await figuresOf(chain)
      const { completeness } = await answer(chain, 'total-rewards?limit=100')
      const missing = lacking(completeness.incomplete).reduce((sum, one) => sum + one, 0)
      const levels = new Set(rows.map(({ level }) => level))
      const lines = told.get(chain)?.join('\n')
      if (client.tells !== undefined) expect(lines).toMatch(client.tells)
      if (client.fate === 'published') expect({ levels: [...levels], missing, lines }).toEqual(PUBLISHED)
      if (client.fate === 'rounded') expect({ has: levels.has('rounding'), missing }).toEqual({ has: true, missing: 0 })
      if (client.fate === 'refused') expect({ rows, has: nextEpoch < NEXT_EPOCH }).toEqual({ rows: [], has: true })
      // What is refused says nothing of anybody's balance.
      if (client.fate === 'refused') expect(lines).not.toMatch(/explain/)
      if (client.fate === 'withheld') {
        expect(missing).toBeGreaterThan(0)
        expect(lines).toMatch(/does not explain the balances of \d+ validators \(validator \d+: -?\d+ gwei\)/)
      }
    })
  },
)

describe('computed of states that several nodes have', () => {
  const DAYS_OF_ALL = `{ validators(first: 100) { nodes { index days(from: "${DAYS[WHOLE_DAY]}", to: "${DAYS[WHOLE_DAY + 1]}") {
    level isProven consensusReward { gwei }
  } } } }`
  const daysOf = async (chain: string) => {
    const asked = { method: 'POST', body: JSON.stringify({ query: DAYS_OF_ALL }) }
    const { data } = await (await fetch(`${api.url}/ethereum/${chain}/${TOKEN}/graphql`, asked)).json()
    return data.validators.nodes as readonly { readonly index: number; readonly days: readonly object[] }[]
  }

  test.each([
    [COMPUTED, 'AGREED', /^$/],
    [
      DOUBTED,
      'ANCHORED',
      /^beacon node 2 \(\S+\) names another root for the state of slot 95 than the chain's blocks do/,
    ],
  ])('a day of the chain %s is %s to the API, with the same figures', async (chain, level, line) => {
    expect(told.get(chain)?.join('\n')).toMatch(line)
    const { incomes } = await figuresOf(chain)
    const days = await daysOf(chain)
    expect(days.map(({ index }) => index)).toEqual([...incomes.keys()].sort((one, other) => one - other))
    for (const { index, days: own } of days) {
      const gwei = String(incomes.get(index)?.[WHOLE_DAY])
      expect(own, `validator ${index}`).toEqual([{ level, isProven: true, consensusReward: { gwei } }])
    }
  })
})

const PUBLISHED = { levels: ['consistent'], missing: 0, lines: '' }
