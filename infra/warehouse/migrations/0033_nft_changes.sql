-- Nobody asks for what was there before a block, nor in this order since when something is held.
ALTER TABLE nft_changes DROP COLUMN IF EXISTS amount_before;
ALTER TABLE nft_changes DROP COLUMN IF EXISTS excess_before;
ALTER TABLE nft_changes DROP COLUMN IF EXISTS since_block;
ALTER TABLE nft_changes DROP COLUMN IF EXISTS since_time;
