import { expect, test } from 'vitest'
import { toSubmission } from '../../infra/beacon/exit-refusals.ts'

// Sentences of the clients' releases of 2026, as they wrap them, and of the devnet.
test.each([
  ['VOLUNTARY_EXIT_ERROR_ALREADY_EXISTS', 'accepted'],
  ['Exit is not the first one for validator 42.', 'accepted'],
  ['VOLUNTARY_EXIT_ERROR_INACTIVE', 'inactive'],
  ['Validator is not active', 'inactive'],
  ['non-active validator cannot exit', 'inactive'],
  ['Exit: validator not active', 'inactive'],
  ['invalid exit: Invalid(NotActive(42))', 'inactive'],
  ['VOLUNTARY_EXIT_ERROR_ALREADY_EXITED', 'already_exited'],
  ['validator with index 42 has already submitted an exit, which will take place at epoch: 9', 'already_exited'],
  ['Validator has already initiated exit', 'already_exited'],
  ['Exit: validator has exited', 'already_exited'],
  ['invalid exit: Invalid(AlreadyExited(42))', 'already_exited'],
  ['VOLUNTARY_EXIT_ERROR_EARLY_EPOCH', 'early_epoch'],
  ['Specified exit epoch is still in the future', 'early_epoch'],
  ['expected current epoch >= exit epoch, received 8 < 9', 'early_epoch'],
  ['Exit: exit epoch not passed', 'early_epoch'],
  ['invalid exit: Invalid(FutureEpoch { state: Epoch(1), exit: Epoch(2) })', 'early_epoch'],
  ['VOLUNTARY_EXIT_ERROR_SHORT_TIME_ACTIVE', 'short_time_active'],
  ['validator has not been active long enough to exit: 3 of 256 epochs.', 'short_time_active'],
  ['Validator has not been active long enough', 'short_time_active'],
  ['Exit: not in validator set long enough', 'short_time_active'],
  ['Invalid(TooYoungToExit { current_epoch: Epoch(1), earliest_exit_epoch: Epoch(2) })', 'short_time_active'],
  ['VOLUNTARY_EXIT_ERROR_PENDING_WITHDRAWALS', 'pending_withdrawals'],
  ['validator 42 must have no pending balance to withdraw', 'pending_withdrawals'],
  ['Exit: still has pending withdrawals', 'pending_withdrawals'],
  ['Invalid(PendingWithdrawalInQueue(42))', 'pending_withdrawals'],
  ['VOLUNTARY_EXIT_ERROR_INVALID_SIGNATURE', 'invalid_signature'],
  ['Signature is invalid', 'invalid_signature'],
  ['signature did not verify', 'invalid_signature'],
  ['Exit: invalid signature', 'invalid_signature'],
  ['Invalid(BadSignature)', 'invalid_signature'],
  ['Invalid voluntary exit: short_time_active', 'short_time_active'],
  ['the moon is in the wrong house', 'unknown'],
])('"%s" is %s', (sentence, expected) => {
  const found = toSubmission(`beacon node 1 refused POST /eth/v1/beacon/pool/voluntary_exits: HTTP 400 ${sentence}`)
  expect(found.status === 'accepted' ? 'accepted' : found.reason).toBe(expected)
})
