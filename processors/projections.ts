import type { StoredEvent } from '../infra/ports/event-log.ts'
import { decodeEvent } from '../schemas/events/codec.ts'
import { executionLogs } from '../schemas/events/execution-logs.ts'
import { chainRemoved, epochsRetracted, logMade } from '../schemas/events/log-facts.ts'
import { projectAccountFact } from './accounts/account-facts.ts'
import { projectHeadBlock } from './head/head-blocks.ts'
import { consume, type Projecting, type Projector } from './loop/consume.ts'
import { projectDeadLetter } from './loop/dead-letters.ts'
import { projectRoleHealth } from './loop/role-health.ts'
import { type Projected, versionOf } from './loop/rows.ts'
import { logPartRow } from './nft/log-parts.ts'
import { projectMetadata } from './nft/metadata.ts'
import { metadataMarkRows } from './nft/metadata-marks.ts'
import { transferRows } from './nft/transfers.ts'
import { projectExecutionBlock } from './rewards/execution.ts'
import { projectFinalized } from './rewards/finalized.ts'
import { projectUsage } from './usage/project-usage.ts'
import { depositRows } from './validators/deposits.ts'
import { exitCallRows } from './validators/exit-calls.ts'
import { projectValidatorFact } from './validators/validator-facts.ts'

/** A key that is deleted stops working within a second: the other half of it processes take to ask for it (`api/http/standings.ts`). */
const ACCESS_LINGER_MS_MAX = 200

/** Every projection of the log: which topic fills which tables. */
export const PROJECTORS: readonly Projector[] = [
  {
    group: 'accounts',
    topic: 'accounts',
    tables: [
      'access_tokens',
      'order_ends',
      'account_validators',
      'validator_owners',
      'watched_validators',
      'fee_rates',
      'settlement_corrections',
      'locked_settlements',
      'settlement_locks',
      'fee_recipients',
      'created_validators',
      'exit_steps',
      'exit_call_ends',
      'validator_labels',
      'staking_steps',
    ],
    // Says that what a lock keeps is there: who reads what was settled would miss those that came after it.
    lastTable: 'settlement_locks',
    lingerMsMax: ACCESS_LINGER_MS_MAX,
    project: projectAccountFact,
  },
  {
    group: 'validators',
    topic: 'validators',
    tables: ['validators', 'deposit_contracts', 'registry_looks'],
    // Says that the validators are there that a look has found: those that are not are not in the registry.
    lastTable: 'registry_looks',
    project: projectValidatorFact,
  },
  {
    group: 'head',
    topic: 'beacon.blocks',
    tables: ['beacon_blocks', 'chain_queues', 'deposit_queue_fronts'],
    project: projectHeadBlock,
  },
  {
    group: 'execution',
    topic: 'execution.blocks',
    tables: [
      'execution_blocks',
      'block_payments',
      'block_balances',
      'relay_claims',
      'execution_finality',
      'execution_heights',
      'execution_senders',
      'reverted_blocks',
      'weak_blocks',
    ],
    // Says that a block is there: who folds it wants to know who has sent its transactions.
    lastTable: 'execution_heights',
    project: projectExecutionBlock,
  },
  {
    group: 'execution-logs',
    topic: 'execution.logs',
    tables: [
      'execution_log_parts',
      'deposits',
      'exit_calls',
      'nft_transfers',
      'nft_odd_logs',
      'nft_tokens',
      'nft_metadata_changes',
      'nft_marks',
    ],
    // Says that a part's rows are there: who folds a block of which all parts are would miss those that came after it.
    lastTable: 'execution_log_parts',
    project: projectExecutionLogs,
  },
  {
    group: 'finalized',
    topic: 'beacon.epochs',
    tables: [
      'chains',
      'finalized_blocks',
      'validator_epochs',
      'ledger_entries',
      'epoch_residuals',
      'missed_slots',
      'network_epochs',
      'epoch_differences',
      'epoch_proofs',
      'day_balances',
      'epoch_parts',
    ],
    lastTable: 'epoch_parts',
    project: projectFinalized,
  },
  {
    group: 'nft-metadata',
    topic: 'nft.metadata',
    tables: [
      'nft_contracts',
      'nft_contract_names',
      'nft_words',
      'nft_token_states',
      'nft_token_told',
      'nft_metadata_positions',
    ],
    // Says that something else is told now: who keeps what was told before looks again.
    lastTable: 'nft_metadata_positions',
    project: projectMetadata,
  },
  { group: 'dead-letters', topic: 'dead-letters', tables: ['dead_letters'], project: projectDeadLetter },
  { group: 'roles', topic: 'roles', tables: ['role_health'], project: projectRoleHealth },
  { group: 'usage', topic: 'usage', tables: ['usage_minutes'], project: projectUsage },
  { group: 'log', topic: 'log', tables: [], project: projectLogFact },
]

/** Runs every projection until the signal aborts; the first one that fails ends them all. */
export async function runProjections(ports: Projecting, signal: AbortSignal): Promise<void> {
  const failed = new AbortController()
  const either = AbortSignal.any([signal, failed.signal])
  const loops = PROJECTORS.map(async (projector) => {
    try {
      await consume(ports, projector, either)
    } catch (error) {
      failed.abort()
      throw error
    }
  })
  const ended = await Promise.allSettled(loops)
  for (const loop of ended) if (loop.status === 'rejected') throw loop.reason
}

/** What one event of `execution.logs` becomes: each family takes the logs that are its own. */
function projectExecutionLogs(stored: StoredEvent): Projected {
  const logs = decodeEvent(executionLogs, stored.event)
  const version = versionOf(stored.position)
  const transfers = transferRows(logs, version)
  return {
    rows: [
      logPartRow(logs, stored),
      depositRows(logs, version),
      exitCallRows(logs, version),
      ...transfers,
      // Behind the tokens: who sees a mark finds what it is about.
      ...metadataMarkRows(logs, transfers, version),
    ],
    touched: { kind: 'execution logs', chain: logs.header.chain },
  }
}

/** Facts about the log make no rows; that this group reads them makes a process see a removal at once. */
function projectLogFact({ event }: StoredEvent): Projected {
  if (event.type === logMade.name) decodeEvent(logMade, event)
  else if (event.type === epochsRetracted.name) decodeEvent(epochsRetracted, event)
  else decodeEvent(chainRemoved, event)
  return { rows: [] }
}
