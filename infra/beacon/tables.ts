import { VALIDATOR_STATUSES } from '../../schemas/events/beacon-epoch.ts'
import type { AttestationRewards, Balances, SyncRewards, ValidatorStates } from '../ports/beacon-source.ts'
import type { AnswerFlags } from './answer-flags.ts'
import { TableScanner, type TableShape } from './scan.ts'
import type { FieldTable, ScannedColumns } from './table-columns.ts'

// Answers that have a row per validator (ethereum/beacon-APIs, apis/beacon/states and apis/beacon/rewards).

export interface ScanOptions {
  /** A 1 at each index whose row is kept. */
  readonly wanted: Uint8Array
  readonly rowsHint: number
}

/** Bodies of one kind on their way into columns; every method throws AppError `node_malformed`. */
export interface OpenTable<Table> {
  /** Takes the next piece of a body. */
  push(piece: Uint8Array): void
  /** Ends a body, and tells what it says of itself; another may follow. */
  end(): AnswerFlags
  columns(): Table
}

export type Scan<Table> = (options: ScanOptions) => OpenTable<Table>

const VALIDATORS = {
  path: ['data'],
  fields: {
    validatorIndex: { key: 'index', type: 'u32' },
    balanceGwei: { key: 'balance', type: 'i64' },
    status: { key: 'status', type: 'one-of-u8', texts: VALIDATOR_STATUSES },
    effectiveBalanceEth: { key: 'effective_balance', in: 'validator', type: 'eth-u32' },
    slashed: { key: 'slashed', in: 'validator', type: 'bool-u8' },
    activationEligibilityEpoch: { key: 'activation_eligibility_epoch', in: 'validator', type: 'u64' },
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

function scanOf<Fields extends FieldTable>(shape: TableShape<Fields>): Scan<ScannedColumns<Fields>> {
  return (options) => {
    const scanner = new TableScanner(shape, options)
    return { push: (piece) => scanner.push(piece), end: () => scanner.end(), columns: () => scanner.sorted() }
  }
}

/** Bodies of `POST states/{id}/validators`. */
export const scanValidators: Scan<ValidatorStates> = scanOf(VALIDATORS)

/** Bodies of `POST states/{id}/validator_balances`. */
export const scanBalances: Scan<Balances> = scanOf(BALANCES)

/** Bodies of `POST rewards/attestations/{epoch}`. */
export const scanAttestationRewards: Scan<AttestationRewards> = scanOf(ATTESTATION_REWARDS)

/** Bodies of `POST rewards/sync_committee/{id}`: some nodes write a row per seat, some one per validator; ours are summed. */
export const scanSyncRewards: Scan<SyncRewards> = (options) => {
  const scanner = new TableScanner(SYNC_REWARDS, options)
  return {
    push: (piece) => scanner.push(piece),
    end: () => scanner.end(),
    columns: () => summed(scanner.sortedWithRepeats()),
  }
}

/** One row for each index of rows that lie beside each other. */
function summed({ validatorIndex, syncGwei }: SyncRewards): SyncRewards {
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
