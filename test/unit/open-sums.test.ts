import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { seenValidators } from '../../api/http/seen-validators.ts'
import { Standings } from '../../api/http/standings.ts'
import { horizonOf } from '../../api/rewards/horizon.ts'
import { readIncomes } from '../../api/rewards/open-incomes.ts'
import { type OpenIncome, summedIncomes } from '../../api/rewards/open-sums.ts'
import type { EventLog, StoredEvent } from '../../infra/ports/event-log.ts'
import { project } from '../../processors/loop/consume.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { epochBlocks } from '../../schemas/events/beacon-epoch.ts'
import { projecting } from './projecting.ts'
import { chain, withEpochs } from './rebuilt-tables.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const TEST_MS = 300_000
const never = new AbortController().signal
const stores = storesOfFile()
const warehouse = () => stores().warehouse

const ordered = (incomes: readonly OpenIncome[]) =>
  incomes
    .map((income) => ({
      ...income,
      explained: income.explained.toSorted((one, other) => one.day - other.day),
      unproven: income.unproven.toSorted(),
    }))
    .sort((one, other) => one.index - other.index)

/** An API that has just begun: what it has on open days, by sums and by a statement. */
function api() {
  const standings = new Standings(warehouse(), { ageMsMax: 0 })
  const standingNow = async () => {
    const standing = await standings.of('mainnet')
    const horizon = await horizonOf(standing)
    if (horizon === undefined) throw new Error('no complete epoch')
    const scope = { standing, account: 'a', shared: warehouse() }
    return { standing, horizon, scope, seen: (await seenValidators(scope)).registered }
  }
  type Now = Awaited<ReturnType<typeof standingNow>>
  const summedAt = ({ standing, horizon, seen }: Now) => summedIncomes(standing, horizon, seen)
  const statedAt = async ({ scope, horizon, seen }: Now) => ordered(await readIncomes(scope, horizon, seen))
  return {
    standingNow,
    summedAt,
    statedAt,
    /** The same by both ways, as the tables stand; resting sums are waited for. */
    async both(): Promise<{ readonly incomes: readonly OpenIncome[]; readonly rested: number }> {
      for (let rested = 0; ; rested++) {
        const now = await standingNow()
        const summed = await summedAt(now)
        if (summed !== undefined) {
          const stated = await statedAt(now)
          expect(ordered(summed)).toEqual(stated)
          return { incomes: stated, rested }
        }
        if (rested > 200) throw new Error('the sums rest for ever')
        await moved()
        await delay(100)
      }
    },
  }
}

let looks = 0
/** Makes the next look find something new, of which no figure is made. */
async function moved(): Promise<void> {
  await warehouse().command(`INSERT INTO closed_months VALUES ('mainnet', toDate('2000-01-01') + ${++looks}, 1, 1)`)
}

/** What was told of an epoch, with a newer position in the log: with `change`, which is made before its parts say so. */
async function toldAnew(epoch: number, change: string): Promise<void> {
  await warehouse().command(change)
  await warehouse().command(
    `INSERT INTO epoch_parts SELECT * REPLACE (version + 1 AS version) FROM epoch_parts FINAL WHERE epoch = ${epoch}`,
  )
}

/** `onEpoch` is called behind each, and all are projected at once where nobody looks. */
async function projected(eventLog: EventLog, onEpoch?: () => Promise<void>): Promise<void> {
  const ports = await projecting(eventLog, warehouse())
  for (const projector of PROJECTORS.filter(({ topic }) => topic !== 'beacon.epochs')) {
    const stored = await Array.fromAsync(eventLog.read({ topic: projector.topic, signal: never }))
    await project(ports, projector, stored)
  }
  const finalized = PROJECTORS.find(({ topic }) => topic === 'beacon.epochs')
  if (finalized === undefined) throw new Error('nobody projects finalized epochs')
  const events = await Array.fromAsync(eventLog.read({ topic: finalized.topic, signal: never }))
  const lastOfEpoch = ({ event }: StoredEvent) => event.type === epochBlocks.name
  const ends = onEpoch === undefined ? [] : events.flatMap((event, at) => (lastOfEpoch(event) ? [at + 1] : []))
  let from = 0
  for (const to of [...ends, events.length]) {
    await project(ports, finalized, events.slice(from, to))
    await ports.wanted.make()
    await onEpoch?.()
    from = to
  }
}

describe('what all accounts share of open days', () => {
  it('is what a statement reads, with every epoch that comes and every day that is closed', {
    timeout: TEST_MS,
  }, async () => {
    await using eventLog = await stores().openLog(chain.events)
    const { both, standingNow } = api()
    const seen: { readonly validators: number; readonly openDays: number; readonly rested: number }[] = []
    await projected(eventLog, async () => {
      const standing = await warehouse().query<{ epochs: string }>('SELECT count() AS epochs FROM epochs')
      if (standing[0]?.epochs === '0') return
      const { incomes, rested } = await both()
      seen.push({ validators: incomes.length, openDays: (await standingNow()).horizon.openDays.length, rested })
    })
    expect(Math.max(...seen.map(({ validators }) => validators))).toBeGreaterThan(1)
    expect(new Set(seen.map(({ openDays }) => openDays)).size).toBeGreaterThan(1)
    expect(seen.filter(({ rested }) => rested > 0)).toEqual([])
  })

  it('is taken up anew where an epoch that it has is told anew, and the statement tells meanwhile', {
    timeout: TEST_MS,
  }, async () => {
    await stores().empty()
    // Without the last epochs, so that a day is open.
    const epochs = (chain.events.get('beacon.epochs') ?? []).slice(0, -2)
    await using eventLog = await stores().openLog(withEpochs(epochs))
    await projected(eventLog)
    const { both, standingNow, summedAt } = api()
    const before = await both()
    const { horizon } = await standingNow()
    const epoch = horizon.openEpochs.at(-1) as number
    const validator = before.incomes[0]?.index as number
    const changes = {
      amount: `INSERT INTO validator_epochs SELECT * REPLACE (head_gwei + 1 AS head_gwei, version + 1 AS version)
        FROM validator_epochs FINAL WHERE epoch = ${epoch} AND validator_index = ${validator}`,
      residual: `INSERT INTO epoch_residuals SELECT chain, epoch, ${validator}, 1, version FROM epoch_proofs FINAL WHERE epoch = ${epoch}`,
      doubt: `INSERT INTO epoch_proofs SELECT * REPLACE ('consistent' AS level) FROM epoch_proofs FINAL WHERE epoch = ${epoch}`,
    }
    const ofFirst = (incomes: readonly OpenIncome[]) => incomes.find(({ index }) => index === validator)
    const gweiBefore = ofFirst(before.incomes)?.clRewardGwei as bigint
    await toldAnew(epoch, changes.amount)
    expect(await summedAt(await standingNow())).toBeUndefined()
    const more = await both()
    expect(ofFirst(more.incomes)?.clRewardGwei).toBe(gweiBefore + 1n)
    await toldAnew(epoch, changes.residual)
    const unexplained = await both()
    expect(ofFirst(unexplained.incomes)?.unproven).not.toEqual([])
    expect(unexplained.incomes.filter(({ unproven }) => unproven.length > 0)).toHaveLength(1)
    await toldAnew(epoch, changes.doubt)
    const doubtful = await both()
    expect(doubtful.incomes.filter(({ unproven }) => unproven.length === 0)).toEqual([])
    expect(doubtful.incomes.length).toBe(before.incomes.length)
  })

  it('is nobody’s who asks by an older standing', { timeout: TEST_MS }, async () => {
    await stores().empty()
    const epochs = chain.events.get('beacon.epochs') ?? []
    const { standingNow, summedAt, statedAt, both } = api()
    await using eventLog = await stores().openLog(withEpochs(epochs.slice(0, -2)))
    let old: Awaited<ReturnType<typeof standingNow>> | undefined
    await projected(eventLog, async () => {
      const [row] = await warehouse().query<{ epochs: string }>('SELECT count() AS epochs FROM epochs')
      if (row?.epochs === '3') old ??= await standingNow()
    })
    if (old === undefined) throw new Error('no standing of three epochs')
    const { incomes } = await both()
    expect(await summedAt(old)).toBeUndefined()
    expect(ordered((await summedAt(await standingNow())) ?? [])).toEqual(incomes)
    expect(await statedAt(old)).not.toEqual(incomes)
  })
})
