import type { Static } from 'typebox'
import { checksumAddress } from '../../schemas/eth/address.ts'
import { FAR_FUTURE_EPOCH_TEXT } from '../../schemas/eth/far-future.ts'
import { type ValidatorDetail, validatorDetails } from '../../schemas/routes/validators/validator-details.ts'
import type { UnfundedRules } from '../../schemas/validator-lifecycle.ts'
import { type ItemKey, pageOf } from '../http/cursor.ts'
import { answerList, inPieces, operation, type RequestScope } from '../http/operation.ts'
import { normalisePubkey } from '../http/pubkey-text.ts'
import { validatorLabels } from '../http/validator-labels.ts'
import { type Horizon, horizonOf } from '../rewards/horizon.ts'
import { type AccountValidator, accountValidators } from './account-validators.ts'
import { type ExitFlagsOf, exitFlags } from './exit-flags.ts'
import { earlyStatus } from './lifecycle.ts'
import { credentialsOf, feeRecipients } from './list-validators.ts'
import { queueFactsOf } from './queue-facts.ts'
import { type EstimatesAround, isExitAtHead, statusEstimates } from './status-estimates.ts'
import { sweptSlots } from './swept-slots.ts'
import { toStatus } from './validator-status.ts'

/** Credentials 0x01 and 0x02 end with the withdrawal address after eleven zero bytes. */
const ADDRESS_CREDENTIALS = /^0x0[12]0{22}([0-9a-f]{40})$/

export const validatorDetailsOperation = operation(
  validatorDetails,
  async ({ body }, scope) => {
    const { validators, around } = await askedValidators(body, scope)
    const page = pageOf(validators, {
      of: [validatorDetails.id, scope.chain, scope.account],
      query: body,
      keyOf,
      isBehind,
    })
    if (page.status === 'refused') return page
    return answerList(page.items.map(detailsAround(around)), page)
  },
  async ({ body }, scope) => {
    const { validators, around } = await askedValidators(body, scope)
    return { status: 'report', rows: inPieces(validators, detailsAround(around)) }
  },
)

/** Those that were created here come first, by when that was; the others by their index. */
function keyOf({ pubkey, created, registered }: AccountValidator): ItemKey {
  if (created !== undefined) return ['created', String(created.createdAtSec), pubkey]
  return ['tracked', String(registered?.validator_index)]
}

function isBehind(validator: AccountValidator, [kind, ...last]: ItemKey): boolean {
  const { pubkey, created, registered } = validator
  if (created === undefined) return kind === 'created' || Number(registered?.validator_index) < Number(last[0])
  const [sec, lastSec] = [created.createdAtSec, Number(last[0])]
  return kind === 'created' && (sec < lastSec || (sec === lastSec && pubkey > (last[1] ?? '')))
}

/** All that a question is about, in the order of the list, with what their details are made of. */
async function askedValidators(body: Static<NonNullable<typeof validatorDetails.body>>, scope: RequestScope) {
  const pubkeys = new Set(body.pubkeys.map(normalisePubkey))
  const credentials = new Set(body.withdrawal_address === undefined ? [] : credentialsOf(body.withdrawal_address))
  const horizon = await horizonOf(scope.standing)
  const [everybody, recipients, facts, swept, exitFlagsOf, labels] = await Promise.all([
    accountValidators(scope, horizon),
    horizon === undefined ? NOBODY : feeRecipients(scope),
    queueFactsOf(scope.standing),
    horizon === undefined ? NOBODY_SWEPT : sweptSlots(scope, horizon.epoch),
    exitFlags(scope),
    validatorLabels(scope),
  ])
  const validators = everybody.filter(
    (one) => isAmong(pubkeys, one.pubkey) && isAmong(credentials, one.withdrawalCredentials),
  )
  const exitingGwei = exitingBalance(everybody, { exitFlagsOf, facts })
  const rules = scope.unfundedRules
  const { network } = scope
  return { validators, around: { network, horizon, rules, recipients, facts, swept, exitFlagsOf, exitingGwei, labels } }
}

const NOBODY: ReadonlyMap<number, string> = new Map()
const NOBODY_SWEPT: ReadonlyMap<number, number> = new Map()

/** An empty filter lets everything through. */
function isAmong(wanted: ReadonlySet<string>, value: string): boolean {
  return wanted.size === 0 || wanted.has(value)
}

/** Of all whose exit was asked for and has no epoch yet, neither for good nor at the head, gwei. */
function exitingBalance(
  validators: readonly AccountValidator[],
  { exitFlagsOf, facts }: Pick<Around, 'exitFlagsOf' | 'facts'>,
): bigint {
  return validators.reduce((sum, { pubkey, registered }) => {
    if (registered === undefined || registered.exit_epoch !== FAR_FUTURE_EPOCH_TEXT) return sum
    if (isExitAtHead(pubkey, facts)) return sum
    const { isNeedExit, isPostExit } = exitFlagsOf(pubkey, false)
    return isNeedExit || isPostExit ? sum + BigInt(registered.effective_balance_gwei) : sum
  }, 0n)
}

interface Around extends EstimatesAround {
  readonly network: string
  readonly horizon: Horizon | undefined
  readonly rules: UnfundedRules
  /** Of each proposer's last finalized block, by index. */
  readonly recipients: ReadonlyMap<number, string>
  readonly exitFlagsOf: ExitFlagsOf
  /** By public key. */
  readonly labels: ReadonlyMap<string, string>
}

/** Many validators pay to the same addresses: the checksum of each is made once. */
function detailsAround(around: Around): (validator: AccountValidator) => ValidatorDetail {
  const written = new Map<string, string>()
  const toAddress = (address: string): string => {
    const known = written.get(address) ?? checksumAddress(address)
    written.set(address, known)
    return known
  }
  return (validator) => toDetail(validator, around, toAddress)
}

function toDetail(
  validator: AccountValidator,
  around: Around,
  toAddress: (address: string) => string,
): ValidatorDetail {
  const { pubkey, registered } = validator
  const exitEpoch = registered?.exit_epoch ?? FAR_FUTURE_EPOCH_TEXT
  const exit = around.exitFlagsOf(pubkey, exitEpoch !== FAR_FUTURE_EPOCH_TEXT)
  return {
    network: around.network,
    pubkey,
    ...addressesOf(validator, around.recipients, toAddress),
    status:
      registered === undefined ? earlyStatus(validator, around.horizon, around.rules) : toStatus(registered.status),
    slashed: registered?.slashed === 1,
    activation_epoch: registered?.activation_epoch ?? FAR_FUTURE_EPOCH_TEXT,
    exit_epoch: exitEpoch,
    withdrawable_epoch: registered?.withdrawable_epoch ?? FAR_FUTURE_EPOCH_TEXT,
    status_estimates: statusEstimates(
      {
        pubkey,
        registered,
        depositSlot: validator.failed === undefined ? validator.deposit?.slot : undefined,
        isNeedExit: exit.isNeedExit || exit.isPostExit,
      },
      around,
    ),
    is_need_exit: exit.isNeedExit,
    is_post_exit: exit.isPostExit,
    label: around.labels.get(pubkey) ?? '',
  }
}

/** Empty where they are not known. */
function addressesOf(
  { withdrawalCredentials, created, registered }: AccountValidator,
  recipients: ReadonlyMap<number, string>,
  toAddress: (address: string) => string,
) {
  const address = ADDRESS_CREDENTIALS.exec(withdrawalCredentials)?.[1]
  const paidTo = registered === undefined ? undefined : recipients.get(registered.validator_index)
  const feeRecipient = paidTo ?? created?.feeRecipient
  return {
    withdrawal_address: address === undefined ? '' : toAddress(`0x${address}`),
    withdrawal_credentials: withdrawalCredentials,
    fee_recipient_address: feeRecipient === undefined ? '' : toAddress(feeRecipient),
    // Of validators that were only tracked nobody has said who deposits.
    deposit_from_address: created === undefined ? '' : toAddress(created.depositFrom),
  }
}
