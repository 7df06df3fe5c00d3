import { type Static, Type } from 'typebox'

/** Answer of GET /health: the process lives and answers. */
export const HealthAnswer = Type.Object({ status: Type.Literal('ok') }, { additionalProperties: false })
export type HealthAnswer = Static<typeof HealthAnswer>

/** A slot, an epoch or a block number, or how many; null before the first one. */
const reached = (description: string) => Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], { description })

const Checks = Type.Record(Type.String(), Type.Boolean(), { description: 'Ready when all are true.' })

/** How far a chain has come: with a beacon chain by slots and epochs, else by blocks. */
const ChainReady = Type.Union([
  Type.Object(
    {
      head_slot: reached('Newest slot that the head shows.'),
      head_lag_slots: reached('Slots that the chain’s clock is ahead of it.'),
      head_lag_seconds: reached('The same in seconds.'),
      last_finalized_epoch: reached('Newest finalized epoch of which everything is in the warehouse.'),
      finality_lag_epochs: reached('Epochs that the chain’s clock is ahead of it; about two are never final.'),
      finality_lag_seconds: reached('Seconds since its end.'),
      checks: Checks,
    },
    { additionalProperties: false },
  ),
  Type.Object(
    {
      head_block: reached('Newest block in the warehouse.'),
      head_lag_blocks: reached('Blocks that its node has beyond it; null where this process does not read the node.'),
      head_lag_seconds: reached('Age of the newest block.'),
      finalized_block: reached('Newest final block in the warehouse.'),
      checks: Checks,
    },
    { additionalProperties: false },
  ),
])

const stateFields = {
  state: Type.String({ description: 'One word, for example `answering` or `away`.' }),
  since: Type.Optional(Type.String({ format: 'date-time' })),
  fault: Type.Optional(Type.String({ description: 'What is wrong, in one sentence that names no address.' })),
}
const NodeReady = Type.Object(stateFields, { additionalProperties: false })

const UpstreamsReady = Type.Object(
  {
    well: Type.Integer({ minimum: 0, description: 'How many of the nodes are not left out.' }),
    nodes: Type.Record(
      Type.String(),
      Type.Object(
        {
          head: reached('Newest block that it has told; null while it does not answer, and on chains without blocks.'),
          fault: Type.Optional(Type.String({ description: 'Why it is left out; absent where it is not.' })),
          web_socket_fault: Type.Optional(
            Type.String({ description: 'Why nothing is asked over its WebSocket; absent where it has none, too.' }),
          ),
        },
        { additionalProperties: false },
      ),
      { description: 'By id, as the header X-Node-Id tells it; no address is told.' },
    ),
  },
  { additionalProperties: false },
)

const Missing = Type.Object(
  {
    count: Type.Integer({ minimum: 0 }),
    pubkeys: Type.Array(Type.String(), { description: 'Some of them, where there are many.' }),
  },
  {
    additionalProperties: false,
    description: 'Validators whose secret it lacks: they cannot be signed for, and must not be funded.',
  },
)
const VaultReady = Type.Object(
  {
    ...stateFields,
    told_at: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'When the process that has it last said so; absent where this process has it.',
      }),
    ),
    missing: Missing,
  },
  {
    additionalProperties: false,
    description:
      'The key vault, of whichever process has it: `answering`, `away` (which it is, too, when nothing was heard of it for minutes), or ' +
      '`stopped` by whoever runs it.',
  },
)

/** Answer of GET /ready: 200 with `ready`, 503 with `not_ready`; the figures are those of the moment. */
export const ReadyAnswer = Type.Object(
  {
    status: Type.Enum(['ready', 'not_ready'], { description: 'Ready when all checks of all chains are true.' }),
    head_slot: reached('That of the first chain with a beacon chain.'),
    last_finalized_epoch: reached('That of the first chain with a beacon chain.'),
    chains: Type.Record(Type.String(), ChainReady, { description: 'By name of the chain.' }),
    nodes: Type.Optional(Type.Record(Type.String(), NodeReady, { description: 'By name of the node.' })),
    upstreams: Type.Optional(
      Type.Record(Type.String(), UpstreamsReady, {
        description:
          'What the gateway sends calls to, by network, behind the id of the order whose nodes they are alone. Whether they are well is no ' +
          'check: other families go on without them.',
      }),
    ),
    vault: Type.Optional(VaultReady),
    lag: Type.Record(Type.String(), Type.Integer({ minimum: 0 }), {
      description: 'Events that each consumer group has not processed yet.',
    }),
    paused: Type.Array(Type.String(), { description: 'Chains that are not followed: nothing is asked of them.' }),
    reasons: Type.Array(Type.String(), { description: 'A sentence for each check that is false.' }),
    checks: Checks,
  },
  { additionalProperties: false },
)
export type ReadyAnswer = Static<typeof ReadyAnswer>
