import { SLOTS_PER_EPOCH } from '@lodestar/params'
import { getValidatorStatus, mapToGeneralStatus, type phase0 } from '@lodestar/types'
import { FAR_FUTURE_EPOCH_TEXT } from '../../../schemas/eth/far-future.ts'
import { hexOf } from '../../../schemas/eth/hex.ts'
import { VALIDATOR_STATUSES } from '../../../schemas/events/beacon-epoch.ts'
import type { SlotRecord } from '../consensus/history.ts'
import { BeaconApiError } from './api-error.ts'

/** What the Beacon API takes as a filter: statuses, and groups of them. */
const STATUSES: ReadonlySet<string> = new Set([...VALIDATOR_STATUSES, 'active', 'pending', 'exited', 'withdrawal'])

/** The registry's entries are shared between slots, so each one's text is made once. */
const validatorTexts = new WeakMap<phase0.Validator, string>()

function epochText(epoch: number): string {
  return Number.isFinite(epoch) ? String(epoch) : FAR_FUTURE_EPOCH_TEXT
}

function validatorText(validator: phase0.Validator): string {
  const known = validatorTexts.get(validator)
  if (known !== undefined) return known
  const text = JSON.stringify({
    pubkey: hexOf(validator.pubkey),
    withdrawal_credentials: hexOf(validator.withdrawalCredentials),
    effective_balance: String(validator.effectiveBalance),
    slashed: validator.slashed,
    activation_eligibility_epoch: epochText(validator.activationEligibilityEpoch),
    activation_epoch: epochText(validator.activationEpoch),
    exit_epoch: epochText(validator.exitEpoch),
    withdrawable_epoch: epochText(validator.withdrawableEpoch),
  })
  validatorTexts.set(validator, text)
  return text
}

export function checkStatuses(statuses: readonly string[]): void {
  const unknown = statuses.find((status) => !STATUSES.has(status))
  if (unknown !== undefined) throw new BeaconApiError(400, `Invalid validator status: ${unknown.slice(0, 80)}`)
}

/** The JSON list of /states/{state_id}/validators; `statuses` may be specific or general ones, none means all. */
export function validatorsText(record: SlotRecord, indices: readonly number[], statuses: readonly string[]): string {
  const epoch = Math.floor(record.slot / SLOTS_PER_EPOCH)
  const entries: string[] = []
  for (const index of indices) {
    const validator = record.registry[index] as phase0.Validator
    const status = getValidatorStatus(validator, epoch)
    if (statuses.length > 0 && !statuses.includes(status) && !statuses.includes(mapToGeneralStatus(status))) continue
    entries.push(
      `{"index":"${index}","balance":"${record.balances[index]}","status":"${status}","validator":${validatorText(validator)}}`,
    )
  }
  return `[${entries.join(',')}]`
}

/** The JSON list of /states/{state_id}/validator_balances. */
export function balancesText(record: SlotRecord, indices: readonly number[]): string {
  return `[${indices.map((index) => `{"index":"${index}","balance":"${record.balances[index]}"}`).join(',')}]`
}
