import type { ExitCallFault, PassedOver } from '../../../schemas/exit-reasons.ts'

/** A validator that a withdrawal address wants to exit, as it is seen. */
export interface CalledValidator {
  readonly pubkey: string
  /** 32 bytes, lower-case hex; undefined where neither the chain nor this log knows them. */
  readonly withdrawalCredentials: string | undefined
  /** `later`: it was imported after the call. */
  readonly key: 'here' | 'later' | 'none'
  readonly isDeposited: boolean
  /** The chain has its exit, or it is signed. */
  readonly isExiting: boolean
  /** Who has it today; undefined for nobody. */
  readonly account: string | undefined
}

export type CallJudgement =
  | {
      readonly status: 'taken'
      /** By account. */
      readonly exits: ReadonlyMap<string, readonly string[]>
      readonly passedOver: ReadonlyMap<PassedOver, readonly string[]>
    }
  | { readonly status: 'ignored'; readonly reason: ExitCallFault; readonly pubkey?: string }

const ETH1 = '0x01'
const COMPOUNDING = '0x02'

/** Whether these withdrawal credentials pay an address (lower-case hex). */
export function paysTo(withdrawalCredentials: string, address: string): boolean {
  const type = withdrawalCredentials.slice(0, ETH1.length)
  return (type === ETH1 || type === COMPOUNDING) && withdrawalCredentials.slice(-40) === address.slice(2)
}

/**
 * What becomes of a call for exits: nothing unless all of the validators are the sender's own; of those the ones that can exit are asked
 * to, and the others are named with the reason.
 */
export function judgeCall(withdrawalAddress: string, validators: readonly CalledValidator[]): CallJudgement {
  if (validators.every(({ key }) => key === 'none')) return { status: 'ignored', reason: 'no_validators_here' }
  for (const { pubkey, withdrawalCredentials } of validators) {
    if (withdrawalCredentials === undefined) return { status: 'ignored', reason: 'unknown_validator', pubkey }
    if (!paysTo(withdrawalCredentials, withdrawalAddress))
      return { status: 'ignored', reason: 'not_withdrawal_address', pubkey }
  }
  const exits = new Map<string, string[]>()
  const passedOver = new Map<PassedOver, string[]>()
  for (const validator of validators) {
    const { pubkey, account } = validator
    const reason = reasonToPass(validator)
    if (reason !== undefined || account === undefined) listIn(passedOver, reason ?? 'no_account').push(pubkey)
    else listIn(exits, account).push(pubkey)
  }
  return { status: 'taken', exits, passedOver }
}

/** The list of a key, made when it is missing. */
function listIn<Key>(lists: Map<Key, string[]>, key: Key): string[] {
  const list = lists.get(key) ?? []
  lists.set(key, list)
  return list
}

function reasonToPass({ isExiting, key, isDeposited }: CalledValidator): PassedOver | undefined {
  if (isExiting) return 'already_exiting'
  if (key !== 'here') return key === 'later' ? 'key_came_later' : 'key_not_in_vault'
  return isDeposited ? undefined : 'not_deposited'
}
