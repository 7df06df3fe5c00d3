import { describe, expect, test } from 'vitest'
import type { BeaconSource } from '../../infra/ports/beacon-source.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import { backfill } from '../../ingest/backfill/backfill.ts'
import { findGaps } from '../../ingest/backfill/gaps.ts'
import type { RangePlan } from '../../ingest/backfill/range-plan.ts'
import { timeOfSlot } from '../../ingest/beacon-head/block-events.ts'
import { followEpochs } from '../../ingest/epochs/epoch-follower.ts'
import { joinRows } from '../../ingest/epochs/joined-rows.ts'
import { DeadLetters } from '../../processors/loop/dead-letters.ts'
import { AppError } from '../../schemas/errors.ts'
import { FORMULAS_VERSION } from '../../schemas/eth/transition/explain-epoch.ts'
import {
  dayBalances,
  EPOCH_VALIDATORS_LAYOUT,
  epochBlocks,
  epochValidators,
} from '../../schemas/events/beacon-epoch.ts'
import { decodeEvent, type EncodedEvent, encodeEvent, type Topic } from '../../schemas/events/codec.ts'
import { registryLookedAt } from '../../schemas/events/validators.ts'
import { eventLogOfEachTest } from './event-log-of-each-test.ts'
import { BEACON_CHAIN, chainTo, eventsIn, followBeacon, ofChain, trackValidators, until } from './follow-synthetic.ts'
import { SyntheticChain, syntheticChain } from './synthetic-chain.ts'
import { tellAsComputed } from './tell-as-computed.ts'

const never = new AbortController().signal
const eventLog = eventLogOfEachTest()
const otherLog = eventLogOfEachTest()

const eventsOf = (topic: Topic) => eventsIn(eventLog(), topic)
const track = (indices: readonly number[]) => trackValidators(eventLog(), indices, BEACON_CHAIN)

const backfilled = (chain: SyntheticChain) => ({
  ...ofChain(BEACON_CHAIN, eventLog()),
  beacon: chain.beacon,
  execution: chain.execution,
})

test('a backfill tells the epochs of its range with their blocks, in order', async () => {
  await track([1])
  const progress: number[] = []
  const options = { ...backfilled(chainTo(40)), onProgress: ({ done }: { done: number }) => void progress.push(done) }
  await backfill(options, { fromEpoch: 2, toEpoch: 4 }, never)
  const ids = (await eventsOf('beacon.epochs')).map(({ id }) => id)
  expect(ids).toEqual(
    [2, 3, 4].flatMap((epoch) => [
      `beacon.epoch-validators:mainnet:${epoch}:0`,
      `beacon.epoch-blocks:mainnet:${epoch}`,
    ]),
  )
  expect(await eventsOf('execution.blocks')).toHaveLength(12)
  expect(await eventsOf('beacon.blocks')).toHaveLength(12)
  expect(progress).toEqual([0, 1, 2, 3])
})

test('a backfill tells whom it has looked for, once, and of epochs to come nothing: who follows tells that', async () => {
  await track([1])
  const chain = chainTo(40)
  const looks = async () =>
    (await eventsOf('validators'))
      .filter(({ type }) => type === registryLookedAt.name)
      .map((event) => decodeEvent(registryLookedAt, event))
  await backfill(backfilled(chain), { fromEpoch: 2, toEpoch: 4 }, never)
  const looked = { chain: BEACON_CHAIN, accountsThrough: '0', fromEpoch: null }
  expect(await looks()).toEqual([looked])
  await backfill(backfilled(chain), { fromEpoch: 2, toEpoch: 5 }, never)
  expect(await looks()).toEqual([looked])
  const stop = new AbortController()
  const onProgress = ({ nextEpoch }: { readonly nextEpoch: number }) => nextEpoch >= 7 && stop.abort()
  const following = { ...ofChain(BEACON_CHAIN, eventLog()), beacon: chain.beacon, startEpoch: 6, onProgress }
  await followEpochs(following, stop.signal)
  expect(await looks()).toEqual([looked, { ...looked, fromEpoch: 6 }])
  await backfill(backfilled(chain), { fromEpoch: 1, toEpoch: 5 }, never)
  expect(await looks()).toHaveLength(2)
})

test('epoch 0 that does not tell what the chain began with is no gap, and a backfill reads it anew', async () => {
  await track([1, 3])
  await backfill(backfilled(chainTo(40)), { fromEpoch: 0, toEpoch: 2 }, never)
  await trackValidators(otherLog(), [1, 3], BEACON_CHAIN)
  const options = { ...backfilled(chainTo(40)), writer: otherLog(), eventLog: otherLog() }
  const events = await eventsOf('beacon.epochs')
  await otherLog().append(
    'beacon.epochs',
    events.filter(({ type }) => type !== dayBalances.name).map(withoutDayBalances),
  )
  expect((await findGaps(options, undefined, never)).gaps).toEqual([])
  const range = { fromEpoch: 0, toEpoch: 1 }
  const done = { validators: 2, added: 0 }
  expect(await backfill(options, range, never)).toEqual({ ...done, ingested: 1, skipped: 1 })
  const told = (await eventsIn(otherLog(), 'beacon.epochs')).slice(-3)
  expect(told).toEqual(events.filter(({ time }) => time === events[0]?.time))
  expect(await backfill(options, range, never)).toEqual({ ...done, ingested: 0, skipped: 2 })
})

function withoutDayBalances(event: EncodedEvent): EncodedEvent {
  if (event.type !== epochBlocks.name) return event
  const { header, columns } = decodeEvent(epochBlocks, event)
  const parts = header.parts.filter(({ kind }) => kind !== 'day_balances')
  return encodeEvent(epochBlocks, { ...event, data: { header: { ...header, parts }, columns } })
}

test('a backfill that was interrupted goes on where it was', async () => {
  await track([1])
  const stop = new AbortController()
  const options = { ...backfilled(chainTo(40)), onProgress: ({ done }: { done: number }) => done === 1 && stop.abort() }
  await backfill(options, { fromEpoch: 2, toEpoch: 4 }, stop.signal)
  await backfill(backfilled(chainTo(40)), { fromEpoch: 2, toEpoch: 4 }, never)
  const blocks = (await eventsOf('beacon.epochs')).filter(({ type }) => type === epochBlocks.name)
  expect(blocks.map(({ id }) => id)).toEqual([2, 3, 4].map((epoch) => `beacon.epoch-blocks:mainnet:${epoch}`))
})

test('a backfill goes on by the checkpoint that the node has come to, when the one it began with is gone', async () => {
  await track([1])
  const chain = chainTo(40)
  let isGone = false
  const onProgress = ({ done }: { done: number }): void => {
    if (done === 1) isGone = true
  }
  const beacon: BeaconSource = {
    ...chain.beacon,
    finalized: async () => ({ ...(await chain.beacon.finalized()), epoch: isGone ? 8 : 7 }),
    finalChain: (checkpoint) => {
      const final = chain.beacon.finalChain(checkpoint)
      const refuse = async (): Promise<void> => {
        if (isGone && checkpoint.epoch === 7) throw new AppError('node_inconsistent', 'gone', { retryable: true })
      }
      return { ...final, confirm: refuse }
    },
  }
  const stop = AbortSignal.timeout(5_000)
  const options = { ...backfilled(chain), onProgress, beacon, concurrency: 1 }
  await backfill(options, { fromEpoch: 2, toEpoch: 4 }, stop)
  const blocks = (await eventsOf('beacon.epochs')).filter(({ type }) => type === epochBlocks.name)
  expect(blocks.map(({ id }) => id)).toEqual([2, 3, 4].map((epoch) => `beacon.epoch-blocks:mainnet:${epoch}`))
})

test('a backfill of the same range comes again for validators that were tracked since, and not for the same ones', async () => {
  const range = { fromEpoch: 2, toEpoch: 4 }
  const indicesOfLast = async () => {
    const events = (await eventsOf('beacon.epochs')).filter(({ type }) => type === epochValidators.name)
    return [...decodeEvent(epochValidators, events.at(-1) as EncodedEvent).columns.validatorIndex]
  }
  await track([1])
  await backfill(backfilled(chainTo(40)), range, never)
  const once = (await eventsOf('beacon.epochs')).length
  await backfill(backfilled(chainTo(40)), range, never)
  expect(await eventsOf('beacon.epochs')).toHaveLength(once)
  await track([3])
  await backfill(backfilled(chainTo(40)), range, never)
  expect(await indicesOfLast()).toEqual([1, 3])
})

test('a backfill tells the blocks of its epochs as the head follower does', async () => {
  const chain = new SyntheticChain()
  chain.extendRange(1, 9, 'genesis')
  chain.extendRange(12, 40, 'b9')
  chain.finalizedEpoch = 8
  await backfill(backfilled(chain), { fromEpoch: 2, toEpoch: 2 }, never)
  const backfilledEvents = await eventsOf('beacon.blocks')
  await followBeacon(otherLog(), chain, until(40), { startEpoch: 2 })
  const followed = await eventsIn(otherLog(), 'beacon.blocks')
  expect(backfilledEvents.map(({ id }) => id)).toEqual(followed.slice(0, 4).map(({ id }) => id))
})

test('a backfill past finality is refused with the last epoch that would do', async () => {
  await expect(backfill(backfilled(chainTo(40)), { fromEpoch: 2, toEpoch: 8 }, never)).rejects.toThrow(
    'epoch 8 is not final yet: the last final one is 7 (--to epoch:7).',
  )
})

test('a backfill asks only for what the log lacks, whoever brought the rest', async () => {
  await track([1])
  const chain = chainTo(40)
  await backfill(backfilled(chain), { fromEpoch: 3, toEpoch: 4 }, never)
  await expect(backfill(backfilled(chain), { fromEpoch: 2, toEpoch: 6 }, never)).resolves.toEqual({
    ingested: 3,
    added: 0,
    skipped: 2,
    validators: 1,
  })
  const blocks = (await eventsOf('beacon.epochs')).filter(({ type }) => type === epochBlocks.name)
  expect(blocks.map(({ id }) => Number(id.split(':').at(-1)))).toEqual([3, 4, 2, 5, 6])
  await track([3])
  const again = await backfill(backfilled(chain), { fromEpoch: 4, toEpoch: 5 }, never)
  expect(again).toMatchObject({ ingested: 2, skipped: 0, validators: 2 })
})

test('a backfill tells again what could not be processed, until it could be', async () => {
  await track([1])
  const chain = chainTo(40)
  const range = { fromEpoch: 2, toEpoch: 6 }
  await backfill(backfilled(chain), range, never)
  const stored = async (topic: Topic, at: (event: EncodedEvent) => boolean) => {
    const all = await Array.fromAsync(eventLog().read({ topic, signal: never }))
    const found = all.find(({ event }) => at(event))
    if (found === undefined) throw new Error(`no such event in ${topic}`)
    return found
  }
  const letters = await DeadLetters.open(eventLog())
  const epoch = await stored('beacon.epochs', ({ id }) => id === 'beacon.epoch-validators:mainnet:3:0')
  const block = await stored(
    'execution.blocks',
    ({ time }) => time === timeOfSlot({ name: BEACON_CHAIN, clock: syntheticChain.clock }, 5 * 4 + 1),
  )
  const reason = 'found v99'
  await letters.add({ group: 'finalized', topic: 'beacon.epochs', stored: epoch, reason, unnamedChain: '' })
  await letters.add({ group: 'execution', topic: 'execution.blocks', stored: block, reason, unnamedChain: '' })
  expect(await backfill(backfilled(chain), range, never)).toMatchObject({ ingested: 2, skipped: 3 })
  const again = (await eventsOf('beacon.epochs')).filter(({ type }) => type === epochBlocks.name).slice(-2)
  expect(again.map(({ id }) => id)).toEqual(['beacon.epoch-blocks:mainnet:3', 'beacon.epoch-blocks:mainnet:5'])
  await letters.resolve('finalized', 'beacon.epochs', [epoch])
  await letters.resolve('execution', 'execution.blocks', [block])
  expect(await backfill(backfilled(chain), range, never)).toMatchObject({ ingested: 0, skipped: 5 })
})

test('a backfill tells again what cannot be read', async () => {
  await track([1])
  const chain = chainTo(40)
  const range = { fromEpoch: 2, toEpoch: 6 }
  await backfill(backfilled(chain), range, never)
  const events = await eventsOf('beacon.epochs')
  const broken = events.filter(({ id }) => id === 'beacon.epoch-validators:mainnet:4:0')
  await eventLog().append(
    'beacon.epochs',
    broken.map((event) => ({ ...event, data: new Uint8Array([1]) })),
  )
  expect(await backfill(backfilled(chain), range, never)).toMatchObject({ ingested: 1, skipped: 4 })
  expect(await backfill(backfilled(chain), range, never)).toMatchObject({ ingested: 0, skipped: 5 })
})

test('a backfill tells again balances that a day begins with, where they cannot be read', async () => {
  await track([1])
  const chain = chainTo(1_090)
  const range = { fromEpoch: 265, toEpoch: 267 }
  await backfill(backfilled(chain), range, never)
  const broken = (await eventsOf('beacon.epochs')).filter(({ type }) => type === dayBalances.name)
  expect(broken).toHaveLength(1)
  await eventLog().append(
    'beacon.epochs',
    broken.map((event) => ({ ...event, data: new Uint8Array([1]) })),
  )
  expect(await backfill(backfilled(chain), range, never)).toMatchObject({ ingested: 1, skipped: 2 })
  // The day begins in it.
  expect((await eventsOf('beacon.epochs')).at(-1)?.id).toBe('beacon.epoch-blocks:mainnet:266')
  expect(await backfill(backfilled(chain), range, never)).toMatchObject({ ingested: 0, skipped: 3 })
})

test('epochs of before Altair are refused by name, and those whose rewards are of duties of before it', async () => {
  await track([1])
  const chain = chainTo(40)
  const spec = { ...syntheticChain.spec, ALTAIR_FORK_EPOCH: '2' }
  const options = {
    ...backfilled(chain),
    beacon: { ...chain.beacon, chain: async () => ({ ...syntheticChain, spec }) },
  }
  for (const fromEpoch of [1, 2, 3])
    await expect(backfill(options, { fromEpoch, toEpoch: 5 }, never)).rejects.toThrow(
      expect.objectContaining({ code: 'usage', message: expect.stringMatching(/before Altair.*begin at epoch 4/) }),
    )
  await expect(followEpochs({ ...options, startEpoch: 3 }, never)).rejects.toThrow(
    /epoch 3 is rewarded .*before Altair/,
  )
  expect(await eventsOf('beacon.epochs')).toEqual([])
  expect(await backfill(options, { fromEpoch: 4, toEpoch: 5 }, never)).toMatchObject({ ingested: 2 })
})

test('a backfill of states that no node has any more ends, and says what kind of node it needs', async () => {
  await track([1])
  const chain = chainTo(40)
  const gone = () => Promise.reject(new AppError('node_lagging', 'node 1 does not have the validators of slot 8'))
  const finalChain: BeaconSource['finalChain'] = (at) => ({ ...chain.beacon.finalChain(at), validators: gone })
  const beacon = { ...chain.beacon, finalChain }
  const options = { ...backfilled(chain), beacon, outageWaitMs: 1, goneAfterMs: 20 }
  await expect(backfill(options, { fromEpoch: 2, toEpoch: 4 }, never)).rejects.toThrow(
    expect.objectContaining({ code: 'usage', message: expect.stringMatching(/slot 8\..*archive node.* 0 epochs/) }),
  )
})

describe('for validators that were tracked since, where endpoints tell rewards', () => {
  // A UTC+8 day begins in epoch 266.
  const range = { fromEpoch: 264, toEpoch: 267 }
  const long = () => chainTo(1_090)

  /** The chain, and whom its node is asked about, and for which execution blocks. */
  function asked(chain: SyntheticChain) {
    const sets = new Set<string>()
    const blocks: string[] = []
    const noting = <Result>(ask: (at: never, set: Uint32Array) => Promise<Result>) => {
      return (at: never, set: Uint32Array): Promise<Result> => {
        sets.add(set.join())
        return ask(at, set)
      }
    }
    const { validators, balances, attestationRewards, syncRewards } = chain.final
    const final = {
      ...chain.final,
      validators: noting(validators),
      balances: noting(balances),
      attestationRewards: noting(attestationRewards),
      syncRewards: noting(syncRewards),
    }
    const blockByHash: typeof chain.execution.blockByHash = (hash) => {
      blocks.push(hash)
      return chain.execution.blockByHash(hash)
    }
    const beacon: BeaconSource = { ...chain.beacon, finalChain: () => final as typeof chain.final }
    return { sets, blocks, options: { beacon, execution: { ...chain.execution, blockByHash } } }
  }

  /** What the newest event of each id of an epoch says. */
  async function contentOf(log: EventLog) {
    const newest = new Map((await eventsIn(log, 'beacon.epochs')).map((event) => [event.id, event]))
    const types = [epochBlocks, epochValidators, dayBalances] as const
    return new Map(
      [...newest].map(([id, event]) => {
        const type = types.find(({ name }) => name === event.type)
        return [id, decodeEvent(type as typeof epochBlocks, event)]
      }),
    )
  }

  test('nodes are asked about these alone, and for no block again but theirs', async () => {
    const chain = long()
    await track([1, 2])
    await backfill(backfilled(chain), range, never)
    await track([3, 6])
    const { sets, blocks, options } = asked(chain)
    const done = await backfill({ ...backfilled(chain), ...options }, range, never)
    expect(done).toEqual({ ingested: 4, added: 4, skipped: 0, validators: 4 })
    // Whether there are states and registries of the past is tried with one of all, whether a registry has them with their lowest.
    expect([...sets].sort()).toEqual(['1', '3', '3,6', '6'])
    // Each of eight validators proposes in every eighth slot.
    expect(blocks).toHaveLength((4 * 4 * 2) / 8)
  })

  test('the log then says what it says of all who were tracked from the beginning', async () => {
    const chain = long()
    await track([1, 2, 7])
    await backfill(backfilled(chain), range, never)
    await track([3, 6])
    await backfill(backfilled(chain), range, never)
    await trackValidators(otherLog(), [1, 2, 3, 6, 7], BEACON_CHAIN)
    const atOnce = { ...backfilled(chain), writer: otherLog(), eventLog: otherLog() }
    await backfill(atOnce, range, never)
    const expected = await contentOf(otherLog())
    expect([...expected.keys()]).toContain('beacon.day-balances:mainnet:18519:0')
    expect(await contentOf(eventLog())).toEqual(expected)
  })

  test('all are asked about where the log tells the epoch of other blocks, or has a part of an epoch that was never told whole', async () => {
    await track([1])
    await backfill(backfilled(long()), range, never)
    const validators = (await eventsOf('beacon.epochs')).filter(({ id }) => id.endsWith(':264:0'))
    const [last = expect.fail()] = validators
    const { header, columns } = decodeEvent(epochValidators, last)
    const three = { ...columns, validatorIndex: Uint32Array.of(3) }
    const both = joinRows(EPOCH_VALIDATORS_LAYOUT, [columns, three])
    await eventLog().append('beacon.epochs', [
      encodeEvent(epochValidators, { ...last, data: { header, columns: both } }),
    ])
    await track([3])
    const chain = new SyntheticChain()
    chain.extendRange(1, 1_066, 'genesis')
    for (let slot = 1_067; slot <= 1_090; slot++)
      chain.extend(`c${slot}`, slot, slot === 1_067 ? 'b1066' : `c${slot - 1}`)
    chain.finalizedEpoch = 270
    const { sets, options } = asked(chain)
    // Epoch 264 has a part that no blocks event names; 266 and 267 are of other blocks.
    const done = await backfill({ ...backfilled(chain), ...options }, range, never)
    expect(done).toEqual({ ingested: 4, added: 1, skipped: 0, validators: 2 })
    expect([...sets].sort()).toEqual(['1', '1,3', '3'])
    expect(
      decodeEvent(epochValidators, (await eventsOf('beacon.epochs')).at(-2) as EncodedEvent).columns.validatorIndex,
    ).toEqual(Uint32Array.of(1, 3))
  })
})

describe('of epochs that were computed of states', () => {
  const range = { fromEpoch: 2, toEpoch: 4 }
  const isRefused = (why: RegExp) =>
    expect.objectContaining({ code: 'usage', message: expect.stringMatching(why) }) as Error

  const asComputed = (epoch: number, as?: Parameters<typeof tellAsComputed>[2]) => tellAsComputed(eventLog(), epoch, as)

  /** An account has had a validator, and another one comes. */
  async function given(computed: number): Promise<{ readonly options: Parameters<typeof backfill>[0] }> {
    await track([1])
    await backfill(backfilled(chainTo(40)), range, never)
    await asComputed(computed)
    await track([3])
    return { options: { ...backfilled(chainTo(40)), outageWaitMs: 1, goneAfterMs: 20 } }
  }

  test('endpoints do not tell the others of them less exactly where no node gives states: the range is refused', async () => {
    const { options } = await given(2)
    const before = await eventsOf('beacon.epochs')
    await expect(backfill(options, range, never)).rejects.toThrow(
      isRefused(/epoch 2, the oldest: the log has it as computed of states, and no node gives any.*archive node/),
    )
    expect(await eventsOf('beacon.epochs')).toEqual(before)
  })

  test('nor where nodes have states of the epochs that are asked for first', async () => {
    const { options } = await given(4)
    const final = chainTo(40).final
    const finalChain: BeaconSource['finalChain'] = () => ({ ...final, stateOffer: async () => ({ bytes: undefined }) })
    const refused = backfill({ ...options, beacon: { ...options.beacon, finalChain } }, range, never)
    await expect(refused).rejects.toThrow(
      isRefused(/epoch 4 is in the log as it was computed of states, .* 2 epochs were ingested/),
    )
    const newest = (await eventsOf('beacon.epochs')).findLast(({ id }) => id.endsWith('epoch-blocks:mainnet:4'))
    expect(decodeEvent(epochBlocks, newest as EncodedEvent).header.proof).toMatchObject({ level: 'anchored' })
  })

  test('one that earlier formulas have computed lacks, and is computed again, until it was', async () => {
    await track([1])
    const chain = chainTo(40)
    await backfill(backfilled(chain), range, never)
    await asComputed(3, { formulas: FORMULAS_VERSION - 1 })
    const gapsOf = async () => (await findGaps(backfilled(chain), range, never)).gaps
    expect(await gapsOf()).toEqual([{ fromEpoch: 3, toEpoch: 3, lacking: undefined, isComputed: true }])
    chain.offer = () => ({ bytes: 100 })
    const plans: RangePlan[] = []
    const onPlan = (plan: RangePlan) => void plans.push(plan)
    await backfill({ ...backfilled(chain), onlyPlan: true, onPlan }, range, never)
    expect(plans).toMatchObject([{ epochs: 1, states: { count: 2, bytes: 200 } }])
    await asComputed(3)
    expect(await gapsOf()).toEqual([])
  })

  test('one of a state that nothing has named lacks until it was, unless it has no block that could', async () => {
    await track([1])
    const chain = chainTo(40)
    await backfill(backfilled(chain), range, never)
    await asComputed(2, { level: 'consistent', isWithoutBlocks: true })
    await asComputed(3, { level: 'consistent' })
    const gapsOf = async () => (await findGaps(backfilled(chain), range, never)).gaps
    expect(await gapsOf()).toEqual([{ fromEpoch: 3, toEpoch: 3, lacking: undefined, isComputed: true }])
    await asComputed(3)
    expect(await gapsOf()).toEqual([])
  })
})

describe('before anything is read', () => {
  const range = { fromEpoch: 2, toEpoch: 6 }
  const planned = async (chain: SyntheticChain, change: Partial<Parameters<typeof backfill>[0]> = {}) => {
    const plans: RangePlan[] = []
    const options = { ...backfilled(chain), onlyPlan: true, outageWaitMs: 1, goneAfterMs: 20, ...change }
    await backfill({ ...options, onPlan: (plan) => void plans.push(plan) }, range, never)
    return plans
  }

  test('the oldest, middle and newest states are asked for, and the bytes of all are told', async () => {
    await track([1])
    const chain = chainTo(40)
    // The states behind epochs 2, 4 and 6 of four slots each.
    const bytes = new Map([[11, 100], [19, 130], [27, 160]]) // biome-ignore format: a table
    chain.offer = (slot) => ({ bytes: bytes.get(slot) })
    const [plan] = await planned(chain)
    expect(plan).toMatchObject({ epochs: 5, validators: 1, states: { count: 6, bytes: 6 * 130 } })
    expect(plan?.probes.map(({ place, epoch }) => `${place} ${epoch}`)).toEqual(['oldest 2', 'newest 6', 'middle 4'])
    expect(await eventsOf('beacon.epochs')).toEqual([])
  })

  test('no size is made up where a node does not tell it', async () => {
    await track([1])
    const chain = chainTo(40)
    chain.offer = (slot) => ({ bytes: slot === 11 ? 100 : undefined })
    expect(await planned(chain)).toMatchObject([{ states: { count: 6, bytes: undefined } }])
  })

  test('epochs without states are told by endpoints, which is said', async () => {
    await track([1])
    const chain = chainTo(40)
    chain.offer = (slot) => {
      if (slot < 19) throw new AppError('node_lagging', `node 1 does not have the state of slot ${slot}`)
      return { bytes: 100 }
    }
    const [plan] = await planned(chain)
    expect(plan?.states).toBeUndefined()
    expect(plan?.probes.map(({ epoch, by }) => `${epoch} ${by}`)).toEqual(['2 endpoints', '6 states', '4 states'])
  })

  test('a range that no node can tell is refused by the epochs that are missing, and nothing of it is read', async () => {
    await track([1])
    const chain = chainTo(40)
    const isGone = (slot: number) => {
      if (slot < 16) throw new AppError('node_lagging', `node 1 does not have slot ${slot}`)
    }
    const finalChain: BeaconSource['finalChain'] = (at) => ({
      ...chain.beacon.finalChain(at),
      validators: async (slot, set) => {
        isGone(slot)
        return chain.final.validators(slot, set)
      },
    })
    const refused = planned(chain, { beacon: { ...chain.beacon, finalChain }, onlyPlan: false })
    await expect(refused).rejects.toThrow(
      expect.objectContaining({ code: 'usage', message: expect.stringMatching(/epoch 2, the oldest: .*archive node/) }),
    )
    await expect(refused).rejects.not.toThrow(/epoch 4|epoch 6/)
    expect(await eventsOf('beacon.epochs')).toEqual([])
  })

  test('a validator lacks nothing of epochs at whose end it is not in the registry', async () => {
    const chain = chainTo(80)
    chain.joinEpochs.set(3, 4).set(4, 6)
    await track([1, 4])
    await backfill(backfilled(chain), { fromEpoch: 2, toEpoch: 11 }, never)
    expect(await planned(chain)).toMatchObject([{ epochs: 0 }])
    expect((await findGaps(backfilled(chain), range, never)).gaps).toEqual([])
    // One that is tracked since lacks the epochs from that on which it joined with.
    await track([3])
    expect(await planned(chain)).toMatchObject([{ epochs: 3 }])
    // And all that no node can tell of.
    const finalChain: BeaconSource['finalChain'] = (at) => ({
      ...chain.beacon.finalChain(at),
      validators: async (slot, set) => {
        if (slot < 16) throw new AppError('node_lagging', `node 1 does not have slot ${slot}`)
        return chain.final.validators(slot, set)
      },
    })
    chain.offer = () => ({ bytes: 100 })
    expect(await planned(chain, { beacon: { ...chain.beacon, finalChain } })).toMatchObject([{ epochs: 5 }])
    await track([0]) // since genesis
    expect(await planned(chain)).toMatchObject([{ epochs: 5 }])
  })

  test('a node that leaves out who must be in the registry is not believed', async () => {
    const chain = chainTo(80)
    chain.joinEpochs.set(4, 6)
    await track([1, 4])
    await backfill(backfilled(chain), { fromEpoch: 2, toEpoch: 11 }, never)
    await track([3])
    let isAsked = false
    const finalChain: BeaconSource['finalChain'] = (at) => ({
      ...chain.beacon.finalChain(at),
      validators: async (slot, set) => {
        const isLeftOut = !isAsked && set[0] === 3 && slot < 28
        if (!isLeftOut) return chain.final.validators(slot, set)
        isAsked = true
        return chain.final.validators(slot, new Uint32Array())
      },
    })
    expect(await planned(chain, { beacon: { ...chain.beacon, finalChain } })).toMatchObject([{ epochs: 5 }])
    expect(isAsked).toBe(true)
  })

  test('what the log has is not asked for again', async () => {
    await track([1])
    const chain = chainTo(40)
    await backfill(backfilled(chain), { fromEpoch: 2, toEpoch: 4 }, never)
    expect(await planned(chain)).toMatchObject([{ epochs: 2 }])
    await backfill(backfilled(chain), range, never)
    expect(await planned(chain)).toMatchObject([{ epochs: 0, probes: [] }])
  })
})
