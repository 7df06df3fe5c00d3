import type { Acquired, OwnerRow } from '../../schemas/routes/nft/fields.ts'
import { refuseNft } from '../../schemas/routes/nft/nft-route.ts'
import { CONTRACT_REASONS, OWNED_REASONS } from '../../schemas/routes/nft/owned-reasons.ts'
import {
  getContractsForOwnerRoute,
  getNftsForOwnerRoute,
  getOwnersForContractRoute,
  getOwnersForNftRoute,
  isHolderOfContractRoute,
} from '../../schemas/routes/nft/ownership.ts'
import { askedReasons } from '../../schemas/routes/nft/without-reasons.ts'
import { bytesSql } from '../../schemas/tables/literals.ts'
import { IS_HELD, isHeld, isInconsistent, shownAmount, tokenHex, tokenText, wholeAmount } from './amounts.ts'
import { ARRIVAL_BLOCKS_MAX, arrivalsOf } from './arrivals.ts'
import { answered, type NftScope, nftOperation, toValidAt } from './asking.ts'
import { coverageOf, FIRST_BLOCK, finalityOf, indexedSince, isAmountWhole } from './coverage.ts'
import { heldContracts } from './held-contracts.ts'
import { selectHolding, selectUsualHolding } from './holding.ts'
import { foldSql } from './literals.ts'
import { contractsMetadata, type Standard, type ToldAsset, toldTokens } from './metadata.ts'
import { selectCounts } from './newest.ts'
import { isWithout, reasonsOfContract, reasonsOfOwned } from './owned-reasons.ts'
import {
  bytesKey,
  cutPage,
  type HistoryTable,
  type Item,
  type Page,
  selectNewest,
  selectPage,
  textKey,
} from './pages.ts'
import { leadOfTotals, placeOfTotal, TOTALS, totalsOf } from './totals.ts'

/** What is there is burned, and nobody's. */
const BURNED_AT = `0x${'dead'.padStart(40, '0')}`
/** It holds nothing; of a token that there are many of it has how many hold it. */
const NOBODY = `0x${'00'.repeat(20)}`

/** Hex with 0x, as SQL. */
const bytes = (text: string): string => bytesSql(text.slice(2))

export const holdersOf = (contract: string): HistoryTable => ({
  table: TOTALS,
  where: totalsOf('contract_account', contract.slice(2)),
  lead: leadOfTotals('contract_account', contract.slice(2)),
  keys: [bytesKey('other')],
  values: ['tokens', 'amount', 'excess'],
  isHeld: `tokens > 0 AND other != ${bytes(BURNED_AT)}`,
  holds: (item) => item.tokens !== '0' && item.other_text !== BURNED_AT,
})

const ofToken = (contract: string, tokenId: string): string =>
  `contract = ${bytes(contract)} AND token_id = ${bytesSql(tokenHex(tokenId))}`

const holdersOfToken = (contract: string, tokenId: string): HistoryTable => ({
  table: 'nft_token_holders',
  where: `${ofToken(contract, tokenId)} AND holder > ${bytes(NOBODY)}`,
  keys: [textKey('standard'), bytesKey('holder')],
  values: ['amount', 'excess', 'since_block', 'since_time'],
  isHeld: `${IS_HELD} AND holder != ${bytes(BURNED_AT)}`,
  holds: (item) => isHeld(item) && item.holder_text !== BURNED_AT,
})

export const isHolderOfContract = nftOperation(isHolderOfContractRoute, async ({ contract_address, wallet }, scope) => {
  const [coverage, row] = await Promise.all([
    coverageOf(scope, contract_address),
    selectUsualHolding(scope, contract_address, wallet),
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
    coverageOf(scope, contract),
  ])
  return answered({
    owners: page.items.map((item) =>
      ownerRow(scope, item, {
        owner_address: item.other_text as string,
        amount: wholeAmount(item),
        is_amount_whole: isAmountWhole(coverage),
        is_inconsistent: false,
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
    coverageOf(scope, contract),
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
function acquiredOf({ standing }: NftScope, item: Item): Acquired {
  if (item.standard_text === 'ERC1155' && standing.start > FIRST_BLOCK) return null
  return { block_number: Number(item.since_block), block_timestamp: Date.parse(`${item.since_time}Z`) / 1_000 }
}

export const getNftsForOwner = nftOperation(getNftsForOwnerRoute, async (parameters, scope) => {
  const { owner, contract_addresses, contract_address, page_size: limit, with_metadata: withMetadata } = parameters
  if (contract_addresses !== undefined && contract_address !== undefined)
    return refuseNft(400, 'contract_addresses and contract_address are both given')
  const contracts = [...new Set(contract_addresses ?? (contract_address === undefined ? [] : [contract_address]))]
  const without = askedReasons(parameters.without_reasons, OWNED_REASONS)
  const withArrival = parameters.with_arrival || without.includes('unsolicited')
  const table = tokensOf(owner, contracts)
  const [whole, coverage] = await Promise.all([
    selectPage(scope, table, { limit, after: scope.after }),
    coverageOf(scope),
  ])
  // What is on one page is counted with it.
  const isAll = scope.after === undefined && whole.next === undefined
  const page = withArrival ? cutPage(whole, table, { column: 'since_block', most: ARRIVAL_BLOCKS_MAX }) : whole
  const tokens = page.items.map((item) => ({
    contract: item.contract_text as string,
    tokenId: tokenText(item.token_id_text as string),
    standard: item.standard_text as Standard,
    sinceBlock: acquiredOf(scope, item)?.block_number,
  }))
  const [total, told, arrivals, isIndexed] = await Promise.all([
    isAll ? whole.items.length : countTokens(scope, owner, contracts),
    toldTokens(scope, tokens, withMetadata),
    withArrival ? arrivalsOf(scope, owner, tokens) : [],
    indexedSince(
      scope,
      tokens.filter(({ standard }) => standard !== 'ERC721').map(({ contract }) => contract),
    ),
  ])
  const rows = page.items.map((item, i) => {
    const { asset, documentSec, askedSec } = told[i] as ToldAsset
    const balance = shownAmount(item)
    const is_amount_whole = item.standard_text === 'ERC721' || isIndexed(item.contract_text as string)
    const finality = finalityOf(scope, item.block_number)
    const is_inconsistent = isInconsistent(item)
    const acquired = acquiredOf(scope, item)
    const arrival = arrivals[i] ?? null
    return {
      ...asset,
      last_metadata_sync_time: documentSec,
      last_token_uri_sync_time: askedSec,
      modify_time: documentSec,
      owner: {
        owners: [{ owner_address: owner, amount: balance, is_amount_whole, is_inconsistent, acquired, finality }],
      },
      balance,
      is_amount_whole,
      is_inconsistent,
      acquired,
      arrival,
      ...reasonsOfOwned({ owner, asset, contract: asset.contract, arrival, isInconsistent: is_inconsistent }),
      finality,
    }
  })
  const kept = rows.filter(isWithout(without))
  return answered({
    owner_nfts: kept,
    page_key: page.next === undefined ? null : scope.pageKeyAfter(page.next),
    total_count: without.length === 0 ? total : countKept(scope, page, kept),
    valid_at: toValidAt(scope.snapshot),
    coverage,
  })
})

/** Of all pages together, where some rows are left out: nobody counts what is on other pages. */
function countKept({ after }: NftScope, { next }: Page, kept: readonly unknown[]): number | null {
  return after === undefined && next === undefined ? kept.length : null
}

/** The contracts, as SQL: constants, or no index is used. */
const among = (contracts: readonly string[]): string =>
  contracts.length === 0 ? '' : ` AND contract IN (${contracts.map(bytes).join(', ')})`

/** A token comes and goes; few come back. */
const TOKEN_ROWS_PER_ITEM = 3

function tokensOf(owner: string, contracts: readonly string[]): HistoryTable {
  return {
    table: 'nft_holder_tokens',
    where: `holder = ${bytes(owner)}${among(contracts)}`,
    ...(contracts.length === 0 ? { lead: { column: 'holder', value: owner.slice(2), within: '' } } : {}),
    keys: [bytesKey('contract'), bytesKey('token_id'), textKey('standard')],
    values: ['amount', 'excess', 'since_block', 'since_time'],
    rowsPerItem: TOKEN_ROWS_PER_ITEM,
    isHeld: owner === BURNED_AT ? '0' : IS_HELD,
    holds: (item) => owner !== BURNED_AT && isHeld(item),
  }
}

async function countTokens(scope: NftScope, owner: string, contracts: readonly string[]): Promise<number> {
  if (owner === BURNED_AT) return 0
  if (contracts.length === 0) return (await selectHolderTotals(scope, owner)).holdings
  // The newest row of each, which the order of the table has at hand.
  const each = contracts.map(
    (contract) => `SELECT tokens FROM (
      SELECT tokens FROM ${TOTALS}
      WHERE ${foldSql(scope)} AND ${placeOfTotal('account_contract', owner.slice(2), contract.slice(2)).where}
        AND block_number <= ${scope.snapshot.number} AND ${scope.standing.notReverted}
      ORDER BY block_number DESC LIMIT 1
    )`,
  )
  const rows = await scope.warehouse.query<{ tokens: string }>(each.join(' UNION ALL '), { chain: scope.chain })
  return rows.reduce((sum, { tokens }) => sum + Number(tokens), 0)
}

async function selectHolderTotals(scope: NftScope, owner: string) {
  const row = await selectCounts(scope, {
    ...placeOfTotal('account', owner.slice(2)),
    columns: ['tokens', 'others'],
  })
  return { holdings: Number(row?.first ?? 0), contracts: Number(row?.second ?? 0) }
}

export const getContractsForOwner = nftOperation(getContractsForOwnerRoute, async (parameters, scope) => {
  const { owner, page_size: limit, with_metadata: withMetadata } = parameters
  const table: HistoryTable = {
    table: TOTALS,
    where: totalsOf('account_contract', owner.slice(2)),
    lead: leadOfTotals('account_contract', owner.slice(2)),
    keys: [bytesKey('other')],
    values: ['tokens', 'amount', 'excess'],
    isHeld: owner === BURNED_AT ? '0' : 'tokens > 0',
    holds: (item) => owner !== BURNED_AT && item.tokens !== '0',
  }
  const [page, totals, coverage] = await Promise.all([
    selectPage(scope, table, { limit, after: scope.after }),
    selectHolderTotals(scope, owner),
    coverageOf(scope),
  ])
  const addresses = page.items.map((item) => item.other_text as string)
  const held = await heldContracts(scope, owner, addresses)
  const standards = await standardsOf(
    scope,
    owner,
    addresses.filter((address) => !held.has(address)),
  )
  const contracts = addresses.map((contract) => ({
    contract,
    standard: held.get(contract)?.standard ?? standards.get(contract) ?? null,
  }))
  const [collections, isIndexed] = await Promise.all([
    contractsMetadata(scope, contracts, withMetadata),
    indexedSince(scope, addresses),
  ])
  const without = askedReasons(parameters.without_reasons, CONTRACT_REASONS)
  const rows = page.items.map((item, i) => {
    const collection = collections[i] as (typeof collections)[number]
    return {
      ...collection,
      total_balance: wholeAmount(item),
      num_distinct_tokens_owned: item.tokens as string,
      is_amount_whole: isIndexed(collection.contract_address),
      acquired: held.get(collection.contract_address)?.acquired ?? null,
      ...reasonsOfContract(collection),
      finality: finalityOf(scope, item.block_number),
    }
  })
  const kept = rows.filter(isWithout(without))
  const total = owner === BURNED_AT ? 0 : totals.contracts
  return answered({
    contracts: kept,
    page_key: page.next === undefined ? null : scope.pageKeyAfter(page.next),
    total_count: without.length === 0 ? total : countKept(scope, page, kept),
    valid_at: toValidAt(scope.snapshot),
    coverage,
  })
})

/** What the owner's tokens of contracts are, as their logs tell it. */
async function standardsOf(
  scope: NftScope,
  owner: string,
  contracts: readonly string[],
): Promise<ReadonlyMap<string, Standard>> {
  if (contracts.length === 0) return new Map()
  // The first token of each.
  const each = contracts.map(
    (contract) => `SELECT '${contract}' AS contract, toString(standard) AS standard FROM (
      SELECT standard FROM nft_holder_tokens
      WHERE ${foldSql(scope)} AND holder = ${bytes(owner)} AND contract = ${bytes(contract)}
      ORDER BY contract, token_id LIMIT 1
    )`,
  )
  const rows = await scope.warehouse.query<{ contract: string; standard: Standard }>(each.join(' UNION ALL '))
  return new Map(rows.map(({ contract, standard }) => [contract, standard]))
}
