import type { FastifyInstance } from 'fastify'
import type { SharedParts } from '../http/api-parts.ts'
import type { NftOperation } from './asking.ts'
import { changes } from './changes.ts'
import { streamChanges } from './changes-stream.ts'
import {
  getContractMetadata,
  getContractMetadataBatch,
  getNftMetadata,
  getNftMetadataBatch,
  searchContractMetadata,
} from './metadata-operations.ts'
import { getContractsForOwner, getNftsForOwner } from './owned.ts'
import { ownersCsv, streamOwnersCsv } from './owners-csv.ts'
import { getOwnersForContract, getOwnersForNft, isHolderOfContract } from './ownership.ts'
import { refreshNftMetadata } from './refresh.ts'
import { acceptBodies, type Streaming, serveNftOperations } from './serve.ts'
import { getAssetsTransfer } from './transfers.ts'

export const NFT_OPERATIONS: readonly NftOperation[] = [
  getAssetsTransfer,
  getContractMetadata,
  getContractMetadataBatch,
  getNftMetadata,
  getNftMetadataBatch,
  refreshNftMetadata,
  searchContractMetadata,
  getContractsForOwner,
  getNftsForOwner,
  getOwnersForContract,
  getOwnersForNft,
  isHolderOfContract,
  changes,
  ownersCsv,
]

const STREAMS: Readonly<Record<string, Streaming>> = {
  [changes.route.id]: streamChanges,
  [ownersCsv.route.id]: streamOwnersCsv,
}

/** Who holds which tokens, of all chains. */
export async function nftPlugin(app: FastifyInstance, parts: SharedParts): Promise<void> {
  acceptBodies(app)
  serveNftOperations(app, NFT_OPERATIONS, { parts, streams: STREAMS })
}
