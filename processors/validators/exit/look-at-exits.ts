import type { ExitFacts, Submission } from '../../../infra/ports/exit-node.ts'
import { hexOf } from '../../../schemas/eth/hex.ts'
import type { VoluntaryExit } from '../../../schemas/eth/voluntary-exit.ts'
import type { EncodedEvent } from '../../../schemas/events/codec.ts'
import { type ExitSigned, exitEnded, exitSigned, exitSubmitted } from '../../../schemas/events/exits.ts'
import { decideExit, type ExitTries } from './decide-exit.ts'
import type { OpenExit } from './exit-book.ts'
import { type ExitChain, type ExitCustody, exitEvent } from './exit-custody.ts'

/** The vault is busy for a tenth of a second: who creates validators meanwhile hardly feels it. */
const SIGNED_AT_ONCE = 25
/** Each goes to every node. */
const SUBMITTED_AT_ONCE = 16
/** Epochs after which an exit that was signed and is not on chain is told of, and again after as many: a node takes 16 a block. */
export const OVERDUE_EPOCHS = 16

const UNTRIED: ExitTries = { last: undefined, invalid: 0 }

/** What this process remembers of a chain's exits, beside the log. */
export class ExitMemory {
  readonly tries = new Map<string, ExitTries>()
  /** Epoch in which somebody was last told that the exit is overdue. */
  readonly told = new Map<string, number>()

  forget(pubkey: string): void {
    this.tries.delete(pubkey)
    this.told.delete(pubkey)
  }
}

interface Look {
  readonly chain: ExitChain
  readonly facts: ExitFacts
  readonly epoch: number
  readonly memory: ExitMemory
}

/**
 * Looks at a chain's open exits and does what each of them is ready for. The durable steps are: the log has `exit-signed` before any
 * node sees the exit, `exit-submitted` after the first has taken it, `exit-ended` when its end is final. A process that is killed between
 * two of them leaves what the next look does again: the same message, to nodes that may have it.
 */
export async function lookAtExits(custody: ExitCustody, chain: ExitChain, memory: ExitMemory): Promise<void> {
  const open = custody.book.exits.open(chain.name)
  if (open.length === 0) return
  const { exitNode } = chain
  const pubkeys = open.map(({ pubkey }) => pubkey)
  const [facts, epoch] = await Promise.all([exitNode.facts(), exitNode.headEpoch()])
  const [head, final] = await Promise.all([
    exitNode.registered('head', pubkeys),
    exitNode.registered('finalized', pubkeys),
  ])
  const look: Look = { chain, facts, epoch, memory }
  const decided = open.map((exit) => {
    const tries = memory.tries.get(exit.pubkey) ?? UNTRIED
    const seen = { head: head.get(exit.pubkey), final: final.get(exit.pubkey) }
    const action = decideExit(exit, {
      epoch,
      ...seen,
      shardCommitteePeriodEpochs: facts.shardCommitteePeriodEpochs,
      tries,
    })
    return { exit, action }
  })
  const ended = decided.flatMap(({ exit, action }) => (action.kind === 'end' ? [{ exit, end: action.end }] : []))
  await tellEnds(custody, look, ended)
  const ripe = decided.flatMap(({ exit, action }) =>
    action.kind === 'sign' ? [{ pubkey: exit.pubkey, message: action.message }] : [],
  )
  const due = decided.flatMap(({ exit, action }) => (action.kind === 'submit' ? [exit.pubkey] : []))
  for (const some of inParts(ripe, SIGNED_AT_ONCE)) due.push(...(await sign(custody, look, some)))
  for (const some of inParts(due, SUBMITTED_AT_ONCE)) await submit(custody, look, some)
  tellOverdue(custody, look)
}

type End = Extract<ReturnType<typeof decideExit>, { kind: 'end' }>['end']

async function tellEnds(
  custody: ExitCustody,
  { chain: { name: chain }, memory }: Look,
  ended: readonly { readonly exit: OpenExit; readonly end: End }[],
): Promise<void> {
  if (ended.length === 0) return
  const { book, writer, log, turns } = custody
  await turns.take(async () => {
    // Whoever cancelled meanwhile wins nothing by it, but has been told so.
    const still = ended.filter(({ exit }) => book.exits.of(chain, exit.pubkey)?.status === 'open')
    await book.tell(
      writer,
      still.map(({ exit: { pubkey }, end }) =>
        exitEvent(custody, exitEnded, { id: `${chain}:${pubkey}:${end.status}`, data: { chain, pubkey, end } }),
      ),
    )
  })
  for (const { exit, end } of ended) {
    const { pubkey, account } = exit
    memory.forget(pubkey)
    if (end.status === 'on_chain') log.info({ chain, account, pubkey, exitEpoch: end.exitEpoch }, 'an exit is final')
    else log.error({ chain, account, pubkey, reason: end.reason }, 'an exit has failed: it will not be tried again')
  }
}

/** Signs what is still wanted: the public keys whose exits the log has now. */
async function sign(
  custody: ExitCustody,
  { chain: { name: chain }, facts, epoch }: Look,
  ripe: readonly { readonly pubkey: string; readonly message: VoluntaryExit }[],
): Promise<readonly string[]> {
  const { vault, book, writer, log, turns } = custody
  return await turns.take(async () => {
    const wanted = ripe.filter(({ pubkey }) => book.exits.of(chain, pubkey)?.status === 'open')
    const lacking = new Set(await vault.lacking(wanted.map(({ pubkey }) => pubkey)))
    if (lacking.size > 0) {
      const fields = { chain, exits: lacking.size, pubkeys: [...lacking] }
      log.error(fields, 'exits cannot be signed: the key vault lacks their keys. Put its newest copy back')
    }
    const exits = wanted.flatMap(({ pubkey, message }) => (lacking.has(pubkey) ? [] : [{ pubkey, ...message }]))
    if (exits.length === 0) return []
    const signatures = await vault.signExits(exits, { chain, ...facts })
    const signed = exits.map((exit, i): ExitSigned => {
      const signature = signatures[i]
      if (signature === undefined) throw new Error('the key vault signs all or none')
      return { chain, ...exit, signature: hexOf(signature), headEpoch: epoch }
    })
    // Durable: nobody has seen these signatures, and from here on they cannot be taken back.
    await book.tell(
      writer,
      signed.map((data) => exitEvent(custody, exitSigned, { id: `${chain}:${data.pubkey}:${epoch}`, data })),
    )
    return exits.map(({ pubkey }) => pubkey)
  })
}

/** Hands exits to every node, and tells the log of those that a node has accepted for the first time. */
async function submit(custody: ExitCustody, look: Look, pubkeys: readonly string[]): Promise<void> {
  const { book, writer, log, turns } = custody
  const { epoch, memory } = look
  const { name: chain, exitNode } = look.chain
  const accepted = await Promise.all(
    pubkeys.map(async (pubkey) => {
      const standing = book.exits.of(chain, pubkey)
      if (standing?.status !== 'open' || standing.exit.signed === undefined) return []
      const submissions = await exitNode.submit(standing.exit.signed)
      const isAccepted = submissions.some(({ status }) => status === 'accepted')
      const invalid = isInvalid(submissions) ? (memory.tries.get(pubkey)?.invalid ?? 0) + 1 : 0
      memory.tries.set(pubkey, { last: { epoch, isAccepted }, invalid })
      if (!isAccepted) log.warn({ chain, pubkey, nodes: describe(submissions) }, 'no node has accepted an exit')
      return isAccepted && standing.exit.submittedInEpoch === undefined ? [pubkey] : []
    }),
  )
  const events: readonly EncodedEvent[] = accepted.flat().map((pubkey) =>
    exitEvent(custody, exitSubmitted, {
      id: `${chain}:${pubkey}:${epoch}`,
      data: { chain, pubkey, headEpoch: epoch },
    }),
  )
  if (events.length === 0) return
  // Killed before this, the next look hands them out again, and a pool that has them says so.
  await turns.take(() => book.tell(writer, events))
  log.info({ chain, exits: events.length }, 'exits were accepted by a node')
}

/** Whether all nodes have answered, and all of them that the signature is wrong. */
function isInvalid(submissions: readonly Submission[]): boolean {
  return submissions.every((one) => one.status === 'refused' && one.reason === 'invalid_signature')
}

/** What the nodes said, in their order. */
function describe(submissions: readonly Submission[]): readonly string[] {
  return submissions.map((one) => (one.status === 'refused' ? one.reason : one.status))
}

/** Pools forget and blocks are full: what does not come to an end is for somebody to look at. */
function tellOverdue({ book, log }: ExitCustody, { chain: { name: chain }, epoch, memory }: Look): void {
  for (const { pubkey, signed, submittedInEpoch } of book.exits.open(chain)) {
    if (signed === undefined) continue
    const since = memory.told.get(pubkey) ?? signed.headEpoch
    if (epoch - since < OVERDUE_EPOCHS) continue
    memory.told.set(pubkey, epoch)
    const epochs = epoch - signed.headEpoch
    const fields = { chain, pubkey, epochs, isAccepted: submittedInEpoch !== undefined }
    log.error(fields, `an exit was signed ${epochs} epochs ago and is not final: see whether the nodes take exits`)
  }
}

function inParts<Item>(items: readonly Item[], size: number): readonly (readonly Item[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size))
}
