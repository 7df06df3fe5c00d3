import { AppError } from '../../schemas/errors.ts'
import { VALIDATOR_STATUSES, type ValidatorStatus } from '../../schemas/events/beacon-epoch.ts'

/** The name of a stored status code; throws AppError `warehouse` on a code that no version has written. */
export function toStatus(code: number): ValidatorStatus {
  const status = VALIDATOR_STATUSES[code]
  if (status === undefined) throw new AppError('warehouse', `validator_epochs holds the unknown status code ${code}.`)
  return status
}
