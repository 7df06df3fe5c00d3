import { ADDRESS_BYTES } from '../../schemas/events/execution-block.ts'
import type { Coverage, Finality } from '../../schemas/routes/nft/fields.ts'
import { bytesSql, textSql } from '../../schemas/tables/literals.ts'
import { hexKeys, keysSql, lookUpMany } from '../http/lookups.ts'
import type { NftPin, NftScope } from './asking.ts'
import type { NftStanding } from './standing.ts'
import { selectContracts } from './told-contracts.ts'

/** Of a row that changed last in this block. */
export function finalityOf({ standing }: NftScope, blockNumber: string): Finality {
  const { finalizedNumber } = standing
  return finalizedNumber !== undefined && Number(blockNumber) <= finalizedNumber ? 'finalized' : 'pending'
}

/** The first block that can have a log. */
export const FIRST_BLOCK = 1

/** Of a list. */
interface Contracts {
  /** Those that the question is about; none: all of the chain, of which nobody looks through all logs. */
  readonly asked?: readonly string[]
  /** Those that the answer tells of. */
  readonly told?: readonly string[]
}

/** Whether all that happened up to the snapshot is indexed, of some contracts or of all. */
export async function coverageOf(scope: NftPin, { asked = [], told = [] }: Contracts = {}): Promise<Coverage> {
  const { standing, snapshot } = scope
  const all = [...new Set([...asked, ...told])]
  const [isIndexed, isOdd] = await Promise.all([indexedSince(scope, asked), oddAmong(scope, all)])
  const blocks = { from_block: standing.start, to_block: snapshot.number, check: standing.check }
  if (all.some(isOdd)) return { ...blocks, is_whole: false, reason: 'odd_logs' }
  const isWhole = asked.length === 0 ? standing.start <= FIRST_BLOCK : asked.every(isIndexed)
  return isWhole ? { ...blocks, is_whole: true, reason: null } : { ...blocks, is_whole: false, reason: 'starts_later' }
}

/** Whether what is held of a token is known to be all of it: who has one of a kind its last transfer says. */
export function isAmountWhole({ is_whole, reason }: Pick<Coverage, 'is_whole' | 'reason'>, standard?: string): boolean {
  return is_whole || (reason === 'starts_later' && standard === 'ERC721')
}

/** What somebody has in a contract, or of its tokens of a standard. */
interface Holding {
  readonly contract: string
  readonly standard?: string
}

/** The same of holdings in many contracts, with the coverage of their list. */
export async function coverageOfHoldings(
  pin: NftPin,
  { asked, holdings }: { readonly asked?: readonly string[]; readonly holdings: readonly Holding[] },
): Promise<{ readonly coverage: Coverage; readonly isWhole: (holding: Holding) => boolean }> {
  const contractsOf = (some: readonly Holding[]) => [...new Set(some.map(({ contract }) => contract))]
  const told = contractsOf(holdings)
  const [isIndexed, isOdd] = await Promise.all([
    indexedSince(pin, contractsOf(holdings.filter(({ standard }) => standard !== 'ERC721'))),
    oddAmong(pin, told),
  ])
  return {
    coverage: await coverageOf(pin, { ...(asked === undefined ? {} : { asked }), told }),
    isWhole: ({ contract, standard }) => !isOdd(contract) && (standard === 'ERC721' || isIndexed(contract)),
  }
}

/** Tells of contracts whether the chain is indexed since they are there. */
export async function indexedSince(pin: NftPin, contracts: readonly string[]): Promise<(contract: string) => boolean> {
  const { start } = pin.standing
  if (start <= FIRST_BLOCK) return () => true
  const told = await selectContracts(pin, contracts)
  return (contract) => Number(told.get(contract)?.deploy_block ?? -1) >= start
}

/** The first blocks in which contracts have logged what nobody can read, while the chain stood so; undefined of those that have not. */
const oddBlocks = new WeakMap<NftStanding, Map<string, number | undefined>>()
/** So many are looked up each at its place; a page has as many at most, but for transfers and changes. */
const EACH_AT_ITS_PLACE = 100
/** Of one statement, in 160 KB of text. */
const CONTRACTS_PER_STATEMENT = 4_000
/** Of contracts that are asked for while a chain does not move. */
const KEPT_MAX = 10_000

/** Tells of contracts whether they have logged what nobody can read, up to the snapshot. */
export async function oddAmong(pin: NftPin, contracts: readonly string[]): Promise<(contract: string) => boolean> {
  const { standing, snapshot } = pin
  if (!standing.hasOddLogs || contracts.length === 0) return () => false
  const kept = oddBlocks.get(standing) ?? new Map<string, number | undefined>()
  oddBlocks.set(standing, kept)
  const unknown = contracts.filter((contract) => !kept.has(contract))
  const found = new Map<string, number>()
  for (let from = 0; from < unknown.length; from += CONTRACTS_PER_STATEMENT) {
    const some = unknown.slice(from, from + CONTRACTS_PER_STATEMENT)
    const select = some.length > EACH_AT_ITS_PLACE ? selectOddBlocksOfMany : selectOddBlocks
    for (const one of await select(pin, some)) found.set(...one)
  }
  const first = new Map(contracts.map((contract) => [contract, found.get(contract) ?? kept.get(contract)]))
  if (kept.size + unknown.length > KEPT_MAX) kept.clear()
  for (const contract of unknown) kept.set(contract, found.get(contract))
  return (contract) => (first.get(contract) ?? Number.POSITIVE_INFINITY) <= snapshot.number
}

async function selectOddBlocks(
  { warehouse, chain, standing }: NftPin,
  contracts: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  // Each at its place in the order of the table: some have very many.
  const selects = contracts.map(
    (contract) => `SELECT block_number AS number FROM nft_odd_logs
      WHERE chain = ${textSql(chain)} AND contract = ${bytesSql(contract.slice(2))} AND ${standing.notReverted}
      ORDER BY block_number LIMIT 1`,
  )
  const found = await lookUpMany<{ readonly number: string }>(warehouse, selects)
  const numbers = new Map<string, number>()
  for (const [i, contract] of contracts.entries()) {
    const first = found[i]?.[0]
    if (first !== undefined) numbers.set(contract, Number(first.number))
  }
  return numbers
}

/** The same of so many that to ask of each by itself takes too many statements: all that they have logged so is read. */
async function selectOddBlocksOfMany(
  { warehouse, chain, standing }: NftPin,
  contracts: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await warehouse.query<{ readonly of_contract: string; readonly number: string }>(
    keysSql(
      `SELECT lower(hex(contract)) AS of_contract, min(block_number) AS number FROM nft_odd_logs
       WHERE chain = ${textSql(chain)} AND contract IN (${hexKeys(ADDRESS_BYTES)}) AND ${standing.notReverted}
       GROUP BY contract`,
      contracts.map((contract) => contract.slice(2)),
    ),
  )
  return new Map(rows.map(({ of_contract, number }) => [`0x${of_contract}`, Number(number)]))
}
