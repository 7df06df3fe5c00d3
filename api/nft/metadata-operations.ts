import { REFRESHES_MAX, refreshNft } from '../../schemas/jobs/read-nft.ts'
import type { NftAsset, NftContract } from '../../schemas/routes/nft/fields.ts'
import {
  getContractMetadataBatchRoute,
  getContractMetadataRoute,
  getNftMetadataBatchRoute,
  getNftMetadataRoute,
  refreshNftMetadataRoute,
  searchContractMetadataRoute,
} from '../../schemas/routes/nft/metadata.ts'
import { refuseNft } from '../../schemas/routes/nft/nft-route.ts'
import { tokenHex } from './amounts.ts'
import { answered, type NftPin, type NftScope, nftAction, nftOperation } from './asking.ts'
import { type ContractOfToken, contractsMetadata, type Standard, tokensMetadata } from './metadata.ts'
import { foldParams } from './pages.ts'
import { searchContracts } from './search.ts'

export const getContractMetadata = nftOperation(
  getContractMetadataRoute,
  async ({ contract_address, with_metadata }, scope) => {
    const [contract] = await describeContracts(scope, [contract_address], with_metadata)
    return answered(contract as NftContract)
  },
)

export const getContractMetadataBatch = nftOperation(
  getContractMetadataBatchRoute,
  async ({ contract_addresses, with_metadata }, scope) =>
    answered([...(await describeContracts(scope, contract_addresses, with_metadata))]),
)

export const getNftMetadata = nftOperation(
  getNftMetadataRoute,
  async ({ contract_address, token_id, with_metadata }, scope) => {
    const [token] = await describeTokens(scope, [{ contract_address, token_id }], with_metadata)
    return answered(token as NftAsset)
  },
)

export const getNftMetadataBatch = nftOperation(getNftMetadataBatchRoute, async ({ tokens, with_metadata }, scope) =>
  answered([...(await describeTokens(scope, tokens, with_metadata))]),
)

export const refreshNftMetadata = nftAction(
  refreshNftMetadataRoute,
  async ({ contract_address: contract, token_id }, { chain, jobs }) => {
    if ((await jobs.pending(refreshNft.name)) >= REFRESHES_MAX)
      return refuseNft(429, 'too many tokens wait to be read again')
    const input = { chain, contract, tokenId: token_id === undefined ? null : `0x${tokenHex(token_id)}` }
    await jobs.request(refreshNft.name, refreshNft.idOf(input), input)
    return answered({ status: 'queued' })
  },
)

export const searchContractMetadata = nftOperation(searchContractMetadataRoute, async ({ query }, scope) => {
  const text = query.trim().toLowerCase()
  const found = await searchContracts(scope, text)
  if (!ADDRESS.test(text)) return answered([...found])
  // An address is its own, known or not.
  const own = found.find(({ contract_address }) => contract_address === text)
  const [described] = own === undefined ? await describeContracts(scope, [text], true) : [own]
  return answered([described as NftContract, ...found.filter((one) => one !== own)])
})

const ADDRESS = /^0x[0-9a-f]{40}$/

async function describeContracts(scope: NftScope, contracts: readonly string[], withMetadata: boolean) {
  const named = await withStandards(
    scope,
    contracts.map((contract) => ({ contract })),
  )
  return await contractsMetadata(scope, named, withMetadata)
}

interface AskedToken {
  readonly contract_address: string
  readonly token_id: string
}

async function describeTokens(scope: NftScope, tokens: readonly AskedToken[], withMetadata: boolean) {
  const named = await withStandards(
    scope,
    tokens.map((token) => ({ contract: token.contract_address, tokenId: token.token_id })),
  )
  return await tokensMetadata(scope, named, withMetadata)
}

/** A contract, or a token of it; `standard` where the row that led to it has told it. */
export interface AskedStandard {
  readonly contract: string
  /** Decimal. */
  readonly tokenId?: string
  readonly standard?: Standard | null
}

/** The same with what their logs tell that they are; null where there are none. */
export async function withStandards<Asked extends AskedStandard>(
  scope: NftPin,
  asked: readonly Asked[],
): Promise<readonly (Asked & ContractOfToken)[]> {
  const untold = asked.filter(({ standard }) => standard === undefined)
  const standards = await standardsOf(scope, untold.map(whereOf))
  const told = new Map(untold.map((one, i) => [one, standards.get(i) ?? null]))
  return asked.map((one) => ({ ...one, standard: one.standard === undefined ? (told.get(one) ?? null) : one.standard }))
}

function whereOf({ contract, tokenId }: AskedStandard): string {
  return tokenId === undefined
    ? contractWhere(contract)
    : `${contractWhere(contract)} AND token_id = unhex('${tokenHex(tokenId)}')`
}

// Addresses were checked: digits and nothing else.
const contractWhere = (contract: string): string => `contract = unhex('${contract.slice(2)}')`

/** What the logs say that tokens are, by the place of the question: each is looked up at its place in the order of the table. */
async function standardsOf(scope: NftPin, wheres: readonly string[]): Promise<ReadonlyMap<number, Standard>> {
  if (wheres.length === 0) return new Map()
  const each = wheres.map(
    (where, i) => `SELECT ${i} AS place, standard FROM (
      SELECT toString(standard) AS standard FROM nft_token_holders
      WHERE chain = {chain:String} AND start = {start:UInt64} AND ${where} LIMIT 1
    )`,
  )
  const rows = await scope.warehouse.query<{ place: number; standard: Standard }>(
    each.join(' UNION ALL '),
    foldParams(scope),
  )
  return new Map(rows.map(({ place, standard }) => [place, standard]))
}
