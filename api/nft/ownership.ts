import type { Acquired, OwnerRow } from '../../schemas/routes/nft/fields.ts'
import {
  getOwnersForContractRoute,
  getOwnersForNftRoute,
  isHolderOfContractRoute,
} from '../../schemas/routes/nft/ownership.ts'
import { bytesSql } from '../../schemas/tables/literals.ts'
import { isHeld, isInconsistent, shownAmount, tokenHex, wholeAmount } from './amounts.ts'
import { answered, type NftScope, nftOperation, toValidAt } from './asking.ts'
import { BURNED_AT } from './burned.ts'
import { selectCounts } from './counts.ts'
import { coverageOf, FIRST_BLOCK, finalityOf, isAmountWhole } from './coverage.ts'
import { AMOUNT, addressKey, type Item, SINCE, STANDARD_KEY, TOKENS } from './history-rows.ts'
import { type HistoryTable, selectNewest, selectPage } from './pages.ts'
import { leadOfTotals, placeOfTotal, TOTALS, totalsOf } from './totals.ts'

/** It holds nothing; of a token that there are many of it has how many hold it. */
const NOBODY = `0x${'00'.repeat(20)}`

/** Hex with 0x, as SQL. */
export const bytes = (text: string): string => bytesSql(text.slice(2))

export const holdersOf = (contract: string): HistoryTable => ({
  table: TOTALS,
  where: totalsOf('contract_account', contract.slice(2)),
  lead: leadOfTotals('contract_account', contract.slice(2)),
  keys: [addressKey('other')],
  amounts: TOKENS,
  values: AMOUNT,
  holds: (item) => item.tokens !== '0' && item.other_text !== BURNED_AT,
})

const ofToken = (contract: string, tokenId: string): string =>
  `contract = ${bytes(contract)} AND token_id = ${bytesSql(tokenHex(tokenId))}`

const holdersOfToken = (contract: string, tokenId: string): HistoryTable => ({
  table: 'nft_token_holders',
  where: `${ofToken(contract, tokenId)} AND holder > ${bytes(NOBODY)}`,
  keys: [STANDARD_KEY, addressKey('holder')],
  amounts: AMOUNT,
  values: SINCE,
  holds: (item) => isHeld(item) && item.holder_text !== BURNED_AT,
})

/** How many tokens of a contract somebody has. */
const selectHolding = (scope: NftScope, contract: string, holder: string) =>
  selectCounts(scope, {
    ...placeOfTotal('contract_account', contract.slice(2), holder.slice(2)),
    columns: ['tokens'],
  })

export const isHolderOfContract = nftOperation(isHolderOfContractRoute, async ({ contract_address, wallet }, scope) => {
  const [coverage, row] = await Promise.all([
    coverageOf(scope, { asked: [contract_address] }),
    selectHolding(scope, contract_address, wallet),
  ])
  const holds = row !== undefined && row.first !== '0' && wallet !== BURNED_AT
  // What came before the first block, or what nobody can read, may be held.
  const isHolder = holds ? true : coverage.is_whole ? false : null
  return answered({
    isholderOfContract: isHolder,
    isHolderOfContract: isHolder,
    finality: row === undefined ? null : finalityOf(scope, row.block_number),
    valid_at: toValidAt(scope.snapshot),
    coverage,
  })
})

export const getOwnersForContract = nftOperation(getOwnersForContractRoute, async (parameters, scope) => {
  const { contract_address: contract, token_id: tokenId, page_size: limit } = parameters
  if (tokenId !== undefined) return await ownersOfToken(scope, contract, tokenId, limit)
  const table = holdersOf(contract)
  const [page, totals, burned, coverage] = await Promise.all([
    selectPage(scope, table, { limit, after: scope.after }),
    selectCounts(scope, { ...placeOfTotal('contract', contract.slice(2)), columns: ['others'] }),
    selectHolding(scope, contract, BURNED_AT),
    coverageOf(scope, { asked: [contract] }),
  ])
  return answered({
    owners: page.items.map((item) =>
      ownerRow(scope, item, {
        owner_address: item.other_text as string,
        amount: wholeAmount(item),
        is_amount_whole: isAmountWhole(coverage),
        is_inconsistent: null,
        acquired: null,
      }),
    ),
    page_key: page.next === undefined ? null : scope.pageKeyAfter(page.next),
    total_count: coverage.is_whole
      ? Number(totals?.first ?? 0) - (burned === undefined || burned.first === '0' ? 0 : 1)
      : null,
    valid_at: toValidAt(scope.snapshot),
    coverage,
  })
})

export const getOwnersForNft = nftOperation(getOwnersForNftRoute, ({ contract_address, token_id, page_size }, scope) =>
  ownersOfToken(scope, contract_address, token_id, page_size),
)

async function ownersOfToken(scope: NftScope, contract: string, tokenId: string, limit: number) {
  const table = holdersOfToken(contract, tokenId)
  const [page, totals, burned, coverage] = await Promise.all([
    selectPage(scope, table, { limit, after: scope.after }),
    selectCounts(scope, {
      table: 'nft_token_holders',
      where: `${ofToken(contract, tokenId)} AND standard = 'ERC1155' AND holder = ${bytes(NOBODY)}`,
      columns: ['toUInt64(amount)'],
    }),
    selectNewest(scope, { ...table, holds: isHeld }, ['ERC1155', BURNED_AT]),
    coverageOf(scope, { asked: [contract] }),
  ])
  // A token that is one of a kind is not counted: it is on this page, or its only owner is on another one.
  const counted = totals === undefined ? undefined : Number(totals.first) - (burned === undefined ? 0 : 1)
  const isAll = scope.after === undefined && page.next === undefined
  return answered({
    owners: page.items.map((item) =>
      ownerRow(scope, item, {
        owner_address: item.holder_text as string,
        amount: shownAmount(item),
        is_amount_whole: isAmountWhole(coverage, item.standard_text),
        is_inconsistent: isInconsistent(item),
        acquired: acquiredOf(scope, item),
      }),
    ),
    page_key: page.next === undefined ? null : scope.pageKeyAfter(page.next),
    total_count: !coverage.is_whole ? null : isAll ? page.items.length : (counted ?? null),
    valid_at: toValidAt(scope.snapshot),
    coverage,
  })
}

function ownerRow(scope: NftScope, item: Item, held: Omit<OwnerRow, 'finality'>): OwnerRow {
  return { ...held, finality: finalityOf(scope, item.block_number) }
}

/** What somebody had of a token that there are many of before the first block nobody knows. */
export function acquiredOf({ standing }: NftScope, item: Item): Acquired {
  if (item.standard_text === 'ERC1155' && standing.start > FIRST_BLOCK) return null
  return { block_number: Number(item.since_block), block_timestamp: Number(item.since_sec) }
}
