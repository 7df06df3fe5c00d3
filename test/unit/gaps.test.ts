import { expect, test } from 'vitest'
import { backfill } from '../../ingest/backfill/backfill.ts'
import type { EpochRange } from '../../ingest/backfill/epoch-range.ts'
import { findGaps } from '../../ingest/backfill/gaps.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { epochsRetracted } from '../../schemas/events/log-facts.ts'
import { eventLogOfEachTest } from './event-log-of-each-test.ts'
import { BEACON_CHAIN, chainTo, eventsIn, ofChain, trackValidators } from './follow-synthetic.ts'
import type { SyntheticChain } from './synthetic-chain.ts'

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
    gaps: [{ fromEpoch: 4, toEpoch: 6, lacking: undefined }],
  })
  await fill(chain, 4, 6)
  expect(await gapsOf(chain)).toEqual([])
})

test('a range that was asked for is looked at whole, beyond what the log has', async () => {
  await track([1])
  const chain = chainTo(60)
  await fill(chain, 4, 5)
  expect(await gapsOf(chain, { fromEpoch: 3, toEpoch: 6 })).toEqual([
    { fromEpoch: 3, toEpoch: 3, lacking: undefined },
    { fromEpoch: 6, toEpoch: 6, lacking: undefined },
  ])
})

test('a validator that was tracked later is lacking from the epoch on in which it is active', async () => {
  const chain = chainTo(80)
  chain.joinEpochs.set(3, 3) // active from epoch 7 on
  await track([1])
  await fill(chain, 2, 10)
  await track([3])
  await fill(chain, 10, 11)
  expect(await gapsOf(chain)).toEqual([{ fromEpoch: 7, toEpoch: 9, lacking: 1 }])
  await fill(chain, 7, 9)
  expect(await gapsOf(chain)).toEqual([])
})

test('a validator that the log tells of nowhere yet is lacking from the epoch on in which it is active', async () => {
  const chain = chainTo(80)
  chain.joinEpochs.set(3, 3) // active from epoch 7 on
  await track([1])
  await fill(chain, 2, 10)
  await track([2, 3])
  expect(await gapsOf(chain)).toEqual([{ fromEpoch: 2, toEpoch: 10, lacking: 2 }])
  expect(await gapsOf(chain, { fromEpoch: 2, toEpoch: 6 })).toEqual([{ fromEpoch: 2, toEpoch: 6, lacking: 1 }])
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
  expect(await gapsOf(chain)).toEqual([{ fromEpoch: 4, toEpoch: 4, lacking: undefined }])
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
  expect(await gapsOf(chain, { fromEpoch: 2, toEpoch: 6 })).toEqual([{ fromEpoch: 4, toEpoch: 6, lacking: undefined }])
  expect(await fill(chain, 2, 6)).toMatchObject({ ingested: 3, skipped: 2 })
  expect(await gapsOf(chain)).toEqual([])
})

test('a log without epochs has no gaps to speak of', async () => {
  await expect(gapsOf(chainTo(60))).rejects.toMatchObject({ code: 'usage' })
})
