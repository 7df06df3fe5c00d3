import { type Static, type TSchema, Type } from 'typebox'
import { METADATA_ERRORS } from '../nft/metadata-state.ts'
import { jsonEvent } from './codec.ts'
import { Address, Chain, Hash, IntegerText, UInt } from './fields.ts'

const OrNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
const Text = OrNull(Type.String())

/** What a contract is taken for: by ERC-165, and by what it answers. */
export const TOKEN_TYPES = ['ERC721', 'ERC1155', 'UNKNOWN'] as const

const Read = {
  chain: Chain,
  contract: Address,
  /** The block after which the contract was asked. */
  block: Type.Object({ number: UInt, hash: Hash }),
  /** Unix seconds of the reader's clock: what is tried again is tried by it. */
  atSec: UInt,
}

const ContractRead = Type.Object({
  ...Read,
  /** Null where the contract does not say; a text may be empty. */
  name: Text,
  symbol: Text,
  /** Null where there is no contract. */
  tokenType: OrNull(Type.Enum([...TOKEN_TYPES])),
  totalSupply: OrNull(IntegerText),
  deployer: OrNull(Address),
  deployBlock: OrNull(UInt),
  /** Why one of the two, or both, are null; later releases may know more reasons. */
  deployReason: OrNull(Type.String({ pattern: '^[a-z_]{1,40}$' })),
})
export type ContractRead = Static<typeof ContractRead>

const OfToken = {
  ...Read,
  /** 32 bytes. */
  tokenId: Hash,
  /** As the contract returned it; null where it returned none. */
  tokenUri: Text,
}

const TokenRead = Type.Object({
  ...OfToken,
  /** The document. */
  json: Type.String(),
  title: Text,
  description: Text,
  media: Text,
  mediaType: Text,
  mediaExternal: Text,
  /** JSON. */
  attributes: Text,
})
export type TokenRead = Static<typeof TokenRead>

const TokenNotRead = Type.Object({
  ...OfToken,
  error: Type.Enum([...METADATA_ERRORS]),
  /** Since it was read last, this one included. */
  attempts: UInt,
  /** Unix seconds; 0 where it is not tried again by itself. */
  nextRetrySec: UInt,
})
export type TokenNotRead = Static<typeof TokenNotRead>

/** A fact of the topic `nft.metadata`: what a node or a server said at a time, never asked again for a table. Key: chain and contract. */
const fact = <Name extends string>(name: Name) => ({ name, version: 1, topic: 'nft.metadata' }) as const

/** What a contract says of itself; id `nft.contract-read:<chain>:<contract>:<block hash>:<atSec>`. */
export const contractRead = jsonEvent(fact('nft.contract-read'), ContractRead)

/** The document of a token was read; id `nft.token-read:<chain>:<contract>:<token>:<block hash>:<atSec>`. */
export const tokenRead = jsonEvent(fact('nft.token-read'), TokenRead)

/** It was not; what was read before still holds. Id `nft.token-not-read:…`, as above. */
export const tokenNotRead = jsonEvent(fact('nft.token-not-read'), TokenNotRead)
