import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { SEEN_DAYS } from '../http/select-accounts.ts'

export interface ValidatorStateRow {
  readonly validator_index: number
  readonly pubkey: string
  readonly withdrawal_credentials: string
  readonly balance_gwei: string
  readonly effective_balance_gwei: string
  readonly status: number
  readonly slashed: number
  readonly activation_epoch: string
  readonly exit_epoch: string
  readonly withdrawable_epoch: string
}

export interface ValidatorFilter {
  readonly chain: string
  readonly account: string
  /** The epoch whose state is asked for. */
  readonly epoch: number
  /** The day that it ends in, `YYYY-MM-DD`: validators that the account has on it. */
  readonly today: string
  /** Whether validators that the account had before count as well. */
  readonly former: boolean
  /** Lower-case with 0x; empty means all. */
  readonly pubkeys: readonly string[]
  /** Lower-case with 0x; empty means all. Matches credentials that pay to it. */
  readonly credentials: readonly string[]
}

const OWN = `
  FROM
  (
    SELECT validator_index, pubkey, withdrawal_credentials FROM validators FINAL
    WHERE chain = {chain:String}
      AND pubkey IN
        (SELECT pubkey FROM (${SEEN_DAYS}) WHERE from_day <= {today:Date} AND ({former:Bool} OR {today:Date} < to_day))
      AND (empty({pubkeys:Array(String)}) OR has({pubkeys:Array(String)}, toString(pubkey)))
      AND (empty({credentials:Array(String)}) OR has({credentials:Array(String)}, toString(withdrawal_credentials)))
  ) AS names
  INNER JOIN
  (
    SELECT validator_index, balance_gwei, effective_balance_gwei, status, slashed, activation_epoch, exit_epoch,
           withdrawable_epoch
    FROM validator_epochs FINAL WHERE chain = {chain:String} AND epoch = {epoch:UInt32}
  ) AS state ON state.validator_index = names.validator_index`

const STATE_COLUMNS = `
  names.validator_index AS validator_index, names.pubkey AS pubkey, names.withdrawal_credentials AS withdrawal_credentials,
  state.balance_gwei AS balance_gwei, state.effective_balance_gwei AS effective_balance_gwei, state.status AS status,
  state.slashed AS slashed, state.activation_epoch AS activation_epoch, state.exit_epoch AS exit_epoch,
  state.withdrawable_epoch AS withdrawable_epoch`

/** One page of the account's validators with their state, newest first. */
export function selectValidators(
  warehouse: WarehouseReader,
  filter: ValidatorFilter,
  page: { readonly offset: number; readonly limit: number },
): Promise<ValidatorStateRow[]> {
  return warehouse.query<ValidatorStateRow>(
    `SELECT ${STATE_COLUMNS}
     ${OWN}
     ORDER BY validator_index DESC
     LIMIT {limit:UInt64} OFFSET {offset:UInt64}`,
    { ...filter, ...page },
  )
}

/** The account's validators with an index above `after`, ascending. */
export function selectValidatorsAfter(
  warehouse: WarehouseReader,
  filter: ValidatorFilter,
  page: { readonly after: number; readonly limit: number },
): Promise<ValidatorStateRow[]> {
  return warehouse.query<ValidatorStateRow>(
    `SELECT ${STATE_COLUMNS}
     ${OWN}
     WHERE names.validator_index > {after:Int64}
     ORDER BY validator_index
     LIMIT {limit:UInt64}`,
    { ...filter, ...page },
  )
}

export async function countValidators(warehouse: WarehouseReader, filter: ValidatorFilter): Promise<number> {
  const [row] = await warehouse.query<{ validators: string }>(`SELECT count() AS validators ${OWN}`, { ...filter })
  return Number(row?.validators ?? 0)
}

/** Fee recipient of the last finalized block of each proposer that has one. */
export async function selectFeeRecipients(
  warehouse: WarehouseReader,
  { chain, indices }: { readonly chain: string; readonly indices: readonly number[] },
): Promise<ReadonlyMap<number, string>> {
  if (indices.length === 0) return new Map()
  const rows = await warehouse.query<{ proposer_index: number; recipient: string }>(
    `SELECT proposer_index, argMax(fee_recipient, slot) AS recipient FROM finalized_blocks FINAL
     WHERE chain = {chain:String} AND proposer_index IN {indices:Array(UInt32)} GROUP BY proposer_index`,
    { chain, indices },
  )
  return new Map(rows.map((row) => [row.proposer_index, row.recipient]))
}
