import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { PlainRequestReader } from '../../api/gateway/plain/plain-request.ts'
import { sentTransactionOf } from '../../api/gateway/sent-transaction.ts'
import { ChainNode, DEFAULT_LIMITS } from '../../infra/nodes/nodes.ts'
import { type AnswerEvents, AnswerReader, HEAD_BYTES_MAX } from '../../infra/upstreams/plain/answer-reader.ts'
import { toWarehouseError } from '../../infra/warehouse/warehouse-error.ts'
import { transactionRecipient } from '../../schemas/eth/transaction-recipient.ts'
import { trimBlanks } from '../../schemas/trim-blanks.ts'

// What comes from outside is read in a time that grows with its length and no faster: a second or less of so much, where its square would
// take longer than any test may.

test.each([
  ['', ''],
  [' \t ', ''],
  ['a', 'a'],
  ['\t a b\t', 'a b'],
  [' a \t b', 'a \t b'],
])('a text has no blanks around it: %j', (text, trimmed) => {
  expect(trimBlanks(`:${text}:`, 1, text.length + 1)).toBe(trimmed)
})

test('a header of blanks costs a request no more than another one', () => {
  const blanks = `x${' '.repeat(7_900)}y`
  const request = Buffer.from(`GET /a HTTP/1.1\r\nHost: a\r\nX: ${blanks} \r\n\r\n`)
  const socket = new Socket()
  expect(new PlainRequestReader(socket).read(request)?.headers.x).toBe(blanks)
  for (let i = 0; i < 5_000; i++) new PlainRequestReader(socket).read(request)
})

test('a header of blanks costs an answer no more than another one', () => {
  const blanks = `x${' \t'.repeat((HEAD_BYTES_MAX - 100) / 2)}y`
  const answer = Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: ${blanks}\t\r\n\r\n`)
  const told: unknown[] = []
  const events: AnswerEvents = {
    onHead: (_, headers) => void told.push(headers.x),
    onData: () => {},
    onEnd: () => {},
  }
  for (let i = 0; i < 1_000; i++) new AnswerReader(false, events).read(answer)
  expect(told[0]).toBe(blanks)
})

test('a word of a node or a database may be as long as they like', async () => {
  const word = 'a'.repeat(500_000)
  await using node = new ChainNode('node 1', 'http://127.0.0.1:1', DEFAULT_LIMITS)
  expect(node.quote(`see http://127.0.0.1/x ${word}`)).toMatch(/^see \(address\) aaa/)
  expect(node.quote(`${word}://y`)).toBe('(address)')
  const error = Object.assign(new Error(`no ab://c ${word}`), { code: '60' })
  expect(toWarehouseError(error).message).toMatch(/no \(address\) aaa/)
})

test('a transaction of millions of bytes is one', () => {
  const raw = `0x${'c0'.repeat(4_900_000)}`
  expect(transactionRecipient(raw)).toBeUndefined()
  const body = Buffer.from(`["${raw}"]`)
  const call = { method: 'm', id: '1', params: { from: 0, to: body.length }, from: 0, to: body.length }
  expect(sentTransactionOf(body, call, 'eth_getTransactionByHash')).toBeDefined()
})
