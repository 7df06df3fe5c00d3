import type { BlockStore, StoredBlock } from './block-store.ts'
import { INVALID_PARAMS, RpcFault, SERVER_ERROR } from './rpc-fault.ts'

/** Blocks that the tags are behind the head; `none` is a node that knows of no finality, as many EVM chains' nodes do. */
export type Finality =
  | { readonly kind: 'tags'; readonly finalizedBlocks: number; readonly safeBlocks: number }
  | { readonly kind: 'none' }

/** Finds blocks by what a request says; undefined when there is no such block (yet). Throws RpcFault for what says nothing. */
export interface BlockLookup {
  /** The canonical block of a number or tag; the head when nothing is said. */
  at(tag: unknown): StoredBlock | undefined
  /** Orphaned blocks too. */
  withHash(hash: unknown): StoredBlock | undefined
  /** A number, a tag, a hash, or an EIP-1898 object with one. */
  atOrWithHash(at: unknown): StoredBlock | undefined
}

/** "0x" and 32 bytes. */
const HASH_LENGTH = 66

export function createBlockLookup(store: BlockStore, finality: Finality): BlockLookup {
  function finalityTag(tag: 'safe' | 'finalized'): StoredBlock | undefined {
    // What geth says as long as nobody has told it of a finalized block.
    if (finality.kind === 'none') throw new RpcFault(SERVER_ERROR, `${tag} block not found`)
    const depth = tag === 'safe' ? finality.safeBlocks : finality.finalizedBlocks
    return store.byNumber(Math.max(0, store.head.number - depth))
  }

  function at(tag: unknown): StoredBlock | undefined {
    if (tag === undefined || tag === null || tag === 'latest' || tag === 'pending') return store.head
    if (tag === 'earliest') return store.byNumber(0)
    if (tag === 'safe' || tag === 'finalized') return finalityTag(tag)
    if (typeof tag === 'string' && /^0x[0-9a-f]{1,13}$/i.test(tag)) return store.byNumber(Number(tag))
    throw new RpcFault(INVALID_PARAMS, 'invalid block number or tag')
  }

  function withHash(hash: unknown): StoredBlock | undefined {
    if (typeof hash !== 'string') throw new RpcFault(INVALID_PARAMS, 'invalid block hash')
    return store.byHash(hash.toLowerCase())
  }

  return {
    at,
    withHash,
    atOrWithHash(where) {
      const hash = typeof where === 'object' && where !== null ? (where as { blockHash?: unknown }).blockHash : where
      return typeof hash === 'string' && hash.length === HASH_LENGTH ? withHash(hash) : at(where)
    },
  }
}
