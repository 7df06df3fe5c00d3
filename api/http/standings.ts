import type { WarehouseReader, WordsReader } from '../../infra/ports/warehouse.ts'
import type { TokenLimits } from '../../schemas/access-token.ts'
import { type TokenLimitsRow, toTokenLimits } from '../../schemas/tables/accounts.ts'
import { boundedReader, boundedWordsReader } from './bounded-reader.ts'
import { STATEMENT_GIVEN_UP_MS } from './budget.ts'
import { Looks } from './looks.ts'

/** An access token that was created and not revoked: whose it is, and what it is for. */
export interface KnownToken extends TokenLimits {
  readonly account: string
}

/** Who has which token, as it stood when it was looked at. */
export interface AccountStanding {
  /** Of the hash of an access token; undefined where it was never created, or is revoked. */
  tokenOf(tokenHash: string): KnownToken | undefined
}

/**
 * What a chain's answers depend on, as it stood when it was looked at: the position of the tables, and who has which token. It
 * stays one object for as long as nothing has changed.
 */
export interface Standing extends AccountStanding {
  readonly chain: string
  /**
   * Differs when anything has changed that an answer is made of: newest epochs, closed days, settlements, account facts; and
   * now and then although nothing has.
   */
  readonly position: string
  /** One object for as long as nothing has changed but what is settled of closed days: answers have figures from it that no settlement is in. */
  readonly figures: object
  /** How many validators of the chain an account has, had or watches: no list of its validators is longer. */
  validatorsOf(account: string): number
  /** For what all requests share: no request's budget, and not ended with one. */
  readonly warehouse: WordsReader
}

/** So long a look is good for: a revoked token works no longer than this after the processors know of it. */
export const STANDING_AGE_MS_MAX = 500

/** After so long what was made of the tables is made again: a block of an open day that was read late moves no position. */
const STANDING_KEPT_MS_MAX = 30_000

/** A look takes milliseconds. One that takes this long is given up, and who asks next looks again. */
export const LOOK_MS_MAX = 5_000

interface PositionRow {
  /** What a move of the table makes be read again: who has what, or figures. */
  readonly part: 'accounts' | 'figures' | 'settled'
  readonly table_name: string
  readonly versions: string
}

/** What tells whether something was written, as one row. */
interface Source {
  readonly name: PositionRow['table_name']
  readonly sql: string
  /** Where what it tells comes from. */
  readonly tables: readonly string[]
}

// Counts and sums over the versions of all rows that are there, superseded ones too: no merging of rows is needed to see that
// some have come or gone. Rows are written before what tells of them here: the rows of a day before the day is closed, those of
// an epoch before the epoch is complete. A rebuild may write other rows with equal versions, so its exchanges count as well.
const sourceOf = (part: PositionRow['part'], name: string, versions: string, rows: string): Source => {
  const sql = `SELECT '${part}' AS part, '${name}' AS table_name, toString((count(), sum(${versions}))) AS versions FROM ${rows}`
  return { name, sql, tables: [...sql.matchAll(/FROM (\w+)/g)].map(([, table]) => table as string) }
}
const versionsOf = (part: PositionRow['part'], table: string, columns: string, where = '1'): Source =>
  sourceOf(part, table, `cityHash64(${columns})`, `${table} WHERE ${where}`)
const ofChain = 'chain = {chain:String}'
// What is older is final: only a rebuild, or the next epoch, makes anything else of it. Blocks go by their numbers, which their partitions
// tell apart, as months do of deposits.
const RECENT_DEPOSITS = `${ofChain} AND time > (SELECT max(time) - INTERVAL 2 DAY FROM deposits WHERE ${ofChain})
  AND pubkey IN (SELECT pubkey FROM created_validators WHERE ${ofChain})`
// What an open day's blocks have paid may be known after their epoch is complete, and is settled then. Rows that are written again are no news.
const OPEN_SETTLEMENTS = sourceOf(
  'figures',
  'open settlements',
  'row',
  `(
     SELECT DISTINCT cityHash64(account, slot, version, is_deleted) AS row FROM settlements
     WHERE ${ofChain} AND slot > (SELECT max(last_slot) FROM closed_days WHERE ${ofChain})
   )`,
)
const ACCOUNTS: readonly Source[] = [
  versionsOf('accounts', 'access_tokens', 'version, is_deleted'),
  versionsOf('accounts', 'order_ends', 'version'),
  versionsOf('accounts', 'account_validators', 'version'),
  versionsOf('accounts', 'validator_owners', 'version'),
  versionsOf('accounts', 'watched_validators', 'version, is_deleted'),
  versionsOf('accounts', 'created_validators', 'version'),
  versionsOf('accounts', 'validator_labels', 'version'),
]
const POSITION: readonly Source[] = [
  ...ACCOUNTS,
  versionsOf('figures', 'chains', 'version', ofChain),
  versionsOf('figures', 'validators', 'version', ofChain),
  versionsOf('figures', 'registry_looks', 'accounts_version, version', ofChain),
  versionsOf('figures', 'chain_queues', 'version', ofChain),
  versionsOf('figures', 'staking_steps', 'version', ofChain),
  versionsOf('figures', 'deposit_contracts', 'version', ofChain),
  versionsOf('figures', 'deposits', 'version', RECENT_DEPOSITS),
  versionsOf(
    'figures',
    'execution_blocks',
    'version, is_deleted',
    `${ofChain} AND block_number IN (SELECT block_number FROM deposits WHERE ${RECENT_DEPOSITS})`,
  ),
  versionsOf('figures', 'fee_recipients', 'version', ofChain),
  versionsOf('figures', 'exit_steps', 'version', ofChain),
  versionsOf('figures', 'epochs', 'epoch, version', ofChain),
  versionsOf('figures', 'epoch_parts', 'epoch, version', ofChain),
  versionsOf('figures', 'closed_days', 'day, version', ofChain),
  versionsOf('figures', 'closed_months', 'month, version', ofChain),
  OPEN_SETTLEMENTS,
  versionsOf('settled', 'settlements', 'slot, version, is_deleted', ofChain),
  versionsOf('settled', 'settlement_corrections', 'number, version', ofChain),
  versionsOf('settled', 'settlement_locks', 'version'),
  versionsOf('figures', 'dead_letters', 'version, is_resolved'),
  versionsOf('figures', 'rebuild_exchanges', 'started, version'),
]

function toText(rows: readonly PositionRow[], part: PositionRow['part']): string {
  const own = rows.filter((row) => row.part === part).map((row) => `${row.table_name} ${row.versions}`)
  return own.sort().join(' ')
}

interface ToldRow {
  readonly name: string
  /** Before it was asked; undefined where nobody knows, or something was being written. */
  readonly writes: number | undefined
  readonly row: PositionRow
}

interface MadeStanding extends Standing {
  /** What the look has found: all of it, and what figures are made of. */
  readonly tables: string
  readonly figuresText: string
  /** Since when the figures may be made, as `performance.now()` tells it. */
  readonly figuresMs: number
}

interface StandingsOptions {
  readonly ageMsMax?: number | undefined
  readonly keptMsMax?: number | undefined
  readonly lookMsMax?: number
}

/** What is known of the tables, as old as `Looks` may be. */
export class Standings {
  /** For looks alone. */
  readonly #looking: WarehouseReader
  /** For figures that all share: whoever waits for them waits as long as for an account's own. */
  readonly #warehouse: WordsReader
  readonly #keptMsMax: number
  readonly #accounts: Looks<AccountStanding>
  /** By chain. */
  readonly #standings: Looks<MadeStanding>
  /** What each table last told, by chain and name. */
  readonly #told = new Map<string, Map<string, ToldRow>>()
  /** What the last look that has ended found, by chain. */
  readonly #made = new Map<string, MadeStanding>()
  #facts: { readonly accounts: string; readonly facts: Promise<AccountFacts> } | undefined

  constructor(
    warehouse: WordsReader,
    {
      ageMsMax = STANDING_AGE_MS_MAX,
      keptMsMax = STANDING_KEPT_MS_MAX,
      lookMsMax = LOOK_MS_MAX,
    }: StandingsOptions = {},
  ) {
    this.#looking = boundedReader(warehouse, lookMsMax)
    this.#warehouse = boundedWordsReader(warehouse, STATEMENT_GIVEN_UP_MS)
    this.#keptMsMax = keptMsMax
    const looks = <Found>(sources: readonly Source[], look: (chain: string) => Promise<Found>): Looks<Found> => {
      const tables = [...new Set(sources.flatMap((source) => source.tables))]
      return new Looks({ look, writes: () => warehouse.writesOf?.(tables), ageMsMax, keptMsMax })
    }
    this.#accounts = looks(ACCOUNTS, () => this.#lookAtAccounts())
    this.#standings = looks(POSITION, (chain) => this.#look(chain))
  }

  of(chain: string): Promise<Standing> {
    return this.#standings.of(chain)
  }

  /** For who does not ask for figures: what is written of these makes nothing be looked at. */
  accounts(): Promise<AccountStanding> {
    return this.#accounts.of('')
  }

  async #lookAtAccounts(): Promise<AccountStanding> {
    const rows = await this.#rowsOf(ACCOUNTS, '')
    const { tokens } = await this.#factsAt(toText(rows, 'accounts'))
    return { tokenOf: (hash) => tokens.get(hash) }
  }

  async #look(chain: string): Promise<MadeStanding> {
    const rows = await this.#rowsOf(POSITION, chain)
    const accounts = toText(rows, 'accounts')
    const figuresText = `${accounts} ${toText(rows, 'figures')}`
    const tables = `${figuresText} ${toText(rows, 'settled')}`
    const known = this.#made.get(chain)
    const madeMs = performance.now()
    const isKept = known !== undefined && madeMs - known.figuresMs < this.#keptMsMax
    if (isKept && known.tables === tables) return known
    const { figures, figuresMs } =
      isKept && known.figuresText === figuresText ? known : { figures: {}, figuresMs: madeMs }
    const { tokens, validators } = await this.#factsAt(accounts)
    const made = {
      chain,
      tables,
      figuresText,
      figures,
      figuresMs,
      position: `${tables} ${madeMs}`,
      tokenOf: (hash: string) => tokens.get(hash),
      validatorsOf: (account: string) => validators.get(account)?.get(chain) ?? 0,
      warehouse: this.#warehouse,
    }
    this.#made.set(chain, made)
    return made
  }

  /** As the tables stand: where the warehouse tells what was written, only those are asked that were written since they last were. */
  async #rowsOf(sources: readonly Source[], chain: string): Promise<readonly PositionRow[]> {
    const told = this.#told.get(chain) ?? new Map<string, ToldRow>()
    this.#told.set(chain, told)
    const writes = new Map(sources.map(({ name, tables }) => [name, this.#looking.writesOf?.(tables)]))
    const isTold = ({ name, writes: then }: ToldRow) => then !== undefined && then === writes.get(name)
    const kept = sources.flatMap(({ name }) => told.get(name) ?? []).filter(isTold)
    const asked = sources.filter(({ name }) => !kept.some((row) => row.name === name)).map(({ sql }) => sql)
    // Side by side: as values of one row they took the engine twice as long.
    const sql = asked.join(' UNION ALL ')
    const rows = asked.length === 0 ? [] : await this.#looking.query<PositionRow>(sql, { chain })
    for (const row of rows) told.set(row.table_name, { name: row.table_name, writes: writes.get(row.table_name), row })
    return [...kept.map(({ row }) => row), ...rows]
  }

  #factsAt(accounts: string): Promise<AccountFacts> {
    if (this.#facts?.accounts !== accounts) {
      const facts = selectAccountFacts(this.#looking)
      const loaded = { accounts, facts }
      this.#facts = loaded
      facts.catch(() => {
        if (this.#facts === loaded) this.#facts = undefined
      })
    }
    return this.#facts.facts
  }
}

/** What is kept in memory of all accounts. */
interface AccountFacts {
  /** By their hashes: the warehouse knows nothing else of them. */
  readonly tokens: ReadonlyMap<string, KnownToken>
  /** Numbers of validators by account and chain. */
  readonly validators: ReadonlyMap<string, ReadonlyMap<string, number>>
}

async function selectAccountFacts(warehouse: WarehouseReader): Promise<AccountFacts> {
  const tokens = await warehouse.query<TokenLimitsRow & { token_hash: string; account: string }>(
    // FINAL leaves out what was deleted: a revoked token.
    `SELECT token_hash, account, scopes, families, only_chain, only_origins, only_ips, only_methods, only_contracts,
            order_id, order_until
     FROM access_tokens FINAL`,
  )
  const ends = await warehouse.query<{ order_id: string; until: string }>(
    'SELECT order_id, until FROM order_ends FINAL',
  )
  const counts = await warehouse.query<{ account: string; chain: string; validators: string }>(
    `SELECT account, chain, uniqExact(pubkey) AS validators FROM
     (
       SELECT toString(account) AS account, chain, pubkey FROM account_validators
       UNION ALL SELECT account, chain, pubkey FROM watched_validators
     )
     GROUP BY account, chain`,
  )
  const validators = new Map<string, Map<string, number>>()
  for (const row of counts) {
    const chains = validators.get(row.account) ?? new Map<string, number>()
    validators.set(row.account, chains.set(row.chain, Number(row.validators)))
  }
  const endOf = new Map(ends.map(({ order_id, until }) => [order_id, until]))
  const known = tokens.map((row) => {
    const until = later(row.order_until, endOf.get(row.order_id) ?? '')
    return [row.token_hash, { account: row.account, ...toTokenLimits({ ...row, order_until: until }) }] as const
  })
  return { tokens: new Map(known), validators }
}

/** Of two instants of one spelling; an empty one is before all. */
function later(one: string, other: string): string {
  return one > other ? one : other
}
