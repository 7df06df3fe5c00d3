import { VALIDATOR_STATUSES } from '../../schemas/events/beacon-epoch.ts'
import type { AttestationRewards, Balances, SyncRewards, ValidatorStates } from '../ports/beacon-source.ts'
import { type FieldTable, type ScannedColumns, TableScanner, type TableShape } from './scan.ts'

// Answers that have a row per validator (ethereum/beacon-APIs, apis/beacon/states and apis/beacon/rewards).

export interface ScanOptions {
  /** A 1 at each index whose row is kept. */
  readonly wanted: Uint8Array
  readonly rowsHint: number
}

/** Scans bodies of one kind, one after the other, into columns. Throws AppError `node_malformed`. */
export type Scan<Table> = (bodies: readonly Uint8Array[], options: ScanOptions) => Table

const VALIDATORS = {
  path: ['data'],
  fields: {
    validatorIndex: { key: 'index', type: 'u32' },
    balanceGwei: { key: 'balance', type: 'i64' },
    status: { key: 'status', type: 'one-of-u8', texts: VALIDATOR_STATUSES },
    effectiveBalanceEth: { key: 'effective_balance', in: 'validator', type: 'eth-u32' },
    slashed: { key: 'slashed', in: 'validator', type: 'bool-u8' },
    activationEpoch: { key: 'activation_epoch', in: 'validator', type: 'u64' },
    exitEpoch: { key: 'exit_epoch', in: 'validator', type: 'u64' },
    withdrawableEpoch: { key: 'withdrawable_epoch', in: 'validator', type: 'u64' },
  },
} as const

const BALANCES = {
  path: ['data'],
  fields: { validatorIndex: { key: 'index', type: 'u32' }, balanceGwei: { key: 'balance', type: 'i64' } },
} as const

/** The ideal rewards are passed over. */
const ATTESTATION_REWARDS = {
  path: ['data', 'total_rewards'],
  fields: {
    validatorIndex: { key: 'validator_index', type: 'u32' },
    headGwei: { key: 'head', type: 'i64' },
    targetGwei: { key: 'target', type: 'i64' },
    sourceGwei: { key: 'source', type: 'i64' },
    inactivityGwei: { key: 'inactivity', type: 'i64' },
  },
} as const

const SYNC_REWARDS = {
  path: ['data'],
  fields: { validatorIndex: { key: 'validator_index', type: 'u32' }, syncGwei: { key: 'reward', type: 'i64' } },
} as const

function scanAll<Fields extends FieldTable>(
  shape: TableShape<Fields>,
  bodies: readonly Uint8Array[],
  options: ScanOptions,
): TableScanner<Fields> {
  const scanner = new TableScanner(shape, options)
  for (const body of bodies) scanner.scan(body)
  return scanner
}

function scanOf<Fields extends FieldTable>(shape: TableShape<Fields>): Scan<ScannedColumns<Fields>> {
  return (bodies, options) => scanAll(shape, bodies, options).sorted()
}

/** Bodies of `POST states/{id}/validators`. */
export const scanValidators: Scan<ValidatorStates> = scanOf(VALIDATORS)

/** Bodies of `POST states/{id}/validator_balances`. */
export const scanBalances: Scan<Balances> = scanOf(BALANCES)

/** Bodies of `POST rewards/attestations/{epoch}`. */
export const scanAttestationRewards: Scan<AttestationRewards> = scanOf(ATTESTATION_REWARDS)

/** Bodies of `POST rewards/sync_committee/{id}`: some nodes write a row per seat, some one per validator; ours are summed. */
export const scanSyncRewards: Scan<SyncRewards> = (bodies, options) => {
  const { validatorIndex, syncGwei } = scanAll(SYNC_REWARDS, bodies, options).sortedWithRepeats()
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
