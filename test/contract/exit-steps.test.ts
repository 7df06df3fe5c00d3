import { afterAll, beforeAll, expect, test } from 'vitest'
import { exitFlags } from '../../api/validators/exit-flags.ts'
import { exitRequests } from '../../api/validators/exit-requests.ts'
import { readExits } from '../../commands/exits-status.ts'
import { projectAccountFact } from '../../processors/accounts/account-facts.ts'
import { ACCOUNTS_KEY, validatorsTracked } from '../../schemas/events/accounts.ts'
import { type EncodedEvent, type EventType, encodeEvent } from '../../schemas/events/codec.ts'
import { exitCancelled, exitEnded, exitRequested, exitSigned, exitSubmitted } from '../../schemas/events/exits.ts'
import { type ApiFixture, openApiFixture } from './api-fixture.ts'

const chain = 'mainnet'
const TIME = '2026-11-22T00:00:00.000Z'
const SEC = Date.parse(TIME) / 1_000
const keyOf = (n: number) => `0x${n.toString(16).padStart(2, '0').repeat(48)}`
const asked = (pubkeys: readonly string[]) => ({
  chain,
  account: 'leaving',
  requestId: crypto.randomUUID(),
  actor: 'abcdef012345',
  pubkeys: [...pubkeys],
})
const signed = (pubkey: string) => ({
  chain,
  pubkey,
  validatorIndex: 7,
  epoch: 300,
  signature: `0x${'cd'.repeat(96)}`,
  headEpoch: 400,
})

let fixture: ApiFixture
let offset = 1_000n

beforeAll(async () => {
  fixture = await openApiFixture()
})
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

async function tell<Name extends string, Data>(type: EventType<Name, Data>, data: Data): Promise<EncodedEvent> {
  const event = encodeEvent(type, {
    id: `${type.name}:${offset}`,
    key: ACCOUNTS_KEY,
    time: TIME,
    data,
  })
  const { rows } = projectAccountFact({ event, position: { partition: 0, offset: offset++ } }, chain)
  for (const { table, columns } of rows) await fixture.warehouse.insert(table, columns)
  return event
}

test('the flags and the status follow an exit, whichever way it ends', async () => {
  const [scheduled, cancelled, under, done, failed, again] = [1, 2, 3, 4, 5, 6].map(keyOf) as [
    string,
    string,
    string,
    string,
    string,
    string,
  ]
  const all = [scheduled, cancelled, under, done, failed, again]
  await tell(validatorsTracked, { chain, account: 'leaving', pubkeys: all })
  await tell(exitRequested, asked(all))
  await tell(exitCancelled, asked([cancelled, again]))
  await tell(exitRequested, asked([again]))
  for (const pubkey of [under, done, failed]) await tell(exitSigned, signed(pubkey))
  for (const pubkey of [under, done]) await tell(exitSubmitted, { chain, pubkey, headEpoch: 400 })
  await tell(exitEnded, { chain, pubkey: done, end: { status: 'on_chain', exitEpoch: 405 } })
  await tell(exitEnded, { chain, pubkey: failed, end: { status: 'failed', reason: 'invalid_signature' } })

  const standing = {
    chain,
    position: 'now',
    figures: {},
    tokenOf: () => undefined,
    validatorsOf: () => all.length,
    warehouse: fixture.warehouse,
  }
  const flagsOf = await exitFlags({ standing, account: 'leaving', shared: fixture.warehouse })
  expect(all.map((pubkey) => Object.values(flagsOf(pubkey, false)))).toEqual([
    [true, false],
    [false, false],
    [false, true],
    [false, true],
    [false, false],
    [true, false],
  ])
  expect(Object.values(flagsOf(scheduled, true))).toEqual([false, true])
  const others = await exitFlags({ standing: { ...standing, figures: {} }, account: 'demo', shared: fixture.warehouse })
  expect(Object.values(others(scheduled, false))).toEqual([false, false])

  const ofStatus = { requested: 2, under_way: 1, failed: [{ pubkey: failed, reason: 'invalid_signature' }] }
  expect(await readExits(fixture.warehouse, { mainnet: 415 })).toEqual({ mainnet: { ...ofStatus, overdue: [] } })
  expect(await readExits(fixture.warehouse, { mainnet: 416 })).toEqual({ mainnet: { ...ofStatus, overdue: [under] } })
  expect(await readExits(fixture.warehouse, { mainnet: null })).toEqual({ mainnet: { ...ofStatus, overdue: [] } })
  expect(await readExits(fixture.warehouse, { hoodi: 416 })).toEqual({})

  const requests = await exitRequests({ standing, account: 'leaving', shared: fixture.warehouse }, all)
  expect(requests.get(done)).toEqual({ requestedSec: SEC, cancelledSec: undefined, submittedSec: SEC })
  expect(requests.get(cancelled)).toEqual({ requestedSec: SEC, cancelledSec: SEC, submittedSec: undefined })
  // Cancelled before it was asked for again, in the same second.
  expect(requests.get(again)).toEqual({ requestedSec: SEC, cancelledSec: undefined, submittedSec: undefined })
  // Asked for again: the node that took the exit of before has not taken this one.
  await tell(exitRequested, asked([done]))
  const anew = await exitRequests({ standing, account: 'leaving', shared: fixture.warehouse }, all)
  expect(anew.get(done)).toEqual({ requestedSec: SEC, cancelledSec: undefined, submittedSec: undefined })
  expect(anew.get(under)).toEqual({ requestedSec: SEC, cancelledSec: undefined, submittedSec: SEC })
})
