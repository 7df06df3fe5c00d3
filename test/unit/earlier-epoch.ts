import { Type } from 'typebox'
import { EPOCH_BLOCKS_LAYOUT, epochBlocks } from '../../schemas/events/beacon-epoch.ts'
import { type EncodedEvent, encodeEvent, packedEvent } from '../../schemas/events/codec.ts'

interface EarlierEpoch {
  readonly version: number
  /** Undefined: of before events named theirs. */
  readonly chain?: string
  readonly header: { readonly epoch: number }
}

/** An epoch's blocks as an earlier release has told them; the header is written as it was. */
export function earlierEpoch({ version, chain, header }: EarlierEpoch): EncodedEvent {
  const before = packedEvent(
    { name: epochBlocks.name, version, topic: 'beacon.epochs' },
    Type.Object({}, { additionalProperties: true }),
    EPOCH_BLOCKS_LAYOUT,
  )
  const columns = { slotOffset: new Uint8Array(), validatorIndex: new Uint32Array(), syncGwei: new BigInt64Array() }
  const place = chain === undefined ? '' : `${chain}:`
  const about = { id: `${epochBlocks.name}:${place}${header.epoch}`, key: chain ?? 'finalized' }
  return encodeEvent(before, { ...about, time: '2026-11-20T00:00:00.000Z', data: { header, columns } })
}
