import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import type { OwnedValidator, SettledSums } from '../../schemas/settled-sums.ts'
import { servedSettlementsSql } from '../../schemas/tables/settlements.ts'

const OF_VALIDATOR = 'chain = {chain:String} AND pubkey = {pubkey:String}'

const SUMS_SQL = `
SELECT sum(user) AS user_wei, sum(fee) AS fee_wei
FROM (
  SELECT toInt256(user_reward_wei) AS user, toInt256(service_fee_wei) AS fee FROM (${servedSettlementsSql(OF_VALIDATOR)})
  UNION ALL
  SELECT user_reward_wei AS user, service_fee_wei AS fee FROM settlement_corrections FINAL
  WHERE account = {account:String} AND ${OF_VALIDATOR}
)`

/** What was settled of a validator for an account, of all days, with its corrections: one row. */
export function settledSums(warehouse: WarehouseReader, validator: OwnedValidator): Promise<readonly SettledSums[]> {
  return warehouse.query<SettledSums>(SUMS_SQL, validator)
}
