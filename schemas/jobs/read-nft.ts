import { type Static, Type } from 'typebox'
import { Address, Chain, Hash } from '../events/fields.ts'
import { job } from './job.ts'

const OfContract = Type.Object({ chain: Chain, contract: Address })
export type ReadNftContractInput = Static<typeof OfContract>

const idOfContract = ({ chain, contract }: ReadNftContractInput): string => `${chain} ${contract}`

/** Reads what is not known of a contract and its tokens, or is to be tried again: some of it, and asks for another run where there is more. */
export const readNftContract = job('read-nft-contract', OfContract, idOfContract)

/** Reads again what a contract's events say has changed; apart from the former, so that who changes everything all the time holds up nobody. */
export const rereadNftContract = job('reread-nft-contract', OfContract, idOfContract)

const OfToken = Type.Object({ chain: Chain, contract: Address, tokenId: Type.Union([Hash, Type.Null()]) })
export type RefreshNftInput = Static<typeof OfToken>

/** So many questions of all accounts wait; who asks for more is told to come again. */
export const REFRESHES_MAX = 1_000

/** Reads one token now, or with `tokenId` null what the contract says of itself: somebody has asked for it. */
export const refreshNft = job(
  'refresh-nft',
  OfToken,
  ({ chain, contract, tokenId }) => `${chain} ${contract} ${tokenId ?? 'contract'}`,
)
