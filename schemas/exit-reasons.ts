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
export type ExitFailure = (typeof EXIT_FAILURES)[number]

/** Why nothing is done that was asked of exits. */
export const EXIT_FAULTS = [
  'unknown_validator', // the account does not have it today
  'key_not_in_vault',
  'not_deposited',
  'exit_not_requested', // there is nothing to cancel
  'exit_already_signed', // what is signed cannot be taken back
] as const
export type ExitFault = (typeof EXIT_FAULTS)[number]
