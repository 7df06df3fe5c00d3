import { beacon, type Fault, LOST, OFTEN, type TrueChain, VERY_OFTEN, WAITS } from './fault.ts'
import {
  changed,
  half,
  html,
  ofAttestationRewards,
  ofBalances,
  ofBlocksBySlot,
  ofIdentities,
  ofPendingDeposits,
  ofProposerRewards,
  ofQuestions,
  ofStates,
  ofSyncCommittees,
  ofSyncRewards,
  rows,
  status,
} from './replies.ts'

const ANOTHER_BLOCK = '/eth/v2/beacon/blocks/50'
const NONE = () => []
const withoutEnd = <Row>(all: readonly Row[]) => all.slice(0, -5)

/** Faults of a node that answers, wrongly. */
export function wrongAnswers({ joiner }: TrueChain): readonly Fault[] {
  return [
    beacon('200 without a validator for a state', [{ of: ofStates, times: 2, reply: rows(NONE) }], /lack validator 0/),
    beacon(
      '200 with validators of a state cut from the end',
      [{ of: ofStates, times: 2, reply: rows(withoutEnd) }],
      /lack validator/,
    ),
    beacon('200 without a balance', [{ of: ofBalances, times: 2, reply: rows(NONE) }], /lack validator 0/),
    beacon(
      '200 with balances cut from the end',
      [{ of: ofBalances, times: 2, reply: rows(withoutEnd) }],
      /lack validator/,
    ),
    beacon(
      '200 without an attestation reward',
      [
        {
          of: ofAttestationRewards,
          times: 2,
          reply: changed((answer) => ({ ...answer, data: rewards(NONE)(answer) })),
        },
      ],
      /lack validator 0/,
    ),
    beacon(
      '200 with attestation rewards cut from the end',
      [
        {
          of: ofAttestationRewards,
          times: 2,
          reply: changed((answer) => ({ ...answer, data: rewards(withoutEnd)(answer) })),
        },
      ],
      /lack validator/,
    ),
    beacon(
      'rewards of proposers that are too high',
      [
        {
          of: ofProposerRewards,
          times: OFTEN,
          reply: changed((answer) => ({ ...answer, data: moreOf(answer.data as Readonly<Record<string, string>>) })),
        },
      ],
      /did not explain their balances: asked again/,
    ),
    beacon('200 without a sync reward', [{ of: ofSyncRewards, times: 2, reply: rows(NONE) }], WAITS),
    beacon(
      'an empty sync committee',
      [
        {
          of: ofSyncCommittees,
          times: 6,
          reply: changed((answer) => ({ ...answer, data: { validators: [], validator_aggregates: [] } })),
        },
      ],
      /told a sync committee of 0 seats/,
    ),
    beacon(
      '200 without a pending deposit',
      [
        {
          of: ofPendingDeposits,
          times: OFTEN,
          reply: async (_, truth) => ({ ...(await truth()), body: new Uint8Array(0) }),
        },
      ],
      WAITS,
    ),
    beacon(
      '200 that knows none of the tracked keys',
      [{ of: ofIdentities, times: 1, reply: rows(NONE) }],
      /did not know 4[01] tracked validators/,
    ),
    beacon('half of the bytes of every answer', [{ of: ofQuestions, times: OFTEN, reply: half }], LOST),
    beacon('200 with HTML', [{ of: ofQuestions, times: OFTEN, reply: html }], LOST),
    beacon(
      '200 with HTML instead of states',
      [
        { of: ofStates, times: OFTEN, reply: html },
        { of: ofPendingDeposits, times: OFTEN, reply: html },
      ],
      LOST,
    ),
    beacon(
      '400 to a question about a validator that joined later',
      [
        {
          of: (asked) => ofAttestationRewards(asked) && asksTooEarly(asked, joiner),
          reply: status(
            400,
            `Validator index ${joiner.index} is too large. Maximum allowed index is ${joiner.index - 1}`,
          ),
        },
      ],
      /^$/,
    ),
    beacon(
      '404 for states that are final',
      [
        { of: ofStates, times: OFTEN, reply: status(404, 'State not found') },
        { of: ofPendingDeposits, times: OFTEN, reply: status(404, 'State not found') },
      ],
      /does not have the state of slot/,
    ),
    beacon(
      '404 for blocks that are there',
      [{ of: ofBlocksBySlot, times: OFTEN, reply: status(404, 'Block not found') }],
      /^/,
    ),
    beacon(
      'the block of another slot',
      [
        {
          of: (asked) => ofBlocksBySlot(asked) && asked.path !== ANOTHER_BLOCK,
          times: VERY_OFTEN,
          reply: (_, truth) => truth(ANOTHER_BLOCK),
        },
      ],
      WAITS,
    ),
    ...FLAGGED,
    beacon('400 to everything', [{ of: ofQuestions, times: 6, reply: status(400, 'Bad request') }], LOST),
  ]
}

const rewards =
  (change: (all: readonly object[]) => readonly object[]) =>
  ({ data }: Readonly<Record<string, unknown>>) => {
    const { ideal_rewards, total_rewards } = data as { ideal_rewards: object[]; total_rewards: object[] }
    return { ideal_rewards, total_rewards: change(total_rewards) }
  }

/** A gwei more than a proposer earned, in the parts and in their sum. */
function moreOf({ attestations, total, ...others }: Readonly<Record<string, string>>) {
  return { ...others, attestations: String(Number(attestations) + 1), total: String(Number(total) + 1) }
}

function asksTooEarly({ path, body }: { readonly path: string; readonly body: string }, joiner: TrueChain['joiner']) {
  const epoch = Number(path.split('/').at(-1))
  return epoch + 1 < joiner.epoch && (JSON.parse(body) as string[]).map(Number).includes(joiner.index)
}

/** Faults by what a node says of its own answer. */
const FLAGGED: readonly Fault[] = [
  beacon(
    'final states that it calls not final',
    // As Prysm says of every state; that the node holds the checkpoint's block proves them.
    [ofStates, ofBalances, ofAttestationRewards, ofSyncCommittees].map((of) => {
      return { of, reply: changed((answer) => ({ ...answer, finalized: false })) }
    }),
    /^$/,
  ),
  beacon(
    'states that it has not executed',
    [{ of: ofStates, times: OFTEN, reply: changed((answer) => ({ ...answer, execution_optimistic: true })) }],
    WAITS,
  ),
]
