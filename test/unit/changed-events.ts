import {
  dayBalances,
  type EpochBlocksData,
  type EpochPart,
  epochBlocks,
  epochValidators,
  type FinalizedBlock,
  RANGE_VALIDATORS,
} from '../../schemas/events/beacon-epoch.ts'
import { decodeEvent, type EncodedEvent } from '../../schemas/events/codec.ts'
import { executionBlock } from '../../schemas/events/execution-block.ts'

/**
 * Rows of the kept validators only: an event as it would be if the others were not tracked when it was made. The validators of
 * a range are those from its first index on, without a gap.
 */
export function keepValidators(event: EncodedEvent, keeps: (validator: number) => boolean): EncodedEvent {
  if (event.type === epochBlocks.name) return changeBlocks(event, (data) => keepInBlocks(data, keeps))
  const type = event.type === dayBalances.name ? dayBalances : epochValidators
  const data = decodeEvent(type as typeof epochValidators, event)
  const columns = keepRows(data.columns, (i) => keeps(data.columns.validatorIndex[i] as number))
  return { ...event, data: type.encode({ ...data, columns } as never) }
}

function keepInBlocks({ header, columns }: EpochBlocksData, keeps: (validator: number) => boolean): EpochBlocksData {
  const kept = <Row extends { validatorIndex: number }>(rows: Row[]) => rows.filter((r) => keeps(r.validatorIndex))
  return {
    header: {
      ...header,
      effects: kept(header.effects),
      parts: header.parts.map((part) => keepInPart(part, keeps)).filter(({ rows }) => rows > 0),
    },
    columns: keepRows(columns, (i) => keeps(columns.validatorIndex[i] as number)),
  }
}

function keepInPart(part: EpochPart, keeps: (validator: number) => boolean): EpochPart {
  const validators = Array.from({ length: part.rows }, (_, i) => part.range * RANGE_VALIDATORS + i)
  return { ...part, rows: validators.filter(keeps).length }
}

function keepRows<Columns extends object>(columns: Columns, keeps: (row: number) => boolean): Columns {
  const kept = Object.entries(columns as Record<string, Uint8Array>).map(([name, column]) => [
    name,
    column.filter((_, i) => keeps(i)),
  ])
  return Object.fromEntries(kept) as Columns
}

/** The epoch before the merge: its blocks have no execution block. */
export function withoutExecutionBlocks(event: EncodedEvent): EncodedEvent {
  if (event.type !== epochBlocks.name) return event
  const preMerge = (block: FinalizedBlock): FinalizedBlock => ({
    ...block,
    executionBlockHash: `0x${'00'.repeat(32)}`,
    executionBlockNumber: 0,
  })
  return changeBlocks(event, (data) => ({
    ...data,
    header: { ...data.header, blocks: data.header.blocks.map(preMerge) },
  }))
}

/** An epoch as one that was computed of a state that nothing has named. */
export function asUnnamed(event: EncodedEvent): EncodedEvent {
  if (event.type !== epochBlocks.name) return event
  const proof = { formulas: 1, stateRoot: `0x${'11'.repeat(32)}`, level: 'consistent' } as const
  return changeBlocks(event, (data) => ({ ...data, header: { ...data.header, proof } }))
}

function changeBlocks(event: EncodedEvent, change: (data: EpochBlocksData) => EpochBlocksData): EncodedEvent {
  return { ...event, data: epochBlocks.encode(change(decodeEvent(epochBlocks, event))) }
}

/** Epoch of an event of the finalized stream; a day's balances belong to the epoch after `slot`. */
export function epochOfEvent(event: EncodedEvent, slotsPerEpoch: number): number {
  switch (event.type) {
    case epochBlocks.name:
      return decodeEvent(epochBlocks, event).header.epoch
    case dayBalances.name:
      return Math.floor((decodeEvent(dayBalances, event).header.slot + 1) / slotsPerEpoch)
    default:
      return decodeEvent(epochValidators, event).header.epoch
  }
}

/** The block as it reads when its builder's payment has failed. */
export function withFailedPayment(event: EncodedEvent): EncodedEvent {
  const block = decodeEvent(executionBlock, event)
  if (block.earlier !== undefined) throw new Error('only a whole block can be written again')
  const succeeded = block.columns.succeeded.with(-1, 0)
  return { ...event, data: executionBlock.encode({ ...block, columns: { ...block.columns, succeeded } }) }
}

/** The block as releases before told it: version 3, in which no sender is said to be proven. */
export function asEarlierRelease(event: EncodedEvent): EncodedEvent {
  const data = Buffer.from(event.data)
  const length = data.readUInt32LE(0)
  const head = JSON.parse(data.subarray(4, 4 + length).toString()) as { header: { provenSenders?: unknown } }
  delete head.header.provenSenders
  const text = Buffer.from(JSON.stringify(head))
  const size = Buffer.alloc(4)
  size.writeUInt32LE(text.length)
  return { ...event, version: 3, data: Buffer.concat([size, text, data.subarray(4 + length)]) }
}
