import { SLOTS_PER_EPOCH } from '@lodestar/params'
import { type phase0, ssz } from '@lodestar/types'
import type { FastifyInstance } from 'fastify'
import { hexOf } from '../../../schemas/eth/hex.ts'
import { BeaconApiError } from './api-error.ts'
import type { BeaconApiContext } from './context.ts'
import { parseNumber } from './identifiers.ts'

function parseExit(body: unknown): phase0.SignedVoluntaryExit {
  try {
    return ssz.phase0.SignedVoluntaryExit.fromJson(body)
  } catch {
    throw new BeaconApiError(400, 'Invalid voluntary exit: not a SignedVoluntaryExit object')
  }
}

export function registerPoolRoutes(server: FastifyInstance, context: BeaconApiContext): void {
  const { exits, history } = context
  server.get('/eth/v1/beacon/pool/voluntary_exits', () => ({
    data: exits.pending().map((exit) => ssz.phase0.SignedVoluntaryExit.toJson(exit)),
  }))
  server.post('/eth/v1/beacon/pool/voluntary_exits', (request, reply) => {
    const result = exits.submit(parseExit(request.body), context.headState())
    if (result.status === 'full') throw new BeaconApiError(503, 'The pool of voluntary exits is full')
    if (result.status === 'invalid') throw new BeaconApiError(400, `Invalid voluntary exit: ${result.fault}`)
    return reply.code(200).send()
  })
  server.get<{ Params: { epoch: string } }>('/eth/v1/validator/duties/proposer/:epoch', (request) => {
    const epoch = parseNumber('epoch', request.params.epoch)
    const record = history.slot(epoch * SLOTS_PER_EPOCH)
    if (record === undefined) throw new BeaconApiError(404, 'The epoch has not begun')
    const dependent = history.slot(Math.max(0, epoch * SLOTS_PER_EPOCH - 1)) ?? record
    return {
      dependent_root: dependent.head.root,
      execution_optimistic: false,
      data: record.proposers.map((index, i) => ({
        pubkey: hexOf((record.registry[index] as phase0.Validator).pubkey),
        validator_index: String(index),
        slot: String(record.slot + i),
      })),
    }
  })
}
