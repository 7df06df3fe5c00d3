import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ChainNode, DEFAULT_LIMITS } from '../../infra/nodes/nodes.ts'

// Memory that pieces of an answer were read into is given back while others are being read.

const BODY_BYTES = 3_000_000
const ANSWERS = 12

/** Bytes that differ between answers and within one. */
function bodyOf(number: number): Buffer {
  const words = new Uint32Array(BODY_BYTES / 4)
  for (let place = 0; place < words.length; place++) words[place] = Math.imul(place + number * 7_919, 2_654_435_761)
  return Buffer.from(words.buffer)
}

let server: Server
let node: ChainNode

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const [, number = '0', pieceBytes = '1', told] = (request.url ?? '').split('/')
    const body = bodyOf(Number(number))
    response.writeHead(200, told === 'told' ? { 'content-length': body.length } : {})
    for (let at = 0; at < body.length; at += Number(pieceBytes)) {
      if (!response.write(body.subarray(at, at + Number(pieceBytes)))) await once(response, 'drain')
      else if (at % 7 === 0) await setImmediate()
    }
    response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  node = new ChainNode('node 1', `http://127.0.0.1:${port}`, DEFAULT_LIMITS)
})

afterAll(async () => {
  await node[Symbol.asyncDispose]()
  server.close()
})

test.each([
  { pieceBytes: 700, how: 'untold' },
  { pieceBytes: 9_000, how: 'untold' },
  { pieceBytes: 9_000, how: 'told' },
  { pieceBytes: 1_000_000, how: 'told' },
])('answers of a length that is $how, in pieces of $pieceBytes bytes, come whole side by side', async (given) => {
  const request = (number: number) =>
    ({ method: 'GET', path: `/${number}/${given.pieceBytes}/${given.how}`, accept: '*/*' }) as const
  const whole = async (number: number) => Buffer.from((await node.request(request(number)))?.body ?? [])
  const byPieces = async (number: number) => {
    const copies: Buffer[] = []
    await node.readBy(request(number), () => (piece) => void copies.push(Buffer.from(piece)))
    return Buffer.concat(copies)
  }
  const numbers = Array.from({ length: ANSWERS }, (_, number) => number)
  const found = await Promise.all(numbers.map((number) => (number % 2 === 0 ? whole(number) : byPieces(number))))
  expect(found.map((body, number) => body.equals(bodyOf(number)))).toEqual(numbers.map(() => true))
})
