-- Where nine pieces of ten begin with another value of a key's first columns than the piece before, the engine keeps no further columns of
-- their beginnings in memory, and whoever looks for something within one value's rows (a page of a large wallet beside many small ones, say)
-- reads all of them. Of these tables it keeps them.
ALTER TABLE nft_holder_tokens MODIFY SETTING primary_key_ratio_of_unique_prefix_values_to_skip_suffix_columns = 1;
ALTER TABLE nft_token_holders MODIFY SETTING primary_key_ratio_of_unique_prefix_values_to_skip_suffix_columns = 1;
ALTER TABLE nft_totals MODIFY SETTING primary_key_ratio_of_unique_prefix_values_to_skip_suffix_columns = 1;
ALTER TABLE nft_transfer_lists MODIFY SETTING primary_key_ratio_of_unique_prefix_values_to_skip_suffix_columns = 1;
ALTER TABLE nft_changes MODIFY SETTING primary_key_ratio_of_unique_prefix_values_to_skip_suffix_columns = 1;
ALTER TABLE nft_transfers MODIFY SETTING primary_key_ratio_of_unique_prefix_values_to_skip_suffix_columns = 1;
ALTER TABLE nft_tokens MODIFY SETTING primary_key_ratio_of_unique_prefix_values_to_skip_suffix_columns = 1;
ALTER TABLE nft_odd_logs MODIFY SETTING primary_key_ratio_of_unique_prefix_values_to_skip_suffix_columns = 1;
ALTER TABLE nft_metadata_changes MODIFY SETTING primary_key_ratio_of_unique_prefix_values_to_skip_suffix_columns = 1;
ALTER TABLE nft_words MODIFY SETTING primary_key_ratio_of_unique_prefix_values_to_skip_suffix_columns = 1;
-- What a server has in memory already is read anew when it is needed.
SYSTEM UNLOAD PRIMARY KEY nft_holder_tokens;
SYSTEM UNLOAD PRIMARY KEY nft_token_holders;
SYSTEM UNLOAD PRIMARY KEY nft_totals;
SYSTEM UNLOAD PRIMARY KEY nft_transfer_lists;
SYSTEM UNLOAD PRIMARY KEY nft_changes;
SYSTEM UNLOAD PRIMARY KEY nft_transfers;
SYSTEM UNLOAD PRIMARY KEY nft_tokens;
SYSTEM UNLOAD PRIMARY KEY nft_odd_logs;
SYSTEM UNLOAD PRIMARY KEY nft_metadata_changes;
SYSTEM UNLOAD PRIMARY KEY nft_words;
