import { beforeEach, expect, test } from 'vitest'
import type { EpochOfBranch, KeepingOutcome } from '../../infra/ports/beacon-source.ts'
import { followStates } from '../../ingest/epochs/state-follower.ts'
import { AppError } from '../../schemas/errors.ts'
import { eventLogOfEachTest } from './event-log-of-each-test.ts'
import { BEACON_CHAIN, chainTo, ofChain, trackValidators } from './follow-synthetic.ts'
import type { SyntheticChain } from './synthetic-chain.ts'

const eventLog = eventLogOfEachTest()
const HEAD_SLOT = 22 // epochs have 4 slots: the head is in epoch 5, and epoch 3 is the final checkpoint

beforeEach(() => trackValidators(eventLog(), [1], BEACON_CHAIN))

type Step = (epoch: EpochOfBranch, stop: () => void) => KeepingOutcome

/** Follows a chain; the steps say what becomes of one state after the other, and move the chain on. Epochs with their ends. */
async function follow(chain: SyntheticChain, steps: readonly Step[]): Promise<readonly string[]> {
  const stop = new AbortController()
  chain.keeping = (epoch) => steps[chain.kept.length - 1]?.(epoch, () => stop.abort()) ?? 'kept'
  await followStates(
    { ...ofChain(BEACON_CHAIN, eventLog()), beacon: chain.beacon },
    AbortSignal.any([stop.signal, AbortSignal.timeout(10_000)]),
  )
  return chain.kept.map(({ epoch, blockRoots, parentRoot }) => {
    const nameOf = (root: string) => Buffer.from(root.slice(2), 'hex').toString().replaceAll('\0', '')
    return `${epoch}: ${[parentRoot, ...blockRoots].map(nameOf).join(' ')}`
  })
}

const kept: Step = () => 'kept'
const last: Step = (_, stop) => {
  stop()
  return 'kept'
}

test('has the states kept that the head has passed and that are not final, the oldest first, each once', async () => {
  const chain = chainTo(HEAD_SLOT)
  const moveOn: Step = () => {
    chain.extendRange(23, 24, 'b22')
    return 'kept'
  }
  expect(await follow(chain, [kept, kept, moveOn, last])).toEqual([
    '2: b7 b8 b9 b10 b11',
    '3: b11 b12 b13 b14 b15',
    '4: b15 b16 b17 b18 b19',
    '5: b19 b20 b21 b22 b23',
  ])
})

test('a head of another branch has the states of that branch kept, and one that forks off later has none read again', async () => {
  const chain = chainTo(HEAD_SLOT)
  const changeOver: Step = () => {
    chain.extend('c21', 21, 'b18')
    return 'kept'
  }
  const forkLater: Step = () => {
    chain.extend('d22', 22, 'c21')
    chain.extend('e23', 23, 'c21')
    chain.extend('e24', 24, 'e23')
    return 'kept'
  }
  expect(await follow(chain, [kept, kept, changeOver, forkLater, last])).toEqual([
    '2: b7 b8 b9 b10 b11',
    '3: b11 b12 b13 b14 b15',
    '4: b15 b16 b17 b18 b19',
    '4: b15 b16 b17 b18',
    '5: b18 c21 e23',
  ])
})

test('an epoch without a block has the state of the block before it', async () => {
  const chain = chainTo(11)
  chain.extend('b17', 17, 'b11')
  expect(await follow(chain, [kept, kept, kept, last])).toEqual([
    '0: genesis b1 b2 b3',
    '1: b3 b4 b5 b6 b7',
    '2: b7 b8 b9 b10 b11',
    '3: b11',
  ])
})

test('without room nothing more is read before the next epoch, and a state that no node has is asked for three times', async () => {
  const chain = chainTo(HEAD_SLOT)
  const absent: Step = () => 'absent'
  const intoEpoch =
    (epoch: number, outcome: KeepingOutcome): Step =>
    () => {
      const from = chain.head.slot + 1
      chain.extendRange(from, 4 * epoch, `b${from - 1}`)
      return outcome
    }
  const steps = [
    absent,
    intoEpoch(6, 'no room'),
    absent,
    kept,
    kept,
    intoEpoch(7, 'kept'),
    absent,
    intoEpoch(8, 'kept'),
  ]
  expect((await follow(chain, [...steps, last])).map((epoch) => epoch[0]).join(' ')).toBe('2 3 2 3 4 5 2 6 7')
})

test('while nothing is final, no block is walked over twice', async () => {
  const chain = chainTo(101)
  chain.finalizedEpoch = 1
  const asked: string[] = []
  chain.before = (question) => {
    if (question.startsWith('block ')) asked.push(question)
  }
  const moveOn: Step = () => {
    asked.length = 0
    chain.extendRange(102, 104, 'b101')
    return 'kept'
  }
  await follow(chain, [...Array.from({ length: 24 }, () => kept), moveOn, last])
  // The new head, and the blocks from it to the end of the epoch before the one that it has left.
  expect(asked.length).toBeLessThan(12)
})

test('a node that fails is asked again, and what is kept by then is not', async () => {
  const chain = chainTo(HEAD_SLOT)
  const fail: Step = () => {
    throw new AppError('node_unreachable', 'it is away', { retryable: true })
  }
  expect((await follow(chain, [kept, fail, kept, last])).map((epoch) => epoch[0])).toEqual(['2', '3', '3', '4'])
})
