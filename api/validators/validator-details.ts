import { checksumAddress } from '../../schemas/eth/hex.ts'
import { type ChainClock, firstSlotOfEpoch, formatInstant, slotTimeSec } from '../../schemas/eth/time.ts'
import { type ValidatorDetail, validatorDetails } from '../../schemas/routes/validators/validator-details.ts'
import { answerPage, operation, pageOffset } from '../http/operation.ts'
import { horizonOf } from '../rewards/horizon.ts'
import { feeRecipients, type ListedValidator, listValidators } from './list-validators.ts'
import { toStatus } from './validator-status.ts'

/** FAR_FUTURE_EPOCH of the consensus specifications: not set. */
const EPOCH_NOT_SET = (1n << 64n) - 1n
/** Last instant that ISO 8601 writes with four digits of year. */
const INSTANT_SEC_MAX = 253_402_300_799
/** Credentials 0x01 and 0x02 end with the withdrawal address after eleven zero bytes. */
const ADDRESS_CREDENTIALS = /^0x0[12]0{22}([0-9a-f]{40})$/

export const validatorDetailsOperation = operation(validatorDetails, async ({ body }, scope) => {
  const horizon = await horizonOf(scope.standing)
  if (horizon === undefined) return answerPage([], { page: body.page, limit: body.limit, total: 0 })
  const listed = await listValidators(scope, horizon, {
    former: false,
    pubkeys: body.pubkeys.map(normalisePubkey),
    credentials: body.withdrawal_address === undefined ? [] : credentialsOf(body.withdrawal_address),
  })
  const offset = pageOffset(body)
  const rows = listed.toReversed().slice(offset, offset + body.limit)
  const recipients = await feeRecipients(scope)
  const data = rows.map((row) =>
    toDetail(row, {
      network: scope.network,
      clock: horizon.clock,
      feeRecipient: recipients.get(row.validator_index),
    }),
  )
  return answerPage(data, { page: body.page, limit: body.limit, total: listed.length })
})

function toDetail(
  row: ListedValidator,
  around: { readonly network: string; readonly clock: ChainClock; readonly feeRecipient: string | undefined },
): ValidatorDetail {
  const { network, clock, feeRecipient } = around
  const address = ADDRESS_CREDENTIALS.exec(row.withdrawal_credentials)?.[1]
  return {
    network,
    pubkey: row.pubkey,
    withdrawal_address: address === undefined ? '' : checksumAddress(`0x${address}`),
    withdrawal_credentials: row.withdrawal_credentials,
    fee_recipient_address: feeRecipient === undefined ? '' : checksumAddress(feeRecipient),
    // The depositor is known of validators that are created here; these were only tracked.
    deposit_from_address: '',
    status: toStatus(row.status),
    slashed: row.slashed === 1,
    activation_epoch: row.activation_epoch,
    exit_epoch: row.exit_epoch,
    withdrawable_epoch: row.withdrawable_epoch,
    status_estimates: {
      estimated_active_at: instantOfEpoch(clock, row.activation_epoch),
      estimated_exit_at: instantOfEpoch(clock, row.exit_epoch),
      estimated_withdrawal_at: instantOfEpoch(clock, row.withdrawable_epoch),
    },
    is_need_exit: false,
    is_post_exit: false,
  }
}

/** Start of an epoch given as text; null when it is not set. */
function instantOfEpoch(clock: ChainClock, epochText: string): string | null {
  if (BigInt(epochText) === EPOCH_NOT_SET) return null
  const instantSec = slotTimeSec(clock, firstSlotOfEpoch(clock, Number(epochText)))
  return instantSec > INSTANT_SEC_MAX ? null : formatInstant(instantSec)
}

function normalisePubkey(text: string): string {
  const lower = text.toLowerCase()
  return lower.startsWith('0x') ? lower : `0x${lower}`
}

function credentialsOf(address: string): string[] {
  const tail = `${'00'.repeat(11)}${address.slice(2).toLowerCase()}`
  return [`0x01${tail}`, `0x02${tail}`]
}
