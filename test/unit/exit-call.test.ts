import fc from 'fast-check'
import { encodeAbiParameters, encodeEventTopics, type Hex, pad, parseAbi } from 'viem'
import { describe, expect, test } from 'vitest'
import { exitCallRows } from '../../processors/validators/exit-calls.ts'
import { decodeExitCall } from '../../schemas/eth/exit-call.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import { ALL_EXITS_REQUESTED_TOPIC, EXITS_REQUESTED_TOPIC } from '../../schemas/eth/kept-logs.ts'
import { REQUESTED_EXITS_MAX } from '../../schemas/eth/withdrawal-request.ts'
import { splitLogs } from '../../schemas/events/execution-log-parts.ts'

const ABI = parseAbi([
  'event ExitsRequested(address indexed withdrawalAddress, bytes pubkeys)',
  'event AllExitsRequested(address indexed withdrawalAddress)',
])
const SENDER: Hex = `0x${'ad'.repeat(20)}`
const pubkeyOf = (n: number): Hex => `0x${n.toString(16).padStart(96, '0')}`
const keysOf = (count: number, from = 1) => Array.from({ length: count }, (_, i) => pubkeyOf(from + i))
const joined = (keys: readonly string[]): Hex => `0x${keys.map((key) => key.slice(2)).join('')}`
const topicsOf = (eventName: 'ExitsRequested' | 'AllExitsRequested') =>
  encodeEventTopics({ abi: ABI, eventName, args: { withdrawalAddress: SENDER } }) as Hex[]
const listed = (pubkeys: Hex): Hex => encodeAbiParameters([{ type: 'bytes' }], [pubkeys])
const decode = (topics: readonly Hex[], data: Hex, dataTotal = bytesOf(data).length) =>
  decodeExitCall(bytesOf(joined(topics)), bytesOf(data), dataTotal)
const decodeList = (data: Hex) => decode(topicsOf('ExitsRequested'), data)?.calledFor

describe('a call for exits', () => {
  test('is what the contract logs of it', () => {
    expect(topicsOf('ExitsRequested')[0]).toBe(EXITS_REQUESTED_TOPIC)
    expect(topicsOf('AllExitsRequested')[0]).toBe(ALL_EXITS_REQUESTED_TOPIC)
    expect(decode(topicsOf('AllExitsRequested'), '0x')).toEqual({
      withdrawalAddress: SENDER,
      calledFor: { kind: 'all' },
    })
    for (const count of [1, 2, 3, REQUESTED_EXITS_MAX])
      expect(decode(topicsOf('ExitsRequested'), listed(joined(keysOf(count))))).toEqual({
        withdrawalAddress: SENDER,
        calledFor: { kind: 'listed', pubkeys: keysOf(count) },
      })
  })

  test('names each validator once', () => {
    const [one = '0x', two = '0x'] = keysOf(2)
    expect(decodeList(listed(joined([one, two, one])))).toEqual({ kind: 'listed', pubkeys: [one, two] })
  })

  const good = listed(joined(keysOf(1)))
  const word = (value: number | bigint) => pad(`0x${value.toString(16)}`).slice(2)
  test.each<[string, Hex]>([
    ['of no bytes', '0x'],
    ['of an empty list', listed('0x')],
    ['of half a public key', listed(`0x${'ab'.repeat(24)}`)],
    ['of a public key and a byte', listed(`0x${'ab'.repeat(49)}`)],
    ['that is cut', good.slice(0, -64) as Hex],
    ['with a word behind it', `${good}${'00'.repeat(32)}`],
    ['whose padding is not empty', `${good.slice(0, -2)}01` as Hex],
    ['whose offset is another', `0x${word(64)}${good.slice(66)}`],
    ['whose offset is huge', `0x${word(2n ** 255n)}${good.slice(66)}`],
    ['whose length is huge', `0x${word(32)}${word(2n ** 64n + 48n)}${good.slice(130)}`],
    ['whose length is more than there is', `0x${word(32)}${word(96)}${good.slice(130)}`],
  ])('is malformed %s', (_, data) => {
    expect(decodeList(data)).toEqual({ kind: 'faulty', fault: 'malformed' })
  })

  test('is faulty where it names too many, and nothing of its data is kept', () => {
    for (const count of [REQUESTED_EXITS_MAX + 1, 10_000])
      expect(decodeList(listed(joined(keysOf(count))))).toEqual({ kind: 'faulty', fault: 'too_many_validators' })
    expect(decode(topicsOf('AllExitsRequested'), '0x00')?.calledFor).toEqual({ kind: 'faulty', fault: 'malformed' })
  })

  test.each<[string, readonly Hex[]]>([
    ['of another event', [`0x${'ff'.repeat(32)}`, pad(SENDER)]],
    ['without a sender', [EXITS_REQUESTED_TOPIC]],
    ['with a topic too many', [EXITS_REQUESTED_TOPIC, pad(SENDER), pad(SENDER)]],
    ['of a sender of more than 20 bytes', [EXITS_REQUESTED_TOPIC, `0x01${'00'.repeat(31)}`]],
    ['without topics', []],
  ])('is none in a log %s', (_, topics) => {
    expect(decode(topics, good)).toBeUndefined()
  })

  test('is decoded or refused, whatever bytes a contract logs', () => {
    const topics = bytesOf(joined(topicsOf('ExitsRequested')))
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 6_000 }), fc.nat({ max: 2 ** 32 - 1 }), (data, cut) => {
        const call = decodeExitCall(topics, data, data.length + cut)
        if (call?.calledFor.kind === 'listed') expect(call.calledFor.pubkeys.length).toBeLessThanOrEqual(100)
        else expect(call?.calledFor.kind).toBe('faulty')
      }),
    )
  })
})

test('logs of calls are rows whatever their length, and those of others are none', () => {
  const logs: readonly { readonly topics: readonly Hex[]; readonly data: Hex }[] = [
    { topics: topicsOf('ExitsRequested'), data: listed(joined(keysOf(2))) },
    { topics: [`0x${'ff'.repeat(32)}`], data: '0x' },
    { topics: topicsOf('ExitsRequested'), data: listed(joined(keysOf(30_000))) }, // longer than a part
    { topics: topicsOf('AllExitsRequested'), data: '0x' },
  ]
  const parts = splitLogs({
    logIndex: Uint32Array.from(logs, (_, i) => 7 + i),
    transactionIndex: Uint32Array.from(logs, () => 0),
    transactionHash: bytesOf(`0x${logs.map((_, i) => pubkeyOf(i).slice(-64)).join('')}`),
    address: bytesOf(`0x${'e4'.repeat(20 * logs.length)}`),
    topics: logs.map(({ topics }) => bytesOf(joined(topics))),
    data: logs.map(({ data }) => bytesOf(data)),
  })
  expect(parts.length).toBeGreaterThan(1)
  const header = { chain: 'hoodi', number: 9, hash: `0x${'0b'.repeat(32)}`, timestampSec: 1_700_000_000 }
  const rows = parts.map((columns, part) =>
    exitCallRows({ header: { ...header, bucket: 0, part, parts: parts.length }, columns }, 5n),
  )
  const column = (name: string) => rows.flatMap(({ columns }) => [...(columns[name] as Iterable<unknown>)])
  expect(column('log_index')).toEqual([7, 9, 10])
  expect(column('kind')).toEqual(['listed', 'faulty', 'all'])
  expect(column('fault')).toEqual(['', 'too_many_validators', ''])
  expect(column('pubkeys')).toEqual([joined(keysOf(2)).slice(2), '', ''])
  expect(column('withdrawal_address')).toEqual([SENDER, SENDER, SENDER])
  expect(new Set(column('contract'))).toEqual(new Set([`0x${'e4'.repeat(20)}`]))
  expect(new Set(column('version'))).toEqual(new Set([5n]))
})
