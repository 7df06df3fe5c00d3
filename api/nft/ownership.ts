import type { Acquired, OwnerRow } from '../../schemas/routes/nft/fields.ts'
import { refuseNft } from '../../schemas/routes/nft/nft-route.ts'
import { askedReasons, CONTRACT_REASONS, OWNED_REASONS } from '../../schemas/routes/nft/owned-reasons.ts'
import {
  getContractsForOwnerRoute,
  getNftsForOwnerRoute,
  getOwnersForContractRoute,
  getOwnersForNftRoute,
  isHolderOfContractRoute,
} from '../../schemas/routes/nft/ownership.ts'
import { IS_HELD, isInconsistent, shownAmount, tokenHex, tokenText, wholeAmount } from './amounts.ts'
import { ARRIVAL_BLOCKS_MAX, arrivalsOf } from './arrivals.ts'
import { answered, type NftScope, nftOperation, toValidAt } from './asking.ts'
import { contractsMetadata, type Standard, type ToldToken, toldTokens } from './metadata.ts'
import { isWithout, reasonsOfContract, reasonsOfOwned } from './owned-reasons.ts'
import {
  bytesKey,
  coverageOf,
  cutPage,
  FIRST_BLOCK,
  finalityOf,
  foldParams,
  type HistoryTable,
  type Item,
  type Page,
  selectCounts,
  selectNewest,
  selectPage,
  textKey,
} from './pages.ts'

/** What is there is burned, and nobody's; the zero address has no rows. */
const BURNED_AT = `0x${'dead'.padStart(40, '0')}`
const NOT_BURNED = `holder != unhex('${BURNED_AT.slice(2)}')`

const hex = (text: string): string => text.slice(2)

export const holdersOf = (contract: string): HistoryTable => ({
  table: 'nft_contract_holders',
  where: 'contract = unhex({contract:String})',
  params: { contract: hex(contract) },
  keys: [bytesKey('holder')],
  values: ['tokens', 'amount', 'excess'],
  isHeld: `tokens > 0 AND ${NOT_BURNED}`,
})

const holdersOfToken = (contract: string, tokenId: string): HistoryTable => ({
  table: 'nft_token_holders',
  where: 'contract = unhex({contract:String}) AND token_id = unhex({tokenId:String})',
  params: { contract: hex(contract), tokenId: tokenHex(tokenId) },
  keys: [textKey('standard'), bytesKey('holder')],
  values: ['amount', 'excess', 'since_block', 'since_time'],
  isHeld: `${IS_HELD} AND ${NOT_BURNED}`,
})

export const isHolderOfContract = nftOperation(isHolderOfContractRoute, async ({ contract_address, wallet }, scope) => {
  const table = holdersOf(contract_address)
  const [coverage, row] = await Promise.all([
    coverageOf(scope, contract_address),
    selectNewest(scope, { ...table, isHeld: '1' }, [wallet]),
  ])
  const isHeld = row !== undefined && row.tokens !== '0' && wallet !== BURNED_AT
  // What came before the first block, or what nobody can read, may be held.
  const isHolder = isHeld ? true : coverage.is_whole ? false : null
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
    selectCounts<{ holders: string }>(scope, {
      table: 'nft_contract_totals',
      columns: 'holders',
      where: table.where,
      params: table.params,
    }),
    selectNewest(scope, { ...table, isHeld: 'tokens > 0' }, [BURNED_AT]),
    coverageOf(scope, contract),
  ])
  return answered({
    owners: page.items.map((item) =>
      ownerRow(scope, item, { amount: wholeAmount(item), is_inconsistent: false, acquired: null }),
    ),
    page_key: page.next === undefined ? null : scope.pageKeyAfter(page.next),
    total_count: Number(totals?.holders ?? 0) - (burned === undefined ? 0 : 1),
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
    selectCounts<{ holders: string }>(scope, {
      table: 'nft_token_totals',
      columns: 'holders',
      where: table.where,
      params: table.params,
    }),
    selectNewest(scope, { ...table, isHeld: IS_HELD }, ['ERC1155', BURNED_AT]),
    coverageOf(scope, contract),
  ])
  // A token that is one of a kind is not counted: it is on this page, or its only owner is on another one.
  const counted = totals === undefined ? undefined : Number(totals.holders) - (burned === undefined ? 0 : 1)
  const isAll = scope.after === undefined && page.next === undefined
  return answered({
    owners: page.items.map((item) =>
      ownerRow(scope, item, {
        amount: shownAmount(item),
        is_inconsistent: isInconsistent(item),
        acquired: acquiredOf(scope, item),
      }),
    ),
    page_key: page.next === undefined ? null : scope.pageKeyAfter(page.next),
    total_count: isAll ? page.items.length : (counted ?? null),
    valid_at: toValidAt(scope.snapshot),
    coverage,
  })
}

function ownerRow(
  scope: NftScope,
  item: Item,
  held: Pick<OwnerRow, 'amount' | 'is_inconsistent' | 'acquired'>,
): OwnerRow {
  return { owner_address: item.holder_text as string, ...held, finality: finalityOf(scope, item.block_number) }
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
  const [whole, total, coverage] = await Promise.all([
    selectPage(scope, table, { limit, after: scope.after }),
    countTokens(scope, owner, contracts),
    coverageOf(scope),
  ])
  const page = withArrival ? cutPage(whole, table, { column: 'since_block', most: ARRIVAL_BLOCKS_MAX }) : whole
  const tokens = page.items.map((item) => ({
    contract: item.contract_text as string,
    tokenId: tokenText(item.token_id_text as string),
    standard: item.standard_text as Standard,
    sinceBlock: acquiredOf(scope, item)?.block_number,
  }))
  const [told, arrivals] = await Promise.all([
    toldTokens(scope, tokens, withMetadata),
    withArrival ? arrivalsOf(scope, owner, tokens) : [],
  ])
  const rows = page.items.map((item, i) => {
    const { asset, documentSec, askedSec } = told[i] as ToldToken
    const balance = shownAmount(item)
    const finality = finalityOf(scope, item.block_number)
    const is_inconsistent = isInconsistent(item)
    const acquired = acquiredOf(scope, item)
    const arrival = arrivals[i] ?? null
    return {
      ...asset,
      last_metadata_sync_time: documentSec,
      last_token_uri_sync_time: askedSec,
      modify_time: documentSec,
      owner: { owners: [{ owner_address: owner, amount: balance, is_inconsistent, acquired, finality }] },
      balance,
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
  contracts.length === 0
    ? ''
    : ` AND contract IN (${contracts.map((contract) => `unhex('${hex(contract)}')`).join(', ')})`

function tokensOf(owner: string, contracts: readonly string[]): HistoryTable {
  return {
    table: 'nft_holder_tokens',
    where: `holder = unhex({owner:String})${among(contracts)}`,
    params: { owner: hex(owner) },
    keys: [bytesKey('contract'), bytesKey('token_id'), textKey('standard')],
    values: ['amount', 'excess', 'since_block', 'since_time'],
    isHeld: owner === BURNED_AT ? '0' : IS_HELD,
  }
}

async function countTokens(scope: NftScope, owner: string, contracts: readonly string[]): Promise<number> {
  if (owner === BURNED_AT) return 0
  if (contracts.length === 0) return (await selectHolderTotals(scope, owner)).holdings
  // The newest row of each, which the order of the table has at hand.
  const each = contracts.map(
    (contract) => `SELECT tokens FROM (
      SELECT tokens FROM nft_holder_contracts
      WHERE chain = {chain:String} AND start = {start:UInt64} AND holder = unhex({owner:String}) AND contract = unhex('${hex(contract)}')
        AND block_number <= {number:UInt64} AND ${scope.standing.notReverted}
      ORDER BY block_number DESC LIMIT 1
    )`,
  )
  const rows = await scope.warehouse.query<{ tokens: string }>(each.join(' UNION ALL '), {
    ...foldParams(scope),
    owner: hex(owner),
  })
  return rows.reduce((sum, { tokens }) => sum + Number(tokens), 0)
}

async function selectHolderTotals(scope: NftScope, owner: string) {
  const row = await selectCounts<{ holdings: string; contracts: string }>(scope, {
    table: 'nft_holder_totals',
    columns: 'holdings, contracts',
    where: 'holder = unhex({owner:String})',
    params: { owner: hex(owner) },
  })
  return { holdings: Number(row?.holdings ?? 0), contracts: Number(row?.contracts ?? 0) }
}

export const getContractsForOwner = nftOperation(getContractsForOwnerRoute, async (parameters, scope) => {
  const { owner, page_size: limit, with_metadata: withMetadata } = parameters
  const table: HistoryTable = {
    table: 'nft_holder_contracts',
    where: 'holder = unhex({owner:String})',
    params: { owner: hex(owner) },
    keys: [bytesKey('contract')],
    values: ['tokens', 'amount', 'excess'],
    isHeld: owner === BURNED_AT ? '0' : 'tokens > 0',
  }
  const [page, totals, coverage] = await Promise.all([
    selectPage(scope, table, { limit, after: scope.after }),
    selectHolderTotals(scope, owner),
    coverageOf(scope),
  ])
  const standards = await standardsOf(
    scope,
    owner,
    page.items.map((item) => item.contract_text as string),
  )
  const contracts = page.items.map((item) => ({
    contract: item.contract_text as string,
    standard: standards.get(item.contract_text as string) ?? null,
  }))
  const collections = await contractsMetadata(scope, contracts, withMetadata)
  const without = askedReasons(parameters.without_reasons, CONTRACT_REASONS)
  const rows = page.items.map((item, i) => {
    const collection = collections[i] as (typeof collections)[number]
    return {
      ...collection,
      total_balance: wholeAmount(item),
      num_distinct_tokens_owned: item.tokens as string,
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
      WHERE chain = {chain:String} AND start = {start:UInt64} AND holder = unhex({owner:String}) AND contract = unhex('${hex(contract)}')
      ORDER BY contract, token_id LIMIT 1
    )`,
  )
  const rows = await scope.warehouse.query<{ contract: string; standard: Standard }>(each.join(' UNION ALL '), {
    ...foldParams(scope),
    owner: hex(owner),
  })
  return new Map(rows.map(({ contract, standard }) => [contract, standard]))
}
