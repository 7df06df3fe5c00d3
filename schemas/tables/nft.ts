/** Made of canonical blocks, one after the other: sort keys. */
const FOLDED = {
  nft_blocks: ['chain', 'start', 'block_number', 'block_hash'],
  nft_changes: ['chain', 'start', 'block_number', 'block_hash', 'contract', 'token_id', 'standard', 'holder'],
  nft_token_holders: ['chain', 'start', 'contract', 'token_id', 'standard', 'holder', 'block_number', 'block_hash'],
  nft_holder_tokens: ['chain', 'start', 'holder', 'contract', 'token_id', 'standard', 'block_number', 'block_hash'],
  nft_totals: ['chain', 'start', 'kind', 'key', 'other', 'block_number', 'block_hash'],
  nft_transfer_lists: ['chain', 'start', 'kind', 'key', 'block_number', 'log_index', 'batch_index', 'block_hash'],
} as const

/** Lists that a transfer is in (`kind` of nft_transfer_lists): of all, of a contract's tokens, from an account, to one. */
export const TRANSFER_LISTS = ['all', 'contract', 'from', 'to'] as const
export type TransferList = (typeof TRANSFER_LISTS)[number]

/** Of what there are totals (`kind` of nft_totals): the last two are the same in both orders. */
export const TOTAL_KINDS = ['contract', 'account', 'contract_account', 'account_contract'] as const
export type TotalKind = (typeof TOTAL_KINDS)[number]

/** Sort keys: the columns that tell one row from another. */
export const NFT_TABLES = {
  nft_transfers: ['chain', 'block_number', 'block_hash', 'log_index', 'batch_index'],
  nft_odd_logs: ['chain', 'contract', 'block_number', 'block_hash', 'log_index'],
  ...FOLDED,
  nft_tokens: ['chain', 'contract', 'token_id', 'supply_block'],
  nft_metadata_changes: ['chain', 'contract', 'block_number', 'block_hash', 'log_index'],
  nft_marks: ['chain', 'kind', 'bucket', 'contract'],
  nft_contracts: ['chain', 'contract'],
  nft_contract_names: ['chain', 'contract'],
  nft_words: ['chain', 'letters', 'word'],
  nft_token_states: ['chain', 'contract', 'token_id'],
  nft_token_told: ['chain', 'token', 'kind'],
  nft_metadata_positions: ['chain', 'kind', 'bucket'],
} as const

export const FOLDED_TABLES = Object.keys(FOLDED) as readonly (keyof typeof FOLDED)[]
