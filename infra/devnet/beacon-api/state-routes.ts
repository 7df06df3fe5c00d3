import { EPOCHS_PER_SYNC_COMMITTEE_PERIOD, SLOTS_PER_EPOCH, SYNC_COMMITTEE_SUBNET_COUNT } from '@lodestar/params'
import { ssz } from '@lodestar/types'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { hexOf } from '../../../schemas/eth/hex.ts'
import type { SlotRecord } from '../consensus/history.ts'
import { BeaconApiError } from './api-error.ts'
import { prefersSsz, sendSsz } from './block-routes.ts'
import { type BeaconApiContext, FORK_NAME } from './context.ts'
import { finalizedSlot, findState, type PubkeyIndex, parseIdBody, parseList, parseNumber } from './identifiers.ts'
import { balancesText, checkStatuses, validatorsText } from './validator-json.ts'

type ById = { Params: { state_id: string } }
type WithIds = ById & { Querystring: { id?: unknown; status?: unknown } }

interface ValidatorsBody {
  readonly ids?: unknown
  readonly statuses?: unknown
}

function syncCommitteeAt(record: SlotRecord, epoch: number): Uint32Array {
  const period = (e: number) => Math.floor(e / EPOCHS_PER_SYNC_COMMITTEE_PERIOD)
  const distance = period(epoch) - period(Math.floor(record.slot / SLOTS_PER_EPOCH))
  if (distance === 0) return record.syncCommittee
  if (distance === 1) return record.nextSyncCommittee
  throw new BeaconApiError(400, 'The epoch is outside the sync committee periods that the state knows')
}

function chunks(values: readonly string[], count: number): readonly (readonly string[])[] {
  const size = values.length / count
  return Array.from({ length: count }, (_, i) => values.slice(i * size, (i + 1) * size))
}

export function registerStateRoutes(server: FastifyInstance, context: BeaconApiContext, pubkeys: PubkeyIndex): void {
  const { config, history } = context

  function sendText(reply: FastifyReply, record: SlotRecord, dataText: string, version?: string): FastifyReply {
    const finalized = record.slot <= finalizedSlot(history)
    if (version !== undefined) reply.header('eth-consensus-version', version)
    const prefix = version === undefined ? '' : `"version":"${version}",`
    return reply
      .type('application/json')
      .send(`{${prefix}"execution_optimistic":false,"finalized":${finalized},"data":${dataText}}`)
  }

  /** A route whose data depends on nothing but the record. */
  function stateRoute(path: string, data: (record: SlotRecord) => unknown, version?: string): void {
    server.get<ById>(`/eth/v1/beacon/states/:state_id/${path}`, (request, reply) => {
      const record = findState(history, request.params.state_id)
      return sendText(reply, record, JSON.stringify(data(record)), version)
    })
  }

  stateRoute('root', (record) => ({ root: record.stateRoot }))
  stateRoute('fork', () => ({
    previous_version: hexOf(config.ELECTRA_FORK_VERSION),
    current_version: hexOf(config.FULU_FORK_VERSION),
    epoch: '0',
  }))
  stateRoute('finality_checkpoints', ({ finality }) => {
    const json = (checkpoint: { epoch: number; root: string }) => ({
      epoch: String(checkpoint.epoch),
      root: checkpoint.root,
    })
    return {
      previous_justified: json(finality.previousJustified),
      current_justified: json(finality.currentJustified),
      finalized: json(finality.finalized),
    }
  })
  stateRoute('pending_deposits', (r) => ssz.electra.PendingDeposits.toJson(r.pendingDeposits), FORK_NAME)
  stateRoute(
    'pending_partial_withdrawals',
    (r) => ssz.electra.PendingPartialWithdrawals.toJson(r.pendingPartialWithdrawals),
    FORK_NAME,
  )
  stateRoute(
    'pending_consolidations',
    (r) => ssz.electra.PendingConsolidations.toJson(r.pendingConsolidations),
    FORK_NAME,
  )

  server.get<WithIds>('/eth/v1/beacon/states/:state_id/validators', (request, reply) => {
    const record = findState(history, request.params.state_id)
    const statuses = parseList(request.query.status)
    checkStatuses(statuses)
    const indices = pubkeys.select(parseList(request.query.id), record.registry)
    return sendText(reply, record, validatorsText(record, indices, statuses))
  })
  server.post<ById>('/eth/v1/beacon/states/:state_id/validators', (request, reply) => {
    const record = findState(history, request.params.state_id)
    const body = (request.body ?? {}) as ValidatorsBody
    const statuses = parseIdBody(body.statuses)
    checkStatuses(statuses)
    const indices = pubkeys.select(parseIdBody(body.ids), record.registry)
    return sendText(reply, record, validatorsText(record, indices, statuses))
  })
  server.get<ById & { Params: { validator_id: string } }>(
    '/eth/v1/beacon/states/:state_id/validators/:validator_id',
    (request, reply) => {
      const record = findState(history, request.params.state_id)
      const indices = pubkeys.select([request.params.validator_id], record.registry)
      if (indices.length === 0) throw new BeaconApiError(404, 'Validator not found')
      return sendText(reply, record, validatorsText(record, indices, []).slice(1, -1))
    },
  )
  server.get<WithIds>('/eth/v1/beacon/states/:state_id/validator_balances', (request, reply) => {
    const record = findState(history, request.params.state_id)
    return sendText(reply, record, balancesText(record, pubkeys.select(parseList(request.query.id), record.registry)))
  })
  server.post<ById>('/eth/v1/beacon/states/:state_id/validator_balances', (request, reply) => {
    const record = findState(history, request.params.state_id)
    return sendText(reply, record, balancesText(record, pubkeys.select(parseIdBody(request.body), record.registry)))
  })
  server.get<ById & { Querystring: { epoch?: string } }>(
    '/eth/v1/beacon/states/:state_id/sync_committees',
    (request, reply) => {
      const record = findState(history, request.params.state_id)
      const { epoch } = request.query
      const committee =
        epoch === undefined ? record.syncCommittee : syncCommitteeAt(record, parseNumber('epoch', epoch))
      const validators = Array.from(committee, String)
      const aggregates = chunks(validators, SYNC_COMMITTEE_SUBNET_COUNT)
      return sendText(reply, record, JSON.stringify({ validators, validator_aggregates: aggregates }))
    },
  )
  server.get<ById>('/eth/v2/debug/beacon/states/:state_id', (request, reply) => {
    const record = findState(history, request.params.state_id)
    const state = record.slot === history.headSlot ? context.headState() : context.stateAt(record.slot)
    if (!prefersSsz(request))
      return sendText(reply, record, JSON.stringify(ssz.fulu.BeaconState.toJson(state.toValue())), FORK_NAME)
    reply.header('eth-consensus-version', FORK_NAME)
    return sendSsz(reply, state.serialize(), record.slot <= finalizedSlot(history))
  })
}
