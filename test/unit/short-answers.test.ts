import { expect, test } from 'vitest'
import { followEpochs } from '../../ingest/epochs/epoch-follower.ts'
import { dayBalances, epochValidators } from '../../schemas/events/beacon-epoch.ts'
import { decodeEvent, type EncodedEvent } from '../../schemas/events/codec.ts'
import { eventLogOfEachTest } from './event-log-of-each-test.ts'
import { BEACON_CHAIN, eventsIn, ofChain, trackValidators } from './follow-synthetic.ts'
import { SyntheticChain } from './synthetic-chain.ts'

// A node may leave out anything: what it leaves out must never be missing from an epoch.

const eventLog = eventLogOfEachTest()
/** A day begins in slot 1067 of the synthetic chain. */
const DAY_EPOCH = 266
const TRACKED = [1, 2, 5]

function chainWithDay(): SyntheticChain {
  const chain = new SyntheticChain()
  chain.extend('b1050', 1050, 'genesis')
  chain.extendRange(1051, 1120, 'b1050')
  chain.finalizedEpoch = 277
  return chain
}

/** What the log tells of the epochs after following them. */
async function follow(chain: SyntheticChain, { from = DAY_EPOCH - 2, to = DAY_EPOCH + 3 } = {}) {
  await trackValidators(eventLog(), TRACKED, BEACON_CHAIN)
  const stop = new AbortController()
  await followEpochs(
    {
      ...ofChain(BEACON_CHAIN, eventLog()),
      beacon: chain.beacon,
      startEpoch: from,
      onProgress: ({ nextEpoch }) => nextEpoch >= to && stop.abort(),
    },
    stop.signal,
  )
  const events = await eventsIn(eventLog(), 'beacon.epochs')
  return events.slice(
    0,
    events.findIndex(({ id }) => id === `beacon.epoch-blocks:${BEACON_CHAIN}:${to - 1}`),
  )
}

/** The rows of an answer up to some length: every column is cut. */
function cut<Rows extends object>(rows: Rows, length: number): Rows {
  const columns = Object.entries(rows as Record<string, Uint8Array>).map(([name, column]) => [
    name,
    column.slice(0, length),
  ])
  return Object.fromEntries(columns) as Rows
}

test.each([
  ['validators', 0],
  ['validators', 2],
  ['balances', 0],
  ['balances', 2],
])('an answer about %s that ends after %i rows is asked for again', async (kind, length) => {
  const chain = chainWithDay()
  let changed = 0
  chain.change = (question, rows) => {
    if (changed > 0 || !question.startsWith(kind) || rows.validatorIndex.length <= length) return rows
    changed++
    return cut(rows, length)
  }
  const disturbed = await follow(chain)
  expect(changed).toBe(1)
  chain.change = (_, rows) => rows
  const ids = disturbed.map(({ id }) => id)
  expect(ids.filter((id) => id.startsWith('beacon.epoch-validators'))).toHaveLength(5)
  const [balances, ...more] = disturbed.filter(({ type }) => type === dayBalances.name)
  expect([...decodeEvent(dayBalances, balances as EncodedEvent).columns.validatorIndex]).toEqual(TRACKED)
  expect(more).toEqual([])
  for (const event of disturbed.filter(({ type }) => type === epochValidators.name)) {
    expect([...decodeEvent(epochValidators, event).columns.validatorIndex]).toEqual(TRACKED)
  }
})

test('a node that always leaves somebody out stops the epochs, and says whom', async () => {
  const chain = chainWithDay()
  chain.change = (question, rows) => (question.startsWith('validators') ? cut(rows, 2) : rows)
  await trackValidators(eventLog(), TRACKED, BEACON_CHAIN)
  const stop = new AbortController()
  const waits: string[] = []
  const shared = ofChain(BEACON_CHAIN, eventLog())
  const note = (_: object, message: string): void => {
    if (waits.push(message) === 3) stop.abort()
  }
  await followEpochs(
    { ...shared, log: { ...shared.log, warn: note, debug: note }, beacon: chain.beacon, startEpoch: DAY_EPOCH },
    stop.signal,
  )
  expect(waits[0]).toContain('validators of epoch 266 lack validator 5')
  expect(await eventsIn(eventLog(), 'beacon.epochs')).toEqual([])
})

test('one identification that finds nobody switches nobody off', async () => {
  const chain = chainWithDay()
  let asked = 0
  chain.before = (question) => {
    if (question.startsWith('identify')) chain.isForgetful = asked++ === 0
  }
  const events = (await follow(chain)).filter(({ type }) => type === epochValidators.name)
  expect(events).toHaveLength(5)
  for (const event of events) expect([...decodeEvent(epochValidators, event).columns.validatorIndex]).toEqual(TRACKED)
})

test('a validator that joins is told from its first epoch on, although the node refuses to know it before', async () => {
  const chain = chainWithDay()
  const [joins, active] = [DAY_EPOCH, DAY_EPOCH + 4]
  chain.joinEpochs.set(5, joins)
  const askedLater: string[] = []
  chain.before = (question) => void (question === `validators ${277 * 4}` && askedLater.push(question))
  const events = (await follow(chain, { to: active + 3 })).filter(({ type }) => type === epochValidators.name)
  const rows = events.map((event) => {
    const { header, columns } = decodeEvent(epochValidators, event)
    const at = columns.validatorIndex.indexOf(5)
    return [header.epoch, at === -1 ? undefined : columns.targetGwei[at]]
  })
  expect(rows).toEqual([
    [joins - 2, undefined],
    [joins - 1, undefined],
    ...[0, 1, 2, 3, 4, 5].map((epochs) => [joins + epochs, 0n]),
    [active + 2, 5n],
  ])
  expect(askedLater).toHaveLength(1) // of the two epochs without it, the day's balances and the state before
})

test('what was told of a joiner before it was eligible does not excuse its absence later', async () => {
  const chain = chainWithDay()
  const joins = DAY_EPOCH
  chain.joinEpochs.set(5, joins)
  // The checkpoint is the very state that it joins with, which does not note it as eligible yet.
  chain.finalizedEpoch = joins
  const changed = new Set<string>()
  chain.change = (question, rows) => {
    const [kind, slot] = question.split(' ')
    if (question === `validators ${4 * joins}` && 'activationEligibilityEpoch' in rows) {
      return { ...rows, activationEligibilityEpoch: BigUint64Array.from(rows.validatorIndex, () => 2n ** 64n - 1n) }
    }
    if (kind !== 'validators' || Number(slot) !== 4 * (joins + 3) - 1 || changed.has(question)) return rows
    changed.add(question)
    return cut(rows, 2)
  }
  await trackValidators(eventLog(), TRACKED, BEACON_CHAIN)
  const stop = new AbortController()
  const onProgress = ({ nextEpoch }: { readonly nextEpoch: number }) => {
    if (nextEpoch === joins) {
      chain.finalizedEpoch = joins + 6
      chain.announce()
    }
    if (nextEpoch === joins + 5) stop.abort()
  }
  const shared = { ...ofChain(BEACON_CHAIN, eventLog()), pollMs: 5 }
  await followEpochs({ ...shared, beacon: chain.beacon, startEpoch: joins - 2, onProgress }, stop.signal)
  const events = (await eventsIn(eventLog(), 'beacon.epochs')).filter(({ type }) => type === epochValidators.name)
  expect(changed.size).toBe(1)
  const told = events.map((event) => decodeEvent(epochValidators, event)).slice(0, 7)
  expect(told.map(({ header, columns }) => [header.epoch, columns.validatorIndex.includes(5)])).toEqual(
    Array.from({ length: 7 }, (_, i) => [joins - 2 + i, i >= 2]),
  )
})
