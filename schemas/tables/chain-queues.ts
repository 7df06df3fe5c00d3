import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/schema'
import { Clock, IntegerText, UInt } from '../events/fields.ts'

/** Waiting deposits of one public key, by the first 8 bytes of it (16 hex digits): amount and first epoch in which it is credited. */
const OwnDeposit = Type.Tuple([Type.String({ pattern: '^[0-9a-f]{16}$' }), IntegerText, UInt])

const EpochAtHead = Type.Union([UInt, Type.Null()])
/** Epochs of eligibility, activation, exit and withdrawal, as the head's state has them; null where it has not fixed one. */
const EpochsAtHead = Type.Tuple([EpochAtHead, EpochAtHead, EpochAtHead, EpochAtHead])
export type EpochsAtHead = Static<typeof EpochsAtHead>

/**
 * What estimates are made of: `facts` of the chain's row in `chain_queues`, as JSON. Its one reader wants all of it. Epochs of deposits
 * are `NEVER` where the queue does not come to them in EPOCHS_AHEAD_MAX.
 */
const QueueFacts = Type.Object({
  clock: Clock,
  slot: UInt,
  /** Epochs that finality is behind when an epoch ends; 1 where all is well. */
  finalityLag: UInt,
  seedLookahead: UInt,
  /** Between exit and withdrawable epoch. */
  exitDelayEpochs: UInt,
  /** For which a validator has to be active before it may exit. */
  serviceEpochs: UInt,
  minActivationGwei: IntegerText,
  deposits: Type.Object({
    own: Type.Array(OwnDeposit),
    /** First epoch with a deposit of the minimum that joins the queue now. */
    endEpoch: UInt,
    isCarryKnown: Type.Boolean(),
    isSampled: Type.Boolean(),
  }),
  exits: Type.Object({
    earliestEpoch: UInt,
    leftGwei: IntegerText,
    limitGwei: IntegerText,
    isExact: Type.Boolean(),
  }),
  sweep: Type.Object({
    position: UInt,
    registrySize: UInt,
    eligible: UInt,
    partials: UInt,
    perBlockMax: UInt,
    partialsPerBlockMax: UInt,
    examinedPerBlockMax: UInt,
  }),
  /** The accounts' validators that come or go, by the first 8 bytes of their keys; not there before they were told. */
  own: Type.Optional(Type.Record(Type.String(), EpochsAtHead)),
})
export type QueueFacts = Static<typeof QueueFacts>

const shape = Compile(QueueFacts)

/** Reads `facts`; they are those of a processor of this release, or a rebuild is due: throws otherwise. */
export function parseQueueFacts(text: string): QueueFacts {
  const value: unknown = JSON.parse(text)
  if (!shape.Check(value)) throw new Error('the facts of chain_queues do not have the shape of this release')
  return value as QueueFacts
}

export interface ChainQueuesRow {
  readonly chain: string
  readonly slot: string
  readonly facts: string
  readonly version: string
}
