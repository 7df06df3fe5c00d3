import {
  type DayNumber,
  dayOfSlot,
  epochOf,
  firstSlotOfDay,
  firstSlotOfEpoch,
  lastSlotOfEpoch,
  parseDay,
} from '../../schemas/eth/time.ts'
import { isIn } from '../http/seen-validators.ts'
import type { ExpectedValidator } from './expected-validators.ts'
import type { Horizon } from './horizon.ts'

/** What is there of a validator on an open day, all of it explained. */
export interface ToldDay {
  readonly day: DayNumber
  readonly firstEpoch: number
  readonly epochs: number
  /** Of a block that it proposed the execution block is not there: what it paid is not known. */
  readonly lacksBlocks?: boolean
}

/** Epochs that begin in an open day, up to the horizon, of which everybody who is expected should have a row. */
interface OpenDay {
  readonly day: DayNumber
  readonly firstEpoch: number
  readonly lastEpoch: number
}

/**
 * How many of the validators the day lacks that is not over at the horizon, and each that is open before the first closed one, as that in which the
 * log begins: those that are activated by its end or the horizon, and of which an epoch is not there from their activation on, or is not explained,
 * or an execution block. `told` is by index. Other days are closed, or `completenessOf` tells them as a whole.
 */
export function lacksOfOpenDays(
  horizon: Horizon,
  validators: readonly ExpectedValidator[],
  told: ReadonlyMap<number, readonly ToldDay[]>,
): ReadonlyMap<DayNumber, number> {
  const lacks = new Map<DayNumber, number>()
  for (const open of countedDays(horizon)) {
    const { day, lastEpoch } = open
    const lacking = validators.filter(
      ({ index, activation, intervals }) =>
        activation <= BigInt(lastEpoch) &&
        intervals.some((interval) => isIn(interval, day)) &&
        !isWhole(open, activation, index === undefined ? [] : (told.get(index) ?? [])),
    )
    if (lacking.length > 0) lacks.set(day, lacking.length)
  }
  return lacks
}

/** Rows of one that joins the registry during the day begin later than the day, and before it is activated. */
function isWhole({ day, firstEpoch, lastEpoch }: OpenDay, activation: bigint, told: readonly ToldDay[]): boolean {
  const own = told.find((one) => one.day === day)
  if (own === undefined || own.lacksBlocks === true || own.epochs !== lastEpoch - own.firstEpoch + 1) return false
  return own.firstEpoch <= firstEpoch || BigInt(own.firstEpoch) <= activation
}

/** Before the first closed day nobody knows where the log begins but by the epochs that it has. */
function countedDays({ clock, epoch, closedDays, openDays, openEpochs }: Horizon): readonly OpenDay[] {
  const lastSlot = lastSlotOfEpoch(clock, epoch)
  const [firstClosed, lastClosed] = [closedDays[0]?.day, closedDays.at(-1)?.day]
  const days = openDays.map((day) => parseDay(day) as DayNumber)
  return days.flatMap((day) => {
    const nextSlot = firstSlotOfDay(clock, day + 1)
    const isBefore = firstClosed === undefined || day < firstClosed
    const isRunning = (lastClosed === undefined || day > lastClosed) && nextSlot > lastSlot
    if (!isBefore && !isRunning) return []
    const known = openEpochs.find((one) => dayOfSlot(clock, firstSlotOfEpoch(clock, one)) === day)
    if (known === undefined) return []
    const firstEpoch = isBefore ? known : epochOf(clock, firstSlotOfDay(clock, day) - 1) + 1
    const lastEpoch = Math.min(epoch, epochOf(clock, nextSlot - 1))
    return [{ day, firstEpoch, lastEpoch }]
  })
}
