import type { StoredEvent } from '../../infra/ports/event-log.ts'
import { AppError } from '../../schemas/errors.ts'
import {
  feeRateSet,
  settlementCorrected,
  settlementsLocked,
  type TokenCreated,
  type TokenRevoked,
  tokenCreated,
  tokenRevoked,
} from '../../schemas/events/accounts.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { validatorsCreated } from '../../schemas/events/created-validators.ts'
import { exitCallRead } from '../../schemas/events/exit-calls.ts'
import { feeRecipientsTold } from '../../schemas/events/fee-recipients.ts'
import { settlementsKept } from '../../schemas/events/kept-settlements.ts'
import { orderExtended, orderMoved, orderPlaced } from '../../schemas/events/orders.ts'
import { exitsPresigned } from '../../schemas/events/presigned-exits.ts'
import { validatorLabelled } from '../../schemas/events/validator-labels.ts'
import { keysAssigned, keysExported, keysImported, keysTaken } from '../../schemas/events/vault-keys.ts'
import { webhookCreated, webhookRevoked } from '../../schemas/events/webhooks.ts'
import { NOBODY, type OwnershipFact, ownershipFact } from '../../schemas/ownership.ts'
import { toTokenLimitsRow, UNTOLD_SLOT } from '../../schemas/tables/accounts.ts'
import { storedSec } from '../../schemas/tables/stored-sec.ts'
import { constantColumn, type Projected, type TableRows, textColumn, versionOf } from '../loop/rows.ts'
import { projectExitCallEnd } from './exit-call-ends.ts'
import { projectExitSteps } from './exit-steps.ts'
import { projectFeeRecipients } from './fee-recipients.ts'
import { correctionRow, keptRows, lockRows } from './settlement-facts.ts'
import { projectStakingStep } from './staking-steps.ts'
import { projectLabels } from './validator-labels.ts'

/** What one event of `accounts` becomes. */
export function projectAccountFact(stored: StoredEvent, unnamedChain: string): Projected {
  const version = versionOf(stored.position)
  switch (stored.event.type) {
    case tokenCreated.name: {
      return { rows: [tokenRow(decodeEvent(tokenCreated, stored.event), version)] }
    }
    case tokenRevoked.name: {
      const { tokenHash } = decodeEvent(tokenRevoked, stored.event)
      return { rows: [tokenRow({ tokenHash }, version)] }
    }
    case feeRateSet.name: {
      const { account, rate, effectiveFrom } = decodeEvent(feeRateSet, stored.event)
      const columns = {
        account: [account],
        effective_from: Uint32Array.of(storedSec(Date.parse(effectiveFrom) / 1000)),
        rate: [rate],
        version: BigUint64Array.of(version),
      }
      return { rows: [{ table: 'fee_rates', columns }], touched: { kind: 'account', account } }
    }
    case settlementCorrected.name:
      return { rows: [correctionRow(decodeEvent(settlementCorrected, stored.event), version)] }
    case settlementsKept.name:
      return { rows: [keptRows(decodeEvent(settlementsKept, stored.event), version)] }
    case settlementsLocked.name:
      return { rows: lockRows(decodeEvent(settlementsLocked, stored.event), version) }
    case keysExported.name:
      // Of what the vault's role does, and of no row.
      decodeEvent(keysExported, stored.event)
      return { rows: [] }
    case keysImported.name:
      decodeEvent(keysImported, stored.event)
      return { rows: [] }
    case exitsPresigned.name:
      decodeEvent(exitsPresigned, stored.event)
      return { rows: [] }
    case keysAssigned.name:
      decodeEvent(keysAssigned, stored.event)
      return { rows: [] }
    case keysTaken.name:
      decodeEvent(keysTaken, stored.event)
      return { rows: [] }
    case validatorsCreated.name:
      return projectCreated(stored, unnamedChain)
    case exitCallRead.name:
      return { rows: [projectExitCallEnd(stored)] }
    case webhookCreated.name:
      // Who is told what is for who tells it, and makes no row.
      decodeEvent(webhookCreated, stored.event)
      return { rows: [] }
    case webhookRevoked.name:
      decodeEvent(webhookRevoked, stored.event)
      return { rows: [] }
    case orderPlaced.name:
      // Who decides about orders has them in memory; what a key may is in the key.
      decodeEvent(orderPlaced, stored.event)
      return { rows: [] }
    case orderMoved.name:
      decodeEvent(orderMoved, stored.event)
      return { rows: [] }
    case orderExtended.name: {
      const { orderId, until } = decodeEvent(orderExtended, stored.event)
      const columns = { order_id: [orderId], until: [until], version: BigUint64Array.of(version) }
      return { rows: [{ table: 'order_ends', columns }] }
    }
    case validatorLabelled.name:
      return projectLabels(decodeEvent(validatorLabelled, stored.event), version)
    case feeRecipientsTold.name:
      return projectFeeRecipients(decodeEvent(feeRecipientsTold, stored.event), version)
    default: {
      const fact = ownershipFact(stored.event, unnamedChain)
      if (fact !== undefined) return projectOwnership(fact, version)
      const steps = projectExitSteps(stored) ?? projectStakingStep(stored)
      if (steps !== undefined) return { rows: [steps] }
      throw new AppError('undecodable', `unknown event type ${stored.event.type} among the account facts`)
    }
  }
}

/** A row each, whatever else is said of the validators: which row counts on a day is told by the days alone. */
function projectOwnership(fact: OwnershipFact, version: bigint): Projected {
  const { chain, pubkeys } = fact
  const account = fact.kind === 'owner' ? fact.point.account : fact.account
  const named = {
    account: textColumn(pubkeys.length, account),
    chain: textColumn(pubkeys.length, chain),
    pubkey: pubkeys,
    version: constantColumn(pubkeys.length, version),
  }
  if (fact.kind === 'watcher') {
    const columns = { ...named, is_deleted: new Uint8Array(pubkeys.length).fill(fact.isWatching ? 0 : 1) }
    return { rows: [{ table: 'watched_validators', columns }] }
  }
  const points = { ...named, from_day: new Uint16Array(pubkeys.length).fill(fact.point.fromDay) }
  const claims: readonly TableRows[] = account === NOBODY ? [] : [{ table: 'account_validators', columns: named }]
  // Whoever had them before is settled again as well.
  return {
    rows: [{ table: 'validator_owners', columns: points }, ...claims],
    touched: { kind: 'validators', chain, pubkeys, rows: { table: 'validator_owners', version } },
  }
}

/** Rows of what was made, beside those of whose it is. */
function projectCreated(stored: StoredEvent, unnamedChain: string): Projected {
  const created = decodeEvent(validatorsCreated, stored.event)
  const fact = ownershipFact(stored.event, unnamedChain)
  if (fact === undefined) throw new Error('who creates validators owns them')
  const version = versionOf(stored.position)
  const owned = projectOwnership(fact, version)
  const rows = created.pubkeys.length
  const columns = {
    chain: textColumn(rows, created.chain),
    pubkey: created.pubkeys,
    account: textColumn(rows, created.account),
    withdrawal_credentials: textColumn(rows, created.withdrawalCredentials),
    deposit_from: textColumn(rows, created.depositFrom),
    fee_recipient: textColumn(rows, created.feeRecipient),
    amount_gwei: constantColumn(rows, BigInt(created.amountGwei)),
    deposit_data_root: created.pubkeys.map((_, i) => created.depositDataRoots[i] ?? ''),
    created_at: new Uint32Array(rows).fill(storedSec(Date.parse(stored.event.time) / 1000)),
    created_at_slot: new BigInt64Array(rows).fill(BigInt(created.createdAtSlot ?? UNTOLD_SLOT)),
    version: constantColumn(rows, version),
  }
  // Where they are to be paid is theirs from now on.
  const { chain, pubkeys } = created
  const touched = { kind: 'proposers', chain, pubkeys, rows: { table: 'created_validators', version } } as const
  return { rows: [...owned.rows, { table: 'created_validators', columns }], touched }
}

/** The row of a token, or, of its hash alone, that it is revoked. */
function tokenRow(token: TokenCreated | TokenRevoked, version: bigint): TableRows {
  const created = 'account' in token ? token : undefined
  const limits = Object.entries(toTokenLimitsRow(created ?? { scopes: [] }))
  return {
    table: 'access_tokens',
    columns: {
      token_hash: [token.tokenHash],
      account: [created?.account ?? ''],
      name: [created?.name ?? ''],
      ...Object.fromEntries(limits.map(([column, text]) => [column, [text]])),
      version: BigUint64Array.of(version),
      is_deleted: Uint8Array.of(created === undefined ? 1 : 0),
    },
  }
}
