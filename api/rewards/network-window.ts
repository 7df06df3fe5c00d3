import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import type { DayNumber } from '../../schemas/eth/time.ts'
import type { Horizon } from './horizon.ts'
import type { Days } from './kept-spans.ts'
import { addNetworkSums, type NetworkSums, networkSums } from './network-sums.ts'

/** What is known of all validators of the network, of closed days of a window. */
export interface NetworkWindow {
  readonly closedDays: number
  /** Of the closed ones those whose epochs were all computed of states that the chain names, ascending: what the sums are of. */
  readonly days: readonly DayNumber[]
  /** Undefined without any such day. */
  readonly sums: NetworkSums | undefined
}

export const NO_WINDOW: NetworkWindow = { closedDays: 0, days: [], sums: undefined }

/** Sums over the closed days of a window of any length. */
export async function networkWindow(
  warehouse: WarehouseReader,
  { chain, clock, closedDays }: Horizon,
  { from, to }: Days,
): Promise<NetworkWindow> {
  const closed = closedDays.map(({ day }) => day).filter((day) => from <= day && day < to)
  const [first, last] = [closed[0], closed.at(-1)]
  if (first === undefined || last === undefined) return NO_WINDOW
  const found = await networkSums(warehouse, { chain, clock, days: { from: first, to: last + 1 } })
  const days = closed.filter((day) => found.has(day))
  const [sums, ...others] = days.flatMap((day) => found.get(day) ?? [])
  return { closedDays: closed.length, days, sums: sums === undefined ? undefined : others.reduce(addNetworkSums, sums) }
}
