/** Why a signed staking transaction is not broadcast. */
export const BROADCAST_REASONS = [
  'malformed_transaction',
  'unsupported_type',
  'no_chain_id',
  'bad_signature',
  'wrong_chain',
  'wrong_contract',
  'withdrawal_request',
  'consolidation_request',
  'not_a_deposit',
  'malformed_call',
  'repeated_pubkey',
  'wrong_value',
  'gas_too_low',
  'gas_too_high',
  'unknown_validator', // this account did not create it
  'wrong_sender',
  'altered_deposit_data',
  'unknown_deposit_data', // nobody knows any more what it was created with
  'key_lost',
  'keys_not_exported', // no validator client is configured, and nobody was given them
  'other_validator_client', // they are for one that is not configured any more
  'refused_by_validator_client',
  'expired',
  'already_deposited',
  'would_fail', // a simulation says so
  'pending_transaction', // another nonce for the same validators may still be mined
  'other_validators', // the same nonce is pending for others
  'nonce_too_high', // it would wait for others that are not there
  // What the nodes said, as far as it is understood.
  'nonce_too_low',
  'insufficient_funds',
  'underpriced',
  'gas_limit',
  'refused_by_node',
] as const
export type BroadcastReason = (typeof BROADCAST_REASONS)[number]

/** Of reason `already_deposited`. */
export function alreadyDeposited(pubkey: string): string {
  return `${pubkey} is deposited: a second deposit would be lost in it`
}
