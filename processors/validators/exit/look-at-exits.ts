import type { Submission } from '../../../infra/ports/exit-node.ts'
import type { EncodedEvent } from '../../../schemas/events/codec.ts'
import { exitSubmitted } from '../../../schemas/events/exits.ts'
import { durably } from '../durable-steps.ts'
import { decideExit, type ExitTries } from './decide-exit.ts'
import { type ExitChain, type ExitCustody, exitEvent } from './exit-custody.ts'
import { type ExitMemory, endExits, type Look } from './exit-look.ts'
import { type RipeExit, signExits } from './sign-exits.ts'

/** The vault is busy for a tenth of a second: who creates validators meanwhile hardly feels it. */
const SIGNED_AT_ONCE = 25
/** Each goes to every node. */
const SUBMITTED_AT_ONCE = 16
/** Epochs after which an exit that was signed and is not on chain is told of, and again after as many: a node takes 16 a block. */
export const OVERDUE_EPOCHS = 16

const UNTRIED: ExitTries = { last: undefined, invalid: 0 }

/**
 * Looks at a chain's open exits and does what each of them is ready for. A process that is killed between two of the durable steps
 * leaves what the next look does again: the same message, to nodes that may have it.
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
  if (ended.length > 0) await custody.inTurn(() => endExits(custody, look, ended))
  // What is signed needs no vault: it goes on before the vault is asked for anything.
  await submit(
    custody,
    look,
    decided.flatMap(({ exit, action }) => (action.kind === 'submit' ? [exit.pubkey] : [])),
  )
  tellOverdue(custody, look)
  await signAndSubmit(
    custody,
    look,
    decided.flatMap(({ exit: { pubkey }, action }) =>
      action.kind === 'sign' ? [{ pubkey, message: action.message }] : [],
    ),
  )
}

/**
 * Those that could not be signed the last time come last, and a part of which the vault can sign none ends it until the next look: so
 * neither keeps others from being signed, nor does a vault that hangs keep the chain from being looked at.
 */
async function signAndSubmit(custody: ExitCustody, look: Look, ripe: readonly RipeExit[]): Promise<void> {
  const { unsigned } = look.memory
  const place = ({ pubkey }: RipeExit) => (unsigned.has(pubkey) ? 1 : 0)
  const inOrder = ripe.toSorted((a, b) => place(a) - place(b))
  for (const some of inParts(inOrder, SIGNED_AT_ONCE)) {
    const { signed, failed } = await signExits(custody, look, some)
    await submit(custody, look, signed)
    if (signed.length === 0 && failed.length > 0) return
  }
}

async function submit(custody: ExitCustody, look: Look, pubkeys: readonly string[]): Promise<void> {
  for (const some of inParts(pubkeys, SUBMITTED_AT_ONCE)) await submitPart(custody, look, some)
}

/** Hands exits to every node, and tells the log of those that a node has accepted for the first time. */
async function submitPart(custody: ExitCustody, look: Look, pubkeys: readonly string[]): Promise<void> {
  const { book, writer, log, inTurn } = custody
  const { epoch, memory } = look
  const { name: chain, exitNode } = look.chain
  const accepted = await Promise.all(
    pubkeys.map(async (pubkey) => {
      const standing = book.exits.of(chain, pubkey)
      if (standing?.status !== 'open' || standing.exit.signed === undefined) return []
      const { signed } = standing.exit
      const submissions = await durably('exit-handed', () => exitNode.submit(signed))
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
  await inTurn(() => durably('exit-submitted', () => book.tell(writer, events)))
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
