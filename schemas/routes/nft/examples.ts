import type { Coverage, MetadataState, NftAsset, NftContract } from './fields.ts'

// What the examples of the routes are made of.

export const EXAMPLE_CONTRACT = `0x${'bc'.repeat(20)}`
export const EXAMPLE_OWNER = `0x${'ad'.repeat(20)}`
export const EXAMPLE_HASH = `0x${'1f'.repeat(32)}`
export const EXAMPLE_AT = { block_number: 21_000_000, block_hash: EXAMPLE_HASH, block_timestamp: 1_729_000_000 }
const COVERAGE: Coverage = { from_block: 1, to_block: 21_000_000, check: 'receipts', is_whole: true, reason: null }
export const EXAMPLE_STATE: MetadataState = {
  status: 'not_fetched',
  error: null,
  attempts: 0,
  last_attempt: null,
  next_retry: null,
}

export const EXAMPLE_COVERAGE = COVERAGE
export const EXAMPLE_PAGE = { page_key: null, total_count: 1, valid_at: EXAMPLE_AT, coverage: COVERAGE }

export const EXAMPLE_COLLECTION: NftContract = {
  contract_address: EXAMPLE_CONTRACT,
  name: null,
  symbol: null,
  token_type: 'ERC721',
  total_supply: null,
  total_supply_block_number: null,
  deployer: null,
  deploy_block_number: null,
  deploy_reason: null,
  metadata_state: EXAMPLE_STATE,
}

export const EXAMPLE_ASSET: NftAsset = {
  contract_address: EXAMPLE_CONTRACT,
  token_id: '1',
  token_type: 'ERC721',
  token_uri: null,
  metadata_json: null,
  metadata: { title: null, description: null, media: null, media_type: null, media_external: null, attributes: null },
  shortened: [],
  contract: EXAMPLE_COLLECTION,
  error: null,
  metadata_state: EXAMPLE_STATE,
}

export const EXAMPLE_OWNER_ROW = {
  owner_address: EXAMPLE_OWNER,
  amount: '1',
  is_amount_whole: true,
  is_inconsistent: false,
  acquired: { block_number: 20_999_990, block_timestamp: 1_728_999_880 },
  finality: 'finalized' as const,
}
