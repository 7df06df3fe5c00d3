import { bytesOf } from './hex.ts'
import { KEPT_EVENTS } from './kept-logs.ts'
import type { RawLog } from './nft-transfers.ts'
import { WORD_BYTES, wordAt } from './words.ts'

export type MetadataChangeEvent = 'MetadataUpdate' | 'BatchMetadataUpdate' | 'URI' | 'ContractURIUpdated'

/** What a log says has changed: tokens from one to another, 32 bytes each; none of the contract alone. */
export interface MetadataChange {
  readonly event: MetadataChangeEvent
  readonly firstId: Uint8Array
  readonly lastId: Uint8Array
}

/** How many words behind the topic say which tokens; those of ERC-4906 are in the data, and some contracts index them. */
const FORMS: Readonly<Record<string, { readonly event: MetadataChangeEvent; readonly ids: 0 | 1 | 2 }>> = {
  'MetadataUpdate(uint256)': { event: 'MetadataUpdate', ids: 1 },
  'BatchMetadataUpdate(uint256,uint256)': { event: 'BatchMetadataUpdate', ids: 2 },
  'URI(string,uint256)': { event: 'URI', ids: 1 },
  'ContractURIUpdated()': { event: 'ContractURIUpdated', ids: 0 },
  'ContractURIUpdated(string,string)': { event: 'ContractURIUpdated', ids: 0 },
}

const BY_TOPIC = new Map(
  KEPT_EVENTS.flatMap(({ signature, topic }) => {
    const form = FORMS[signature]
    return form === undefined ? [] : [[Buffer.from(bytesOf(topic)).toString('latin1'), form] as const]
  }),
)
const NONE = new Uint8Array(WORD_BYTES)

/** Undefined for what is no such log, or has not its form. Never throws. */
export function decodeMetadataChange({ topics, data }: RawLog): MetadataChange | undefined {
  const topic = wordAt(topics, 0)
  const form = topic === undefined ? undefined : BY_TOPIC.get(Buffer.from(topic).toString('latin1'))
  if (form === undefined) return undefined
  const { event, ids } = form
  if (ids === 0) return { event, firstId: NONE, lastId: NONE }
  const words = Buffer.concat([topics.subarray(WORD_BYTES), data.subarray(0, ids * WORD_BYTES)])
  const firstId = wordAt(words, 0)
  const lastId = ids === 1 ? firstId : wordAt(words, WORD_BYTES)
  // Its text, which comes first in the data, is not looked at: the contract is asked.
  if (event === 'URI' && topics.length !== 2 * WORD_BYTES) return undefined
  if (firstId === undefined || lastId === undefined || Buffer.compare(firstId, lastId) > 0) return undefined
  return { event, firstId, lastId }
}
