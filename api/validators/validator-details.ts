import { checksumAddress } from '../../schemas/eth/hex.ts'
import {
  PROVISIONED,
  type ValidatorDetail,
  validatorDetails,
} from '../../schemas/routes/validators/validator-details.ts'
import { answerPage, operation, pageOffset } from '../http/operation.ts'
import { seenValidators } from '../http/seen-validators.ts'
import { horizonOf } from '../rewards/horizon.ts'
import { type CreatedValidator, createdValidators } from './created-validators.ts'
import { feeRecipients, type ListedValidator, listValidators } from './list-validators.ts'
import { queueFactsOf } from './queue-facts.ts'
import { statusEstimates } from './status-estimates.ts'
import { sweptSlots } from './swept-slots.ts'
import { toStatus } from './validator-status.ts'

/** FAR_FUTURE_EPOCH of the consensus specifications: not set. */
const EPOCH_NOT_SET = (1n << 64n) - 1n
/** Credentials 0x01 and 0x02 end with the withdrawal address after eleven zero bytes. */
const ADDRESS_CREDENTIALS = /^0x0[12]0{22}([0-9a-f]{40})$/

type Estimates = ValidatorDetail['status_estimates']

export const validatorDetailsOperation = operation(validatorDetails, async ({ body }, scope) => {
  const wanted = {
    pubkeys: body.pubkeys.map(normalisePubkey),
    credentials: body.withdrawal_address === undefined ? [] : credentialsOf(body.withdrawal_address),
  }
  const horizon = await horizonOf(scope.standing)
  const listed = horizon === undefined ? [] : await listValidators(scope, horizon, { former: false, ...wanted })
  const created = await createdValidators(scope)
  const registered = new Set((await seenValidators(scope)).registered.map(({ pubkey }) => pubkey))
  const provisioned = [...created.values()].filter(
    (one) =>
      !registered.has(one.pubkey) &&
      isAmong(wanted.pubkeys, one.pubkey) &&
      isAmong(wanted.credentials, one.withdrawalCredentials),
  )
  const offset = pageOffset(body)
  const page = [...provisioned, ...listed.toReversed()].slice(offset, offset + body.limit)
  const recipients = horizon === undefined ? NOBODY : await feeRecipients(scope)
  const facts = await queueFactsOf(scope.standing)
  const swept = horizon === undefined ? NOBODY_SWEPT : await sweptSlots(scope, horizon.epoch)
  const estimates = (pubkey: string, state: ListedValidator | undefined) =>
    statusEstimates({ pubkey, registered: state, depositSlot: undefined, isNeedExit: false }, { horizon, facts, swept })
  const data = page.map((one) => {
    if (!('validator_index' in one)) return toProvisioned(one, scope.network, estimates(one.pubkey, undefined))
    const feeRecipient = recipients.get(one.validator_index)
    return toDetail(one, {
      network: scope.network,
      estimates: estimates(one.pubkey, one),
      feeRecipient,
      created: created.get(one.pubkey),
    })
  })
  return answerPage(data, { page: body.page, limit: body.limit, total: provisioned.length + listed.length })
})

const NOBODY: ReadonlyMap<number, string> = new Map()
const NOBODY_SWEPT: ReadonlyMap<number, number> = new Map()

/** An empty filter lets everything through. */
function isAmong(wanted: readonly string[], value: string): boolean {
  return wanted.length === 0 || wanted.includes(value)
}

function toProvisioned(created: CreatedValidator, network: string, estimates: Estimates): ValidatorDetail {
  return {
    network,
    pubkey: created.pubkey,
    ...addressesOf(created.withdrawalCredentials, created, created.feeRecipient),
    status: PROVISIONED,
    slashed: false,
    activation_epoch: String(EPOCH_NOT_SET),
    exit_epoch: String(EPOCH_NOT_SET),
    withdrawable_epoch: String(EPOCH_NOT_SET),
    status_estimates: estimates,
    is_need_exit: false,
    is_post_exit: false,
  }
}

/** Empty where they are not known. */
function addressesOf(credentials: string, created: CreatedValidator | undefined, feeRecipient: string | undefined) {
  const address = ADDRESS_CREDENTIALS.exec(credentials)?.[1]
  return {
    withdrawal_address: address === undefined ? '' : checksumAddress(`0x${address}`),
    withdrawal_credentials: credentials,
    fee_recipient_address: feeRecipient === undefined ? '' : checksumAddress(feeRecipient),
    // Of validators that were only tracked nobody has said who deposits.
    deposit_from_address: created === undefined ? '' : checksumAddress(created.depositFrom),
  }
}

interface Around {
  readonly network: string
  readonly estimates: Estimates
  /** Of the last finalized block. */
  readonly feeRecipient: string | undefined
  readonly created: CreatedValidator | undefined
}

function toDetail(row: ListedValidator, { network, estimates, feeRecipient, created }: Around): ValidatorDetail {
  return {
    network,
    pubkey: row.pubkey,
    ...addressesOf(row.withdrawal_credentials, created, feeRecipient ?? created?.feeRecipient),
    status: toStatus(row.status),
    slashed: row.slashed === 1,
    activation_epoch: row.activation_epoch,
    exit_epoch: row.exit_epoch,
    withdrawable_epoch: row.withdrawable_epoch,
    status_estimates: estimates,
    is_need_exit: false,
    is_post_exit: false,
  }
}

function normalisePubkey(text: string): string {
  const lower = text.toLowerCase()
  return lower.startsWith('0x') ? lower : `0x${lower}`
}

function credentialsOf(address: string): string[] {
  const tail = `${'00'.repeat(11)}${address.slice(2).toLowerCase()}`
  return [`0x01${tail}`, `0x02${tail}`]
}
