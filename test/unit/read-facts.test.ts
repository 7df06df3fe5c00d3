import { expect, it } from 'vitest'
import type { Role, Running } from '../../commands/role.ts'
import { runRoles } from '../../commands/run-roles.ts'
import { usersRole } from '../../commands/users/role.ts'
import { validatorsRole } from '../../commands/validators/role.ts'
import { openEventLog } from '../../infra/open-ports.ts'
import type { StoredEvent } from '../../infra/ports/event-log.ts'
import type { Log } from '../../infra/ports/log.ts'
import { readOrderBook } from '../../processors/users/order-book.ts'
import { OwnersOnLog } from '../../processors/validators/exit/owners-on-log.ts'
import { readStakingBook } from '../../processors/validators/staking-book.ts'
import {
  ACCOUNTS_KEY,
  tokenCreated,
  tokenRevoked,
  validatorsTracked,
  validatorsUntracked,
  validatorsWatched,
} from '../../schemas/events/accounts.ts'
import { type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { validatorsCreated } from '../../schemas/events/created-validators.ts'
import { exitCallRead } from '../../schemas/events/exit-calls.ts'
import { exitCancelled, exitEnded, exitRequested, exitSigned, exitSubmitted } from '../../schemas/events/exits.ts'
import { orderExtended, orderMoved, orderPlaced } from '../../schemas/events/orders.ts'
import { stakingBroadcast, stakingEnded } from '../../schemas/events/staking-broadcast.ts'
import { userStands } from '../../schemas/events/users.ts'
import { keysAssigned, keysExported, keysImported, keysTaken } from '../../schemas/events/vault-keys.ts'
import { untilAborted } from '../../schemas/wait.ts'
import { tracked } from './account-facts.ts'
import { eventLogOfEachTest } from './event-log-of-each-test.ts'
import { settingsOfFile } from './setting-of-file.ts'
import { silentLog } from './silent-log.ts'

// What those who decide by facts make of one that nobody can read.

const log = eventLogOfEachTest()
const settings = settingsOfFile()
const NEVER = new AbortController().signal
const envelope = { key: ACCOUNTS_KEY, time: '2026-11-22T00:00:00.000Z' }
const ORDER = `ord_${'1'.repeat(16)}`
const KEY = `0x${'ab'.repeat(48)}`

const placed = encodeEvent(orderPlaced, {
  ...envelope,
  id: 'placed',
  data: {
    ...{ account: 'acme', orderId: ORDER, name: 'node', protocol: 'ethereum', network: 'mainnet' },
    ...{ nodeType: 'full', location: 'eu-central', days: 30 },
  },
})
const requested = encodeEvent(exitRequested, {
  ...envelope,
  id: 'requested',
  data: { chain: 'mainnet', account: 'acme', requestId: crypto.randomUUID(), actor: 'ab', pubkeys: [KEY] },
})

/** Of this type's newest version, with data that is something else, or of a version that only a later release knows. */
const unreadable = ({ name, version }: { readonly name: string; readonly version: number }): EncodedEvent[] => [
  { ...envelope, type: name, version, id: `garbage.${name}`, data: new TextEncoder().encode('{"garbage":1}') },
  { ...envelope, type: name, version: version + 100, id: `later.${name}`, data: new TextEncoder().encode('{}') },
]

function listening() {
  const told: string[] = []
  const listener: Log = { ...silentLog, error: (fields) => void told.push((fields as { event: string }).event) }
  return { told, listener }
}

it.each([orderPlaced, orderExtended, tokenCreated, tokenRevoked])(
  'an order is known where a fact of $name cannot be read, and the fact is told once',
  async (type) => {
    const events = unreadable(type)
    await log().append('accounts', [...events, placed])
    const { told, listener } = listening()
    expect((await readOrderBook(log(), listener, NEVER)).get(ORDER)?.step).toBe('ordered')
    expect(told).toEqual(events.map(({ id }) => id))
  },
)

it.each([validatorsCreated, exitRequested, exitSigned, exitSubmitted, exitEnded, stakingEnded, keysImported])(
  'exits are known where a fact of $name cannot be read, and the fact is told once',
  async (type) => {
    const events = unreadable(type)
    await log().append('accounts', [...events, requested])
    const { told, listener } = listening()
    expect((await readStakingBook(log(), listener, NEVER)).exits.of('mainnet', KEY)?.status).toBe('open')
    expect(told).toEqual(events.map(({ id }) => id))
  },
)

it.each([
  { type: orderMoved, read: readOrderBook },
  ...[stakingBroadcast, exitCancelled, exitCallRead, keysExported, keysAssigned, keysTaken].map((type) => ({
    ...{ type, read: readStakingBook },
  })),
])('nothing is decided where a fact of $type.name cannot be read', async ({ type, read }) => {
  for (const event of unreadable(type)) {
    // By itself: each is enough.
    async function* only(): AsyncIterable<StoredEvent> {
      yield await Promise.resolve({ event, position: { partition: 0, offset: 0n } })
    }
    await expect(read({ read: only }, silentLog, NEVER)).rejects.toMatchObject({
      code: 'undecodable',
      message: expect.stringMatching(/^The event .* cannot be read, and without it nothing is decided: /),
    })
  }
})

it.each([
  { role: validatorsRole, topic: 'accounts', type: stakingBroadcast },
  { role: usersRole, topic: 'users', type: userStands },
] as const)(
  'the role $role.name stops and is named where a fact of $type.name cannot be read, and the others go on',
  async ({ role, topic, type }) => {
    const stop = new AbortController()
    const told: string[] = []
    const stopped = Promise.withResolvers<void>()
    const error = (_fields: object, message: string): void => {
      told.push(message)
      stopped.resolve()
    }
    const setting = settings()
    const [event] = unreadable(type)
    {
      await using eventLog = await openEventLog(setting.config, silentLog)
      await eventLog.append(topic, event === undefined ? [] : [event])
    }
    let seen: Running['stoppedRoles'] | undefined
    const other: Role = {
      name: 'process',
      needs: [],
      run: async (_ports, running, signal) => {
        seen = running.stoppedRoles
        await Promise.race([stopped.promise, untilAborted(signal)])
        expect(signal.aborted).toBe(false)
        stop.abort()
      },
    }
    await runRoles({ ...setting, log: { ...silentLog, error }, signal: stop.signal }, [other, role])
    const reason = expect.stringMatching(
      new RegExp(`The event garbage.${type.name} cannot be read, and .* nothing is decided`),
    )
    expect([...(seen ?? [])]).toEqual([[role.name, reason]])
    expect(told).toEqual([
      expect.stringContaining(`the role ${role.name} has stopped, and the others go on: The event`),
    ])
    // Alone it ends, with what to do.
    await expect(runRoles(setting, [role])).rejects.toMatchObject({ code: 'undecodable', message: reason })
  },
)

it.each([
  { type: validatorsTracked, isRequired: true },
  { type: validatorsUntracked, isRequired: true },
  { type: validatorsWatched, isRequired: false },
])(
  'nobody is taken for an owner where a fact of $type.name cannot be read: $isRequired',
  async ({ type, isRequired }) => {
    await log().append('accounts', [tracked('acme', [KEY]), ...unreadable(type)])
    const strangers = new OwnersOnLog(log(), NEVER).strangersTo('acme', { chain: 'mainnet', pubkeys: [KEY] }, 30_000)
    if (isRequired) await expect(strangers).rejects.toMatchObject({ code: 'undecodable' })
    else expect(await strangers).toEqual([])
  },
)
