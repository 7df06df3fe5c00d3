import type { ExitTerms, ExitToSign, KeyVault } from '../../../infra/ports/key-vault.ts'
import { AppError } from '../../../schemas/errors.ts'
import { hexOf } from '../../../schemas/eth/hex.ts'
import { dayOfInstant } from '../../../schemas/eth/time.ts'
import type { VoluntaryExit } from '../../../schemas/eth/voluntary-exit.ts'
import { type ExitSigned, exitSigned } from '../../../schemas/events/exits.ts'
import { durably } from '../durable-steps.ts'
import type { OpenExit } from './exit-book.ts'
import { type ExitCustody, exitEvent } from './exit-custody.ts'
import { endExits, type Look } from './exit-look.ts'

/** An exit whose epoch has come. */
export interface RipeExit {
  readonly pubkey: string
  readonly message: VoluntaryExit
}

interface Signings {
  /** Public keys whose exits the log has from now on. */
  readonly signed: readonly string[]
  /** Those that the vault has the keys of and could not sign with. */
  readonly failed: readonly string[]
}

/** Signs what is still wanted by an account that still has the validator. Rejects where the vault tells nothing at all. */
export async function signExits(custody: ExitCustody, look: Look, ripe: readonly RipeExit[]): Promise<Signings> {
  const { vault, book, writer, log, inTurn } = custody
  const { facts, epoch, memory } = look
  const chain = look.chain.name
  return await inTurn(async () => {
    const wanted = await dropMoved(custody, look, ripe)
    const lacking = new Set(await vault.lacking(wanted.map(({ pubkey }) => pubkey)))
    if (lacking.size > 0) {
      const fields = { chain, exits: lacking.size, pubkeys: [...lacking] }
      log.error(fields, 'exits cannot be signed: the key vault lacks their keys. Put its newest copy back')
    }
    const exits = wanted.flatMap(({ pubkey, message }) => (lacking.has(pubkey) ? [] : [{ pubkey, ...message }]))
    if (exits.length === 0) return { signed: [], failed: [] }
    const attempts = await signEach(vault, exits, { chain, ...facts })
    const signed = attempts.flatMap(({ exit, outcome }): ExitSigned[] =>
      outcome instanceof AppError ? [] : [{ chain, ...exit, signature: hexOf(outcome), headEpoch: epoch }],
    )
    const events = signed.map((data) =>
      exitEvent(custody, exitSigned, { id: `${chain}:${data.pubkey}:${epoch}`, data }),
    )
    // Nobody has seen these signatures, and from here on they cannot be taken back.
    if (events.length > 0) await durably('exit-signed', () => book.tell(writer, events))
    for (const { pubkey } of signed) memory.unsigned.delete(pubkey)
    return { signed: signed.map(({ pubkey }) => pubkey), failed: tellFailed(custody, look, attempts) }
  })
}

/** Those that are open, of accounts that have the validator today: exits of others end, since nobody who may want them does. */
async function dropMoved(custody: ExitCustody, look: Look, ripe: readonly RipeExit[]): Promise<readonly RipeExit[]> {
  const { book, owners, now } = custody
  const chain = look.chain.name
  const open = ripe.flatMap(({ pubkey }): OpenExit[] => {
    const standing = book.exits.of(chain, pubkey)
    return standing?.status === 'open' ? [standing.exit] : []
  })
  const moved = new Set<string>()
  for (const [account, exits] of Map.groupBy(open, (exit) => exit.account)) {
    const asked = { chain, pubkeys: exits.map(({ pubkey }) => pubkey) }
    for (const pubkey of await owners.strangersTo(account, asked, dayOfInstant(now() / 1_000))) moved.add(pubkey)
  }
  const ended = open.filter(({ pubkey }) => moved.has(pubkey))
  if (ended.length > 0) {
    const end = { status: 'failed', reason: 'another_account' } as const
    await endExits(
      custody,
      look,
      ended.map((exit) => ({ exit, end })),
    )
  }
  const still = new Set(open.map(({ pubkey }) => pubkey).filter((pubkey) => !moved.has(pubkey)))
  return ripe.filter(({ pubkey }) => still.has(pubkey))
}

interface Attempt {
  readonly exit: ExitToSign
  /** The signature, or why there is none. */
  readonly outcome: Uint8Array | AppError
}

/** The vault signs all of a list or none: where it signs none of several, it is asked for each alone. */
async function signEach(vault: KeyVault, exits: readonly ExitToSign[], terms: ExitTerms): Promise<readonly Attempt[]> {
  try {
    const signatures = await vault.signExits(exits, terms)
    return exits.map((exit, i) => {
      const outcome = signatures[i]
      if (outcome === undefined) throw new Error('the key vault signs all or none')
      return { exit, outcome }
    })
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'key_vault') throw error
    const [exit] = exits
    if (exit !== undefined && exits.length === 1) return [{ exit, outcome: error }]
  }
  // At once: one after the other, a Web3Signer that hangs would keep who cancels waiting for minutes.
  return (await Promise.all(exits.map((exit) => signEach(vault, [exit], terms)))).flat()
}

/** Public keys of the attempts that failed. */
function tellFailed({ log }: ExitCustody, { chain, memory }: Look, attempts: readonly Attempt[]): readonly string[] {
  const failed = attempts.flatMap(({ exit: { pubkey }, outcome }) =>
    outcome instanceof AppError ? [{ pubkey, reason: outcome.message }] : [],
  )
  if (failed.length === 0) return []
  const pubkeys = failed.map(({ pubkey }) => pubkey)
  for (const pubkey of pubkeys) memory.unsigned.add(pubkey)
  const reasons = [...new Set(failed.map(({ reason }) => reason))]
  const fields = { chain: chain.name, exits: failed.length, pubkeys, reasons }
  log.error(fields, 'exits could not be signed, and are tried again: the reasons say what the key vault lacks')
  return pubkeys
}
