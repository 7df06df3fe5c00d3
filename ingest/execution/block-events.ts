import type { ExecutionBlock } from '../../infra/ports/execution-source.ts'
import { chainKey } from '../../schemas/chains.ts'
import { type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { executionBlock, executionBlockReverted } from '../../schemas/events/execution-block.ts'
import { splitLogs } from '../../schemas/events/execution-log-parts.ts'
import { executionLogs, logBucket } from '../../schemas/events/execution-logs.ts'

/** Events of a block: one of `execution.blocks`, and the parts of its logs. `time` is the chain's time of the block. */
export function executionBlockEvents(
  chain: string,
  block: ExecutionBlock,
  time: string,
): { readonly blocks: readonly EncodedEvent[]; readonly logs: readonly EncodedEvent[] } {
  const { header, columns, matchesHash, logsCheck, hasOutcomes, provenSenders } = block
  const { number, hash, timestampSec } = header
  const split = splitLogs(block.logs)
  const bucket = logBucket(number)
  const logs = split.map((columns, part) =>
    encodeEvent(executionLogs, {
      id: `execution.logs:${chain}:${hash}:${part}`,
      key: chainKey(chain, bucket),
      time,
      data: { header: { chain, number, hash, timestampSec, bucket, part, parts: split.length }, columns },
    }),
  )
  const encoded = encodeEvent(executionBlock, {
    id: `execution.block:${chain}:${hash}`,
    key: chainKey(chain, hash),
    time,
    data: {
      header: {
        ...{ chain, ...header, logParts: split.length, matchesHash, logsCheck, hasOutcomes },
        provenSenders: [...provenSenders],
      },
      columns,
    },
  })
  return { blocks: [encoded], logs }
}

/** The event that takes a block back. */
export function executionRevertEvent(
  chain: string,
  { number, hash }: { readonly number: number; readonly hash: string },
  time: string,
): EncodedEvent {
  return encodeEvent(executionBlockReverted, {
    id: `execution.block-reverted:${chain}:${hash}`,
    key: chainKey(chain, hash),
    time,
    data: { chain, number, hash },
  })
}
