import type { KeyVault } from '../../../infra/ports/key-vault.ts'
import type { StakedValidator, UnstakeNode } from '../../../infra/ports/unstake-node.ts'
import { dayOfInstant } from '../../../schemas/eth/time.ts'
import type { StakingBook } from '../staking-book.ts'
import { type CalledValidator, paysTo } from './judge-call.ts'
import type { OwnersOnLog } from './owners-on-log.ts'

/** Exits that a withdrawal address wants, by a call that is final or that is going to be sent. */
export interface WantedExits {
  /** Lower-case hex. */
  readonly withdrawalAddress: string
  readonly calledFor: { readonly kind: 'listed'; readonly pubkeys: readonly string[] } | { readonly kind: 'all' }
  /** Unix seconds of the call's block: keys that are imported later were somebody else's when it was made. */
  readonly timeSec: number
  /** Number of the call's block: validators that are deposited later are not among `all`. */
  readonly blockNumber: number
  /** Number of the first block with the deposit of a validator that was created here, as far as anybody has seen it. */
  depositBlock(pubkey: string): number | undefined
  /** Of `all`, whether the validator of an imported key may pay the address: the registry is asked for no others. */
  mayPay(pubkey: string): boolean
  /** The registry that is believed. */
  readonly state: 'head' | 'finalized'
}

export interface CallViewing {
  readonly vault: Pick<KeyVault, 'lacking'>
  readonly book: StakingBook
  readonly owners: OwnersOnLog
  /** Unix milliseconds. */
  readonly now: () => number
}

export interface CallView {
  readonly validators: readonly CalledValidator[]
  /** Those of them that the registry knows. */
  readonly registered: ReadonlyMap<string, StakedValidator>
}

/**
 * Looks at the validators that are called for. Of a list that names none of ours no node is asked: anybody may send one. Throws AppError of
 * a node fault or of the vault.
 */
export async function viewCall(
  viewing: CallViewing,
  chain: { readonly name: string; readonly unstakeNode: UnstakeNode },
  wanted: WantedExits,
): Promise<CallView> {
  const { book, vault, owners, now } = viewing
  const isOurs = (pubkey: string) =>
    book.created.of(chain.name, pubkey) !== undefined || book.moved.importedSec(pubkey) !== undefined
  const { named, registered } = await lookUp(viewing, chain, wanted, isOurs)
  const ours = named.filter(isOurs)
  const lacking = new Set(ours.length === 0 ? [] : await vault.lacking(ours))
  const day = dayOfInstant(now() / 1_000)
  const accounts = await owners.ownersOf({ chain: chain.name, pubkeys: ours }, day)
  const validators = named.map((pubkey): CalledValidator => {
    const [found, created] = [registered.get(pubkey), book.created.of(chain.name, pubkey)]
    const standing = book.exits.of(chain.name, pubkey)
    const isLater = created === undefined && (book.moved.importedSec(pubkey) ?? 0) > wanted.timeSec
    const isHere = isOurs(pubkey) && !lacking.has(pubkey)
    return {
      pubkey,
      withdrawalCredentials: found?.withdrawalCredentials ?? created?.withdrawalCredentials,
      key: isHere ? (isLater ? 'later' : 'here') : 'none',
      isDeposited: found !== undefined || wanted.depositBlock(pubkey) !== undefined,
      isExiting: found?.exitEpoch !== undefined || (standing?.status === 'open' && standing.exit.signed !== undefined),
      account: accounts.get(pubkey),
    }
  })
  return { validators, registered }
}

/** The validators that are meant, and what the registry says of them. */
async function lookUp(
  { book }: CallViewing,
  { name, unstakeNode }: { readonly name: string; readonly unstakeNode: UnstakeNode },
  wanted: WantedExits,
  isOurs: (pubkey: string) => boolean,
): Promise<{ readonly named: readonly string[]; readonly registered: ReadonlyMap<string, StakedValidator> }> {
  const { calledFor, withdrawalAddress, state } = wanted
  if (calledFor.kind === 'listed') {
    const { pubkeys } = calledFor
    const isAsked = pubkeys.some(isOurs)
    return { named: pubkeys, registered: isAsked ? await unstakeNode.registered(pubkeys, state) : new Map() }
  }
  const created = book.created.payingTo(name, withdrawalAddress)
  const imported = book.moved
    .importedOf(name)
    .filter((pubkey) => book.created.of(name, pubkey) === undefined && wanted.mayPay(pubkey))
  const registered =
    created.length + imported.length === 0
      ? new Map<string, StakedValidator>()
      : await unstakeNode.registered([...created, ...imported], state)
  const isMeant = (pubkey: string): boolean => {
    const block = wanted.depositBlock(pubkey)
    return block === undefined ? registered.has(pubkey) : block <= wanted.blockNumber
  }
  const isPaid = (pubkey: string): boolean => {
    const found = registered.get(pubkey)
    const isInTime = (book.moved.importedSec(pubkey) ?? 0) <= wanted.timeSec
    return found !== undefined && isInTime && paysTo(found.withdrawalCredentials, withdrawalAddress)
  }
  return { named: [...created.filter(isMeant), ...imported.filter(isPaid)], registered }
}
