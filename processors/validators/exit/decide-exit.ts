import type { RegisteredValidator } from '../../../infra/ports/exit-node.ts'
import { type VoluntaryExit, voluntaryExitOf } from '../../../schemas/eth/voluntary-exit.ts'
import type { ExitEnded } from '../../../schemas/events/exits.ts'
import type { OpenExit } from './exit-book.ts'

/** Epochs until an exit that a node has accepted is handed to the nodes again: their pools are in memory, and forget. */
export const RESUBMIT_EPOCHS = 4
/** Epochs until one that no node has accepted is. */
const RETRY_EPOCHS = 1
/** Looks at which every node has to call the signature invalid before it is believed: a sentence may be misread once. */
export const INVALID_LOOKS_MAX = 3

/** What was tried with an exit since this process has it; nothing of it has to survive. */
export interface ExitTries {
  /** The chain's epoch at the last try, and whether a node accepted it. */
  readonly last: { readonly epoch: number; readonly isAccepted: boolean } | undefined
  /** Tries in a row at which all nodes called the signature invalid. */
  readonly invalid: number
}

/** How an exit is seen at one look. */
export interface ExitView {
  /** The chain's. */
  readonly epoch: number
  /** Undefined where the registry does not know the validator. */
  readonly head: RegisteredValidator | undefined
  readonly final: RegisteredValidator | undefined
  readonly shardCommitteePeriodEpochs: number
  readonly tries: ExitTries
}

/** What is to be done about an exit. */
export type ExitAction =
  | { readonly kind: 'sign'; readonly message: VoluntaryExit }
  | { readonly kind: 'submit' }
  | { readonly kind: 'end'; readonly end: ExitEnded['end'] }
  | { readonly kind: 'wait'; readonly why: ExitWait }

export type ExitWait =
  /** The chain has yet to let it in, or to activate it for good. */
  | 'not_active'
  /** Active for less than SHARD_COMMITTEE_PERIOD. */
  | 'short_time_active'
  | 'in_pool'
  /** Exiting, and not final yet. */
  | 'exiting'

/**
 * What is done about an open exit at one look, from nothing but what is seen. What is signed follows from the final registry alone, so it
 * is the same at every look and in every process.
 */
export function decideExit({ signed }: Pick<OpenExit, 'signed'>, view: ExitView): ExitAction {
  const { epoch, head, final, shardCommitteePeriodEpochs, tries } = view
  if (final?.exitEpoch !== undefined) {
    return { kind: 'end', end: { status: 'on_chain', exitEpoch: final.exitEpoch } }
  }
  if (head?.exitEpoch !== undefined) return { kind: 'wait', why: 'exiting' }
  if (signed === undefined) {
    if (final?.activationEpoch === undefined) return { kind: 'wait', why: 'not_active' }
    const message = voluntaryExitOf({ ...final, activationEpoch: final.activationEpoch }, shardCommitteePeriodEpochs)
    return epoch < message.epoch ? { kind: 'wait', why: 'short_time_active' } : { kind: 'sign', message }
  }
  if (final !== undefined && final.index !== signed.validatorIndex) {
    return { kind: 'end', end: { status: 'failed', reason: 'another_validator' } }
  }
  if (tries.invalid >= INVALID_LOOKS_MAX) return { kind: 'end', end: { status: 'failed', reason: 'invalid_signature' } }
  return isDue(tries, epoch) ? { kind: 'submit' } : { kind: 'wait', why: 'in_pool' }
}

function isDue({ last }: ExitTries, epoch: number): boolean {
  return last === undefined || epoch - last.epoch >= (last.isAccepted ? RESUBMIT_EPOCHS : RETRY_EPOCHS)
}
