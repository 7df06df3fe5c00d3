import { REFRESHES_MAX, refreshNft } from '../../schemas/jobs/read-nft.ts'
import { refreshNftMetadataRoute } from '../../schemas/routes/nft/metadata.ts'
import { type NftRefusal, refuseNft } from '../../schemas/routes/nft/nft-route.ts'
import { bytesSql, textSql } from '../../schemas/tables/literals.ts'
import { tokenHex } from './amounts.ts'
import { answered, type NftPin, nftAction } from './asking.ts'
import { coverageOf } from './coverage.ts'

export const refreshNftMetadata = nftAction(
  refreshNftMetadataRoute,
  async ({ contract_address: contract, token_id }, { pin, jobs }) => {
    if ((await jobs.pending(refreshNft.name)) >= REFRESHES_MAX)
      return refuseNft(429, 'too many tokens wait to be read again')
    const tokenId = token_id === undefined ? null : tokenHex(token_id)
    const refusal = await refusalOfUnseen(pin, contract, tokenId)
    if (refusal !== undefined) return refusal
    const input = { chain: pin.chain, contract, tokenId: tokenId === null ? null : `0x${tokenId}` }
    await jobs.request(refreshNft.name, refreshNft.idOf(input), input)
    return answered({ status: 'queued' })
  },
)

/** Where all of a contract's logs are indexed, what none of them has moved is not there. Hex without 0x; null for the contract alone. */
async function refusalOfUnseen(pin: NftPin, contract: string, tokenId: string | null): Promise<NftRefusal | undefined> {
  const ofToken = tokenId === null ? '' : ` AND token_id = ${bytesSql(tokenId)}`
  const seen = await pin.warehouse.query(
    `SELECT 1 FROM nft_tokens WHERE chain = ${textSql(pin.chain)} AND contract = ${bytesSql(contract.slice(2))}${ofToken} LIMIT 1`,
  )
  if (seen.length > 0 || !(await coverageOf(pin, { asked: [contract] })).is_whole) return undefined
  return refuseNft(
    400,
    tokenId === null ? 'no token of the contract was ever moved' : 'the token was never moved: there is none',
  )
}
