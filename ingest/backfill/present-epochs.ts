import { dayBalances, type EpochPart, epochBlocks, epochValidators } from '../../schemas/events/beacon-epoch.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { type OwnEventsOptions, ownEvents } from '../own-events.ts'
import type { EpochRange } from './backfill.ts'

/** Events of before parts were counted do not say what belongs to them: their epochs are asked for again. */
const COUNTED_SINCE_VERSION = 2

/**
 * The epochs of a range of which the log has everything for all of these validators. One that has no row of a validator because it
 * had not joined by then looks like one that lacks it, and is not among them.
 */
export async function presentEpochs(
  options: Omit<OwnEventsOptions, 'topic'>,
  range: EpochRange,
  indices: Uint32Array,
): Promise<ReadonlySet<number>> {
  const { unnamedChain } = options
  const wanted = new Set(indices)
  const partsOf = new Map<number, readonly EpochPart[]>()
  /** Validators that are wanted and have a row, by epoch and part. */
  const found = new Map<string, number>()
  const note = (part: string, rows: Uint32Array): void => {
    const ours = rows.filter((index) => wanted.has(index)).length
    found.set(part, Math.max(ours, found.get(part) ?? 0))
  }
  for await (const { event } of ownEvents({ ...options, topic: 'beacon.epochs' })) {
    if (event.version < COUNTED_SINCE_VERSION || !mayBeIn(event.id, event.type, range)) continue
    if (event.type === epochBlocks.name) {
      const { header } = decodeEvent(epochBlocks, event, unnamedChain)
      partsOf.set(header.epoch, header.parts)
    } else if (event.type === epochValidators.name) {
      const { header, columns } = decodeEvent(epochValidators, event, unnamedChain)
      note(`${header.epoch} validators ${header.range}`, columns.validatorIndex)
    } else if (event.type === dayBalances.name) {
      const { header, columns } = decodeEvent(dayBalances, event, unnamedChain)
      note(`${header.epoch} day_balances ${header.range}`, columns.validatorIndex)
    }
  }
  const isPresent = ([epoch, parts]: [number, readonly EpochPart[]]): boolean => {
    const kinds = new Set<EpochPart['kind']>(['validators', ...parts.map(({ kind }) => kind)])
    return [...kinds].every((kind) => {
      const ranges = parts.filter((part) => part.kind === kind)
      const rows = ranges.reduce((sum, part) => sum + (found.get(`${epoch} ${kind} ${part.range}`) ?? 0), 0)
      return rows === wanted.size
    })
  }
  return new Set([...partsOf].filter(isPresent).map(([epoch]) => epoch))
}

/** Ids end with the epoch, or with the epoch and the range; those of balances tell a day, and are few. */
function mayBeIn(id: string, type: string, { fromEpoch, toEpoch }: EpochRange): boolean {
  if (type === dayBalances.name) return true
  const numbers = id.split(':').slice(2).map(Number)
  const [epoch = Number.NaN] = numbers
  return epoch >= fromEpoch && epoch <= toEpoch
}
