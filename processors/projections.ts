import type { Warehouse } from '../infra/ports/warehouse.ts'
import { dayOfInstant, dayOfSlot } from '../schemas/eth/time.ts'
import { accountRows } from './accounts/account-facts.ts'
import { headRows } from './head/head-blocks.ts'
import { consume, type Projecting, type Projector } from './loop/consume.ts'
import { deadLetterRows } from './loop/dead-letters.ts'
import type { TableRows } from './loop/rows.ts'
import { chainClock, closeDay, daySpan } from './rewards/days.ts'
import { executionRows } from './rewards/execution.ts'
import { finalizedRows } from './rewards/finalized.ts'
import { settleBlocks } from './settlements/settle.ts'
import { identityRows } from './validators/identities.ts'

/** Every projection of the log. */
export function projectors(warehouse: Warehouse): readonly Projector[] {
  return [
    {
      group: 'accounts',
      topic: 'accounts',
      rowsOf: accountRows,
      after: async (rows) => {
        const accounts = [
          ...new Set([...texts(rows, 'account_validators', 'account'), ...texts(rows, 'fee_rates', 'account')]),
        ]
        if (accounts.length > 0) await settleBlocks(warehouse, { by: 'accounts', accounts })
      },
    },
    {
      group: 'validators',
      topic: 'validators',
      rowsOf: identityRows,
      after: async (rows) => {
        const indices = numbers(rows, 'validators', 'validator_index')
        if (indices.length > 0) await settleBlocks(warehouse, { by: 'validators', indices })
      },
    },
    { group: 'head', topic: 'beacon.blocks', rowsOf: headRows },
    {
      group: 'execution',
      topic: 'execution.blocks',
      rowsOf: executionRows,
      after: async (rows) => {
        const blockNumbers = numbers(rows, 'execution_blocks', 'block_number')
        if (blockNumbers.length === 0) return
        await settleBlocks(warehouse, { by: 'block numbers', ...rangeOf(blockNumbers) })
        await closeDays(warehouse, numbers(rows, 'execution_blocks', 'time').map(dayOfInstant))
      },
    },
    {
      group: 'finalized',
      topic: 'beacon.epochs',
      rowsOf: finalizedRows,
      lastTable: 'epochs',
      after: async (rows) => {
        const firstSlots = numbers(rows, 'epochs', 'first_slot')
        const lastSlots = numbers(rows, 'epochs', 'last_slot')
        if (firstSlots.length === 0) return
        await settleBlocks(warehouse, { by: 'slots', ...rangeOf([...firstSlots, ...lastSlots]) })
        const clock = await chainClock(warehouse)
        if (clock === undefined) return
        // The epoch that holds a day's first slot brings the balances that the day before ends with: the day of the slot
        // before the epoch is not the epoch's own only where both begin together.
        const days = firstSlots.flatMap((slot) => [dayOfSlot(clock, slot - 1), dayOfSlot(clock, slot)])
        await closeDays(warehouse, [...days, ...lastSlots.map((slot) => dayOfSlot(clock, slot))])
      },
    },
    { group: 'dead-letters', topic: 'dead-letters', rowsOf: deadLetterRows },
  ]
}

/** Runs every projection until the signal aborts; the first one that fails ends them all. */
export async function startProcessors(ports: Projecting, signal: AbortSignal): Promise<void> {
  const failed = new AbortController()
  const either = AbortSignal.any([signal, failed.signal])
  const loops = projectors(ports.warehouse).map(async (projector) => {
    try {
      await consume(ports, projector, either)
    } catch (error) {
      failed.abort()
      throw error
    }
  })
  const ended = await Promise.allSettled(loops)
  for (const loop of ended) if (loop.status === 'rejected') throw loop.reason
}

async function closeDays(warehouse: Warehouse, days: readonly number[]): Promise<void> {
  const clock = await chainClock(warehouse)
  if (clock === undefined) return
  for (const day of new Set(days)) {
    const span = daySpan(clock, day)
    if (span !== undefined) await closeDay(warehouse, span)
  }
}

function rangeOf(values: readonly number[]): { readonly from: number; readonly to: number } {
  let from = Number.POSITIVE_INFINITY
  let to = 0
  for (const value of values) {
    from = Math.min(from, value)
    to = Math.max(to, value)
  }
  return { from, to }
}

function numbers(rows: readonly TableRows[], table: TableRows['table'], column: string): readonly number[] {
  const values = rows.find((part) => part.table === table)?.columns[column]
  return values === undefined ? [] : Array.from(values as ArrayLike<number | bigint>, Number)
}

function texts(rows: readonly TableRows[], table: TableRows['table'], column: string): readonly string[] {
  const values = rows.find((part) => part.table === table)?.columns[column]
  return values === undefined ? [] : (values as readonly string[])
}
