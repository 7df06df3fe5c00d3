-- What a fold needs between its statements is in memory. Folded again: what is odd about a transfer does not depend on where steps end.
DROP TABLE IF EXISTS nft_holding_changes;
TRUNCATE TABLE IF EXISTS nft_blocks;
TRUNCATE TABLE IF EXISTS nft_changes;
TRUNCATE TABLE IF EXISTS nft_token_holders;
TRUNCATE TABLE IF EXISTS nft_holder_tokens;
TRUNCATE TABLE IF EXISTS nft_contract_holders;
TRUNCATE TABLE IF EXISTS nft_holder_contracts;
TRUNCATE TABLE IF EXISTS nft_holder_totals;
TRUNCATE TABLE IF EXISTS nft_contract_totals;
TRUNCATE TABLE IF EXISTS nft_token_totals;
TRUNCATE TABLE IF EXISTS nft_folded_transfers;
TRUNCATE TABLE IF EXISTS nft_contract_transfers;
TRUNCATE TABLE IF EXISTS nft_account_transfers;
TRUNCATE TABLE IF EXISTS nft_transfer_totals;
