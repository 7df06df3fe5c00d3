/** Why a beacon node does not take an exit. */
export const EXIT_REFUSALS = [
  'inactive',
  'already_exited',
  'early_epoch',
  'short_time_active',
  'pending_withdrawals',
  'invalid_signature',
  'unknown',
] as const
export type ExitRefusal = (typeof EXIT_REFUSALS)[number]

/** Why an exit that was accepted will never be on chain. */
export const EXIT_FAILURES = [
  'invalid_signature', // all nodes say so of a signature that was verified here: they are of another chain than they say
  'another_validator', // the final registry has the key at another index than the exit was signed for
  'another_account', // when it could be signed, the account that had asked for it no longer had the validator
] as const

/** Why a call to the exit-request contract counts for nothing: all of it, never a part. */
export const EXIT_CALL_FAULTS = [
  'malformed', // not whole public keys, or not in the contract's encoding
  'too_many_validators',
  'too_old', // it was read so late that the sender may want something else by now
  'no_validators_here', // none of them was created here or imported
  'unknown_validator', // the chain does not know one of them: whose it is cannot be told
  'not_withdrawal_address', // of one of them
] as const
export type ExitCallFault = (typeof EXIT_CALL_FAULTS)[number]

/** Why a validator of a call that counts is left as it is. */
export const PASSED_OVER = [
  'already_exiting',
  'not_deposited',
  'key_not_in_vault',
  'key_came_later', // it was imported after the call: who had it then was asked
  'no_account', // nobody has the validator today
] as const
export type PassedOver = (typeof PASSED_OVER)[number]

/** Why nothing is done that was asked of exits. */
export const EXIT_FAULTS = [
  'unknown_validator', // the account does not have it today
  'key_not_in_vault',
  'not_deposited',
  'exit_not_requested', // there is nothing to cancel
  'exit_already_signed', // what is signed cannot be taken back
  'already_exiting', // to be cancelled, and the chain has fixed its exit epoch, by whatever way it leaves
] as const
export type ExitFault = (typeof EXIT_FAULTS)[number]
