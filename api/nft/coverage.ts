import type { Coverage, Finality } from '../../schemas/routes/nft/fields.ts'
import { bytesSql, textSql } from '../../schemas/tables/literals.ts'
import type { NftPin, NftScope } from './asking.ts'
import { contractBeginning } from './metadata.ts'
import type { NftStanding } from './standing.ts'
import { selectContracts } from './told-contracts.ts'

/** Of a row that changed last in this block. */
export function finalityOf({ standing }: NftScope, blockNumber: string): Finality {
  const { finalizedNumber } = standing
  return finalizedNumber !== undefined && Number(blockNumber) <= finalizedNumber ? 'finalized' : 'pending'
}

/** The first block that can have a log. */
export const FIRST_BLOCK = 1

/** Whether all that happened up to the snapshot is indexed, of one contract or of all. */
export async function coverageOf(scope: NftPin, contract?: string): Promise<Coverage> {
  const { standing } = scope
  const [begins, oddFrom] = await Promise.all([
    contract === undefined || standing.start <= FIRST_BLOCK ? undefined : beginningOf(scope, contract),
    // Of a list of many contracts nobody looks through all logs.
    contract === undefined || !standing.hasOddLogs ? undefined : firstOddBlock(scope, contract),
  ])
  const blocks = { from_block: standing.start, to_block: scope.snapshot.number, check: standing.check }
  if (standing.start > Math.max(begins ?? 0, FIRST_BLOCK)) return { ...blocks, is_whole: false, reason: 'starts_later' }
  const isOdd = oddFrom !== undefined && oddFrom <= scope.snapshot.number
  return isOdd ? { ...blocks, is_whole: false, reason: 'odd_logs' } : { ...blocks, is_whole: true, reason: null }
}

/** Whether what is held of a token is known to be all of it: who has one of a kind its last transfer says. */
export function isAmountWhole({ is_whole, reason }: Pick<Coverage, 'is_whole' | 'reason'>, standard?: string): boolean {
  return is_whole || (reason === 'starts_later' && standard === 'ERC721')
}

/** Tells of contracts of a list whether the chain is indexed since they are there. */
export async function indexedSince(pin: NftPin, contracts: readonly string[]): Promise<(contract: string) => boolean> {
  const { start } = pin.standing
  if (start <= FIRST_BLOCK) return () => true
  const told = await selectContracts(pin, contracts)
  return (contract) => Number(told.get(contract)?.deploy_block ?? -1) >= start
}

type Kept = WeakMap<NftStanding, Map<string, number | undefined>>

/** What was asked of contracts while the chain stood so: it is the same for every question. */
const beginnings: Kept = new WeakMap()
const oddBlocks: Kept = new WeakMap()
/** Of contracts that are asked for while a chain does not move. */
const KEPT_MAX = 10_000

const beginningOf = (pin: NftPin, contract: string) =>
  keptOf(beginnings, { pin, contract }, () => contractBeginning(pin, contract))

/** The first block in which the contract has logged what nobody can read; undefined where it has not. */
const firstOddBlock = (pin: NftPin, contract: string) =>
  keptOf(oddBlocks, { pin, contract }, async () => {
    const { warehouse, chain, standing } = pin
    const [odd] = await warehouse.query<{ number: string }>(
      `SELECT min(block_number) AS number FROM nft_odd_logs
       WHERE chain = ${textSql(chain)} AND contract = ${bytesSql(contract.slice(2))} AND ${standing.notReverted}
       HAVING count() > 0`,
      { chain },
    )
    return odd === undefined ? undefined : Number(odd.number)
  })

async function keptOf(
  kept: Kept,
  { pin, contract }: { readonly pin: NftPin; readonly contract: string },
  ask: () => Promise<number | undefined>,
): Promise<number | undefined> {
  const known = kept.get(pin.standing) ?? new Map<string, number | undefined>()
  kept.set(pin.standing, known)
  if (known.has(contract)) return known.get(contract)
  const found = await ask()
  if (known.size >= KEPT_MAX) known.clear()
  known.set(contract, found)
  return found
}
