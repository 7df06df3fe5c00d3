import { describe, expect, test } from 'vitest'
import { backfill } from '../../ingest/backfill/backfill.ts'
import type { EpochRange } from '../../ingest/backfill/epoch-range.ts'
import { countByReason, type FillGap, fillGaps, type RefusedGap } from '../../ingest/backfill/fill-gaps.ts'
import { findGaps } from '../../ingest/backfill/gaps.ts'
import { AppError } from '../../schemas/errors.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { epochsRetracted } from '../../schemas/events/log-facts.ts'
import { earlierEpoch } from './earlier-epoch.ts'
import { eventLogOfEachTest } from './event-log-of-each-test.ts'
import { BEACON_CHAIN, chainTo, eventsIn, ofChain, trackValidators } from './follow-synthetic.ts'
import { SLOTS_PER_EPOCH, type SyntheticChain, syntheticChain } from './synthetic-chain.ts'
import { tellAsComputed } from './tell-as-computed.ts'

const never = new AbortController().signal
const eventLog = eventLogOfEachTest()

const options = (chain: SyntheticChain) => ({
  ...ofChain(BEACON_CHAIN, eventLog()),
  beacon: chain.beacon,
  execution: chain.execution,
})
const fill = (chain: SyntheticChain, fromEpoch: number, toEpoch: number) =>
  backfill(options(chain), { fromEpoch, toEpoch }, never)
const track = (indices: readonly number[]) => trackValidators(eventLog(), indices, BEACON_CHAIN)
const gapsOf = async (chain: SyntheticChain, range?: EpochRange) => (await findGaps(options(chain), range, never)).gaps

test('epochs that the log lacks between those that it has are one gap, which a backfill of it closes', async () => {
  await track([1])
  const chain = chainTo(60)
  await fill(chain, 2, 3)
  await fill(chain, 7, 9)
  expect(await findGaps(options(chain), undefined, never)).toEqual({
    searched: { fromEpoch: 2, toEpoch: 9 },
    gaps: [{ fromEpoch: 4, toEpoch: 6, lacking: undefined, isComputed: false }],
  })
  await fill(chain, 4, 6)
  expect(await gapsOf(chain)).toEqual([])
})

test('epochs that release 0.1 has told, before the others and behind them, are gaps until they are told again', async () => {
  await track([1])
  const chain = chainTo(60)
  const clock = { genesisTimeSec: 0, secondsPerSlot: 12, slotsPerEpoch: SLOTS_PER_EPOCH }
  const told = { network: BEACON_CHAIN, clock, blocks: [], withdrawals: [], slashings: [], deposits: [] }
  await eventLog().append(
    'beacon.epochs',
    [3, 4, 8].map((epoch) => earlierEpoch({ version: 1, header: { ...told, epoch } })),
  )
  await fill(chain, 5, 7)
  const gap = { lacking: undefined, isComputed: false }
  expect(await findGaps(options(chain), undefined, never)).toEqual({
    searched: { fromEpoch: 3, toEpoch: 8 },
    gaps: [
      { fromEpoch: 3, toEpoch: 4, ...gap },
      { fromEpoch: 8, toEpoch: 8, ...gap },
    ],
  })
  await fill(chain, 3, 8)
  expect(await gapsOf(chain)).toEqual([])
})

test('an event at the end of the log that cannot be read is a gap, too', async () => {
  await track([1])
  const chain = chainTo(60)
  await fill(chain, 2, 6)
  const last = (await eventsIn(eventLog(), 'beacon.epochs')).filter(({ id }) => /:(2|6)$/.test(id))
  await eventLog().append(
    'beacon.epochs',
    last.map((event) => ({ ...event, id: event.id.replace(/6$/, '7'), data: new Uint8Array([1]) })),
  )
  const gap = { lacking: undefined, isComputed: false }
  expect(await findGaps(options(chain), undefined, never)).toMatchObject({
    searched: { fromEpoch: 2, toEpoch: 7 },
    gaps: [
      { fromEpoch: 2, toEpoch: 2, ...gap },
      { fromEpoch: 7, toEpoch: 7, ...gap },
    ],
  })
})

test('a range that was asked for is looked at whole, beyond what the log has', async () => {
  await track([1])
  const chain = chainTo(60)
  await fill(chain, 4, 5)
  expect(await gapsOf(chain, { fromEpoch: 3, toEpoch: 6 })).toEqual([
    { fromEpoch: 3, toEpoch: 3, lacking: undefined, isComputed: false },
    { fromEpoch: 6, toEpoch: 6, lacking: undefined, isComputed: false },
  ])
})

test('a validator that was tracked later is lacking from the epoch on in which it is active', async () => {
  const chain = chainTo(80)
  chain.joinEpochs.set(3, 3) // active from epoch 7 on
  await track([1])
  await fill(chain, 2, 10)
  await track([3])
  await fill(chain, 10, 11)
  expect(await gapsOf(chain)).toEqual([{ fromEpoch: 7, toEpoch: 9, lacking: 1, isComputed: false }])
  await fill(chain, 7, 9)
  expect(await gapsOf(chain)).toEqual([])
})

test('a validator that the log tells of nowhere yet is lacking from the epoch on in which it is active', async () => {
  const chain = chainTo(80)
  chain.joinEpochs.set(3, 3) // active from epoch 7 on
  await track([1])
  await fill(chain, 2, 10)
  await track([2, 3])
  expect(await gapsOf(chain)).toEqual([{ fromEpoch: 2, toEpoch: 10, lacking: 2, isComputed: false }])
  expect(await gapsOf(chain, { fromEpoch: 2, toEpoch: 6 })).toEqual([
    { fromEpoch: 2, toEpoch: 6, lacking: 1, isComputed: false },
  ])
  await fill(chain, 2, 10)
  expect(await gapsOf(chain)).toEqual([])
})

test('one that joined while it was tracked lacks nothing of before', async () => {
  const chain = chainTo(80)
  chain.joinEpochs.set(3, 6)
  await track([1, 3])
  await fill(chain, 2, 11)
  expect(await gapsOf(chain)).toEqual([])
})

test('an event that cannot be read is a gap until it was told again', async () => {
  await track([1])
  const chain = chainTo(60)
  await fill(chain, 2, 6)
  const broken = (await eventsIn(eventLog(), 'beacon.epochs')).filter(
    ({ id }) => id === 'beacon.epoch-blocks:mainnet:4',
  )
  await eventLog().append(
    'beacon.epochs',
    broken.map((event) => ({ ...event, data: new Uint8Array([1]) })),
  )
  expect(await gapsOf(chain)).toEqual([{ fromEpoch: 4, toEpoch: 4, lacking: undefined, isComputed: false }])
  await fill(chain, 4, 4)
  expect(await gapsOf(chain)).toEqual([])
})

test('epochs that were taken back are a gap, and the same backfill reads them again', async () => {
  await track([1])
  const chain = chainTo(60)
  await fill(chain, 2, 6)
  const before: Record<string, string> = {}
  for await (const { position } of eventLog().read({ topic: 'beacon.epochs', signal: never }))
    before[String(position.partition)] = String(position.offset + 1n)
  const retracted = { chain: BEACON_CHAIN, fromEpoch: 4, fromSlot: 16, fromDay: 0, before }
  await eventLog().append('log', [
    encodeEvent(epochsRetracted, { id: 'r', key: 'log', time: '2026-01-01T00:00:00.000Z', data: retracted }),
  ])
  expect(await gapsOf(chain, { fromEpoch: 2, toEpoch: 6 })).toEqual([
    { fromEpoch: 4, toEpoch: 6, lacking: undefined, isComputed: false },
  ])
  expect(await fill(chain, 2, 6)).toMatchObject({ ingested: 3, skipped: 2 })
  expect(await gapsOf(chain)).toEqual([])
})

test('a log without epochs has no gaps to speak of', async () => {
  await expect(gapsOf(chainTo(60))).rejects.toMatchObject({ code: 'usage' })
})

test('epochs that were computed of states are a gap apart from those beside them that endpoints have told', async () => {
  await track([1])
  const chain = chainTo(60)
  await fill(chain, 2, 6)
  await tellAsComputed(eventLog(), 4)
  await tellAsComputed(eventLog(), 5)
  await track([3])
  expect(await gapsOf(chain)).toEqual([
    { fromEpoch: 2, toEpoch: 3, lacking: 1, isComputed: false },
    { fromEpoch: 4, toEpoch: 5, lacking: 1, isComputed: true },
    { fromEpoch: 6, toEpoch: 6, lacking: 1, isComputed: false },
  ])
})

describe('gaps that are filled', () => {
  const range = { fromEpoch: 2, toEpoch: 10 }
  const isRetryable = { retryable: true }

  /** The log lacks epochs 2 to 3, 5, validator 3 in 7, which was computed of states, and 9; nodes have nothing of before `goneBefore` any more. */
  async function given(goneBefore: number) {
    await track([1])
    const chain = chainTo(60)
    await fill(chain, 7, 7)
    await tellAsComputed(eventLog(), 7)
    await track([3])
    for (const epoch of [4, 6, 8, 10]) await fill(chain, epoch, epoch)
    const asked: string[] = []
    chain.before = (question) => {
      asked.push(question)
      const [, slot] = /^validators (\d+)$/.exec(question) ?? []
      if (slot === undefined || Number(slot) >= goneBefore * SLOTS_PER_EPOCH) return
      throw new AppError('node_lagging', `node 1 does not have the validators of slot ${slot}`, isRetryable)
    }
    const fillOne: FillGap = (gap, planGoneAfterMs) =>
      backfill({ ...options(chain), planGoneAfterMs, goneAfterMs: 0 }, gap, never)
    const gaps = await gapsOf(chain, range)
    const run = (goneAfterMs = 0) => fillGaps({ gaps, fill: fillOne, goneAfterMs, signal: never })
    return { chain, asked, gaps, run }
  }

  test('are tried one after the other, whatever is refused of those before', async () => {
    const { chain, run } = await given(5)
    const refused = await run()
    expect(refused.map(({ fromEpoch, toEpoch, reason }) => ({ fromEpoch, toEpoch, reason }))).toEqual([
      { fromEpoch: 2, toEpoch: 3, reason: 'gone' },
      { fromEpoch: 7, toEpoch: 7, reason: 'computed' },
    ])
    const left = await gapsOf(chain, range)
    expect(left.map(({ fromEpoch, toEpoch }) => [fromEpoch, toEpoch])).toEqual([[2, 3], [7, 7]]) // biome-ignore format: a table
    expect(Object.fromEntries(countByReason(left, refused))).toEqual({ gone: 2, computed: 1 })
  })

  test('are refused again the next time, which writes nothing', async () => {
    const { run } = await given(99)
    const written = async () => [
      ...(await eventsIn(eventLog(), 'beacon.epochs')),
      ...(await eventsIn(eventLog(), 'ingest.cursors')),
      ...(await eventsIn(eventLog(), 'validators')),
    ]
    const refused = await run()
    expect(refused).toHaveLength(4)
    const before = await written()
    expect(await run()).toEqual(refused)
    expect(await written()).toEqual(before)
  })

  test.each([
    [2, []],
    [3, [2]],
    [700, [699]],
    [999, [998]],
    [1_000, [999]],
    [1_001, [1_000]],
  ])('are filled from where nodes have them, epoch %i', async (goneBefore, ends) => {
    const lagging = new AppError('node_lagging', 'not here', isRetryable)
    const filled = new Set<number>()
    let tries = 0
    const fillOne: FillGap = async ({ fromEpoch, toEpoch }) => {
      tries++
      if (fromEpoch < goneBefore) throw new AppError('usage', `${fromEpoch} is gone`, { cause: lagging })
      for (let epoch = fromEpoch; epoch <= toEpoch; epoch++) filled.add(epoch)
    }
    const gap = { fromEpoch: 2, toEpoch: 1_000, lacking: undefined, isComputed: false }
    const told: RefusedGap[] = []
    const onRefused = (one: RefusedGap) => told.push(one)
    const refused = await fillGaps({ gaps: [gap], fill: fillOne, onRefused, goneAfterMs: 0, signal: never })
    expect(refused.map(({ fromEpoch, toEpoch, reason }) => [fromEpoch, toEpoch, reason])).toEqual(
      ends.map((toEpoch) => [2, toEpoch, 'gone']),
    )
    expect(told).toEqual(refused)
    const all = Array.from({ length: 1_001 - Math.max(2, goneBefore) }, (_, i) => Math.max(2, goneBefore) + i)
    expect([...filled].toSorted((a, b) => a - b)).toEqual(all)
    expect(tries).toBeLessThanOrEqual(12)
  })

  test('wait for nodes once, not once for each of them', async () => {
    const { asked, run } = await given(6)
    await run(20)
    const timesOf = (epoch: number) =>
      asked.filter((question) => question === `validators ${(epoch + 1) * SLOTS_PER_EPOCH - 1}`).length
    expect(timesOf(2)).toBeGreaterThan(1)
    expect(timesOf(5)).toBe(1)
  })

  test('wait for nodes again once these had one', async () => {
    const { gaps } = await given(0)
    const lagging = new AppError('node_lagging', 'not here', isRetryable)
    const waits: number[] = []
    const isGone = [true, true, true, false, true]
    const fillOne: FillGap = async (_, planGoneAfterMs) => {
      waits.push(planGoneAfterMs)
      if (isGone[waits.length - 1]) throw new AppError('usage', 'gone', { cause: lagging })
    }
    await fillGaps({ gaps, fill: fillOne, goneAfterMs: 20, signal: never })
    expect(waits).toEqual([20, 0, 0, 0, 20])
  })

  test('are told as refused with the reason, at once', async () => {
    const { chain, gaps } = await given(0)
    const before = {
      ...chain.beacon,
      chain: async () => ({ ...syntheticChain, spec: { ...syntheticChain.spec, ALTAIR_FORK_EPOCH: '2' } }),
    }
    const told: string[] = []
    await fillGaps({
      gaps: gaps.slice(0, 2),
      fill: async (gap) => {
        await backfill({ ...options(chain), beacon: before }, gap, never)
        told.push(`filled ${gap.fromEpoch}`)
      },
      onRefused: ({ fromEpoch, reason, message }) => told.push(`${fromEpoch} ${reason}: ${message}`),
      signal: never,
    })
    expect(told).toEqual([expect.stringMatching(/^2 unsupported: epoch 2 is rewarded by .* before Altair/), 'filled 5'])
  })

  test.each([
    ['an error of the program', new TypeError('x is not a function')],
    ['a lease that is lost', new AppError('lease_lost', 'another process writes')],
    ['nodes of another chain', new AppError('config', 'another chain')],
  ])('are left at once by %s', async (_, error) => {
    const { gaps } = await given(0)
    const tried: number[] = []
    const failing: FillGap = ({ fromEpoch }) => {
      tried.push(fromEpoch)
      return Promise.reject(error)
    }
    await expect(fillGaps({ gaps, fill: failing, signal: never })).rejects.toBe(error)
    expect(tried).toEqual([2])
  })

  test('are left at once by an abort', async () => {
    const { gaps } = await given(0)
    const stop = new AbortController()
    const tried: number[] = []
    const interrupted: FillGap = ({ fromEpoch }) => {
      tried.push(fromEpoch)
      stop.abort()
      return Promise.reject(new AppError('usage', 'interrupted'))
    }
    await expect(fillGaps({ gaps, fill: interrupted, signal: stop.signal })).rejects.toThrow('interrupted')
    expect(tried).toEqual([2])
  })

  test('of which some are left are counted by what refused them', () => {
    const refused = { lacking: undefined, isComputed: false, message: '' }
    const counts = countByReason(
      [{ fromEpoch: 2, toEpoch: 6 }, { fromEpoch: 9, toEpoch: 9 }],
      [
        { ...refused, fromEpoch: 1, toEpoch: 3, reason: 'gone' },
        { ...refused, fromEpoch: 5, toEpoch: 7, reason: 'computed' },
        { ...refused, fromEpoch: 9, toEpoch: 9, reason: 'gone' },
        { ...refused, fromEpoch: 12, toEpoch: 13, reason: 'unsupported' },
      ],
    ) // biome-ignore format: a table
    expect(Object.fromEntries(counts)).toEqual({ gone: 3, computed: 2, unrefused: 1 })
  })
})
