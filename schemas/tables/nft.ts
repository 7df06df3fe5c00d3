/** Made of canonical blocks, one after the other: sort keys. */
const FOLDED = {
  nft_blocks: ['chain', 'start', 'block_number', 'block_hash'],
  nft_changes: ['chain', 'start', 'block_number', 'block_hash', 'contract', 'token_id', 'standard', 'holder'],
  nft_token_holders: ['chain', 'start', 'contract', 'token_id', 'standard', 'holder', 'block_number', 'block_hash'],
  nft_holder_tokens: ['chain', 'start', 'holder', 'contract', 'token_id', 'standard', 'block_number', 'block_hash'],
  nft_contract_holders: ['chain', 'start', 'contract', 'holder', 'block_number', 'block_hash'],
  nft_holder_contracts: ['chain', 'start', 'holder', 'contract', 'block_number', 'block_hash'],
  nft_holder_totals: ['chain', 'start', 'holder', 'block_number', 'block_hash'],
  nft_contract_totals: ['chain', 'start', 'contract', 'block_number', 'block_hash'],
  nft_token_totals: ['chain', 'start', 'contract', 'token_id', 'block_number', 'block_hash'],
  nft_folded_transfers: ['chain', 'start', 'block_number', 'log_index', 'batch_index', 'block_hash'],
  nft_contract_transfers: ['chain', 'start', 'contract', 'block_number', 'log_index', 'batch_index', 'block_hash'],
  nft_account_transfers: [
    'chain',
    'start',
    'account',
    'side',
    'block_number',
    'log_index',
    'batch_index',
    'block_hash',
  ],
  nft_transfer_totals: ['chain', 'start', 'kind', 'key', 'block_number', 'block_hash'],
} as const

/** Sort keys: the columns that tell one row from another. */
export const NFT_TABLES = {
  nft_transfers: ['chain', 'block_number', 'block_hash', 'log_index', 'batch_index'],
  nft_odd_logs: ['chain', 'contract', 'block_number', 'block_hash', 'log_index'],
  ...FOLDED,
  nft_tokens: ['chain', 'contract', 'token_id', 'supply_block'],
  nft_metadata_changes: ['chain', 'contract', 'block_number', 'block_hash', 'log_index'],
  nft_marks: ['chain', 'kind', 'contract'],
  nft_contracts: ['chain', 'contract'],
  nft_token_states: ['chain', 'contract', 'token_id'],
  nft_token_told: ['chain', 'token', 'kind'],
  nft_metadata_positions: ['chain', 'kind', 'bucket'],
} as const

export type NftTable = keyof typeof NFT_TABLES

export const FOLDED_TABLES = Object.keys(FOLDED) as readonly (keyof typeof FOLDED)[]
