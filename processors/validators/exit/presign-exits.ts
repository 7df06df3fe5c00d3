import { randomUUID } from 'node:crypto'
import type { KeyKeeping } from '../../../infra/ports/key-keeping.ts'
import type { ExitToSign, KeyVault } from '../../../infra/ports/key-vault.ts'
import { dayOfInstant } from '../../../schemas/eth/time.ts'
import { voluntaryExitOf } from '../../../schemas/eth/voluntary-exit.ts'
import { exitsPresigned } from '../../../schemas/events/presigned-exits.ts'
import { type RecipientKey, thumbprintOf } from '../../../schemas/recipient-key.ts'
import { type ExitChain, type ExitCustody, exitEvent } from './exit-custody.ts'

/** The vault signs so many at once. */
const SIGNED_AT_ONCE = 100

export interface PresignTerms {
  readonly account: string
  /** Lower-case hex, each once. */
  readonly pubkeys: readonly string[]
  readonly recipient: RecipientKey
}

/** A signed exit for its recipient alone. */
export interface PresignedExit extends ExitToSign {
  /** Compact serialization; within is the body that a beacon node takes. */
  readonly jwe: string
}

export type PresignFault =
  | 'not_in_vault'
  /** The account does not have it today. */
  | 'of_nobody_or_another'
  /** The final registry does not know it: an exit names a validator by its index. */
  | 'not_registered'
  /** It has an index, and no epoch yet from which it may exit. */
  | 'not_active'

/** These cannot be signed for; nothing was signed. */
export interface PresignRefusal {
  readonly status: 'refused'
  readonly fault: PresignFault
  readonly pubkeys: readonly string[]
}

export type PresignOutcome = { readonly status: 'presigned'; readonly exits: readonly PresignedExit[] } | PresignRefusal

interface Presigning extends Pick<ExitCustody, 'writer' | 'book' | 'owners' | 'now'> {
  readonly vault: Pick<KeyVault, 'lacking'> & Pick<KeyKeeping, 'presignExits'>
}

/**
 * Signs exits for somebody to keep: each is the one exit that its validator ever signs (`voluntaryExitOf`), from the final registry. The
 * log has that they were handed out before they are. Throws AppError where no node answers, or the vault does not.
 */
export async function presignExits(
  custody: Presigning,
  exitChain: ExitChain,
  terms: PresignTerms,
): Promise<PresignOutcome> {
  const { vault, writer, book } = custody
  const { name: chain, exitNode } = exitChain
  const { account, pubkeys, recipient } = terms
  const checked = await exitsToPresign(custody, exitChain, terms)
  if (checked.status === 'refused') return checked
  const [facts, { exits }] = [await exitNode.facts(), checked]
  const encrypted: string[] = []
  for (let at = 0; at < exits.length; at += SIGNED_AT_ONCE) {
    const some = exits.slice(at, at + SIGNED_AT_ONCE)
    encrypted.push(...(await vault.presignExits(some, { chain, ...facts }, recipient)))
  }
  const data = { chain, account, recipient: thumbprintOf(recipient), pubkeys: [...pubkeys] }
  // Durable before anybody has them: whoever has one may use it in years.
  await book.tell(writer, [exitEvent(custody, exitsPresigned, { id: `${chain}:${randomUUID()}`, data })])
  return {
    status: 'presigned',
    exits: exits.map((exit, i) => {
      const jwe = encrypted[i]
      if (jwe === undefined) throw new Error('the key vault signs all or none')
      return { ...exit, jwe }
    }),
  }
}

interface Checking extends Pick<ExitCustody, 'owners' | 'now'> {
  readonly vault: Pick<KeyVault, 'lacking'>
}

/** What would be signed, of which nothing is: all of it, or why not. Throws AppError as `presignExits` does. */
export async function exitsToPresign(
  { vault, owners, now }: Checking,
  { name: chain, exitNode }: ExitChain,
  { account, pubkeys }: Pick<PresignTerms, 'account' | 'pubkeys'>,
): Promise<{ readonly status: 'possible'; readonly exits: readonly ExitToSign[] } | PresignRefusal> {
  const lacking = await vault.lacking(pubkeys)
  if (lacking.length > 0) return refused('not_in_vault', lacking)
  const strangers = await owners.strangersTo(account, { chain, pubkeys }, dayOfInstant(now() / 1_000))
  if (strangers.length > 0) return refused('of_nobody_or_another', strangers)
  const [facts, final] = await Promise.all([exitNode.facts(), exitNode.registered('finalized', pubkeys)])
  const unknown = pubkeys.filter((pubkey) => !final.has(pubkey))
  if (unknown.length > 0) return refused('not_registered', unknown)
  const exits = pubkeys.flatMap((pubkey): ExitToSign[] => {
    const { index, activationEpoch } = final.get(pubkey) ?? {}
    if (index === undefined || activationEpoch === undefined) return []
    return [{ pubkey, ...voluntaryExitOf({ index, activationEpoch }, facts.shardCommitteePeriodEpochs) }]
  })
  if (exits.length < pubkeys.length) {
    const dated = new Set(exits.map(({ pubkey }) => pubkey))
    return refused(
      'not_active',
      pubkeys.filter((pubkey) => !dated.has(pubkey)),
    )
  }
  return { status: 'possible', exits }
}

function refused(fault: PresignFault, pubkeys: readonly string[]): PresignRefusal {
  return { status: 'refused', fault, pubkeys }
}
