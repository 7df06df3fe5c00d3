import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { inStatements } from '../../schemas/tables/statement-parts.ts'
import { LOOKS_SQL, untoldFactsSql } from '../../schemas/tables/untold-keys.ts'

/** A tracked key of which no epoch of its chain has told anything, though the registry has it, or may have. */
export interface UntoldValidator {
  readonly pubkey: string
  /** Undefined where nobody has looked for it in the registry since it was tracked. */
  readonly index: number | undefined
}

export interface UntoldValidators {
  readonly chain: string
  /** By public key: nothing of them can be verified. */
  readonly untold: readonly UntoldValidator[]
  /** Tracked keys that the registry did not have at the newest epoch: there is nothing of them to verify. */
  readonly unregistered: number
}

const NEWEST = `
  SELECT toString(chain) AS chain, max(epoch) AS epoch FROM epochs
  WHERE {chain:String} IN ('', chain) GROUP BY chain ORDER BY chain`

const TRACKED = `
  SELECT pubkey FROM
  (
    SELECT pubkey, argMax(account, from_day) AS owner FROM validator_owners FINAL WHERE chain = {chain:String} GROUP BY pubkey
  )
  WHERE owner != ''
  UNION DISTINCT SELECT pubkey FROM watched_validators FINAL WHERE chain = {chain:String}`
const STATED = 'SELECT validator_index FROM validator_epochs WHERE chain = {chain:String} AND epoch = {epoch:UInt32}'
const CANDIDATES = `
  SELECT
    toString(tracked.pubkey) AS pubkey, names.is_registered AS is_registered, names.validator_index AS validator_index, facts.since AS since,
    (SELECT max(validator_index) FROM (${STATED})) AS newest_index
  FROM (${TRACKED}) AS tracked
  LEFT JOIN
  (
    SELECT pubkey, validator_index, 1 AS is_registered FROM validators FINAL WHERE chain = {chain:String}
  ) AS names ON names.pubkey = tracked.pubkey
  LEFT JOIN (${untoldFactsSql('chain = {chain:String}')}) AS facts ON facts.pubkey = tracked.pubkey
  WHERE is_registered = 0 OR validator_index NOT IN (${STATED})
  ORDER BY pubkey`

interface CandidateRow {
  readonly pubkey: string
  readonly is_registered: number
  readonly validator_index: number
  /** 0 where the newest epoch was asked for it, or it was made here. */
  readonly since: string
  readonly newest_index: number
}

// Days have the epochs before the newest closed one, so that not all of history is read.
const TOLD = `
  SELECT DISTINCT validator_index FROM
  (
    SELECT validator_index FROM daily_rewards WHERE chain = {chain:String} AND validator_index IN {indices:Array(UInt32)}
    UNION ALL
    SELECT validator_index FROM validator_epochs
    WHERE chain = {chain:String} AND validator_index IN {indices:Array(UInt32)} AND epoch >= (
      SELECT intDiv(max(last_slot), (SELECT any(slots_per_epoch) FROM chains FINAL WHERE chain = {chain:String}))
      FROM closed_days FINAL WHERE chain = {chain:String}
    )
  )`

/**
 * Of each chain that has an epoch, or of one of them, the tracked validators of which no epoch has told anything: nobody has looked for them in the registry
 * since they were tracked, or they were found there and no epoch is told with them yet (decision 67).
 */
export async function findUntoldValidators(
  warehouse: WarehouseReader,
  chain = '',
): Promise<readonly UntoldValidators[]> {
  const found: UntoldValidators[] = []
  for (const one of await warehouse.query<{ chain: string; epoch: number }>(NEWEST, { chain }))
    found.push(await untoldOf(warehouse, one))
  return found
}

async function untoldOf(
  warehouse: WarehouseReader,
  newest: { readonly chain: string; readonly epoch: number },
): Promise<UntoldValidators> {
  const { chain } = newest
  const [looks] = await warehouse.query<{ looked: string; told: string }>(LOOKS_SQL, newest)
  const looked = BigInt(looks?.looked ?? 0)
  const candidates = await warehouse.query<CandidateRow>(CANDIDATES, { ...newest, told: BigInt(looks?.told ?? 0) })
  const told = await toldBefore(warehouse, chain, candidates)
  const others = candidates.filter((row) => row.is_registered === 0 || !told.has(row.validator_index))
  const untold = others.filter(({ is_registered: isRegistered, since, validator_index: index, newest_index: last }) =>
    isRegistered === 1 ? since !== '0' || index <= last : BigInt(since) > looked,
  )
  return {
    chain,
    untold: untold.map(({ pubkey, is_registered: isRegistered, validator_index: index }) => {
      return { pubkey, index: isRegistered === 1 ? index : undefined }
    }),
    unregistered: others.length - untold.length,
  }
}

/** Those of the candidates that an epoch before the newest one tells of. */
async function toldBefore(
  warehouse: WarehouseReader,
  chain: string,
  candidates: readonly CandidateRow[],
): Promise<ReadonlySet<number>> {
  const indices = candidates.filter((row) => row.is_registered === 1).map((row) => row.validator_index)
  const told = new Set<number>()
  for (const some of inStatements(indices)) {
    const rows = await warehouse.query<{ validator_index: number }>(TOLD, { chain, indices: some })
    for (const { validator_index: index } of rows) told.add(index)
  }
  return told
}
