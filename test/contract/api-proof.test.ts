import { afterAll, beforeAll, expect, test } from 'vitest'
import type { DayProof } from '../../schemas/routes/rewards/validator-proof.ts'
import { type ApiFixture, epochRow, hashOf, insertRows, moveTables, openApiFixture, pubkeyOf } from './api-fixture.ts'

// Validator 10 on 2026-11-19: slots 7184 to 14383, from the middle of epoch 224 to the middle of epoch 449. Each transition credits it
// with 6 gwei; its other changes are in CHANGES. Epoch 300 has no block in its last two slots.

const PROOF = '/api/v1/validator/rewards/proof'
const DATE = '2026-11-19'
const [FIRST, LAST] = [224, 449]
const START = 32_000_000_000n
/** Slots 7170 and 14390 lie beside the day, in the parts of its first and last epochs that are other days'. */
const CHANGES: readonly (readonly [slot: number, kind: string, gwei: bigint])[] = [
  [7_170, 'sync', 1_000n],
  [7_184, 'sync', 11n],
  [7_185, 'sync', -11n],
  [8_000, 'slashing_penalty', -7n],
  [9_600, 'consolidation_in', 1_000_000n],
  [9_631, 'proposer', 40_000n],
  [9_632, 'moved_to_queue', -2_000n],
  [14_382, 'withdrawal_partial', -500_000n],
  [14_390, 'sync', 2_000n],
]

const isOfDay = (slot: number) => 7_184 <= slot && slot <= 14_383
const ofDay = CHANGES.filter(([slot]) => isOfDay(slot))
const sum = (amounts: readonly bigint[]) => amounts.reduce((one, other) => one + other, 0n)
/** The balance after a slot, told by what has changed it since the day before. */
function balanceAfter(slot: number): bigint {
  const transitions = Math.floor(slot / 32) - FIRST
  const earlier = CHANGES.filter(([at]) => 7_184 <= at && at <= slot).map(([, , gwei]) => gwei)
  return START + 6n * BigInt(transitions) + sum(earlier)
}

let fixture: ApiFixture
beforeAll(async () => {
  fixture = await openApiFixture()
  const { warehouse } = fixture
  const epochs = Array.from({ length: LAST - FIRST + 2 }, (_, i) => FIRST - 1 + i)
  const version = 50
  const day = (slot: number) => (slot < 7_184 ? '2026-11-18' : slot < 14_384 ? DATE : '2026-11-20')
  await insertRows(
    warehouse,
    'validator_epochs',
    epochs.map((epoch) =>
      epochRow(epoch, day(epoch * 32), 10, { balance_gwei: balanceAfter(epoch * 32 + 31), version }),
    ),
  )
  await insertRows(
    warehouse,
    'epoch_proofs',
    epochs.map((epoch) => {
      return {
        epoch,
        level: epoch === 400 ? 'agreed' : 'anchored',
        formulas: 1,
        state_root: hashOf(1e6 + epoch),
        version,
      }
    }),
  )
  await insertRows(
    warehouse,
    'ledger_entries',
    CHANGES.map(([slot, kind, amount_gwei]) => {
      const epoch = Math.floor(slot / 32)
      return { slot, epoch, day: day(slot), validator_index: 10, kind, reference: 5, amount_gwei, version }
    }),
  )
  const blocks = [...epochs.map((epoch) => epoch * 32 + (epoch === 300 ? 29 : 31)), 7_183, 9_631, 14_380]
  await insertRows(
    warehouse,
    'finalized_blocks',
    [...new Set(blocks)].map((slot) => ({
      ...{ slot, epoch: Math.floor(slot / 32), day: day(slot), block_root: hashOf(slot), proposer_index: 9 },
      ...{ execution_block_hash: hashOf(slot), execution_block_number: slot, fee_recipient: '', version: 1 },
    })),
  )
  const credited = 6n * BigInt(LAST - FIRST)
  await insertRows(warehouse, 'daily_rewards', [
    {
      ...{ day: DATE, validator_index: 10, source_gwei: 225, target_gwei: 450, head_gwei: 675, sync_gwei: 0 },
      ...{ proposer_gwei: 40_000, slashing_penalty_gwei: -7, cl_reward_gwei: credited + 39_993n, el_reward_wei: 0 },
      ...{ consolidations_in_gwei: 1_000_000, moved_to_queue_gwei: -2_000, withdrawals_gwei: -500_000 },
      ...{ balance_start_gwei: START, balance_end_gwei: balanceAfter(14_383), level: 'anchored', version },
    },
  ])
  await moveTables(warehouse)
})
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by hand here; the conformance tests check their shape.
async function get(query: string, token?: string): Promise<any> {
  const base = token === undefined ? fixture.base : fixture.base.replace(/[^/]+$/, token)
  return (await fetch(`${base}${PROOF}?${query}`)).json()
}

async function proof(query = ''): Promise<DayProof> {
  const answer = await get(`pubkey=${pubkeyOf(10)}&date=${DATE}&limit=1000${query}`)
  expect(answer.msg).toBe('Success')
  return answer.data
}

test('a day is its epochs, each with what changed the balance from its start to its end, to the gwei', async () => {
  const { epochs, start, end, ...day } = await proof()
  expect(epochs.map(({ epoch }) => epoch)).toEqual(Array.from({ length: LAST - FIRST + 1 }, (_, i) => FIRST + i))
  for (const [at, epoch] of epochs.entries()) {
    const credited = [epoch.source_gwei, epoch.target_gwei, epoch.head_gwei, epoch.inactivity_gwei]
    const changes = [...credited, ...epoch.effects.map((effect) => effect.amount_gwei)].map(BigInt)
    const change = BigInt(epoch.end.balance_gwei ?? '') - BigInt(epoch.start.balance_gwei ?? '')
    expect({ epoch: epoch.epoch, change: sum(changes) }).toEqual({ epoch: epoch.epoch, change })
    expect(epoch).toMatchObject({ residual_gwei: '0', balance_change_gwei: String(change) })
    expect(epoch.start).toEqual(at === 0 ? start : epochs[at - 1]?.end)
    expect(epoch.end.balance_gwei).toBe(String(balanceAfter(epoch.last_slot)))
  }
  expect(epochs.at(-1)?.end).toEqual(end)
  const all = epochs.flatMap(({ effects }) => effects)
  expect(all.map(({ slot, kind, amount_gwei: gwei }) => [slot, kind, BigInt(gwei)])).toEqual(ofDay)
  expect(day).toMatchObject({
    ...{ pubkey: pubkeyOf(10), validator_index: 10, date: DATE, level: 'anchored', is_withheld: false },
    ...{ components_gwei: '41343', flows_gwei: '498000', balance_change_gwei: '539343', residual_gwei: '0' },
    cl_reward_gwei: '41343',
  })
})

test('a balance is named by the last block up to it, and by the root of the state where an epoch ends', async () => {
  const { epochs, start, end } = await proof()
  const named = (slot: number, block: number, state: number | null) =>
    expect.objectContaining({
      ...{ slot, block_slot: block, block_root: hashOf(block) },
      state_root: state === null ? null : hashOf(1e6 + state),
    })
  expect(start).toEqual(named(7_183, 7_183, null))
  expect(end).toEqual(named(14_383, 14_380, null))
  expect(epochs[0]).toMatchObject({
    ...{ first_slot: 7_184, last_slot: 7_199, has_transition: false, source_gwei: '0', level: 'anchored', formulas: 1 },
    end: named(7_199, 7_199, 224),
  })
  const of = (epoch: number) => epochs.find((one) => one.epoch === epoch)
  expect(of(300)).toMatchObject({
    start: named(9_599, 9_599, 299),
    end: named(9_631, 9_631, 300),
    flows_gwei: '1000000',
  })
  expect(of(400)?.level).toBe('agreed')
  expect(of(300)?.effects).toMatchObject([
    { block_root: null },
    { kind: 'proposer', reference: '5', block_root: hashOf(9_631) },
  ])
})

test('comes in pages, whose sums are those of the day', async () => {
  const whole = await proof()
  const query = `pubkey=${pubkeyOf(10)}&date=${DATE}&limit=100`
  const epochs: unknown[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { data, next_cursor, pagination } = await get(`${query}${cursor === '' ? '' : `&cursor=${cursor}`}`)
    expect(pagination.total).toBe(LAST - FIRST + 1)
    epochs.push(...data.epochs)
    expect({ ...data, epochs: [] }).toEqual({ ...whole, epochs: [] })
    cursor = next_cursor
  }
  expect(epochs).toEqual(whole.epochs)
})

test('GraphQL shows the same', async () => {
  const query = `query ($pubkey: String!, $date: String!) { proof(pubkey: $pubkey, date: $date) {
    index date level isWithheld start { slot balance { gwei } stateRoot blockRoot }
    components { gwei } flows { gwei } balanceChange { gwei } residual { gwei }
    epochs(first: 2, after: 299) { epoch lastSlot level hasTransition head { gwei } end { balance { gwei } stateRoot }
      effects { slot kind amount { gwei } blockRoot } residual { gwei } }
  } }`
  const ask = async (variables: object) => {
    const response = await fetch(`${fixture.base}/graphql`, {
      method: 'POST',
      body: JSON.stringify({ query, variables }),
    })
    return response.json()
  }
  const rest = await proof()
  const shown = rest.epochs.filter(({ epoch }) => epoch === 300 || epoch === 301)
  const gwei = (text: string | null) => ({ gwei: text })
  expect(await ask({ pubkey: pubkeyOf(10), date: DATE })).toEqual({
    data: {
      proof: {
        ...{ index: 10, date: DATE, level: 'ANCHORED', isWithheld: false },
        start: { slot: 7_183, balance: gwei(rest.start.balance_gwei), stateRoot: null, blockRoot: hashOf(7_183) },
        ...{ components: gwei(rest.components_gwei), flows: gwei(rest.flows_gwei) },
        ...{ balanceChange: gwei(rest.balance_change_gwei), residual: gwei(rest.residual_gwei) },
        epochs: shown.map((one) => ({
          ...{ epoch: one.epoch, lastSlot: one.last_slot, level: 'ANCHORED', hasTransition: true, head: gwei('3') },
          end: { balance: gwei(one.end.balance_gwei), stateRoot: one.end.state_root },
          effects: one.effects.map(({ slot, kind, amount_gwei: amount, block_root: blockRoot }) => {
            return { slot, kind, amount: gwei(amount), blockRoot }
          }),
          residual: gwei('0'),
        })),
      },
    },
  })
  const refused = await ask({ pubkey: pubkeyOf(10), date: '2026-11-20' })
  expect(refused.errors[0].message).toBe(
    'Param error: date is not closed yet: the newest day that is closed is 2026-11-19',
  )
})

const KEY = `pubkey=${pubkeyOf(10)}`
test.each([
  [`${KEY}&date=2026-13-01`, '4001', /Date format/],
  [`${KEY}&date=yesterday`, '4001', /Date format/],
  [`${KEY}&date=2026-11-21`, '4002', /greater than today/],
  [`${KEY}&date=2026-11-20`, '400', /date is not closed yet: the newest day that is closed is 2026-11-19/],
  [`${KEY}&date=2026-11-16`, '400', /something of the day is missing/],
  [KEY, '400', /date/],
  [`date=${DATE}`, '400', /pubkey/],
  [`pubkey=${pubkeyOf(20)}&date=${DATE}`, '400', /none of the account/],
  [`pubkey=${pubkeyOf(13)}&date=${DATE}`, '400', /not in the registry yet/],
  [`${KEY}&date=${DATE}&cursor=abc`, '400', /cursor/],
])('%s is refused', async (query, code, why) => {
  const answer = await get(query)
  expect([answer.code, answer.data]).toEqual([code, null])
  expect(answer.msg).toMatch(why)
})

test('an epoch that is not explained is shown with what it leaves, and so is a day that other answers leave out', async () => {
  const version = 60
  const residual = { epoch: 310, validator_index: 10, residual_gwei: 9, version }
  await insertRows(fixture.warehouse, 'epoch_residuals', [residual])
  await insertRows(fixture.warehouse, 'epoch_proofs', [
    { epoch: 310, level: 'anchored', formulas: 1, state_root: hashOf(1e6 + 310), version },
  ])
  await fixture.warehouse.command(
    `INSERT INTO validator_epochs SELECT * REPLACE (balance_gwei + 9 AS balance_gwei, ${version} AS version) FROM validator_epochs FINAL
     WHERE chain = 'mainnet' AND epoch = 310 AND validator_index = 10`,
  )
  await fixture.warehouse.command(
    `INSERT INTO daily_rewards SELECT * REPLACE ('unexplained' AS level, ${version} AS version) FROM daily_rewards FINAL
     WHERE chain = 'mainnet' AND day = '${DATE}' AND validator_index = 10`,
  )
  await moveTables(fixture.warehouse)
  const { level, is_withheld, epochs } = await proof()
  expect({ level, is_withheld }).toEqual({ level: 'unexplained', is_withheld: true })
  expect(epochs.filter((one) => one.residual_gwei !== '0')).toMatchObject([
    { epoch: 310, level: 'unexplained', residual_gwei: '9' },
    { epoch: 311, level: 'anchored', residual_gwei: '-9' },
  ])
})
