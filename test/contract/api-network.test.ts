import { describe, expect, test } from 'vitest'
import { insertRows, pubkeyOf } from './api-fixture.ts'
import { epochsFrom, FIRST_EPOCH, LAST_EPOCH, networkOfFile } from './given-network.ts'

const WINDOW = 'from: "2026-11-19", to: "2026-11-20"'
const ETH = 1_000_000_000n

const { fixture, ask, proofs } = networkOfFile()

describe('missed proposals', () => {
  const missed = (slot: number, proposer_index: number, version: number) => ({
    ...{ slot, epoch: Math.floor(slot / 32), proposer_index, version },
    day: slot < 7_184 ? '2026-11-18' : slot < 14_384 ? '2026-11-19' : '2026-11-20',
  })
  async function ofValidators(window = WINDOW) {
    const { validators } = await ask(
      `{ validators(pubkeys: ["${pubkeyOf(10)}", "${pubkeyOf(11)}"]) { nodes {
          proposals(${window}) { proposedCount orphanedSlots missedSlots missedCount missedReason } } } }`,
    )
    return validators.nodes.map(({ proposals }: { proposals: unknown }) => proposals)
  }
  const UNKNOWN = { missedCount: null, missedReason: 'PROPOSERS_OF_EMPTY_SLOTS_NOT_RECORDED' }

  test('are unknown, and not none, while nobody has told whose turn slots were', async () => {
    expect(await ofValidators()).toEqual([
      { proposedCount: 1, orphanedSlots: [], missedSlots: [], ...UNKNOWN },
      { proposedCount: 0, orphanedSlots: [], missedSlots: [], ...UNKNOWN },
    ])
  })

  test('are told as far as they are known, and counted when all of them are', async () => {
    const { warehouse } = fixture()
    await insertRows(warehouse, 'missed_slots', [
      missed(7_183, 10, 5), // of the day before
      missed(7_184, 10, 5),
      missed(9_000, 11, 5),
      missed(14_370, 10, 5),
      missed(14_384, 10, 5), // of the day after
    ])
    await proofs(epochsFrom(224, 448), 5)
    expect(await ofValidators()).toMatchObject([
      { missedSlots: [7_184], ...UNKNOWN },
      { missedSlots: [9_000], ...UNKNOWN },
    ])
    await proofs([449], 5)
    expect(await ofValidators()).toMatchObject([
      { missedSlots: [7_184, 14_370], missedCount: 2, missedReason: null },
      { missedSlots: [9_000], missedCount: 1, missedReason: null },
    ])
    // The day before begins with epochs that nobody has told.
    expect(await ofValidators('from: "2026-11-18", to: "2026-11-20"')).toMatchObject([
      { missedSlots: [7_183, 7_184, 14_370], ...UNKNOWN },
      UNKNOWN,
    ])
  })

  test('a slot whose block the head has shown is orphaned, and not missed', async () => {
    await insertRows(fixture().warehouse, 'beacon_blocks', [
      {
        ...{
          slot: 14_370,
          block_root: `0x${'a1'.repeat(32)}`,
          parent_root: `0x${'11'.repeat(32)}`,
          proposer_index: 10,
        },
        ...{ execution_block_hash: `0x${'22'.repeat(32)}`, execution_block_number: 1, version: 2, is_deleted: 0 },
      },
    ])
    expect(await ofValidators()).toMatchObject([
      { orphanedSlots: [14_370], missedSlots: [7_184], missedCount: 1 },
      { missedCount: 1 },
    ])
  })

  test.each([
    ['was told again, by endpoints', { level: 'reported', has_proposers: 0, is_compared: 0 }],
    ['is of a state that no block names', { level: 'consistent' }],
  ])('of an epoch that %s nothing is known', async (_, more) => {
    await proofs([224], more.level === 'reported' ? 6 : 7, more)
    expect(await ofValidators()).toMatchObject([
      { missedSlots: [], ...UNKNOWN },
      { missedSlots: [9_000], ...UNKNOWN },
    ])
  })

  test('of an epoch that was told again its newest event counts', async () => {
    await insertRows(fixture().warehouse, 'missed_slots', [missed(7_185, 11, 8)])
    await proofs([224], 8)
    expect(await ofValidators()).toMatchObject([
      { missedSlots: [], missedCount: 0 },
      { missedSlots: [7_185, 9_000], missedCount: 2 },
    ])
  })
})

describe('averages of the network', () => {
  const AVERAGE = `network(${WINDOW}) { date averageReason average {
    activeValidatorsCount effectiveBalance { eth } consensusReward { gwei } consensusApr effectiveness
    source { gwei } inactivity { gwei } sync { gwei } proposer { gwei } slashingPenalty { gwei } } }`
  const sums = (epoch: number, active: number, version: number) => ({
    ...{ epoch, day: '2026-11-19', active_validators: active, effective_balance_gwei: 40n * ETH * BigInt(active) },
    ...{ source_gwei: 10 * active, target_gwei: 20 * active, head_gwei: 6 * active, inactivity_gwei: -active },
    ...{ sync_gwei: -2 * active, proposer_gwei: 5 * active, slashing_penalty_gwei: -3 * active },
    ...{ ideal_attestations_gwei: 48 * active, version },
  })

  test('are none while an epoch of the day was not computed of states that the chain names', async () => {
    await proofs(epochsFrom(FIRST_EPOCH, LAST_EPOCH), 10)
    await insertRows(
      fixture().warehouse,
      'network_epochs',
      epochsFrom(FIRST_EPOCH, LAST_EPOCH).map((epoch) => sums(epoch, epoch % 2 === 0 ? 900 : 1_101, 10)),
    )
    await proofs([300], 11, { level: 'reported' })
    const none = { date: '2026-11-19', averageReason: 'NOT_COMPUTED_OF_STATES', average: null }
    expect((await ask(`{ ${AVERAGE} }`)).network).toEqual([none])
    await insertRows(fixture().warehouse, 'network_epochs', [sums(300, 900, 12)])
    await proofs([300], 12, { level: 'consistent' })
    expect((await ask(`{ ${AVERAGE} }`)).network).toEqual([none])
  })

  test('are over all validators that were active, and all of the epochs that begin in the day', async () => {
    await insertRows(fixture().warehouse, 'network_epochs', [
      sums(300, 900, 13),
      sums(224, 5_000, 13),
      sums(450, 5_000, 13),
    ])
    await proofs([224, 300, 450], 13, { level: 'agreed' })
    const { network } = await ask(`{ ${AVERAGE} }`)
    // 112 epochs of 900 validators and 113 of 1,101: 1,000.9 of them on average. Each earns the same in each epoch.
    const year = (35 / 40e9) * (31_557_600 / 384)
    const { consensusApr, ...average } = network[0].average
    expect(Math.abs(Number(consensusApr) - year)).toBeLessThan(1e-8)
    const eachEpoch = (gwei: number) => ({ gwei: String(225 * gwei) })
    expect(average).toEqual({
      activeValidatorsCount: 1_000,
      effectiveBalance: { eth: '40' },
      consensusReward: eachEpoch(10 + 20 + 6 - 1 - 2 + 5 - 3),
      effectiveness: '0.750000',
      source: eachEpoch(10),
      inactivity: eachEpoch(-1),
      sync: eachEpoch(-2),
      proposer: eachEpoch(5),
      slashingPenalty: eachEpoch(-3),
    })
  })

  test('have parts that add up to the reward, whatever each was rounded by', async () => {
    // 900 active ones share the sums of 225 epochs: a quarter of an epoch's sum each, which never is a whole number.
    const uneven = (epoch: number) => ({
      ...sums(epoch, 900, 19),
      ...{ source_gwei: 3_001, target_gwei: 5_003, head_gwei: 1_001, inactivity_gwei: -1_001 },
      ...{ sync_gwei: 701, proposer_gwei: 1_301, slashing_penalty_gwei: -1 },
    })
    await insertRows(fixture().warehouse, 'network_epochs', epochsFrom(FIRST_EPOCH, LAST_EPOCH).map(uneven))
    await proofs(epochsFrom(FIRST_EPOCH, LAST_EPOCH), 19)
    const names = ['source', 'target', 'head', 'inactivity', 'sync', 'proposer', 'slashingPenalty']
    const query = `{ network(${WINDOW}) { average { consensusReward { gwei } ${names.map((name) => `${name} { gwei }`).join(' ')} } } }`
    const { average } = (await ask(query)).network[0]
    // All of them together would be 10,005 by four: 2,501.
    expect(names.map((name) => average[name].gwei)).toEqual(['750', '1250', '250', '-250', '175', '325', '0'])
    expect(average.consensusReward.gwei).toBe('2500')
  })

  test('of a day in which nobody could earn anything have no effectiveness', async () => {
    const leak = (epoch: number) => ({ ...sums(epoch, 900, 20), ideal_attestations_gwei: 0 })
    await insertRows(fixture().warehouse, 'network_epochs', epochsFrom(FIRST_EPOCH, LAST_EPOCH).map(leak))
    await proofs(epochsFrom(FIRST_EPOCH, LAST_EPOCH), 20)
    const { network } = await ask(`{ network(${WINDOW}) { average { effectiveness activeValidatorsCount } } }`)
    expect(network).toEqual([{ average: { effectiveness: null, activeValidatorsCount: 900 } }])
  })
})

describe('nodes that differ', () => {
  const differing = (epoch: number, node: string, what: string, version: number) => ({
    ...{ epoch, node, what, version, client: `Client/${version}` },
  })

  test('are named by epoch, with what and their client, by its newest event', async () => {
    await insertRows(fixture().warehouse, 'epoch_differences', [
      differing(451, 'beacon node 2', 'state root', 30),
      differing(451, 'beacon node 3', 'proposer rewards', 30),
      differing(450, 'beacon node 2', 'state root', 29),
    ])
    await proofs([450, 451], 30)
    await proofs([449], 30, { level: 'reported', is_compared: 0 })
    const { epochs } = await ask('{ epochs(first: 3) { nodes { epoch level differences { node client what } } } }')
    const client = 'Client/30'
    expect(epochs.nodes).toEqual([
      {
        ...{ epoch: 451, level: 'anchored' },
        differences: [
          { node: 'beacon node 2', client, what: 'state root' },
          { node: 'beacon node 3', client, what: 'proposer rewards' },
        ],
      },
      { epoch: 450, level: 'anchored', differences: [] },
      { epoch: 449, level: 'reported', differences: null },
    ])
  })
})

test('asks once for each field, however many days, epochs and validators', async () => {
  const statementsOf = async (epochs: number, from: string) => {
    const query = `{ epochs(first: ${epochs}) { nodes { differences { node } } }
      network(from: "${from}", to: "2026-11-20") { average { consensusApr } averageReason }
      validators(first: ${epochs}) { nodes { proposals(${WINDOW}) { missedCount } } } }`
    await ask(query) // what requests of an account share
    const before = fixture().statements.length
    await ask(query)
    return fixture().statements.length - before
  }
  expect(await statementsOf(3, '2026-11-18')).toBe(await statementsOf(1, '2026-11-19'))
})
