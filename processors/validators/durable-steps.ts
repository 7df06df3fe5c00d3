import { tracingChannel } from 'node:diagnostics_channel'

/**
 * What lasts of creating, broadcasting and exiting, in the order in which it comes. Killed before a step, the process leaves what the
 * step before has left; killed after it, what the step says, whoever has been told of it.
 */
export const DURABLE_STEPS = {
  create: [
    /** The vault has the keys with the answer. */
    'create-sealed',
    /** The log has `account.validators-created`. */
    'create-told',
  ],
  broadcast: [
    /** The log has `account.keys-assigned`: which validator client the keys are for. */
    'broadcast-assigned',
    /** The client has the keystores. */
    'broadcast-given',
    /** The log has `account.keys-taken`, and the client is given them no more. */
    'broadcast-taken',
    /** The log has `account.staking-broadcast` with the raw transaction. */
    'broadcast-told',
    /** The nodes were given it, for the first time or again. */
    'broadcast-sent',
    /** The log has `account.staking-ended`. */
    'broadcast-ended',
  ],
  exit: [
    /** The log has `account.exit-requested`. */
    'exit-requested',
    /** The log has what a call to the exit-request contract asks for, and what became of the call. */
    'exit-called',
    /** The log has `account.exit-cancelled`: only before it is signed. */
    'exit-cancelled',
    /** The log has `account.exit-signed`, and no node has seen it. */
    'exit-signed',
    /** The nodes were given it, for the first time or again. */
    'exit-handed',
    /** The log has `account.exit-submitted`. */
    'exit-submitted',
    /** The log has `account.exit-ended`. */
    'exit-ended',
  ],
} as const

export type DurableStep = (typeof DURABLE_STEPS)[keyof typeof DURABLE_STEPS][number]

/** Tells of the steps within this process, by their names alone (node:diagnostics_channel): nobody listens but tests that kill it. */
export const STEP_CHANNEL = 'epochline:durable-step'

const channel = tracingChannel<string, { readonly step: DurableStep }>(STEP_CHANNEL)

/** Does a step, and rejects as it does. */
export function durably<Result>(step: DurableStep, work: () => Promise<Result>): Promise<Result> {
  return channel.tracePromise(work, { step })
}
