import type { StoredEvent } from '../../infra/ports/event-log.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { exitCancelled, exitEnded, exitRequested, exitSigned, exitSubmitted } from '../../schemas/events/exits.ts'
import type { ExitStep } from '../../schemas/tables/accounts.ts'
import { constantColumn, type TableRows, textColumn, versionOf } from '../loop/rows.ts'

interface Steps {
  readonly chain: string
  readonly pubkeys: readonly string[]
  readonly step: ExitStep
  readonly epoch?: number
  readonly reason?: string
}

/** The rows of a fact of exits; undefined for other events. */
export function projectExitSteps(stored: StoredEvent): TableRows | undefined {
  const steps = stepsOf(stored)
  if (steps === undefined) return undefined
  const { chain, pubkeys, step, epoch = 0, reason = '' } = steps
  const rows = pubkeys.length
  return {
    table: 'exit_steps',
    columns: {
      chain: textColumn(rows, chain),
      pubkey: pubkeys,
      step: textColumn(rows, step),
      time: new Uint32Array(rows).fill(Math.floor(Date.parse(stored.event.time) / 1_000)),
      epoch: constantColumn(rows, BigInt(epoch)),
      reason: textColumn(rows, reason),
      version: constantColumn(rows, versionOf(stored.position)),
    },
  }
}

function stepsOf({ event }: StoredEvent): Steps | undefined {
  switch (event.type) {
    case exitRequested.name:
      return { ...decodeEvent(exitRequested, event), step: 'requested' }
    case exitCancelled.name:
      return { ...decodeEvent(exitCancelled, event), step: 'cancelled' }
    case exitSigned.name: {
      const { chain, pubkey, headEpoch: epoch } = decodeEvent(exitSigned, event)
      return { chain, pubkeys: [pubkey], step: 'signed', epoch }
    }
    case exitSubmitted.name: {
      const { chain, pubkey, headEpoch: epoch } = decodeEvent(exitSubmitted, event)
      return { chain, pubkeys: [pubkey], step: 'submitted', epoch }
    }
    case exitEnded.name: {
      const { chain, pubkey, end } = decodeEvent(exitEnded, event)
      if (end.status === 'failed') return { chain, pubkeys: [pubkey], step: 'failed', reason: end.reason }
      return { chain, pubkeys: [pubkey], step: 'on_chain', epoch: end.exitEpoch }
    }
    default:
      return undefined
  }
}
