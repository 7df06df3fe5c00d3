import type { WarehouseReader } from '../../../infra/ports/warehouse.ts'
import type { ChainClock } from '../../../schemas/eth/time.ts'
import {
  CALL_DEPOSITS_MAX,
  CALLS_TAKEN_MAX,
  type TakeExitCallsInput,
  type TakenCall,
} from '../../../schemas/jobs/take-exit-calls.ts'

/** Calls of one sender in one job: who calls for ever keeps others waiting no longer than that. */
const CALLS_OF_SENDER_MAX = 2

interface CallRow {
  readonly block_number: string
  readonly block_hash: string
  readonly log_index: number
  readonly time_sec: number
  readonly transaction_hash: string
  readonly withdrawal_address: string
  readonly kind: string
  readonly fault: string
  readonly pubkeys: string
}

const SLOT = 'toUInt64(intDiv(toInt64(toUnixTimestamp(time)) - {genesis:Int64}, {slot_sec:Int64}))'
/** Hashes of the final blocks of the slots that rows have, of a table with a time. */
const finalHashes = (table: string, where: string) => `
  SELECT execution_block_hash FROM finalized_blocks FINAL
  WHERE chain = {chain:String} AND slot IN (SELECT ${SLOT} FROM ${table} WHERE chain = {chain:String} AND ${where})`

const OF_CONTRACT = 'contract = {contract:String}'
const ADDRESS = "concat('0x', substring(toString(withdrawal_credentials), 27))"
// Addresses that validators were created for come first: whoever floods the contract from others keeps them from nothing.
const CALLS = `
  SELECT
    block_number, toString(block_hash) AS block_hash, log_index, toUnixTimestamp(time) AS time_sec,
    toString(transaction_hash) AS transaction_hash, toString(withdrawal_address) AS withdrawal_address, kind, fault, pubkeys
  FROM exit_calls FINAL
  WHERE chain = {chain:String} AND ${OF_CONTRACT}
    AND (block_hash, log_index) NOT IN (SELECT block_hash, log_index FROM exit_call_ends WHERE chain = {chain:String})
    AND block_hash IN (${finalHashes('exit_calls', OF_CONTRACT)})
  ORDER BY
    withdrawal_address IN (SELECT ${ADDRESS} FROM created_validators WHERE chain = {chain:String}) DESC, block_number, log_index
  LIMIT {sender_max:UInt32} BY withdrawal_address LIMIT {calls_max:UInt32}`

// Of what was created here the deposit that was signed, as decision 20 has it.
const CREATED_FOR = `chain = {chain:String} AND ${ADDRESS} IN {addresses:Array(String)}`
const OF_CREATED = `contract = (SELECT address FROM deposit_contracts FINAL WHERE chain = {chain:String})
    AND pubkey IN (SELECT pubkey FROM created_validators WHERE ${CREATED_FOR})`
const DEPOSITS = `
  SELECT c.address AS address, d.pubkey AS pubkey, min(d.block_number) AS block_number
  FROM
  (
    SELECT toString(pubkey) AS pubkey, block_number, withdrawal_credentials, amount_gwei, toString(deposit_data_root) AS root
    FROM deposits FINAL
    WHERE chain = {chain:String} AND ${OF_CREATED} AND block_hash IN (${finalHashes('deposits', OF_CREATED)})
  ) AS d
  INNER JOIN
  (
    SELECT toString(pubkey) AS pubkey, ${ADDRESS} AS address, withdrawal_credentials, amount_gwei, deposit_data_root AS root
    FROM created_validators FINAL WHERE ${CREATED_FOR}
  ) AS c ON c.pubkey = d.pubkey
  WHERE c.root = d.root OR (c.root = '' AND c.withdrawal_credentials = d.withdrawal_credentials AND c.amount_gwei = d.amount_gwei)
  GROUP BY address, pubkey ORDER BY address, pubkey LIMIT {deposits_max:UInt32} BY address`

/** Final calls to a chain's exit-request contract that nobody has told the end of, the oldest first. */
export async function callsToTake(
  warehouse: Pick<WarehouseReader, 'query'>,
  { chain, contract }: Pick<TakeExitCallsInput, 'chain' | 'contract'>,
  clock: ChainClock,
): Promise<readonly TakenCall[]> {
  const span = { chain, genesis: clock.genesisTimeSec, slot_sec: clock.secondsPerSlot }
  const limits = { sender_max: CALLS_OF_SENDER_MAX, calls_max: CALLS_TAKEN_MAX }
  const rows = await warehouse.query<CallRow>(CALLS, { ...span, ...limits, contract })
  if (rows.length === 0) return []
  const addresses = [...new Set(rows.map((row) => row.withdrawal_address))]
  const deposits = await warehouse.query<{ address: string; pubkey: string; block_number: string }>(DEPOSITS, {
    ...{ ...span, addresses, deposits_max: CALL_DEPOSITS_MAX },
  })
  const byAddress = Map.groupBy(deposits, ({ address }) => address)
  return rows.map((row) => {
    const calledFor = calledForOf(row)
    const own = (byAddress.get(row.withdrawal_address) ?? []).map((one) => ({
      pubkey: one.pubkey,
      blockNumber: Number(one.block_number),
    }))
    return {
      blockNumber: Number(row.block_number),
      blockHash: row.block_hash,
      logIndex: row.log_index,
      timeSec: row.time_sec,
      txHash: row.transaction_hash,
      withdrawalAddress: row.withdrawal_address,
      calledFor,
      deposits: own.filter(({ pubkey }) => isCalledFor(calledFor, pubkey)),
    }
  })
}

function isCalledFor(calledFor: TakenCall['calledFor'], pubkey: string): boolean {
  return calledFor.kind === 'listed' ? calledFor.pubkeys.includes(pubkey) : calledFor.kind === 'all'
}

const PUBKEY_DIGITS = /[0-9a-f]{96}/g

function calledForOf({ kind, fault, pubkeys }: CallRow): TakenCall['calledFor'] {
  if (kind === 'all') return { kind }
  if (kind === 'listed') return { kind, pubkeys: (pubkeys.match(PUBKEY_DIGITS) ?? []).map((digits) => `0x${digits}`) }
  return { kind: 'faulty', fault: fault === 'too_many_validators' ? fault : 'malformed' }
}
