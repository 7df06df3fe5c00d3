import { VALIDATOR_STATUSES } from '../../schemas/events/beacon-epoch.ts'
import type { AttestationRewards, Balances, SyncRewards, ValidatorStates } from '../ports/beacon-source.ts'
import { TableScanner, type TableShape } from './scan.ts'

// Answers that have a row per validator (ethereum/beacon-APIs, apis/beacon/states and apis/beacon/rewards).

const INDEX = 'validatorIndex'

export interface ScanOptions {
  /** A 1 at each index whose row is kept. */
  readonly wanted: Uint8Array
  readonly rowsHint: number
}

const VALIDATORS: TableShape = {
  path: ['data'],
  index: INDEX,
  row: {
    fields: {
      index: { column: INDEX, type: 'u32' },
      balance: { column: 'balanceGwei', type: 'i64' },
      status: { column: 'status', type: { oneOf: VALIDATOR_STATUSES } },
    },
    nested: {
      validator: {
        fields: {
          effective_balance: { column: 'effectiveBalanceEth', type: 'eth-u32' },
          slashed: { column: 'slashed', type: 'bool-u8' },
          activation_epoch: { column: 'activationEpoch', type: 'u64' },
          exit_epoch: { column: 'exitEpoch', type: 'u64' },
          withdrawable_epoch: { column: 'withdrawableEpoch', type: 'u64' },
        },
      },
    },
  },
}

const BALANCES: TableShape = {
  path: ['data'],
  index: INDEX,
  row: { fields: { index: { column: INDEX, type: 'u32' }, balance: { column: 'balanceGwei', type: 'i64' } } },
}

const ATTESTATION_REWARDS: TableShape = {
  path: ['data', 'total_rewards'],
  index: INDEX,
  row: {
    fields: {
      validator_index: { column: INDEX, type: 'u32' },
      head: { column: 'headGwei', type: 'i64' },
      target: { column: 'targetGwei', type: 'i64' },
      source: { column: 'sourceGwei', type: 'i64' },
      inactivity: { column: 'inactivityGwei', type: 'i64' },
    },
  },
}

const SYNC_REWARDS: TableShape = {
  path: ['data'],
  index: INDEX,
  row: { fields: { validator_index: { column: INDEX, type: 'u32' }, reward: { column: 'syncGwei', type: 'i64' } } },
}

function scanAll(shape: TableShape, bodies: readonly Uint8Array[], options: ScanOptions): TableScanner {
  const scanner = new TableScanner(shape, options)
  for (const body of bodies) scanner.scan(body)
  return scanner
}

/** Bodies of `POST states/{id}/validators`, one after the other. Throws AppError `node_malformed`, as the others do. */
export function scanValidators(bodies: readonly Uint8Array[], options: ScanOptions): ValidatorStates {
  return scanAll(VALIDATORS, bodies, options).sorted() as unknown as ValidatorStates
}

/** Bodies of `POST states/{id}/validator_balances`. */
export function scanBalances(bodies: readonly Uint8Array[], options: ScanOptions): Balances {
  return scanAll(BALANCES, bodies, options).sorted() as unknown as Balances
}

/** Bodies of `POST rewards/attestations/{epoch}`; the ideal rewards are passed over. */
export function scanAttestationRewards(bodies: readonly Uint8Array[], options: ScanOptions): AttestationRewards {
  return scanAll(ATTESTATION_REWARDS, bodies, options).sorted() as unknown as AttestationRewards
}

/** Bodies of `POST rewards/sync_committee/{id}`: some nodes write a row per seat, some one per validator; ours are summed. */
export function scanSyncRewards(bodies: readonly Uint8Array[], options: ScanOptions): SyncRewards {
  const rows = scanAll(SYNC_REWARDS, bodies, options).sortedWithRepeats() as unknown as SyncRewards
  const { validatorIndex, syncGwei } = rows
  let last = -1
  for (let i = 0; i < validatorIndex.length; i++) {
    if (last >= 0 && validatorIndex[last] === validatorIndex[i]) {
      syncGwei[last] = (syncGwei[last] as bigint) + (syncGwei[i] as bigint)
      continue
    }
    last++
    validatorIndex[last] = validatorIndex[i] as number
    syncGwei[last] = syncGwei[i] as bigint
  }
  return { validatorIndex: validatorIndex.subarray(0, last + 1), syncGwei: syncGwei.subarray(0, last + 1) }
}
