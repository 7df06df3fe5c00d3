import { describe, expect, it } from 'vitest'
import type { EventLog, Offsets } from '../../infra/ports/event-log.ts'
import { project } from '../../processors/loop/consume.ts'
import { openLogFacts } from '../../processors/loop/log-facts.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { proveDays } from '../../processors/verify/prove-days.ts'
import { proveEpochs } from '../../processors/verify/prove-epochs.ts'
import { proveRevenue, proveSettlements } from '../../processors/verify/prove-settlements.ts'
import { PROVE_ALL } from '../../processors/verify/proving.ts'
import { type Verifying, verifyTables } from '../../processors/verify/verify.ts'
import { chainKey } from '../../schemas/chains.ts'
import { type EncodedEvent, encodeEvent, type Topic } from '../../schemas/events/codec.ts'
import { CHAINLESS_TOPICS, TOPICS } from '../../schemas/events/envelope.ts'
import { registryLookedAt, validatorsIdentified } from '../../schemas/events/validators.ts'
import { tracked, untracked, watched } from '../unit/account-facts.ts'
import { asUnnamed, epochOfEvent } from '../unit/changed-events.ts'
import { GIVEN_CHAIN, givenChain, givenKey } from '../unit/given-chain.ts'
import { processLog } from '../unit/processing.ts'
import { projecting } from '../unit/projecting.ts'
import { inTurns, renamed } from '../unit/renamed-chain.ts'
import { storesOfFile } from '../unit/warehouse-of-file.ts'

type Events = ReadonlyMap<Topic, readonly EncodedEvent[]>

const TEST_MS = 120_000
const never = new AbortController().signal
const stores = storesOfFile()
const given = givenChain(18)
const SLOTS_PER_EPOCH = 4

const withTopic = (topic: Topic, change: (list: readonly EncodedEvent[]) => readonly EncodedEvent[]): Events =>
  new Map([...given.events, [topic, change(given.events.get(topic) ?? [])]])

/** A queue in which nothing waits. */
const idleQueue = { pending: async () => 0 }

const process = (eventLog: EventLog, groups?: string[]) => processLog(eventLog, stores().warehouse, groups)

async function filled(events: Events): Promise<EventLog> {
  const fill = async (): Promise<EventLog> => {
    const eventLog = await stores().openLog(events)
    await process(eventLog)
    return eventLog
  }
  if (events === given.events) return stores().filled('given', fill)
  await stores().empty()
  return fill()
}

async function verify(eventLog: EventLog, options: Partial<Verifying> = {}) {
  const lines: string[] = []
  const verdict = await verifyTables({
    eventLog,
    warehouse: stores().warehouse,
    jobQueue: idleQueue,
    signal: never,
    notes: [],
    quiet: true,
    mayBeProcessed: false,
    print: async (line) => void lines.push(line),
    ...options,
  })
  const last = lines.pop() ?? ''
  return { ...verdict, lines: lines.filter((line) => !/ revenue: /.test(line)), last }
}

const GOOD = { wrong: 0, withheld: 0, missing: 0, untold: 0, nothingProven: false, lines: [] }

describe('a verification', () => {
  it('finds nothing in tables that have all of the log, and names what it proved', { timeout: TEST_MS }, async () => {
    await using eventLog = await filled(given.events)
    const result = await verify(eventLog)
    expect(result).toMatchObject(GOOD)
    const proofs = given.wholeDays.length * given.validators
    expect(result.last).toMatch(new RegExp(`^${given.wholeDays.length} days, ${proofs} validator-days, 0 wrong;`))
    const { lines } = await verify(eventLog, { quiet: false })
    expect(lines.filter((line) => line.endsWith('  ok'))).toHaveLength(proofs)
    expect(lines.slice(proofs)).toEqual([
      expect.stringMatching(/^mainnet: \d+ rows about tokens follow from its transfers$/),
    ])
  })

  it('of a deleted warehouse fails, and says how to fill it', { timeout: TEST_MS }, async () => {
    await using eventLog = await filled(given.events)
    await stores().empty()
    const result = await verify(eventLog)
    expect(result).toMatchObject({ wrong: 0, missing: 2, nothingProven: true })
    expect(result.lines).toEqual([
      expect.stringMatching(/^MISSING The tables were never filled from this log\. .*epochline rebuild/),
      expect.stringMatching(
        /^MISSING mainnet: 18 finalized epochs are in the log .*: epoch 0, epoch 1, .*rebuild --chain mainnet/,
      ),
      expect.stringMatching(/^Nothing was proven, although the log has 18 finalized epochs/),
    ])
  })

  it('of a log that no processor has read fails on each group that figures need', { timeout: TEST_MS }, async () => {
    const { openLog, empty } = stores()
    await empty()
    await using eventLog = await openLog(given.events)
    const { missing, lines } = await verify(eventLog)
    expect(missing).toBeGreaterThan(5)
    for (const [topic, list] of given.events) {
      if (topic === 'usage') continue
      expect(lines.join('\n')).toContain(`MISSING ${list.length} events of ${topic} are not processed`)
    }
  })

  it('of a log that began just now has nothing to prove, and says so', { timeout: TEST_MS }, async () => {
    await using eventLog = await filled(new Map())
    expect(await verify(eventLog)).toMatchObject({
      ...GOOD,
      lines: ['Nothing to prove: the log has no finalized epoch.'],
    })
  })

  it('of a chain of which nobody tracks a validator does not succeed', { timeout: TEST_MS }, async () => {
    const epochs = (given.events.get('beacon.epochs') ?? []).slice(0, 3)
    await using eventLog = await filled(new Map([['beacon.epochs', epochs]]))
    await stores().warehouse.command('TRUNCATE TABLE validator_epochs')
    expect(await verify(eventLog)).toMatchObject({ wrong: 0, missing: 0, nothingProven: true })
  })

  describe('of tracked validators of which no epoch tells anything', () => {
    const [unlooked, found, dropped] = [givenKey(70), givenKey(71), givenKey(72)]
    const FOUND_INDEX = 71
    const accounts = given.events.get('accounts') ?? []
    const facts = [
      ...[tracked('a', [unlooked]), watched('b', [found]), tracked('a', [dropped])],
      untracked([dropped], '2026-01-03'),
    ]
    const registry = {
      ...{ pubkey: found, index: FOUND_INDEX },
      withdrawalCredentials: `0x01${'00'.repeat(11)}${'cc'.repeat(20)}`,
    }
    const ofRegistry = { key: chainKey(GIVEN_CHAIN), time: '2026-01-03T00:00:00.000Z' }
    const identified = encodeEvent(validatorsIdentified, {
      ...{ ...ofRegistry, id: 'identified later' },
      data: { chain: GIVEN_CHAIN, validators: [registry] },
    })
    /** For all of them: epochs are told with whom was found from this one on. */
    const look = (fromEpoch: number) =>
      encodeEvent(registryLookedAt, {
        ...{ ...ofRegistry, id: `looked, from ${fromEpoch}` },
        data: { chain: GIVEN_CHAIN, accountsThrough: `${accounts.length + facts.length - 1}`, fromEpoch },
      })
    const ofUnlooked = `mainnet validator ${unlooked}: NOTHING was verified: nobody has looked for it in the registry since it was tracked`
    const ofFound = `mainnet validator ${FOUND_INDEX} ${found}: NOTHING was verified: it is in the registry, and no epoch tells of it`
    const remedy = expect.stringMatching(/^mainnet: while the program runs, .*: verify again then$/)
    const unregistered = (count: number) =>
      `mainnet: ${count} tracked keys are not in the registry: there is nothing of them to verify`

    const told = async (...looks: readonly EncodedEvent[]) => {
      const events = new Map([
        ...given.events,
        ['accounts', [...accounts, ...facts]] as const,
        ['validators', [...(given.events.get('validators') ?? []), identified, ...looks]] as const,
      ])
      await using eventLog = await filled(events)
      const { untold, wrong, missing, nothingProven, lines } = await verify(eventLog)
      expect({ wrong, missing, nothingProven }).toEqual({ wrong: 0, missing: 0, nothingProven: false })
      return { untold, lines }
    }

    it('names them, and does not succeed', { timeout: TEST_MS }, async () => {
      const { untold, lines } = await told()
      expect(untold).toBe(2)
      expect(lines.slice(0, 2).toSorted()).toEqual([ofUnlooked, ofFound].toSorted())
      expect(lines.slice(2)).toEqual([remedy])
    })

    it('names those that were found until an epoch is told with them', { timeout: TEST_MS }, async () => {
      expect(await told(look(18))).toEqual({ untold: 1, lines: [ofFound, remedy, unregistered(1)] })
    })

    it('counts those that the registry did not have when it was asked', { timeout: TEST_MS }, async () => {
      expect(await told(look(17))).toEqual({ untold: 0, lines: [unregistered(2)] })
    })

    it('names one that the registry must have had, since it has younger ones', { timeout: TEST_MS }, async () => {
      await using eventLog = await filled(given.events)
      for (const table of ['validator_epochs', 'daily_rewards'])
        await stores().warehouse.command(
          `ALTER TABLE ${table} DELETE WHERE validator_index = 2 SETTINGS mutations_sync = 1`,
        )
      const { untold, lines } = await verify(eventLog)
      expect(untold).toBe(1)
      expect(lines).toContain(
        `mainnet validator 2 ${givenKey(2)}: NOTHING was verified: it is in the registry, and no epoch tells of it`,
      )
    })
  })

  it('fails while execution blocks, dead letters or accounts wait, and tells of those that do', {
    timeout: TEST_MS,
  }, async () => {
    const { openLog, empty } = stores()
    await empty()
    const [first, ...rest] = given.events.get('beacon.blocks') ?? []
    const broken = { ...(first as EncodedEvent), version: 99 }
    await using eventLog = await openLog(new Map([...given.events, ['beacon.blocks', [broken, ...rest]]]))
    const waiting = new Map([
      ['execution', /^MISSING \d+ events of execution\.blocks are not processed/],
      ['dead-letters', /^MISSING 1 events of dead-letters are not processed/],
      ['accounts', /^MISSING \d+ events of accounts are not processed/],
    ])
    let next = PROJECTORS.map(({ group }) => group).filter((group) => !waiting.has(group))
    while (waiting.size > 0) {
      await process(eventLog, next)
      const { lines } = await verify(eventLog)
      expect(lines.filter((line) => line.includes('are not processed'))).toHaveLength(waiting.size)
      for (const sentence of waiting.values()) expect(lines).toContainEqual(expect.stringMatching(sentence))
      next = [...waiting.keys()].slice(0, 1)
      for (const group of next) waiting.delete(group)
    }
  })

  it('fails while a job waits', { timeout: TEST_MS }, async () => {
    await using eventLog = await filled(given.events)
    const jobQueue = { pending: async (name: string) => (name === 'derive-day' ? 2 : 0) }
    expect(await verify(eventLog, { jobQueue })).toMatchObject({
      missing: 1,
      lines: [expect.stringMatching(/^MISSING 2 jobs derive-day are not done\. /)],
    })
  })

  it('says that processors are catching up, by how much, and when to ask again', { timeout: TEST_MS }, async () => {
    await using eventLog = await filled(given.events)
    // Two events are processed between two looks; behind them comes what they ask for.
    let waiting = 1_000n
    const behind = {
      ...{ append: eventLog.append, consume: eventLog.consume, rewind: eventLog.rewind, lease: eventLog.lease },
      ends: (topic: Topic) => eventLog.ends(topic),
      read: (options: Parameters<EventLog['read']>[0]) => eventLog.read(options),
      lag: async (topic: Topic, _group: string, until?: Offsets) => {
        if (topic === 'beacon.epochs' && until === undefined) waiting -= 2n
        return topic === 'beacon.epochs' ? waiting : 0n
      },
      [Symbol.asyncDispose]: async () => {},
    }
    const jobQueue = { pending: async (name: string) => (name === 'derive-day' ? 3 : 0) }
    const options = { jobQueue, mayBeProcessed: true, waitMsMax: 600 }
    const { isCatchingUp, wrong, missing, last } = await verify(behind, options)
    expect({ isCatchingUp, wrong, missing }).toEqual({ isCatchingUp: true, wrong: 0, missing: 0 })
    expect(last).toMatch(
      /^The program is catching up with the log, \d+\.\d events a second: 99\d events and 3 jobs wait\. .* again in \d+ (s|min)\.$/,
    )
  })

  it('of one chain does not mind days of others that wait', { timeout: TEST_MS }, async () => {
    await using eventLog = await filled(given.events)
    const jobQueue = {
      async pending(name: string, prefix = '') {
        return name === 'derive-day'
          ? ['hoodi/1', 'hoodi/2', 'mainnet2/1'].filter((id) => id.startsWith(prefix)).length
          : 0
      },
    }
    expect((await verify(eventLog, { jobQueue })).missing).toBe(1)
    expect((await verify(eventLog, { jobQueue, chain: 'hoodi' })).missing).toBe(1)
    expect(await verify(eventLog, { jobQueue, chain: 'mainnet' })).toMatchObject(GOOD)
  })

  it('fails on each dead letter of what figures need, and says what to do', { timeout: TEST_MS }, async () => {
    const unreadable = new Map<Topic, readonly number[]>([
      ['beacon.epochs', [1, 40]], // the first is of the chain's first day, which is never closed
      ['execution.blocks', [30]],
      ['validators', [0]],
      ['accounts', [1]],
    ])
    const broken = (topic: Topic, list: readonly EncodedEvent[]) =>
      list.map((event, i) => (unreadable.get(topic)?.includes(i) ? { ...event, data: new Uint8Array([1]) } : event))
    const events = [...given.events].map(([topic, list]) => [topic, broken(topic, list)] as const)
    await using eventLog = await filled(new Map(events))
    const { lines } = await verify(eventLog)
    for (const [topic, places] of unreadable) {
      for (const at of places) {
        const { id } = given.events.get(topic)?.[at] ?? { id: '' }
        const ofTopic = lines.filter(
          (line) => line.startsWith(`MISSING`) && line.includes(`An event of ${topic} could not`),
        )
        const line = ofTopic.find((one) => one.includes(id))
        expect(line, `${topic} ${at}`).toMatch(
          /epochline (rebuild|backfill --chain mainnet --from 202\d-\d\d-\d\d|admin)/,
        )
      }
    }
  })

  it('is content once a later event of the same id was processed', { timeout: TEST_MS }, async () => {
    const [first] = (given.events.get('beacon.epochs') ?? []) as [EncodedEvent]
    await using eventLog = await filled(
      withTopic('beacon.epochs', (list) => list.map((e, i) => (i === 0 ? { ...e, data: new Uint8Array([1]) } : e))),
    )
    expect((await verify(eventLog)).missing).toBeGreaterThan(0)
    await eventLog.append('beacon.epochs', [first])
    await process(eventLog)
    await process(eventLog)
    expect(await verify(eventLog)).toMatchObject(GOOD)
  })

  it('tells of messages of somebody else, which fail nothing', { timeout: TEST_MS }, async () => {
    await using eventLog = await filled(given.events)
    await eventLog.append('validators', [{ id: '', type: '', version: 0, key: '', time: '', data: new Uint8Array() }])
    await process(eventLog)
    expect(await verify(eventLog)).toMatchObject({
      ...GOOD,
      lines: ['1 messages in validators are none of this program: nothing needs them.'],
    })
  })

  it('fails on rows that were lost: epochs, execution blocks of tracked proposers, days', {
    timeout: TEST_MS,
  }, async () => {
    const { warehouse } = stores()
    await using eventLog = await filled(given.events)
    const drop = (table: string, where: string) =>
      warehouse.command(`ALTER TABLE ${table} DELETE WHERE ${where} SETTINGS mutations_sync = 1`)
    await drop('epochs', 'epoch IN (1, 2)')
    await drop('execution_blocks', 'block_number = 1')
    await drop('closed_days', `day = '${given.wholeDays.at(-1)}'`)
    const { lines } = await verify(eventLog)
    expect(lines.filter((line) => line.startsWith('MISSING'))).toEqual([
      expect.stringMatching(/^MISSING mainnet: 2 finalized epochs .*: epoch 1, epoch 2\. /),
      expect.stringMatching(/^MISSING mainnet: 1 execution blocks of tracked proposers .*: slot 1\. /),
      expect.stringMatching(/^MISSING mainnet: 1 days have everything and are not closed: /),
    ])
  })

  it('names days that are withheld because nothing names a state, with the epochs and what to do, and fails', {
    timeout: TEST_MS,
  }, async () => {
    const unnamed = (list: readonly EncodedEvent[]) =>
      list.map((event) => (epochOfEvent(event, SLOTS_PER_EPOCH) === 9 ? asUnnamed(event) : event))
    await using eventLog = await filled(withTopic('beacon.epochs', unnamed))
    const { wrong, missing, withheld, lines } = await verify(eventLog)
    expect([wrong, missing, withheld]).toEqual([0, 0, given.validators])
    expect(lines).toEqual([
      `mainnet: WITHHELD: ${given.validators} validator-days are in no figure, as nothing names states that they were computed of: ` +
        'epochs 9. gaps --chain mainnet --repair computes them anew, where a node still gives their states',
    ])
  })

  it.each([
    ['lost', 'DELETE WHERE 1', 'it has no block, and is not among the missed slots'],
    ['of another day', 'UPDATE day = day + 1 WHERE 1', 'it is a missed slot of another day than its own'],
  ])('names missed slots that are %s', { timeout: TEST_MS }, async (_, change, reason) => {
    await using eventLog = await filled(given.events)
    const { warehouse } = stores()
    const missed = await warehouse.query<{ slot: string }>('SELECT slot FROM missed_slots FINAL ORDER BY slot')
    expect(missed.length).toBeGreaterThan(0)
    await warehouse.command(`ALTER TABLE missed_slots ${change} SETTINGS mutations_sync = 1`)
    const { wrong, lines } = await verify(eventLog)
    expect(wrong).toBe(missed.length)
    expect(lines).toEqual(missed.slice(0, 20).map(({ slot }) => `mainnet slot ${slot}: WRONG: ${reason}`))
  })

  it('names a slot that has a block and is among the missed ones', { timeout: TEST_MS }, async () => {
    await using eventLog = await filled(given.events)
    await stores().warehouse.command(
      `INSERT INTO missed_slots (chain, slot, epoch, day, proposer_index, version)
       SELECT chain, slot, epoch, day, proposer_index, version FROM finalized_blocks FINAL ORDER BY slot DESC LIMIT 1`,
    )
    const { wrong, lines } = await verify(eventLog)
    expect({ wrong, lines }).toEqual({
      wrong: 1,
      lines: [expect.stringMatching(/^mainnet slot \d+: WRONG: it has a block, and is among the missed slots$/)],
    })
  })

  it('does not miss what was never ingested', { timeout: TEST_MS }, async () => {
    await using eventLog = await filled(withTopic('execution.blocks', (list) => list.slice(20)))
    const { missing } = await verify(eventLog)
    expect(missing).toBe(0)
  })

  it('refuses the tables of another log', { timeout: TEST_MS }, async () => {
    await using eventLog = await filled(given.events)
    await using other = await stores().openLog()
    await openLogFacts(other, 0, never)
    expect((await verify(other)).lines).toContainEqual(expect.stringMatching(/filled from another event log.*rebuild/))
    expect((await verify(eventLog)).missing).toBe(0)
  })

  it('finds tables that have more than the log, as where an older copy of it was put in its place', {
    timeout: TEST_MS,
  }, async () => {
    await using eventLog = await filled(given.events)
    await using older = await stores().openLog()
    for (const topic of TOPICS) {
      const events = (await Array.fromAsync(eventLog.read({ topic, signal: never }))).map(({ event }) => event)
      await older.append(topic, CHAINLESS_TOPICS.has(topic) ? events : events.slice(0, -3))
    }
    expect((await verify(older)).lines).toContainEqual(
      expect.stringMatching(
        /^MISSING The tables have events of beacon\.\w+.* that the log does not have.*epochline rebuild/,
      ),
    )
    // Nor do processors begin beside it.
    await expect(process(older)).rejects.toThrow(/older copy of it.*put back the log.*epochline rebuild/)
    expect((await verify(eventLog)).missing).toBe(0)
  })

  it('of one chain tells nothing of another', { timeout: TEST_MS }, async () => {
    await using eventLog = await filled(inTurns(given.events, renamed(given.events, 'hoodi')))
    await stores().warehouse.command(
      "ALTER TABLE epochs DELETE WHERE chain = 'hoodi' AND epoch = 3 SETTINGS mutations_sync = 1",
    )
    expect(await verify(eventLog, { chain: 'mainnet' })).toMatchObject(GOOD)
    expect((await verify(eventLog, { chain: 'hoodi' })).missing).toBe(1)
    const both = await verify(eventLog)
    expect(both).toMatchObject({ wrong: 0, missing: 1 })
    expect(both.last).toMatch(new RegExp(`^${2 * given.wholeDays.length} days, `))
  })

  it('waits for what is being processed, and does not wait for what was appended since', {
    timeout: TEST_MS,
  }, async () => {
    const { openLog, empty } = stores()
    await empty()
    await using eventLog = await openLog(given.events)
    let looks = 0
    const jobQueue = {
      async pending() {
        if (looks++ === 0) await process(eventLog)
        if (looks === 3) await eventLog.append('validators', given.events.get('validators') ?? [])
        return 0
      },
    }
    expect(await verify(eventLog, { jobQueue, mayBeProcessed: true })).toMatchObject(GOOD)
  })

  it('looks again at what is wrong while processors write', { timeout: TEST_MS }, async () => {
    const { warehouse } = stores()
    await using eventLog = await filled(given.events)
    const projector = PROJECTORS.find(({ topic }) => topic === 'beacon.epochs')
    if (projector === undefined) throw new Error('nobody projects epochs')
    const ports = await projecting(eventLog, warehouse)
    await project(ports, projector, [{ position: { partition: 0, offset: 1_000_000n }, event: given.tampered }])
    let looks = 0
    const jobQueue = {
      async pending() {
        if (++looks !== 3) return 0 // once more, because of what looked wrong
        const right = given.events.get('beacon.epochs')?.find(({ id }) => id === given.tampered.id) as EncodedEvent
        await project(ports, projector, [{ position: { partition: 0, offset: 2_000_000n }, event: right }])
        return 0
      },
    }
    expect(await verify(eventLog)).toMatchObject({ missing: 0 })
    expect((await verify(eventLog)).wrong).toBeGreaterThan(0)
    looks = 0
    expect(await verify(eventLog, { jobQueue, mayBeProcessed: true })).toMatchObject({ wrong: 0 })
  })

  it('proves the same in small statements as in large ones', { timeout: TEST_MS }, async () => {
    const { warehouse } = stores()
    await using _eventLog = await filled(given.events)
    const days = (await Array.fromAsync(proveDays(warehouse))).flat()
    expect((await Array.fromAsync(proveDays(warehouse, PROVE_ALL, 2))).flat()).toEqual(days)
    const whole = await proveEpochs(warehouse)
    expect(whole.checked).toBe((given.epochs - 1) * given.validators)
    const [settled, revenue] = [await proveSettlements(warehouse), await proveRevenue(warehouse)]
    expect(settled.checked).toBe(given.settledBlocks)
    // Statements end within days, and within epochs.
    expect(await proveSettlements(warehouse, PROVE_ALL, 31)).toEqual(settled)
    expect(await proveRevenue(warehouse, PROVE_ALL, 31)).toEqual(revenue)
    for (const rowsMax of [2, 12, 60]) expect(await proveEpochs(warehouse, PROVE_ALL, rowsMax)).toEqual(whole)
  })
})
