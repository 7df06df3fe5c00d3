import { expect, test } from 'vitest'
import type { StoredEvent } from '../../infra/ports/event-log.ts'
import { project } from '../../processors/loop/consume.ts'
import type { LogFacts } from '../../processors/loop/log-facts.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { dayBalances } from '../../schemas/events/beacon-epoch.ts'
import { givenChain } from './given-chain.ts'
import { dumpTables, projecting } from './projecting.ts'
import { storesOfFile } from './warehouse-of-file.ts'

// Rows that were on their way to the tables while their epochs were taken back, or their chain removed.

const TEST_MS = 60_000
const stores = storesOfFile()
const events = givenChain().events.get('beacon.epochs') ?? []
const numbersOf = (id: string) => id.split(':').slice(2).map(Number)
const ofEpoch = (epoch: number) =>
  events.filter(({ id, type }) => type !== dayBalances.name && numbersOf(id)[0] === epoch)
const EPOCHS = [...new Set(events.filter(({ type }) => type !== dayBalances.name).map(({ id }) => numbersOf(id)[0]))]
const [EARLIER = 0, LATER = 0] = [EPOCHS[3], EPOCHS[7]]
/** The same offsets in two partitions: versions are the same. */
const at = (partition: number, epoch: number): readonly StoredEvent[] =>
  ofEpoch(epoch).map((event, i) => ({ event, position: { partition, offset: BigInt(i + 5) } }))

const RETRACTED: Partial<LogFacts> = {
  retracted: new Map([
    ['fact', { chain: 'mainnet', fromEpoch: LATER, fromSlot: LATER * 32, fromDay: 30_000, before: { 1: '1000' } }],
  ]),
}
const REMOVED: Partial<LogFacts> = {
  removed: new Map([['mainnet', { removalId: 'removal', before: { 'beacon.epochs': { 1: '1000' } } }]]),
}

test.each([
  ['epochs that were retracted meanwhile', RETRACTED],
  ['a chain that was removed meanwhile, and has rows again', REMOVED],
])(
  'rows of %s are taken back, and none of another partition that has the same offsets',
  {
    timeout: TEST_MS,
  },
  async (_, taken) => {
    const { warehouse, openLog, empty } = stores()
    await empty()
    await using eventLog = await openLog()
    const ports = await projecting(eventLog, warehouse)
    const projector = PROJECTORS.find(({ topic }) => topic === 'beacon.epochs')
    if (projector === undefined) throw new Error('nobody projects epochs')
    await project(ports, projector, at(0, EARLIER))
    const before = await dumpTables(warehouse)
    expect(before.epochs).toHaveLength(1)
    expect(before.validator_epochs?.length).toBeGreaterThan(0)
    const now: LogFacts = { ...ports.facts.known, ...taken }
    await project({ ...ports, facts: { known: ports.facts.known, current: async () => now } }, projector, at(1, LATER))
    expect({ ...(await dumpTables(warehouse)), chains: [] }).toEqual({ ...before, chains: [] })
  },
)
