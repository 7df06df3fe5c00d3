import { type Static, Type } from 'typebox'
import { envelopeOf } from '../envelope.ts'
import { AskedPubkey, PubkeyText } from '../fields.ts'
import { defineRoute } from '../route.ts'

/** What may happen to a validator, in the order of its life. */
export const HISTORY_STEPS = [
  'created',
  'broadcast',
  'expired',
  'deposited',
  'deposit_finalized',
  'failed',
  'pending_initialized',
  'pending_queued',
  'active',
  'slashed',
  'exit_requested',
  'exit_cancelled',
  'exit_submitted',
  'exiting',
  'exited',
  'withdrawable',
  'swept',
] as const
export type HistoryStepName = (typeof HISTORY_STEPS)[number]

const HistoryStep = Type.Object(
  {
    step: Type.Enum([...HISTORY_STEPS]),
    time: Type.String({ format: 'date-time', description: 'ISO 8601 instant in UTC with milliseconds.' }),
    slot: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
      description:
        'The slot of that time; null where only the time is known: of requests and broadcasts, and of `created` at times.',
    }),
    is_exact: Type.Boolean({
      description:
        'False where the chain does not tell it: finality was reached, the failure seen, or the exit taken by a block of that epoch (`exiting`), ' +
        'at that time or later; or the validator was followed only later than it says.',
    }),
    block_number: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
      description: 'Execution block of the deposit, or of the staking transaction that was reverted.',
    }),
    transaction_hash: Type.Union([Type.String({ pattern: '^0x[0-9a-f]{64}$' }), Type.Null()], {
      description: 'Transaction that was broadcast, of the deposit, or that was reverted.',
    }),
  },
  { additionalProperties: false },
)
export type HistoryStep = Static<typeof HistoryStep>

const NO_TRANSACTION = { block_number: null, transaction_hash: null }

export const validatorHistory = defineRoute({
  id: 'getValidatorHistory',
  method: 'GET',
  paths: ['/api/v1/validator/history'],
  summary: 'What has happened to a validator, and when',
  description:
    'Steps that one of the account’s validators has taken up to the newest complete finalized epoch, the oldest first: from its creation here, ' +
    'the staking transactions that were sent here (`broadcast`) and its deposit, which a reorganisation may take back, to the withdrawal of its balance (`swept`); `expired` is one that waited for ' +
    'its deposit for too long, which a deposit ends all the same; `failed` is a staking transaction that a final block has reverted, ' +
    'whatever was sent after it, or a deposit that made no validator. Of exits that were asked for here the last request is told, the last ' +
    'cancelling, and when a node took the last one. Steps that nobody has followed ' +
    'are left out. Epochs begin with their first slot.',
  query: Type.Object({ pubkey: AskedPubkey }),
  csv: { row: HistoryStep },
  response: envelopeOf(
    Type.Object(
      { network: Type.String(), pubkey: PubkeyText, history: Type.Array(HistoryStep) },
      { additionalProperties: false },
    ),
  ),
  refusals: ['400'],
  example: {
    code: '200',
    msg: 'Success',
    data: {
      network: 'mainnet',
      pubkey: `0x${'a1'.repeat(48)}`,
      history: [
        { step: 'created', time: '2026-11-19T16:15:00.000Z', slot: 14_459, is_exact: true, ...NO_TRANSACTION },
        {
          step: 'deposited',
          time: '2026-11-19T16:23:12.000Z',
          slot: 14_500,
          is_exact: true,
          block_number: 14_321,
          transaction_hash: `0x${'d4'.repeat(32)}`,
        },
        {
          step: 'deposit_finalized',
          time: '2026-11-19T16:41:36.000Z',
          slot: 14_592,
          is_exact: false,
          ...NO_TRANSACTION,
        },
      ],
    },
  },
})
