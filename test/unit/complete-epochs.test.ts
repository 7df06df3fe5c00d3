import fc from 'fast-check'
import { beforeAll, expect, it } from 'vitest'
import type { StoredEvent } from '../../infra/ports/event-log.ts'
import { project } from '../../processors/loop/consume.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import { tries } from '../long-form.ts'
import { epochOfEvent, keepValidators } from './changed-events.ts'
import { givenChain } from './given-chain.ts'
import { projecting } from './projecting.ts'
import { renameOne } from './renamed-chain.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const TEST_MS = 60_000
const SLOTS_PER_EPOCH = 4
/** A day begins in it: two ranges of validators, two of balances, the blocks. */
const EPOCH = 11
const { events } = givenChain()
const finalized = events.get('beacon.epochs') ?? []
const parts = finalized.filter((event) => epochOfEvent(event, SLOTS_PER_EPOCH) === EPOCH)
const stores = storesOfFile()
let ports: Awaited<ReturnType<typeof projecting>>

beforeAll(async () => {
  ports = await projecting(await stores().openLog(), stores().warehouse)
})

const finalizedProjector = PROJECTORS.find(({ topic }) => topic === 'beacon.epochs')

async function deliver(batch: readonly StoredEvent[]): Promise<void> {
  if (finalizedProjector === undefined) throw new Error('nobody projects epochs')
  await project(ports, finalizedProjector, batch)
}

async function epochsOf(chain: string): Promise<readonly number[]> {
  const sql = 'SELECT epoch FROM epochs FINAL WHERE chain = {chain:String} ORDER BY epoch'
  const rows = await stores().warehouse.query<{ epoch: number }>(sql, { chain })
  return rows.map(({ epoch }) => epoch)
}

/** Rows of a part, as if fewer validators had been tracked when it was made. */
const shorter = (event: EncodedEvent): EncodedEvent => ({
  ...keepValidators(event, (validator) => validator !== 1 && validator !== 4),
  id: `${event.id}:shorter`,
})

it('has an epoch of five events to tell of', () => {
  expect(parts.map(({ type }) => type)).toEqual([
    'beacon.day-balances',
    'beacon.day-balances',
    'beacon.epoch-validators',
    'beacon.epoch-validators',
    'beacon.epoch-blocks',
  ])
})

it('counts an epoch as complete exactly when all its parts are there, in whatever order and however often they come', {
  timeout: TEST_MS,
}, async () => {
  // Each in full, and those that tell validators with too few rows as well, before the full one in the log or behind it.
  const full = parts.map((event, i) => ({ event, part: i, isFull: true }))
  const short = parts.slice(0, -1).map((event, i) => ({ event: shorter(event), part: i, isFull: false }))
  const choices = [...full, ...short]
  const all = [...choices.keys()]
  const arrivals = fc
    .tuple(
      fc.array(fc.constantFrom(...all), { maxLength: 8 }),
      fc.shuffledSubarray(all.slice(0, full.length), { minLength: full.length }),
    )
    .map((lists) => lists.flat())
  const places = fc.shuffledSubarray(all, { minLength: all.length })
  const cuts = fc.infiniteStream(fc.boolean())
  let runs = 0
  await fc.assert(
    fc.asyncProperty(arrivals, places, cuts, async (order, offsets, isCut) => {
      // What other chains have says nothing of this one.
      const chain = `run-${runs++}`
      const there = new Set<number>()
      let batch: StoredEvent[] = []
      for (const [at, index] of order.entries()) {
        const { event, part, isFull } = choices[index] as (typeof choices)[number]
        batch.push({ event: renameOne(event, chain), position: { partition: 0, offset: BigInt(offsets[index] ?? 0) } })
        if (isFull) there.add(part)
        if (at < order.length - 1 && isCut.next().value === false) continue
        await deliver(batch)
        batch = []
        expect(await epochsOf(chain)).toEqual(there.size === parts.length ? [EPOCH] : [])
      }
    }),
    { numRuns: tries(15, 500) },
  )
})
