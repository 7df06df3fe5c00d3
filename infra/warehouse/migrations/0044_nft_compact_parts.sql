-- A page reads all columns of a few rows of every part. With a file for each column that is a file to open, and some 64 KiB to unpack, for
-- each column of each part: of eleven parts it took more than twice as long as with one file for a part. Merges take as long as before.
ALTER TABLE nft_totals MODIFY SETTING min_bytes_for_wide_part = 1000000000000, min_rows_for_wide_part = 1000000000000;
ALTER TABLE nft_transfer_lists MODIFY SETTING min_bytes_for_wide_part = 1000000000000, min_rows_for_wide_part = 1000000000000;
ALTER TABLE nft_holder_tokens MODIFY SETTING min_bytes_for_wide_part = 1000000000000, min_rows_for_wide_part = 1000000000000;
ALTER TABLE nft_token_holders MODIFY SETTING min_bytes_for_wide_part = 1000000000000, min_rows_for_wide_part = 1000000000000;
ALTER TABLE nft_changes MODIFY SETTING min_bytes_for_wide_part = 1000000000000, min_rows_for_wide_part = 1000000000000;
