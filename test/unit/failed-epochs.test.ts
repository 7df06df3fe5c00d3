import { expect, test } from 'vitest'
import { ExplainedEpochs } from '../../infra/beacon/explained-epochs.ts'
import type { Ask } from '../../infra/beacon/wide-tables.ts'
import { rootOf } from './given-state.ts'
import { silentLog } from './silent-log.ts'
import { syntheticChain } from './synthetic-chain.ts'

/** Of mainnet, whose preset is the one that states are read by. */
const chain = { ...syntheticChain, spec: {} }
const SET = Uint32Array.of(1)
/** An epoch whose only block has its number in its root. */
const epochAfter = (epoch: number, parentRoot: string) => ({
  ...{ epoch, parentRoot, blockRoots: [rootOf(epoch)], cutSlots: [] },
})

/** A node that fails as often as it is asked, with another error each time. */
function failingNode() {
  let times = 0
  const ask: Ask = async () => {
    throw new Error(`failure ${++times}`)
  }
  const epochs = new ExplainedEpochs({ log: silentLog, chain: async () => chain, nodes: 1, kept: undefined })
  return { asked: () => times, of: (question: ReturnType<typeof epochAfter>) => epochs.of(question, SET, ask) }
}

test('epochs that were asked for behind one that failed fail with it, and nobody is asked for their states', async () => {
  const node = failingNode()
  const questions = [epochAfter(5, rootOf(4)), epochAfter(6, rootOf(5)), epochAfter(7, rootOf(6))]
  const answers = await Promise.allSettled(questions.map(node.of))
  expect(answers.map((answer) => String((answer as PromiseRejectedResult).reason))).toEqual(
    Array.from(questions, () => 'Error: failure 1'),
  )
  expect(node.asked()).toBe(1)
})

test('they are asked for anew by whoever asks behind the failure, or for another branch', async () => {
  const node = failingNode()
  const [failed, other] = [node.of(epochAfter(5, rootOf(4))), node.of(epochAfter(6, rootOf(99)))]
  await expect(failed).rejects.toThrow('failure 1')
  await expect(other).rejects.toThrow('failure 2')
  await expect(node.of(epochAfter(6, rootOf(5)))).rejects.toThrow('failure 3')
})
