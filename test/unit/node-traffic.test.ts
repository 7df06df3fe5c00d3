import { expect, test } from 'vitest'
import { latestFinality } from '../../ingest/beacon-head/finality.ts'
import { followEpochs } from '../../ingest/epochs/epoch-follower.ts'
import { Latest } from '../../ingest/latest.ts'
import { eventLogOfEachTest } from './event-log-of-each-test.ts'
import { BEACON_CHAIN, chainTo, followBeacon, ofChain, trackValidators } from './follow-synthetic.ts'
import { SyntheticChain, syntheticChain } from './synthetic-chain.ts'

const eventLog = eventLogOfEachTest()

/** It stands: where nothing was announced yet, what is known grows old with an epoch's second slot, whenever the test runs. */
const AT_SLOT_3 = {
  now: () => (syntheticChain.clock.genesisTimeSec + 3 * syntheticChain.clock.secondsPerSlot) * 1_000,
}

/** Questions of a kind: "block" and "execution" are those for a block. */
const ofKind = (asked: readonly string[], kind: string) => asked.filter((question) => question.split(' ')[0] === kind)

test('while the event stream talks, a slot costs its block and its execution block, nothing else', async () => {
  const chain = new SyntheticChain()
  chain.extendRange(1, 3, 'genesis')
  const asked: string[] = []
  await followBeacon(
    eventLog(),
    chain,
    (height, stop) => {
      if (height === 3) chain.before = (question) => void asked.push(question)
      if (height === 35) stop()
      chain.finalizedEpoch = Math.max(0, Math.floor(height / 4) - 2)
      chain.extend(`b${height + 1}`, height + 1, `b${height}`)
    },
    AT_SLOT_3,
  )
  expect(ofKind(asked, 'block')).toHaveLength(32)
  expect(ofKind(asked, 'execution')).toHaveLength(32)
  expect(asked.filter((question) => !/^(block|execution) /.test(question))).toEqual([])
})

test('a missed slot costs no question while the stream talks', async () => {
  const chain = new SyntheticChain()
  chain.extendRange(1, 3, 'genesis')
  const asked: string[] = []
  await followBeacon(
    eventLog(),
    chain,
    (height, stop) => {
      if (height === 6) return stop()
      chain.before = (question) => void asked.push(question)
      chain.extend('b6', 6, 'b3')
    },
    AT_SLOT_3,
  )
  expect(asked.map((question) => question.split(' ')[0])).toEqual(['block', 'execution'])
})

test('after a gap of the stream head and finality are asked for', async () => {
  const chain = new SyntheticChain()
  chain.extendRange(1, 3, 'genesis')
  const asked: string[] = []
  await followBeacon(
    eventLog(),
    chain,
    (height, stop) => {
      if (height === 4) return stop()
      chain.before = (question) => void asked.push(question)
      chain.isAnnouncing = false
      chain.extend('b4', 4, 'b3')
      chain.announceGap()
    },
    AT_SLOT_3,
  )
  expect(asked.slice(0, 2)).toEqual(['head', 'finalized'])
  expect(asked).toHaveLength(4)
})

test('while the stream is silent the head is asked for once a slot, and finality once an epoch', async () => {
  const chain = new SyntheticChain()
  chain.extendRange(1, 3, 'genesis')
  chain.isAnnouncing = false
  const { genesisTimeSec, secondsPerSlot } = syntheticChain.clock
  // The clock stands but for the slots that pass when a block is made.
  const clock = { nowMs: (genesisTimeSec + 3 * secondsPerSlot) * 1_000 }
  const asked: string[] = []
  chain.before = (question) => void asked.push(question)
  await followBeacon(
    eventLog(),
    chain,
    (height, stop) => {
      if (height === 19) stop()
      chain.extend(`b${height + 1}`, height + 1, `b${height}`)
      clock.nowMs += secondsPerSlot * 1_000
    },
    { now: () => clock.nowMs },
  )
  expect(ofKind(asked, 'head')).toHaveLength(17)
  expect(ofKind(asked, 'finalized')).toHaveLength(5)
})

/** Follows a chain that grows by an epoch whenever the log has all that is final; what was asked for the last `epochs`. */
async function questionsOf(epochs: number, chain: SyntheticChain): Promise<string[]> {
  const asked: string[] = []
  const stop = new AbortController()
  const first = chain.finalizedEpoch
  let reached = -1
  const onProgress = ({ nextEpoch }: { readonly nextEpoch: number }) => {
    if (nextEpoch <= reached || nextEpoch < chain.finalizedEpoch) return
    reached = nextEpoch
    if (nextEpoch === first) chain.before = (question) => void asked.push(question)
    if (nextEpoch === first + epochs) return stop.abort()
    const { slot } = chain.head
    chain.finalizedEpoch++
    chain.extendRange(slot + 1, slot + 4, `b${slot}`)
  }
  await followEpochs(
    { ...ofChain(BEACON_CHAIN, eventLog()), beacon: chain.beacon, startEpoch: 0, onProgress },
    stop.signal,
  )
  return asked
}

test('while the event stream talks, an epoch costs its own questions and none about finality', async () => {
  await trackValidators(eventLog(), [0], BEACON_CHAIN)
  const asked = await questionsOf(8, chainTo(24))
  const count = (kind: string) => asked.filter((question) => question.startsWith(kind)).length
  expect([count('head'), count('finalized'), count('identify')]).toEqual([0, 0, 0])
  expect([count('validators'), count('attestations')]).toEqual([8, 8])
})

test('where the stream is silent, finality is asked for in the second slot of each epoch', async () => {
  const chain = chainTo(24)
  const { genesisTimeSec, secondsPerSlot } = syntheticChain.clock
  const atSlot = (slot: number) => (genesisTimeSec + slot * secondsPerSlot) * 1_000
  const clock = { nowMs: atSlot(24) }
  const finality = latestFinality(chain.beacon, syntheticChain.clock, { now: () => clock.nowMs })
  const fresh: number[] = []
  for (const slot of [24, 25, 26, 29, 36]) {
    clock.nowMs = atSlot(slot)
    await finality.get()
    fresh.push(finality.freshForMs / 1_000 / secondsPerSlot)
  }
  expect(fresh).toEqual([1, 4, 3, 4, 1])
})

test('a stream that announces nothing newer counts as silent, however often it talks', async () => {
  const clock = { nowMs: 0 }
  const latest = new Latest({
    ask: async () => 5,
    heightOf: (height) => height,
    freshUntilMs: ({ sinceMs }) => sinceMs + 24_000,
    now: () => clock.nowMs,
  })
  latest.update(4)
  clock.nowMs = 20_000
  latest.update(4)
  latest.update(3)
  expect(latest.freshForMs).toBe(4_000)
  clock.nowMs = 24_000
  expect(await latest.get()).toBe(5)
})

test('what an epoch begins with is asked for where a run begins, and told by the states of the epoch before in it', async () => {
  await trackValidators(eventLog(), [1, 3], BEACON_CHAIN)
  const chain = chainTo(48)
  const asked: string[] = []
  chain.before = (question) => void asked.push(question)
  const stop = new AbortController()
  await followEpochs(
    {
      ...ofChain(BEACON_CHAIN, eventLog()),
      beacon: chain.beacon,
      startEpoch: 2,
      concurrency: 2,
      onProgress: ({ nextEpoch }) => nextEpoch >= 10 && stop.abort(),
    },
    stop.signal,
  )
  expect(ofKind(asked, 'balances')).toEqual(['balances 7'])
})
