import type { ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { ChainEvent } from '../consensus/chain-event.ts'
import { BeaconApiError } from './api-error.ts'
import type { BeaconApiContext } from './context.ts'
import { parseList } from './identifiers.ts'

/** A reader that lets more than this wait is cut off; it can connect again and read what it missed by slot. */
const UNSENT_BYTES_MAX = 4 * 1024 * 1024

/** The topics of the specification; the devnet has something to say about the first four. */
const TOPICS = new Set([
  'head',
  'block',
  'finalized_checkpoint',
  'chain_reorg',
  'attestation',
  'attester_slashing',
  'blob_sidecar',
  'block_gossip',
  'bls_to_execution_change',
  'contribution_and_proof',
  'data_column_sidecar',
  'light_client_finality_update',
  'light_client_optimistic_update',
  'payload_attributes',
  'proposer_slashing',
  'single_attestation',
  'voluntary_exit',
])

function eventData(event: ChainEvent): Record<string, unknown> {
  switch (event.topic) {
    case 'block':
      return { slot: String(event.slot), block: event.block }
    case 'head':
      return {
        slot: String(event.slot),
        block: event.block,
        state: event.state,
        epoch_transition: event.epochTransition,
        previous_duty_dependent_root: event.previousDutyDependentRoot,
        current_duty_dependent_root: event.currentDutyDependentRoot,
      }
    case 'finalized_checkpoint':
      return { block: event.block, state: event.state, epoch: String(event.epoch) }
    case 'chain_reorg':
      return {
        slot: String(event.slot),
        depth: String(event.depth),
        old_head_block: event.oldHeadBlock,
        new_head_block: event.newHeadBlock,
        old_head_state: event.oldHeadState,
        new_head_state: event.newHeadState,
        epoch: String(event.epoch),
      }
  }
}

function eventText(event: ChainEvent): string {
  return `event: ${event.topic}\ndata: ${JSON.stringify({ ...eventData(event), execution_optimistic: false })}\n\n`
}

/** Server-sent events; topics that the devnet never has something for are accepted and stay silent. */
export function registerEventRoutes(server: FastifyInstance, context: BeaconApiContext): void {
  const open = new Set<ServerResponse>()
  server.addHook('preClose', async () => {
    for (const response of open) response.destroy()
  })
  server.get<{ Querystring: { topics?: unknown } }>('/eth/v1/events', (request, reply) => {
    const topics = new Set(parseList(request.query.topics))
    if (topics.size === 0) throw new BeaconApiError(400, 'At least one topic is needed')
    for (const topic of topics) {
      if (!TOPICS.has(topic)) throw new BeaconApiError(400, `Invalid topic: ${topic.slice(0, 80)}`)
    }
    reply.hijack()
    const response = reply.raw
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      connection: 'keep-alive',
    })
    response.flushHeaders()
    open.add(response)
    const unsubscribe = context.events.subscribe((event) => {
      if (!topics.has(event.topic)) return
      response.write(eventText(event))
      if (response.writableLength > UNSENT_BYTES_MAX) response.destroy()
    })
    response.on('close', () => {
      open.delete(response)
      unsubscribe()
    })
  })
}
