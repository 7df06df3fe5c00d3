import { type Static, Type } from 'typebox'
import { EXIT_FAILURES } from '../exit-reasons.ts'
import { ACCOUNT_PATTERN } from './accounts.ts'
import { jsonEvent } from './codec.ts'
import { Chain, Pubkey, UInt } from './fields.ts'

/** Validators that one request lets exit; one event stays under 200 kB. */
export const EXITED_MAX = 1_000

const Asked = Type.Object({
  chain: Chain,
  account: Type.String({ pattern: ACCOUNT_PATTERN }),
  /** Names the request: two events with one are the same. */
  requestId: Type.String({ pattern: '^[0-9a-f-]{36}$' }),
  /** Beginning of the hash of the token that asked; the transaction's hash where the withdrawal address did (`account.exit-call-read`). */
  actor: Type.String({ pattern: '^[0-9a-f]{1,64}$' }),
  pubkeys: Type.Array(Pubkey, { minItems: 1, maxItems: EXITED_MAX }),
})
export type ExitAsked = Static<typeof Asked>

const ExitSigned = Type.Object({
  chain: Chain,
  pubkey: Pubkey,
  validatorIndex: UInt,
  /** Of the message: it counts from then on. */
  epoch: UInt,
  signature: Type.String({ pattern: '^0x[0-9a-f]{192}$' }),
  /** The chain's epoch when it was signed. */
  headEpoch: UInt,
})
export type ExitSigned = Static<typeof ExitSigned>

const ExitSubmitted = Type.Object({ chain: Chain, pubkey: Pubkey, /** The chain's epoch then. */ headEpoch: UInt })
export type ExitSubmitted = Static<typeof ExitSubmitted>

const ExitEnded = Type.Object({
  chain: Chain,
  pubkey: Pubkey,
  end: Type.Union([
    /** Final: the validator's last epoch is the one before. */
    Type.Object({ status: Type.Literal('on_chain'), exitEpoch: UInt }),
    Type.Object({ status: Type.Literal('failed'), reason: Type.Enum([...EXIT_FAILURES]) }),
  ]),
})
export type ExitEnded = Static<typeof ExitEnded>

/**
 * An account wants validators to exit: an exit is open from here until it is cancelled or has ended. Key of all facts of exits:
 * `ACCOUNTS_KEY`; id `account.exit-requested:<chain>:<request id>`.
 */
export const exitRequested = jsonEvent({ name: 'account.exit-requested', version: 1, topic: 'accounts' }, Asked)

/** Exits that were not signed yet are no longer wanted; id `account.exit-cancelled:<chain>:<request id>`. */
export const exitCancelled = jsonEvent({ name: 'account.exit-cancelled', version: 1, topic: 'accounts' }, Asked)

/** The one exit that a validator signs; nobody has seen it before this. Id `account.exit-signed:<chain>:<pubkey>:<head epoch>`. */
export const exitSigned = jsonEvent({ name: 'account.exit-signed', version: 1, topic: 'accounts' }, ExitSigned)

/** A node has accepted it, for the first time; id `account.exit-submitted:<chain>:<pubkey>:<head epoch>`. */
export const exitSubmitted = jsonEvent({ name: 'account.exit-submitted', version: 1, topic: 'accounts' }, ExitSubmitted)

/** The exit is over; id `account.exit-ended:<chain>:<pubkey>:<status>`. */
export const exitEnded = jsonEvent({ name: 'account.exit-ended', version: 1, topic: 'accounts' }, ExitEnded)
