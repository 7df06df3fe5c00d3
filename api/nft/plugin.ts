import type { FastifyInstance } from 'fastify'
import type { SharedParts } from '../http/api-parts.ts'
import {
  getContractMetadata,
  getContractMetadataBatch,
  getNftMetadata,
  getNftMetadataBatch,
  searchContractMetadata,
} from './metadata-operations.ts'
import {
  getContractsForOwner,
  getNftsForOwner,
  getOwnersForContract,
  getOwnersForNft,
  isHolderOfContract,
} from './ownership.ts'
import { acceptBodies, type NftOperation, serveNftOperations } from './serve.ts'
import { getAssetsTransfer } from './transfers.ts'

export const NFT_OPERATIONS: readonly NftOperation[] = [
  getAssetsTransfer,
  getContractMetadata,
  getContractMetadataBatch,
  getNftMetadata,
  getNftMetadataBatch,
  searchContractMetadata,
  getContractsForOwner,
  getNftsForOwner,
  getOwnersForContract,
  getOwnersForNft,
  isHolderOfContract,
]

/** Who holds which tokens, of all chains. */
export async function nftPlugin(app: FastifyInstance, parts: SharedParts): Promise<void> {
  acceptBodies(app)
  serveNftOperations(app, NFT_OPERATIONS, parts)
}
