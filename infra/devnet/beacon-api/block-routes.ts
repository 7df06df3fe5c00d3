import { ssz } from '@lodestar/types'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { hexOf } from '../../../schemas/eth/hex.ts'
import type { BlockRecord, History } from '../consensus/history.ts'
import { type BeaconApiContext, FORK_NAME } from './context.ts'
import { finalizedSlot, findBlock, parseNumber } from './identifiers.ts'

/** Several readers ask for the newest blocks; older ones are asked for once. */
const BLOCK_JSON_CACHE_MAX = 64

/** Slots in which a block's children are looked for: more are never missed in a row. */
const CHILD_SEARCH_SLOTS = 64

type ById = { Params: { block_id: string } }

export function prefersSsz(request: FastifyRequest): boolean {
  const accept = request.headers.accept ?? ''
  const ssz = accept.indexOf('application/octet-stream')
  if (ssz === -1) return false
  const quality = (type: string) => Number(new RegExp(`${type}\\s*;\\s*q=([0-9.]+)`).exec(accept)?.[1] ?? 1)
  return !accept.includes('application/json') || quality('application/octet-stream') >= quality('application/json')
}

/** Where JSON has them in its envelope, SSZ has the flags in headers. */
export function sendSsz(reply: FastifyReply, bytes: Uint8Array, finalized: boolean): FastifyReply {
  return reply
    .header('eth-execution-optimistic', 'false')
    .header('eth-consensus-finalized', String(finalized))
    .type('application/octet-stream')
    .send(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
}

function isFinalized(history: History, block: BlockRecord): boolean {
  return history.isCanonical(block) && block.slot <= finalizedSlot(history)
}

function headerJson(history: History, block: BlockRecord) {
  return {
    root: block.root,
    canonical: history.isCanonical(block),
    header: {
      message: {
        slot: String(block.slot),
        proposer_index: String(block.proposerIndex),
        parent_root: block.parentRoot,
        state_root: block.stateRoot,
        body_root: block.bodyRoot,
      },
      signature: hexOf(block.signature()),
    },
  }
}

interface HeaderQuery {
  readonly slot?: string
  readonly parent_root?: string
}

function findHeaders(history: History, query: HeaderQuery): readonly BlockRecord[] {
  const { slot, parent_root: parentRoot } = query
  if (parentRoot !== undefined) {
    const parent = findBlock(history, parentRoot)
    const slots = Array.from({ length: CHILD_SEARCH_SLOTS }, (_, i) => parent.slot + 1 + i)
    const children = slots.flatMap((s) => history.blocksOfSlot(s)).filter((block) => block.parentRoot === parent.root)
    return slot === undefined ? children : children.filter((block) => block.slot === parseNumber('slot', slot))
  }
  return slot === undefined ? [history.head.head] : history.blocksOfSlot(parseNumber('slot', slot))
}

export function registerBlockRoutes(server: FastifyInstance, context: BeaconApiContext): void {
  const { history } = context
  const jsonCache = new Map<string, string>()

  function blockJson(block: BlockRecord): string {
    const cached = jsonCache.get(block.root)
    if (cached !== undefined) return cached
    const json = JSON.stringify(
      ssz.fulu.SignedBeaconBlock.toJson(ssz.fulu.SignedBeaconBlock.deserialize(block.bytes())),
    )
    jsonCache.set(block.root, json)
    const oldest = jsonCache.keys().next().value
    if (jsonCache.size > BLOCK_JSON_CACHE_MAX && oldest !== undefined) jsonCache.delete(oldest)
    return json
  }

  server.get<{ Querystring: HeaderQuery }>('/eth/v1/beacon/headers', (request) => {
    const blocks = findHeaders(history, request.query)
    return {
      execution_optimistic: false,
      finalized: blocks.length > 0 && blocks.every((block) => isFinalized(history, block)),
      data: blocks.map((block) => headerJson(history, block)),
    }
  })
  server.get<ById>('/eth/v1/beacon/headers/:block_id', (request) => {
    const block = findBlock(history, request.params.block_id)
    return { execution_optimistic: false, finalized: isFinalized(history, block), data: headerJson(history, block) }
  })
  server.get<ById>('/eth/v1/beacon/blocks/:block_id/root', (request) => {
    const block = findBlock(history, request.params.block_id)
    return { execution_optimistic: false, finalized: isFinalized(history, block), data: { root: block.root } }
  })
  server.get<ById>('/eth/v2/beacon/blocks/:block_id', (request, reply) => {
    const block = findBlock(history, request.params.block_id)
    const finalized = isFinalized(history, block)
    reply.header('eth-consensus-version', FORK_NAME)
    if (prefersSsz(request)) return sendSsz(reply, block.bytes(), finalized)
    return reply
      .type('application/json')
      .send(
        `{"version":"${FORK_NAME}","execution_optimistic":false,"finalized":${finalized},"data":${blockJson(block)}}`,
      )
  })
}
