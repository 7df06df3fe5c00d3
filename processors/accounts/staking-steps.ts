import type { StoredEvent } from '../../infra/ports/event-log.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { stakingBroadcast, stakingEnded } from '../../schemas/events/staking-broadcast.ts'
import type { StakingStep } from '../../schemas/tables/accounts.ts'
import { constantColumn, type TableRows, textColumn, versionOf } from '../loop/rows.ts'

interface Step {
  readonly chain: string
  readonly txHash: string
  readonly step: StakingStep
  /** A row each. */
  readonly pubkeys: readonly string[]
  readonly blockNumber?: number
}

/** The rows of a fact of staking transactions; undefined for other events. */
export function projectStakingStep(stored: StoredEvent): TableRows | undefined {
  const told = stepOf(stored)
  if (told === undefined) return undefined
  const { chain, txHash, step, pubkeys, blockNumber = 0 } = told
  const rows = pubkeys.length
  return {
    table: 'staking_steps',
    columns: {
      chain: textColumn(rows, chain),
      transaction_hash: textColumn(rows, txHash),
      step: textColumn(rows, step),
      pubkey: pubkeys,
      time: new Uint32Array(rows).fill(Math.floor(Date.parse(stored.event.time) / 1_000)),
      block_number: constantColumn(rows, BigInt(blockNumber)),
      version: constantColumn(rows, versionOf(stored.position)),
    },
  }
}

function stepOf({ event }: StoredEvent): Step | undefined {
  switch (event.type) {
    case stakingBroadcast.name:
      return { ...decodeEvent(stakingBroadcast, event), step: 'broadcast' }
    case stakingEnded.name: {
      const { status: step, ...ended } = decodeEvent(stakingEnded, event)
      return { ...ended, step, pubkeys: [''] }
    }
    default:
      return undefined
  }
}
