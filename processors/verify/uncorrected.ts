import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { lockedDifferences, RECORDS_PER_LOOK } from '../settlements/locked-differences.ts'
import type { Missing } from './find-missing.ts'

const EXAMPLES_MAX = 5

/**
 * Records of locked days that, with their corrections, are not what their blocks prove; of one chain if it is not empty, and not of accounts
 * whose records are `altered`: nothing corrects those.
 */
export async function findUncorrected(
  warehouse: Warehouse,
  chain: string,
  altered: ReadonlySet<string> = new Set(),
): Promise<readonly Missing[]> {
  const differences = await lockedDifferences(warehouse, {
    isMeant: (one) => (chain === '' || one.chain === chain) && !altered.has(one.account),
  })
  const atLeast = differences.length >= RECORDS_PER_LOOK ? 'at least ' : ''
  return [...Map.groupBy(differences, (one) => one.chain)].map(([name, own]) => ({
    chain: name,
    what: `${atLeast}${own.length} blocks of locked days prove something else than was settled of them, and no correction says so yet`,
    examples: own
      .slice(0, EXAMPLES_MAX)
      .map(
        ({ account, slot, userRewardWei: user, serviceFeeWei: fee }) =>
          `account ${account} slot ${slot} by ${user + fee} wei`,
      ),
    remedy: 'Start the program, which writes corrections within some minutes.',
  }))
}
