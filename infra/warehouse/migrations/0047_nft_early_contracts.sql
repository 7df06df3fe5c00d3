-- Tokens of contracts that log as ERC-20 does (Axie, CryptoArte, Cryptovoxels, MakersPlace) are told: logs are read again from the log's
-- beginning, and who holds what is folded of them. A block counts as told once its parts are there again.
TRUNCATE TABLE IF EXISTS execution_log_parts;
TRUNCATE TABLE IF EXISTS nft_transfers;
TRUNCATE TABLE IF EXISTS nft_blocks;
TRUNCATE TABLE IF EXISTS nft_changes;
TRUNCATE TABLE IF EXISTS nft_token_holders;
TRUNCATE TABLE IF EXISTS nft_holder_tokens;
TRUNCATE TABLE IF EXISTS nft_totals;
TRUNCATE TABLE IF EXISTS nft_transfer_lists;
