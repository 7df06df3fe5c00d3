import { refuseNft } from '../../schemas/routes/nft/nft-route.ts'
import { CONTRACT_REASONS, OWNED_REASONS } from '../../schemas/routes/nft/owned-reasons.ts'
import { getContractsForOwnerRoute, getNftsForOwnerRoute } from '../../schemas/routes/nft/ownership.ts'
import { askedReasons } from '../../schemas/routes/nft/without-reasons.ts'
import { isHeld, isInconsistent, shownAmount, tokenText, wholeAmount } from './amounts.ts'
import { ARRIVAL_BLOCKS_MAX, arrivalsOf } from './arrivals.ts'
import { answered, type NftScope, nftOperation, toValidAt } from './asking.ts'
import { BURNED_AT } from './burned.ts'
import { selectCounts, selectManyCounts } from './counts.ts'
import { coverageOfHoldings, finalityOf } from './coverage.ts'
import { heldContracts } from './held-contracts.ts'
import { AMOUNT, addressKey, SINCE, STANDARD_KEY, TOKEN_KEY, TOKENS } from './history-rows.ts'
import { contractsMetadata, type Standard, type ToldAsset, toldTokens } from './metadata.ts'
import { COMINGS_MAX, comingOf, manyNewHolders } from './new-holders.ts'
import { isWithout, reasonsOfContract, reasonsOfOwned } from './owned-reasons.ts'
import { acquiredOf, bytes } from './ownership.ts'
import { cutPage, type HistoryTable, type Page, selectPage } from './pages.ts'
import { standardsOfContracts } from './standards.ts'
import { leadOfTotals, placeOfTotal, TOTALS, totalsOf } from './totals.ts'

export const getNftsForOwner = nftOperation(getNftsForOwnerRoute, async (parameters, scope) => {
  const { owner, contract_addresses, contract_address, page_size: limit, with_metadata: withMetadata } = parameters
  if (contract_addresses !== undefined && contract_address !== undefined)
    return refuseNft(400, 'contract_addresses and contract_address are both given')
  const contracts = [...new Set(contract_addresses ?? (contract_address === undefined ? [] : [contract_address]))]
  const without = askedReasons(parameters.without_reasons, OWNED_REASONS)
  const withArrival = parameters.with_arrival || without.includes('unsolicited')
  const withNewHolders = parameters.with_new_holders || without.includes('many_new_holders')
  const table = tokensOf(owner, contracts)
  const whole = await selectPage(scope, table, { limit, after: scope.after })
  // What is on one page is counted with it.
  const isAll = scope.after === undefined && whole.next === undefined
  const ofBlocks = withArrival ? cutPage(whole, table, { columns: ['since_block'], most: ARRIVAL_BLOCKS_MAX }) : whole
  const most = withArrival ? COMINGS_MAX.withArrival : COMINGS_MAX.alone
  const page = withNewHolders ? cutPage(ofBlocks, table, { columns: ['contract_text', 'since_block'], most }) : ofBlocks
  const tokens = page.items.map((item) => ({
    contract: item.contract_text as string,
    tokenId: tokenText(item.token_id_text as string),
    standard: item.standard_text as Standard,
    sinceBlock: acquiredOf(scope, item)?.block_number,
  }))
  const [total, told, arrivals, newHolders, { coverage, isWhole }] = await Promise.all([
    isAll ? whole.items.length : countTokens(scope, owner, contracts),
    toldTokens(scope, tokens, withMetadata),
    withArrival ? arrivalsOf(scope, owner, tokens) : [],
    withNewHolders ? manyNewHolders(scope, tokens) : undefined,
    coverageOfHoldings(scope, { asked: contracts, holdings: tokens }),
  ])
  const rows = page.items.map((item, i) => {
    const { asset, documentSec, askedSec } = told[i] as ToldAsset
    const balance = shownAmount(item)
    const token = tokens[i] as (typeof tokens)[number]
    const is_amount_whole = isWhole(token)
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
      ...reasonsOfOwned({
        ...{ owner, asset, contract: asset.contract, arrival },
        hasManyNewHolders: newHolders?.get(comingOf(token)),
        isInconsistent: is_inconsistent,
      }),
      finality,
    }
  })
  const kept = rows.filter(isWithout(without))
  return answered({
    owner_nfts: kept,
    page_key: page.next === undefined ? null : scope.pageKeyAfter(page.next),
    total_count: !coverage.is_whole ? null : without.length === 0 ? total : countKept(scope, page, kept),
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
    keys: [addressKey('contract'), TOKEN_KEY, STANDARD_KEY],
    amounts: AMOUNT,
    values: SINCE,
    rowsPerItem: TOKEN_ROWS_PER_ITEM,
    holds: (item) => owner !== BURNED_AT && isHeld(item),
  }
}

async function countTokens(scope: NftScope, owner: string, contracts: readonly string[]): Promise<number> {
  if (owner === BURNED_AT) return 0
  if (contracts.length === 0) return (await selectHolderTotals(scope, owner)).holdings
  const counts = await selectManyCounts(
    scope,
    contracts.map((contract) => ({
      ...placeOfTotal('account_contract', owner.slice(2), contract.slice(2)),
      columns: ['tokens'],
    })),
  )
  return counts.reduce((sum, row) => sum + Number(row?.first ?? 0), 0)
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
    keys: [addressKey('other')],
    amounts: TOKENS,
    values: AMOUNT,
    holds: (item) => owner !== BURNED_AT && item.tokens !== '0',
  }
  const [page, totals] = await Promise.all([
    selectPage(scope, table, { limit, after: scope.after }),
    selectHolderTotals(scope, owner),
  ])
  const addresses = page.items.map((item) => item.other_text as string)
  const held = await heldContracts(scope, owner, addresses)
  const standards = await standardsOfContracts(
    scope,
    addresses.filter((address) => !held.has(address)),
  )
  const contracts = addresses.map((contract) => ({
    contract,
    standard: held.get(contract)?.standard ?? standards.get(contract) ?? null,
  }))
  const [collections, { coverage, isWhole }] = await Promise.all([
    contractsMetadata(scope, contracts, withMetadata),
    coverageOfHoldings(scope, { holdings: addresses.map((contract) => ({ contract })) }),
  ])
  const without = askedReasons(parameters.without_reasons, CONTRACT_REASONS)
  const rows = page.items.map((item, i) => {
    const collection = collections[i] as (typeof collections)[number]
    return {
      ...collection,
      total_balance: wholeAmount(item),
      num_distinct_tokens_owned: item.tokens as string,
      is_amount_whole: isWhole({ contract: collection.contract_address }),
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
    total_count: !coverage.is_whole ? null : without.length === 0 ? total : countKept(scope, page, kept),
    valid_at: toValidAt(scope.snapshot),
    coverage,
  })
})
