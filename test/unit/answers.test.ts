import { expect, test } from 'vitest'
import { Answers, type SentAnswer, toBody } from '../../api/http/answers.ts'

const answerOf = (text: string, isKept = true): SentAnswer => ({
  httpStatus: 200,
  type: 'text/plain',
  body: text,
  isKept,
})

function question(position: string, gone = new AbortController()) {
  return { key: 'question', position, signal: gone.signal }
}

test('an answer is kept until the tables stand otherwise', async () => {
  const answers = new Answers()
  const first = await answers.of(question('1'), () => Promise.resolve(answerOf('one')))
  expect(answers.kept('question', '1')).toBe(first)
  expect(answers.kept('question', '2')).toBeUndefined()
  expect(answers.kept('another', '1')).toBeUndefined()
})

test('a failure, and an answer that says so, are not kept', async () => {
  const answers = new Answers()
  await answers.of(question('1'), () => Promise.resolve(answerOf('failed', false)))
  expect(answers.kept('question', '1')).toBeUndefined()
  await expect(answers.of(question('1'), () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  const again = await answers.of(question('1'), () => Promise.resolve(answerOf('yes')))
  expect(again.body).toBe('yes')
})

test('equal questions at one time are asked once, and end when all askers are gone', async () => {
  const answers = new Answers()
  const signals: AbortSignal[] = []
  const ask = (signal: AbortSignal): Promise<SentAnswer> => {
    signals.push(signal)
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }
  const [one, other] = [new AbortController(), new AbortController()]
  const asked = [answers.of(question('1', one), ask), answers.of(question('1', other), ask)]
  one.abort(new Error('one is gone'))
  await expect(asked[0]).rejects.toThrow('one is gone')
  expect(signals.map((signal) => signal.aborted)).toEqual([false])
  other.abort(new Error('other is gone'))
  await expect(asked[1]).rejects.toThrow('other is gone')
  expect(signals.map((signal) => signal.aborted)).toEqual([true])
  // The next asker is not given what was ended.
  const next = await answers.of(question('1'), () => Promise.resolve(answerOf('next')))
  expect(next.body).toBe('next')
})

test('a long text is kept as its bytes, a short one as it is', () => {
  const [short, long] = ['ä'.repeat(10), 'ä'.repeat(100_000)]
  expect(toBody(short)).toBe(short)
  expect(toBody(long)).toEqual(Buffer.from(long))
})

test('a long answer is kept from the second time on that it is asked for, however the tables stand then', async () => {
  const answers = new Answers()
  const long = (): Promise<SentAnswer> => Promise.resolve({ ...answerOf(''), body: toBody('a'.repeat(100_000)) })
  const ask = (position: string) => answers.of(question(position), long)
  await ask('1')
  expect(answers.kept('question', '1')).toBeUndefined()
  const second = await ask('1')
  expect(answers.kept('question', '1')).toBe(second)
  const third = await ask('2')
  expect(answers.kept('question', '2')).toBe(third)
})
