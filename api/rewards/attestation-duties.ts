import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { ATTESTATION_CREDIT_DELAY_EPOCHS } from '../../schemas/eth/time.ts'
import { askInParts, NUMBERS_PER_STATEMENT } from '../../schemas/tables/statement-parts.ts'

/** Attestations of one validator that the transition into an epoch has credited. */
export interface EpochDuties {
  readonly epoch: number
  readonly index: number
  readonly actualGwei: bigint
  /** What perfect votes would have been credited; a word where nobody can tell. */
  readonly ideal: bigint | MissingIdeal
}

export type MissingIdeal = 'NOBODY_TO_COMPARE_WITH' | 'BALANCE_NOT_KNOWN' | 'NO_DUTY'

export interface DutiesAsked {
  readonly chain: string
  readonly indices: readonly number[]
  /** Inclusive. */
  readonly firstEpoch: number
  readonly lastEpoch: number
}

interface OwnRow {
  readonly epoch: number
  readonly validator_index: number
  readonly source_gwei: string
  readonly target_gwei: string
  readonly head_gwei: string
  readonly effective_balance_gwei: string
  readonly activation_epoch: string
  readonly exit_epoch: string
}

const OWN = `
  SELECT epoch, validator_index, source_gwei, target_gwei, head_gwei, effective_balance_gwei, activation_epoch, exit_epoch
  FROM validator_epochs FINAL
  WHERE chain = {chain:String} AND epoch BETWEEN {before:UInt32} AND {lastEpoch:UInt32} AND validator_index IN {indices:Array(UInt32)}
  ORDER BY validator_index, epoch`

/** Of each effective balance: among so many, one has attested in time unless nobody could. */
const PEERS_EACH = 64

// A right vote is credited by effective balance alone, that of before the transition: it may be changed within it.
const IDEALS = `
  SELECT
    now.epoch AS epoch, before.effective_balance_gwei AS effective_balance_gwei,
    max(now.source_gwei) AS source_gwei, max(now.target_gwei) AS target_gwei, max(now.head_gwei) AS head_gwei
  FROM
  (
    SELECT epoch, validator_index, source_gwei, target_gwei, head_gwei FROM validator_epochs FINAL
    WHERE chain = {chain:String} AND epoch BETWEEN {firstEpoch:UInt32} AND {lastEpoch:UInt32} AND validator_index IN (PEERS)
  ) AS now
  INNER JOIN
  (
    SELECT epoch + 1 AS epoch, validator_index, effective_balance_gwei FROM validator_epochs FINAL
    WHERE chain = {chain:String} AND epoch BETWEEN {before:UInt32} AND {lastEpoch:UInt32} AND validator_index IN (PEERS)
  ) AS before ON before.epoch = now.epoch AND before.validator_index = now.validator_index
  GROUP BY epoch, effective_balance_gwei`.replaceAll(
  'PEERS',
  `SELECT validator_index FROM (
      SELECT validator_index, effective_balance_gwei FROM validator_epochs FINAL
      WHERE chain = {chain:String} AND epoch = {lastEpoch:UInt32} AND activation_epoch <= epoch AND epoch < exit_epoch AND slashed = 0
        AND has({balances:Array(Int64)}, effective_balance_gwei)
      ORDER BY validator_index LIMIT ${PEERS_EACH} BY effective_balance_gwei
    )
    UNION ALL SELECT arrayJoin({indices:Array(UInt32)})`,
)

interface IdealRow
  extends Pick<OwnRow, 'epoch' | 'effective_balance_gwei' | 'source_gwei' | 'target_gwei' | 'head_gwei'> {}

/** What validators were credited for attestations in the transitions into some epochs, beside what they could have been: two statements for as many as one may name. */
export function attestationDuties(warehouse: WarehouseReader, asked: DutiesAsked): Promise<readonly EpochDuties[]> {
  return askInParts(asked.indices, NUMBERS_PER_STATEMENT, (indices) => dutiesOf(warehouse, { ...asked, indices }))
}

async function dutiesOf(warehouse: WarehouseReader, asked: DutiesAsked): Promise<readonly EpochDuties[]> {
  const params = { ...asked, before: Math.max(0, asked.firstEpoch - 1) }
  const own = await warehouse.query<OwnRow>(OWN, params)
  const balances = [...new Set(own.map((row) => row.effective_balance_gwei))].map(BigInt)
  if (balances.length === 0) return []
  const ideals = new Map(
    (await warehouse.query<IdealRow>(IDEALS, { ...params, balances })).map((row) => [
      `${row.epoch}/${row.effective_balance_gwei}`,
      row,
    ]),
  )
  const balanceAt = new Map(own.map((row) => [`${row.validator_index}/${row.epoch}`, row.effective_balance_gwei]))
  const idealOf = (row: OwnRow): bigint | MissingIdeal => {
    const duty = BigInt(row.epoch - ATTESTATION_CREDIT_DELAY_EPOCHS)
    if (duty < BigInt(row.activation_epoch) || duty >= BigInt(row.exit_epoch)) return 'NO_DUTY'
    const balance = balanceAt.get(`${row.validator_index}/${row.epoch - 1}`)
    if (balance === undefined) return 'BALANCE_NOT_KNOWN'
    const ideal = ideals.get(`${row.epoch}/${balance}`)
    // Nobody had that part of it: nobody was there, or nobody could.
    if (ideal === undefined || !partsOf(ideal).every((part) => part > 0n)) return 'NOBODY_TO_COMPARE_WITH'
    return sumOf(ideal)
  }
  return own
    .filter(({ epoch }) => epoch >= asked.firstEpoch)
    .map((row) => ({
      epoch: row.epoch,
      index: row.validator_index,
      actualGwei: sumOf(row),
      ideal: idealOf(row),
    }))
}

type Parts = Pick<OwnRow, 'source_gwei' | 'target_gwei' | 'head_gwei'>

function partsOf({ source_gwei, target_gwei, head_gwei }: Parts): readonly bigint[] {
  return [source_gwei, target_gwei, head_gwei].map(BigInt)
}

function sumOf(row: Parts): bigint {
  return partsOf(row).reduce((sum, part) => sum + part, 0n)
}
