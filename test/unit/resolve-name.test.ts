import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { resolveName } from '../../infra/guarded-fetch/resolve-name.ts'

// A name server that answers as it is told, or not at all.

const [A, AAAA, TYPE_BYTES, HEAD_BYTES] = [1, 28, 4, 12]
const IN_QUESTION = 0xc00c

let server: Socket
let servers: readonly string[]
/** What was asked, as `name type`. */
let asked: string[]
/** Bytes of addresses by `name type`; of other names there are none, and of those with undefined nothing is answered. */
let known: Readonly<Record<string, readonly (readonly number[])[] | undefined>>
beforeEach(async () => {
  asked = []
  known = {}
  server = createSocket('udp4')
  server.on('message', (question, from) => {
    const { name, type, end } = questionOf(question)
    const key = `${name} ${type}`
    asked.push(key)
    if (Object.hasOwn(known, key) && known[key] === undefined) return
    server.send(answerTo(question.subarray(0, end), type, known[key]), from.port, from.address)
  })
  server.bind(0, '127.0.0.1')
  await once(server, 'listening')
  servers = [`127.0.0.1:${(server.address() as AddressInfo).port}`]
})
afterEach(() => {
  server.close()
})

function questionOf(question: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = []
  let at = HEAD_BYTES
  for (let length = question[at] ?? 0; length > 0; length = question[at] ?? 0) {
    labels.push(question.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: question.readUInt16BE(at + 1), end: at + 1 + TYPE_BYTES }
}

function answerTo(question: Buffer, type: number, addresses: readonly (readonly number[])[] | undefined): Buffer {
  const head = Buffer.from(question)
  head.writeUInt16BE(addresses === undefined ? 0x8183 : 0x8180, 2)
  head.writeUInt16BE(addresses?.length ?? 0, 6)
  head.fill(0, 8, HEAD_BYTES) // further records, which the question may have
  const records = (addresses ?? []).map((address) => {
    const record = Buffer.alloc(HEAD_BYTES)
    record.writeUInt16BE(IN_QUESTION, 0)
    record.writeUInt16BE(type, 2)
    record.writeUInt16BE(1, 4)
    record.writeUInt16BE(address.length, HEAD_BYTES - 2)
    return Buffer.concat([record, Buffer.from(address)])
  })
  return Buffer.concat([head, ...records])
}

const V6 = Array.from({ length: 16 }, (_, i) => i)

test('a name has the addresses of both kinds that its name server tells', async () => {
  known = {
    [`a.test ${A}`]: [
      [192, 0, 2, 1],
      [192, 0, 2, 2],
    ],
    [`a.test ${AAAA}`]: [V6],
  }
  expect(await resolveName('a.test', { servers })).toEqual([
    { address: '192.0.2.1', family: 4 },
    { address: '192.0.2.2', family: 4 },
    { address: '1:203:405:607:809:a0b:c0d:e0f', family: 6 },
  ])
  known = { [`a.test ${AAAA}`]: [V6] }
  expect(await resolveName('a.test', { servers }), 'of one kind alone').toHaveLength(1)
  await expect(resolveName('b.test', { servers })).rejects.toMatchObject({ code: 'ENOTFOUND' })
})

test('a name that nobody answers for is given up by itself, also where many are asked for', async () => {
  const names = Array.from({ length: 100 }, (_, i) => `silent-${i}.test`)
  known = Object.fromEntries(names.flatMap((name) => [A, AAAA].map((type) => [`${name} ${type}`, undefined])))
  const ends = await Promise.allSettled(names.map((name) => resolveName(name, { servers, timeoutMs: 20 })))
  expect(new Set(ends.map((end) => end.status === 'rejected' && end.reason.code))).toEqual(new Set(['ETIMEOUT']))
})

test('this machine is asked of nobody', async () => {
  for (const name of ['localhost', 'a.LOCALHOST', 'localhost.'])
    expect((await resolveName(name, { servers })).map(({ address }) => address)).toEqual(['127.0.0.1', '::1'])
  expect(asked).toEqual([])
})
