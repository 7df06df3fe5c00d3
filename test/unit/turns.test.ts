import { expect, test } from 'vitest'
import { Turns } from '../../processors/validators/turns.ts'

/** Notes what begins and ends, when the test lets it. */
function notedWork() {
  const noted: string[] = []
  const work = (what: string, held: Promise<void> = Promise.resolve()) => {
    return async () => {
      noted.push(`${what} begins`)
      await held
      noted.push(`${what} ends`)
      return what
    }
  }
  return { noted, work }
}

test('work of one name is done in the order of asking, and of another name meanwhile', async () => {
  const turns = new Turns()
  const { noted, work } = notedWork()
  const held = Promise.withResolvers<void>()
  const done = [turns.take('a', work('first', held.promise)), turns.take('a', work('second'))]
  expect(await turns.take('b', work('other'))).toBe('other')
  expect(noted).toEqual(['first begins', 'other begins', 'other ends'])
  held.resolve()
  expect(await Promise.all(done)).toEqual(['first', 'second'])
  expect(noted.slice(3)).toEqual(['first ends', 'second begins', 'second ends'])
})

test('what fails is its asker’s, and the next one has its turn', async () => {
  const turns = new Turns()
  const failing = turns.take('a', () => Promise.reject(new Error('broken')))
  const next = turns.take('a', async () => 'next')
  await expect(failing).rejects.toThrow('broken')
  expect(await next).toBe('next')
})

test('who comes when all are done waits for nobody, and nothing is kept of the name', async () => {
  const turns = new Turns()
  const { noted, work } = notedWork()
  await turns.take('a', work('first'))
  await new Promise(setImmediate)
  expect(turns.names).toBe(0)
  const held = Promise.withResolvers<void>()
  const second = turns.take('a', work('second', held.promise))
  const third = turns.take('a', work('third'))
  expect(turns.names).toBe(1)
  held.resolve()
  await Promise.all([second, third])
  expect(noted.slice(2)).toEqual(['second begins', 'second ends', 'third begins', 'third ends'])
})
