-- Of a balance the lower three bytes are chance and the upper ones alike: transposed they take 3.4 bytes, as differences to the row before 4.0. What was
-- written before is written anew when its parts are merged.
ALTER TABLE validator_epochs MODIFY COLUMN balance_gwei Int64 CODEC(T64, ZSTD);
ALTER TABLE validator_epochs MODIFY COLUMN activation_epoch UInt64 CODEC(T64, ZSTD);
ALTER TABLE day_balances MODIFY COLUMN balance_gwei Int64 CODEC(T64, ZSTD);
