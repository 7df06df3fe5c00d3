import { tracingChannel } from 'node:diagnostics_channel'
import { describe, expect, test } from 'vitest'
import { STEP_CHANNEL } from '../../processors/validators/durable-steps.ts'
import { CALL_EPOCHS_MAX } from '../../processors/validators/exit/take-calls.ts'
import { ACCOUNTS_KEY } from '../../schemas/events/accounts.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { exitSigned } from '../../schemas/events/exits.ts'
import type { TakenCall } from '../../schemas/jobs/take-exit-calls.ts'
import { ALICE, BOB, CALL_SEC, CallsWorld, CONTRACT, credentialsOf, NOW_MS, pubkeyOf } from './calls-world.ts'

const [A, B, C] = [1, 2, 3].map(pubkeyOf) as [string, string, string]
const FOREIGN = pubkeyOf(99)

/** Three validators of Alice's that are created here and registered. */
function world(): CallsWorld {
  const made = new CallsWorld()
  made.created(ALICE, [A, B, C])
  made.registered(ALICE, [A, B, C])
  return made
}

const takenOf = (scheduled: number, passedOver: Readonly<Record<string, readonly string[]>> = {}) => ({
  status: 'taken',
  scheduled,
  passedOver: Object.entries(passedOver).map(([reason, pubkeys]) => ({ reason, validators: pubkeys.length, pubkeys })),
})

describe('a call for exits from the withdrawal address', () => {
  test('requests the exits of those that are named, once, however often it is taken', async () => {
    const given = world()
    const call = given.call(ALICE, [A, B])
    await given.take([call])
    await given.take([call, call])
    given.startAgain()
    await given.take([call])
    const [request] = given.requests()
    expect(given.requests()).toHaveLength(1)
    expect(request).toMatchObject({ account: 'acme', actor: call.txHash.slice(2), pubkeys: [A, B] })
    expect(given.reads()).toMatchObject([{ txHash: call.txHash, contract: CONTRACT, outcome: takenOf(2) }])
    expect(given.custody.book.exits.of('mainnet', A)?.status).toBe('open')
    expect(given.custody.book.exits.of('mainnet', C)).toBeUndefined()
  })

  test('is of all of its validators that were deposited before it', async () => {
    const given = world()
    const [queued, later, unfunded, bobs] = [4, 5, 6, 7].map(pubkeyOf) as [string, string, string, string]
    given.created(ALICE, [queued, later, unfunded], 'other')
    given.created(BOB, [bobs])
    given.registered(BOB, [bobs])
    given.registered(ALICE, [later])
    const deposits = [
      { pubkey: queued, blockNumber: 100 },
      { pubkey: later, blockNumber: 101 },
    ]
    expect(await given.outcome(given.call(ALICE, 'all', { deposits }))).toEqual(takenOf(4))
    expect(given.requests().map(({ account, pubkeys }) => [account, pubkeys])).toEqual([
      ['acme', [A, B, C]],
      ['other', [queued]],
    ])
  })

  test('takes imported keys as well, of who had them when it was made', async () => {
    const given = world()
    const [before, after] = [10, 11].map(pubkeyOf) as [string, string]
    given.imported([before], CALL_SEC - 1)
    given.imported([after], CALL_SEC + 1)
    given.registered(ALICE, [before, after], { withdrawalCredentials: credentialsOf(ALICE, '02') })
    expect(await given.outcome(given.call(ALICE, [A, before, after]))).toEqual(takenOf(2, { key_came_later: [after] }))
    expect(await given.outcome(given.call(ALICE, 'all'))).toEqual(takenOf(2))
    expect(given.requests().map(({ pubkeys }) => pubkeys)).toEqual([
      [A, before],
      [B, C],
    ])
  })

  test('leaves as they are those that cannot exit, with the reason', async () => {
    const given = world()
    const [lost, unfunded, deposited, nobodys] = [20, 21, 22, 23].map(pubkeyOf) as [string, string, string, string]
    given.created(ALICE, [lost, unfunded, deposited, nobodys])
    given.registered(ALICE, [lost, nobodys, FOREIGN])
    given.registered(ALICE, [B], { exitEpoch: 7 })
    given.untracked([nobodys])
    given.lost.add(lost)
    const deposits = [{ pubkey: deposited, blockNumber: 200 }]
    const outcome = await given.outcome(
      given.call(ALICE, [A, B, lost, unfunded, deposited, nobodys, FOREIGN], { deposits }),
    )
    expect(outcome).toEqual(
      takenOf(2, {
        already_exiting: [B],
        key_not_in_vault: [lost, FOREIGN],
        not_deposited: [unfunded],
        no_account: [nobodys],
      }),
    )
    expect(given.requests().map(({ pubkeys }) => pubkeys)).toEqual([[A, deposited]])
  })

  test('signs nothing anew that is signed', async () => {
    const given = world()
    await given.take([given.call(ALICE, [A])])
    const signed = { validatorIndex: 0, epoch: 259, signature: `0x${'cd'.repeat(96)}`, headEpoch: 9_000 }
    const data = { chain: 'mainnet', pubkey: A, ...signed }
    given.custody.book.add(
      encodeEvent(exitSigned, { id: 'signed', key: ACCOUNTS_KEY, time: '2026-11-22T00:00:00.000Z', data }),
    )
    expect(await given.outcome(given.call(ALICE, [A, B]))).toEqual(takenOf(1, { already_exiting: [A] }))
    expect(given.requests().map(({ pubkeys }) => pubkeys)).toEqual([[A], [B]])
  })

  test('is several requests where an account has more validators than one takes', async () => {
    const given = new CallsWorld()
    const many = Array.from({ length: 2_050 }, (_, i) => pubkeyOf(1_000 + i))
    for (let from = 0; from < many.length; from += 100) given.created(ALICE, many.slice(from, from + 100))
    given.registered(ALICE, many)
    expect(await given.outcome(given.call(ALICE, 'all'))).toEqual(takenOf(2_050))
    expect(given.requests().map(({ pubkeys }) => pubkeys.length)).toEqual([1_000, 1_000, 50])
  })
})

describe('a call for exits is ignored', () => {
  const faulty = (fault: 'malformed' | 'too_many_validators') => ({ calledFor: { kind: 'faulty' as const, fault } })
  test.each<[string, (given: CallsWorld) => TakenCall, object]>([
    ['from another address', (given) => given.call(BOB, [A]), { reason: 'not_withdrawal_address', pubkey: A }],
    [
      'for others besides',
      (given) => given.call(ALICE, [A, FOREIGN]),
      { reason: 'not_withdrawal_address', pubkey: FOREIGN },
    ],
    [
      'for one that nobody knows',
      (given) => given.call(ALICE, [A, pubkeyOf(98)]),
      { reason: 'unknown_validator', pubkey: pubkeyOf(98) },
    ],
    ['for strangers alone', (given) => given.call(BOB, [FOREIGN]), { reason: 'no_validators_here' }],
    ['of who has none', (given) => given.call(BOB, 'all'), { reason: 'no_validators_here' }],
    ['that is malformed', (given) => given.call(ALICE, [], faulty('malformed')), { reason: 'malformed' }],
    ['of too many', (given) => given.call(ALICE, [], faulty('too_many_validators')), { reason: 'too_many_validators' }],
  ])('%s, all of it', async (_, callOf, outcome) => {
    const given = world()
    given.registered(BOB, [FOREIGN])
    expect(await given.outcome(callOf(given))).toEqual({ status: 'ignored', ...outcome })
    expect(given.requests()).toEqual([])
    expect(given.warnings).toMatchObject([{ status: 'ignored', ...outcome }])
  })

  test('where the validators have no withdrawal address', async () => {
    const given = world()
    given.registered(ALICE, [A], { withdrawalCredentials: `0x00${'00'.repeat(11)}${ALICE.slice(2)}` })
    expect(await given.outcome(given.call(ALICE, [A]))).toMatchObject({ reason: 'not_withdrawal_address' })
  })

  test('that is read so late that its sender may want something else', async () => {
    const given = world()
    const inTime = NOW_MS / 1_000 - 384 * CALL_EPOCHS_MAX
    const old = given.call(ALICE, [A], { timeSec: inTime - 384 })
    expect(await given.outcome(old)).toEqual({ status: 'ignored', reason: 'too_old' })
    expect(await given.outcome(given.call(ALICE, [A], { timeSec: inTime }))).toEqual(takenOf(1))
  })

  test('of strangers without asking a node', async () => {
    const given = world()
    await given.take([given.call(BOB, [FOREIGN]), given.call(BOB, 'all')])
    expect(given.asked).toEqual([])
    expect(given.reads()).toHaveLength(2)
  })

  test('of another contract than the chain’s, without a word', async () => {
    const given = world()
    await given.take([given.call(ALICE, [A])], `0x${'e5'.repeat(20)}`)
    expect([given.requests(), given.reads()]).toEqual([[], []])
  })
})

test('a call waits for the nodes, and those behind it wait with it', async () => {
  const given = world()
  given.isNodeAway = true
  const calls = [given.call(ALICE, [A]), given.call(BOB, 'all')]
  await given.take(calls)
  expect([given.requests(), given.reads()]).toEqual([[], []])
  given.isNodeAway = false
  await given.take(calls)
  expect(given.reads()).toHaveLength(2)
})

test('a call is taken in one durable step, which has a name', async () => {
  const given = world()
  const told: object[] = []
  const note = ({ step }: { step: string }) => void told.push({ step, events: given.events.length })
  const subscribers = { start: note, asyncStart: note, end() {}, asyncEnd() {}, error() {} }
  const channel = tracingChannel<string, { step: string }>(STEP_CHANNEL)
  channel.subscribe(subscribers)
  const before = given.events.length
  await given.take([given.call(ALICE, [A, B])])
  channel.unsubscribe(subscribers)
  expect(told).toEqual([
    { step: 'exit-called', events: before },
    { step: 'exit-called', events: before + 2 },
  ])
})

test('a process that dies with a call leaves it to the next one, which requests the same', async () => {
  for (const moment of ['before', 'after', 'midway'] as const) {
    const given = world()
    const call = given.call(ALICE, [A, B])
    given.onAppend = (now) => {
      if (moment === 'midway' && now === 'after') given.events.pop() // the log had the requests alone
      if (now === (moment === 'midway' ? 'after' : moment)) throw new Error('killed')
    }
    await expect(given.take([call])).rejects.toThrow('killed')
    given.onAppend = () => {}
    given.startAgain()
    await given.take([call])
    expect(
      given.requests().map(({ pubkeys }) => pubkeys),
      moment,
    ).toEqual([[A, B]])
    expect(
      given.reads().map(({ outcome }) => outcome.status),
      moment,
    ).toEqual(['taken'])
  }
})
