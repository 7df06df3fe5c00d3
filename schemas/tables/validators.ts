/** Sort keys: the columns that tell one row from another. */
export const VALIDATOR_TABLES = {
  validators: ['chain', 'validator_index'],
  deposit_contracts: ['chain'],
  registry_looks: ['chain', 'accounts_version', 'from_epoch'],
  deposits: ['chain', 'pubkey', 'contract', 'block_hash', 'log_index'],
  exit_calls: ['chain', 'contract', 'block_hash', 'log_index'],
} as const
