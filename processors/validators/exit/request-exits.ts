import { setTimeout as sleep } from 'node:timers/promises'
import { isNodeFault } from '../../../schemas/errors.ts'
import { dayOfInstant } from '../../../schemas/eth/time.ts'
import { exitCancelled, exitRequested } from '../../../schemas/events/exits.ts'
import type { ExitFault } from '../../../schemas/exit-reasons.ts'
import {
  EXIT_MS_MAX,
  type ExitValidatorsInput,
  type ExitValidatorsOutput,
} from '../../../schemas/jobs/exit-validators.ts'
import { isLate } from '../clocks.ts'
import { durably } from '../durable-steps.ts'
import type { ExitStanding } from './exit-book.ts'
import { type ExitChain, type ExitCustody, exitEvent } from './exit-custody.ts'

/** So long a cancelling waits for the registry: the rest of `EXIT_MS_MAX` is for its turn. */
const HEAD_MS_MAX = 5_000

type Refused = Extract<ExitValidatorsOutput, { status: 'refused' }>

/**
 * Takes a request for exits, or for cancelling them: all of it or nothing. What was done before is success; what the log was told is
 * done, whoever is killed afterwards.
 */
export async function takeExitRequest(
  custody: ExitCustody,
  chain: ExitChain,
  input: ExitValidatorsInput,
): Promise<ExitValidatorsOutput> {
  const { book, log, owners, now } = custody
  if (book.exits.hasRequest(input.requestId)) return { status: 'done' }
  // What waited for longer than its asker does costs the nodes nothing.
  if (isLate(custody, input.notAfterMs)) return { status: 'unavailable' }
  try {
    const [stranger] = await owners.strangersTo(input.account, input, dayOfInstant(now() / 1_000))
    if (stranger !== undefined) return refused('unknown_validator', stranger)
    return input.kind === 'cancel' ? await cancel(custody, chain, input) : await request(custody, chain, input)
  } catch (error) {
    if (!isNodeFault(error)) throw error
    log.warn({ chain: chain.name, reason: error.message }, 'exits could not be requested: no node could be asked')
    return { status: 'unavailable' }
  }
}

async function request(
  custody: ExitCustody,
  { exitNode }: ExitChain,
  input: ExitValidatorsInput,
): Promise<ExitValidatorsOutput> {
  const { vault, writer, book, log, inTurn } = custody
  const { chain, account, requestId, actor, pubkeys } = input
  const [lacking] = await vault.lacking(pubkeys)
  if (lacking !== undefined) return refused('key_not_in_vault', lacking)
  const [head, final] = await Promise.all([
    exitNode.registered('head', pubkeys),
    exitNode.registered('finalized', pubkeys),
  ])
  const deposited = new Set([...head.keys(), ...input.deposited])
  const lackingDeposit = pubkeys.find((pubkey) => !deposited.has(pubkey))
  if (lackingDeposit !== undefined) return refused('not_deposited', lackingDeposit)
  return await inTurn(async () => {
    if (isLate(custody, input.notAfterMs)) return { status: 'unavailable' }
    const wanted = pubkeys.filter(
      (pubkey) => final.get(pubkey)?.exitEpoch === undefined && !isUnderWay(book.exits.of(chain, pubkey), account),
    )
    if (isOvertaken(custody, input, wanted)) return { status: 'unavailable' }
    noteAsked(custody, input)
    if (wanted.length === 0) return { status: 'done' }
    const data = { chain, account, requestId, actor, pubkeys: wanted }
    // From here on they exit, unless they are cancelled before they are signed.
    const event = exitEvent(custody, exitRequested, { id: `${chain}:${requestId}`, data })
    await durably('exit-requested', () => book.tell(writer, [event]))
    log.info({ chain, account, exits: wanted.length }, 'exits were requested')
    return { status: 'done' }
  })
}

/** Whether asking again adds nothing. One that another account has scheduled and that is not signed would end unsigned. */
export function isUnderWay(standing: ExitStanding, account: string): boolean {
  return standing?.status === 'open' && (standing.exit.signed !== undefined || standing.exit.account === account)
}

async function cancel(
  custody: ExitCustody,
  { exitNode }: ExitChain,
  input: ExitValidatorsInput,
): Promise<ExitValidatorsOutput> {
  const { writer, book, log, inTurn } = custody
  const { chain, account, requestId, actor, pubkeys } = input
  const asked = exitNode.registered('head', pubkeys).catch(unlessUnanswered)
  const head = await Promise.race([asked, sleep(HEAD_MS_MAX, undefined, { ref: false })])
  return await inTurn(async () => {
    if (isLate(custody, input.notAfterMs)) return { status: 'unavailable' }
    for (const pubkey of pubkeys) {
      const isExiting = head?.get(pubkey)?.exitEpoch !== undefined
      const fault = cancelFault(book.exits.of(chain, pubkey), isExiting)
      if (fault !== undefined) return refused(fault, pubkey)
    }
    const wanted = pubkeys.filter((pubkey) => book.exits.of(chain, pubkey)?.status === 'open')
    if (head === undefined && wanted.length < pubkeys.length) return { status: 'unavailable' }
    if (isOvertaken(custody, input, wanted)) return { status: 'unavailable' }
    noteAsked(custody, input)
    if (wanted.length === 0) return { status: 'done' }
    const data = { chain, account, requestId, actor, pubkeys: wanted }
    const event = exitEvent(custody, exitCancelled, { id: `${chain}:${requestId}`, data })
    await durably('exit-cancelled', () => book.tell(writer, [event]))
    log.info({ chain, account, exits: wanted.length }, 'exits were cancelled')
    return { status: 'done' }
  })
}

/** Without a node an open exit can be taken back all the same, before a node is there again that it is handed to. */
function unlessUnanswered(error: unknown): undefined {
  if (!isNodeFault(error)) throw error
}

/** Why an exit cannot be cancelled; one that was cancelled before can, unless the validator exits otherwise. */
function cancelFault(standing: ExitStanding, isExiting: boolean): ExitFault | undefined {
  if (standing?.status === 'open' && standing.exit.signed !== undefined) return 'exit_already_signed'
  const end = standing?.status === 'ended' ? standing.end : undefined
  if (isExiting || end?.status === 'on_chain') return 'already_exiting'
  if (end?.status === 'failed' && end.reason !== 'another_account') return 'exit_already_signed'
  return standing === undefined || end !== undefined ? 'exit_not_requested' : undefined
}

/** Whether somebody may have been told the opposite after this was asked for: whoever still waits for it asks again. */
function isOvertaken(
  { asked, book }: ExitCustody,
  { chain, notAfterMs }: ExitValidatorsInput,
  wanted: readonly string[],
): boolean {
  const askedAtMs = notAfterMs - EXIT_MS_MAX
  return wanted.some((pubkey) => asked.isOvertaken(`${chain}:${pubkey}`, askedAtMs, book.exits.of(chain, pubkey)))
}

function noteAsked({ asked }: ExitCustody, { chain, pubkeys, notAfterMs }: ExitValidatorsInput): void {
  asked.note(
    pubkeys.map((pubkey) => `${chain}:${pubkey}`),
    notAfterMs - EXIT_MS_MAX,
  )
}

function refused(fault: ExitFault, pubkey: string): Refused {
  return { status: 'refused', fault, pubkey }
}
