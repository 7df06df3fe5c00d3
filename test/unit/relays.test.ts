import { expect, test } from 'vitest'
import type { Log } from '../../infra/ports/log.ts'
import { openRelays } from '../../infra/relays/relays.ts'
import { silentLog } from './silent-log.ts'
import { type NodeReply, openSyntheticNode } from './synthetic-node.ts'

// Stand-ins of relays on loopback, which answer as flashbots/relay-specs has it.

const HASH = `0x${'ab'.repeat(32)}`
const hex = (digits: number, digit: string): string => `0x${digit.repeat(digits)}`

/** A bid trace as relays tell it; there are more fields than are read. */
const trace = {
  slot: '9000001',
  parent_hash: hex(64, '1'),
  block_hash: HASH.toUpperCase().replace('0X', '0x'),
  builder_pubkey: hex(96, 'B'),
  proposer_pubkey: hex(96, 'A'),
  proposer_fee_recipient: hex(40, 'F'),
  gas_limit: '36000000',
  gas_used: '1',
  value: '32000000000000000001',
  num_tx: '2',
  block_number: '1',
}

const CLAIM = {
  relay: expect.stringMatching(/^relay [0-9a-f]{8}$/),
  valueWei: 32_000_000_000_000_000_001n,
  feeRecipient: hex(40, 'f'),
  proposerPubkey: hex(96, 'a'),
  builderPubkey: hex(96, 'b'),
  slot: 9_000_001,
}

interface Warned {
  readonly fields: object
  readonly message: string
}

/** A log that keeps what it was warned of. */
function keepingLog(): { readonly log: Log; readonly warned: Warned[] } {
  const warned: Warned[] = []
  return {
    log: { ...silentLog, warn: (fields: object, message: string) => warned.push({ fields, message }) } as Log,
    warned,
  }
}

test('a relay is asked for the block that it delivered, and its word is kept as it is', async () => {
  await using relay = await openSyntheticNode(() => ({ json: [trace] }))
  await using relays = openRelays({ urls: [relay.url], log: silentLog })
  expect(await relays.claimsOf(HASH)).toEqual([CLAIM])
  expect(relay.seen.map(({ method, path }) => `${method} ${path}`)).toEqual([
    `GET /base/relay/v1/data/bidtraces/proposer_payload_delivered?block_hash=${HASH}&key=hidden`,
  ])
})

test('several are asked, and those that did not deliver the block claim nothing', async () => {
  await using none = await openSyntheticNode(() => ({ json: [] }))
  await using other = await openSyntheticNode(() => ({ json: [{ ...trace, value: '7' }] }))
  await using relays = openRelays({ urls: [none.url, other.url], log: silentLog })
  expect(await relays.claimsOf(HASH)).toEqual([{ ...CLAIM, valueWei: 7n }])
})

test('claims name their relay the same wherever it stands in the list, and whatever secret is in its address', async () => {
  await using one = await openSyntheticNode(() => ({ json: [trace] }))
  await using other = await openSyntheticNode(() => ({ json: [trace] }))
  const namesOf = async (...urls: readonly string[]) => {
    await using relays = openRelays({ urls, log: silentLog })
    return (await relays.claimsOf(HASH)).map(({ relay }) => relay)
  }
  const [first, second] = await namesOf(one.url, other.url)
  expect(first).not.toBe(second)
  expect(await namesOf(other.url, one.url)).toEqual([second, first])
  expect(await namesOf(`${new URL(one.url).origin}/base?key=changed`)).toEqual([first])
})

test.each<[string, NodeReply]>([
  ['that is away', { reset: true }],
  ['that fails', { status: 500, json: { code: 500 } }],
  ['that refuses the question', { status: 400, json: { code: 400 } }],
  ['that answers no list', { json: { message: 'no' } }],
  ['that answers no JSON', { body: Buffer.from('<html>') }],
  ['whose value is no integer', { json: [{ ...trace, value: '0x5' }] }],
  ['whose value no wei can be', { json: [{ ...trace, value: '9'.repeat(78) }] }],
  ['that lacks a field', { json: [{ ...trace, proposer_pubkey: undefined }] }],
  ['that answers with another block', { json: [{ ...trace, block_hash: hex(64, 'c') }] }],
  ['that says two things of one block', { json: [trace, { ...trace, value: '1' }] }],
])('a relay %s claims nothing, is told by its place, and keeps nobody from the others', async (_, reply) => {
  await using wrong = await openSyntheticNode(() => reply)
  await using right = await openSyntheticNode(() => ({ json: [trace] }))
  const { log, warned } = keepingLog()
  await using relays = openRelays({ urls: [wrong.url, right.url], log })
  expect(await relays.claimsOf(HASH)).toEqual([CLAIM])
  expect(warned).toHaveLength(1)
  expect(warned[0]?.message).toContain(`block ${HASH} is left without the relay's claim`)
  expect(JSON.stringify(warned)).not.toMatch(/secret|hidden|127\.0\.0\.1/)
})

test('one that never answers is not waited for', { timeout: 20_000 }, async () => {
  await using silent = await openSyntheticNode(() => ({ hang: true }))
  await using relays = openRelays({ urls: [silent.url], log: silentLog })
  expect(await relays.claimsOf(HASH)).toEqual([])
})
