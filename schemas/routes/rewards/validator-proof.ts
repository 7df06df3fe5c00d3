import { type Static, Type } from 'typebox'
import { BALANCE_EFFECT_KINDS } from '../../events/balance-effects.ts'
import { listEnvelopeOf } from '../envelope.ts'
import { AskedDate, AskedPubkey, Cursor, Limit, Page, PubkeyText, ValidatorIndex } from '../fields.ts'
import { defineRoute } from '../route.ts'
import { WholeDayLevel } from './day-level.ts'

const gweiText = (meaning: string) =>
  Type.String({ pattern: '^-?(0|[1-9][0-9]*)$', description: `${meaning} Gwei as decimal text.` })
const orNull = (gwei: ReturnType<typeof gweiText>) => Type.Union([gwei, Type.Null()])
const Slot = Type.Integer({ minimum: 0 })
const Root = Type.String({ pattern: '^0x[0-9a-f]{64}$' })

const ProofPoint = Type.Object(
  {
    slot: Type.Integer({ minimum: 0, description: 'The balance is that of the state after this slot, empty or not.' }),
    balance_gwei: Type.Union([gweiText('Balance on the consensus layer.'), Type.Null()], {
      description: 'Null where it is not known: the first epoch of a validator that was followed from the day on.',
    }),
    state_root: Type.Union([Root, Type.Null()], {
      description:
        'Root of that state, as it was computed of its bytes. Null where rewards were told by endpoints, and where a day begins or ends ' +
        'within an epoch: what came before and after in the epoch then leads from one state to the other.',
    }),
    block_slot: Type.Union([Slot, Type.Null()], { description: 'Of the last block up to the slot.' }),
    block_root: Type.Union([Root, Type.Null()], {
      description: 'Root of that block, which commits to the state after it: its `state_root`.',
    }),
  },
  { additionalProperties: false },
)
export type ProofPoint = Static<typeof ProofPoint>

const ProofEffect = Type.Object(
  {
    slot: Type.Integer({
      minimum: 0,
      description: 'Of the block; the first of the epoch for what its transition did.',
    }),
    kind: Type.Enum(['sync', 'proposer', ...BALANCE_EFFECT_KINDS], {
      description:
        '`sync` and `proposer` are components, and so are both penalties of a slashing; all others are capital flows.',
    }),
    reference: Type.String({
      description: 'Tells effects of one slot and kind apart, for example a withdrawal’s index.',
    }),
    amount_gwei: gweiText('Signed by the effect on the balance.'),
    block_root: Type.Union([Root, Type.Null()], { description: 'Of the slot’s block; null where it is empty.' }),
  },
  { additionalProperties: false },
)
export type ProofEffect = Static<typeof ProofEffect>

/** The identity: components + flows + residual = balance change. */
const sums = {
  components_gwei: gweiText('Sum of the components.'),
  flows_gwei: gweiText('Sum of the capital flows.'),
  balance_change_gwei: orNull(gweiText('`end` less `start`.')),
  residual_gwei: orNull(gweiText('What components and flows do not explain of the change.')),
}

const ProofEpoch = Type.Object(
  {
    epoch: Type.Integer({ minimum: 0 }),
    first_slot: Type.Integer({ minimum: 0, description: 'First slot of the epoch that lies in the day.' }),
    last_slot: Type.Integer({ minimum: 0, description: 'Last slot of the epoch that lies in the day.' }),
    level: Type.Enum(['agreed', 'anchored', 'unanchored', 'unexplained', 'reported'], {
      description:
        '`anchored`: computed of states before and after the epoch whose roots the chain’s blocks name; `agreed`: and another node names ' +
        'the same roots; `unanchored`: no block names one of them; `unexplained`: they leave a residual; `reported`: told by reward endpoints.',
    }),
    formulas: Type.Integer({ minimum: 0, description: 'Version of the formulas; 0 where endpoints told the figures.' }),
    start: ProofPoint,
    end: ProofPoint,
    has_transition: Type.Boolean({
      description:
        'Whether the transition into the epoch lies in the day: what it credits belongs to the epoch’s first slot.',
    }),
    source_gwei: gweiText('Credited by that transition for the attestation of two epochs before: its source.'),
    target_gwei: gweiText('Likewise, its target.'),
    head_gwei: gweiText('Likewise, its head.'),
    inactivity_gwei: gweiText('Likewise, the penalty while the chain is not final.'),
    effects: Type.Array(ProofEffect, { description: 'By ascending slot.' }),
    ...sums,
  },
  { additionalProperties: false },
)
export type ProofEpoch = Static<typeof ProofEpoch>

const DayProof = Type.Object(
  {
    pubkey: PubkeyText,
    validator_index: ValidatorIndex,
    date: Type.String({ format: 'date', description: 'UTC+8 day.' }),
    level: WholeDayLevel,
    is_withheld: Type.Boolean({ description: 'Whether other answers leave the day out, by its level.' }),
    start: ProofPoint,
    end: ProofPoint,
    source_gwei: gweiText('Components of the day: sums of those of its epochs.'),
    target_gwei: gweiText('Likewise.'),
    head_gwei: gweiText('Likewise.'),
    inactivity_gwei: gweiText('Likewise.'),
    sync_gwei: gweiText('Likewise.'),
    proposer_gwei: gweiText('Likewise.'),
    slashing_penalty_gwei: gweiText('Likewise, both penalties of a slashing.'),
    deposits_gwei: gweiText('Capital flows of the day.'),
    withdrawals_gwei: gweiText('Likewise.'),
    returned_from_queue_gwei: gweiText('Likewise.'),
    moved_to_queue_gwei: gweiText('Likewise.'),
    consolidations_in_gwei: gweiText('Likewise.'),
    consolidations_out_gwei: gweiText('Likewise.'),
    ...sums,
    cl_reward_gwei: gweiText('What is published: the components, and what a node has rounded away of them.'),
    epochs: Type.Array(ProofEpoch, { description: 'Those of the page, ascending.' }),
  },
  { additionalProperties: false },
)
export type DayProof = Static<typeof DayProof>

const point = (slot: number, balance: string, root: string | null): ProofPoint => ({
  slot,
  balance_gwei: balance,
  state_root: root,
  block_slot: slot,
  block_root: `0x${'b1'.repeat(32)}`,
})

export const validatorProof = defineRoute({
  id: 'getValidatorProof',
  method: 'GET',
  paths: ['/api/v1/validator/rewards/proof'],
  summary: 'How the income of one validator and day is calculated, epoch by epoch and slot by slot',
  description:
    'For a closed UTC+8 day on which the account has the validator: its balance before and after, with the blocks and states that name it, ' +
    'and each epoch with everything that changed it. In each epoch and in the day components + flows + residual = balance change. Days that ' +
    'other answers leave out are shown, too. `docs/recompute-a-day.mjs` computes the same of a node’s raw states and blocks. Epochs come in ' +
    'pages (a mainnet day lies in 226); sums are always of the day.',
  query: Type.Object({ pubkey: AskedPubkey, date: AskedDate, page: Page, limit: Limit, cursor: Cursor }),
  response: listEnvelopeOf(DayProof),
  refusals: ['400', '4001', '4002'],
  example: {
    code: '200',
    msg: 'Success',
    data: {
      ...{
        pubkey: `0x${'a1'.repeat(48)}`,
        validator_index: 21,
        date: '2023-07-01',
        level: 'anchored',
        is_withheld: false,
      },
      start: point(6_698_798, '32000000000', null),
      end: point(6_705_998, '32002700123', null),
      ...{ source_gwei: '610000', target_gwei: '1140000', head_gwei: '610000', inactivity_gwei: '0' },
      ...{ sync_gwei: '0', proposer_gwei: '340123', slashing_penalty_gwei: '0' },
      ...{ deposits_gwei: '0', withdrawals_gwei: '0', returned_from_queue_gwei: '0', moved_to_queue_gwei: '0' },
      ...{ consolidations_in_gwei: '0', consolidations_out_gwei: '0' },
      ...{ components_gwei: '2700123', flows_gwei: '0', balance_change_gwei: '2700123', residual_gwei: '0' },
      cl_reward_gwei: '2700123',
      epochs: [
        {
          ...{ epoch: 209_338, first_slot: 6_698_816, last_slot: 6_698_847, level: 'anchored', formulas: 1 },
          start: point(6_698_815, '32000000000', `0x${'5a'.repeat(32)}`),
          end: point(6_698_847, '32000350623', `0x${'5b'.repeat(32)}`),
          has_transition: true,
          ...{ source_gwei: '2711', target_gwei: '5067', head_gwei: '2722', inactivity_gwei: '0' },
          effects: [
            {
              ...{ slot: 6_698_820, kind: 'proposer', reference: '0', amount_gwei: '340123' },
              block_root: `0x${'b2'.repeat(32)}`,
            },
          ],
          ...{ components_gwei: '350623', flows_gwei: '0', balance_change_gwei: '350623', residual_gwei: '0' },
        },
      ],
    },
    pagination: { page: 1, limit: 1, total: 226 },
    next_cursor: 'q1TfQ0Zd0n3aQm3bMjA5MzM4',
  },
})
