import { expect, test } from 'vitest'
import { ChainView } from '../../api/gateway/subscriptions/chain-view.ts'
import { ToldLogs } from '../../api/gateway/subscriptions/told-logs.ts'

// What a subscription to logs is told, from block 100 on, by whichever node.

const hashOf = (number: number, branch = 'a'): string => `0x${branch.repeat(8)}${number}`
const log = (number: number, { branch = 'a', removed = false } = {}) => ({
  ...{ blockHash: hashOf(number, branch), blockNumber: `0x${number.toString(16)}`, logIndex: '0x0', removed },
})

function givenLogs(): { readonly view: ChainView; readonly told: ToldLogs } {
  const view = new ChainView()
  for (const number of [99, 100]) view.extend({ hash: hashOf(number), number, parentHash: hashOf(number - 1) })
  return { view, told: new ToldLogs(view) }
}

test('a log is told once, and once that it is removed', () => {
  const { told } = givenLogs()
  expect([told.note(log(101)), told.note(log(101))]).toEqual([true, false])
  expect([told.note(log(101, { removed: true })), told.note(log(101, { removed: true }))]).toEqual([true, false])
  expect(told.note(log(101)), 'the chain is back on its block').toBe(true)
})

test('a log that was not told is not told to be removed: the next node had its block before it was asked, and left it', () => {
  const { told } = givenLogs()
  told.note(log(101))
  expect(told.note(log(102, { removed: true }))).toBe(false)
  expect(told.note(log(101, { branch: 'b', removed: true }))).toBe(false)
  expect(told.note(log(102)), 'it comes back').toBe(true)
  expect(told.note(log(102, { removed: true }))).toBe(true)
})

test('a log of a block from before the subscription is told to be removed: who subscribes may know it', () => {
  const { told } = givenLogs()
  for (const number of [99, 100]) expect(told.note(log(number, { removed: true })), String(number)).toBe(true)
})

test('a log that is forgotten is told to be removed: it may have been told', () => {
  const { view, told } = givenLogs()
  for (let number = 101; number <= 104; number++) {
    view.extend({ hash: hashOf(number), number, parentHash: hashOf(number - 1) })
    told.note(log(number))
  }
  told.keepAtMost(1)
  expect(told.note(log(102, { removed: true }))).toBe(true)
})
