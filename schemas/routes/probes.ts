import { type Static, Type } from 'typebox'

/** Answer of GET /health: the process lives and answers. */
export const HealthAnswer = Type.Object({ status: Type.Literal('ok') }, { additionalProperties: false })
export type HealthAnswer = Static<typeof HealthAnswer>

/** Answer of GET /ready: 200 with `ready`, 503 with `not_ready`; the figures are those of the moment. */
export const ReadyAnswer = Type.Object(
  {
    status: Type.Enum(['ready', 'not_ready']),
    head_slot: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
    last_finalized_epoch: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
      description: 'Newest finalized epoch of which everything is in the warehouse.',
    }),
    lag: Type.Record(Type.String(), Type.Integer({ minimum: 0 }), {
      description: 'Events that each consumer group has not processed yet.',
    }),
    checks: Type.Record(Type.String(), Type.Boolean(), { description: 'Ready when all are true.' }),
  },
  { additionalProperties: false },
)
export type ReadyAnswer = Static<typeof ReadyAnswer>
