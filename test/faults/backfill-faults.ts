import { type Fault, LOST, OFTEN, WAITS } from './fault.ts'
import {
  cut,
  ofAttestationRewards,
  ofBalances,
  ofBlocksByRoot,
  ofBlocksBySlot,
  ofMethod,
  ofPendingDeposits,
  ofQuestions,
  ofStates,
  results,
  rows,
  status,
} from './replies.ts'

/** Faults that a backfill meets: what it asks is the past, and nobody else reads it again. */
export const BACKFILL_FAULTS: readonly Fault[] = [
  {
    name: 'beacon node: answers of the past that are cut, denied and broken off in a backfill',
    moment: 'backfill',
    beacon: [
      {
        faults: [
          { of: ofStates, times: 2, reply: rows((all) => all.slice(0, -5)) },
          { of: ofBalances, times: 2, reply: rows(() => []) },
          { of: ofAttestationRewards, times: 4, reply: status(404, 'Not found') },
          { of: ofPendingDeposits, times: 4, reply: status(404, 'State not found') },
          { of: ofBlocksBySlot, times: OFTEN, reply: status(404, 'Block not found') },
          { of: ofBlocksByRoot, times: 4, reply: status(404, 'Block not found') },
          { of: ofQuestions, times: OFTEN, reply: cut },
        ],
      },
    ],
    tells: /the backfill of .* waits: /,
  },
  {
    name: 'beacon node: 500 to everything in a backfill',
    moment: 'backfill',
    beacon: [{ faults: [{ of: ofQuestions, times: OFTEN, reply: status(500, 'Internal error') }] }],
    tells: LOST,
  },
  {
    name: 'execution node: blocks that it does not have for a while in a backfill',
    moment: 'backfill',
    execution: [
      {
        faults: [
          {
            of: ofMethod('eth_getBlockByHash'),
            times: 4 * OFTEN, // 16 blocks are read side by side
            reply: results((result, method) => (method === 'eth_getBlockByHash' ? null : result)),
          },
        ],
      },
    ],
    tells: WAITS,
  },
]
