import { beacon, execution, type Fault, LOST, OFTEN } from './fault.ts'
import type { NodeFault } from './faulty-node.ts'
import { forkFrom } from './fork.ts'
import {
  changed,
  cut,
  half,
  html,
  ofAnything,
  ofChain,
  ofFinality,
  ofMethod,
  ofQuestions,
  ofSpec,
  ofStates,
  results,
  status,
  trickle,
} from './replies.ts'

/** In epoch 3: the checkpoint of epoch 2 is the newest that both branches have. */
const FORK_SLOT = 101
const FORK_FINAL_EPOCH = 2
/** On the other branch: one before that of the true chain. */
const OWN_FINAL_EPOCH = 5

/** Faults of a node that does not answer, or not in time. */
export const SILENT_NODES: readonly Fault[] = [
  beacon('500', [{ of: ofQuestions, times: OFTEN, reply: status(500, 'Internal error') }], LOST),
  beacon(
    '429 with Retry-After',
    [{ of: ofQuestions, times: 12, reply: status(429, 'Too many requests', { 'retry-after': '1' }) }],
    /asked for a pause of 1 s/,
  ),
  beacon('503, syncing', [{ of: ofQuestions, times: OFTEN, reply: status(503, 'Syncing') }], /is not ready: HTTP 503/),
  beacon('no answer to a question about a state', [{ of: ofStates, times: 2, reply: () => 'hang' }], LOST),
  beacon('no answer to anything', [{ of: ofQuestions, times: 3, reply: () => 'hang' }], LOST),
  beacon('a byte of the answer now and then', [{ of: ofStates, times: 2, reply: trickle }], /answers too slowly/),
  beacon('connections that break in the middle of an answer', [{ of: ofQuestions, times: OFTEN, reply: cut }], LOST),
  beacon('connections that break at once', [{ of: ofQuestions, times: OFTEN, reply: () => 'reset' }], LOST),
  {
    name: 'beacon node: dead, with a fallback',
    moment: 'past',
    beacon: [{ faults: [{ of: ofAnything, reply: () => 'reset' }] }, { faults: [] }],
    tells: LOST,
  },
  {
    name: 'beacon node: dies after it has told what is final, with a fallback on another branch',
    moment: 'past',
    beacon: [
      { faults: [{ of: (asked) => !ofChain(asked) && !ofFinality(asked), times: 90, reply: () => 'reset' }] },
      { faults: [forkFrom(FORK_SLOT, FORK_FINAL_EPOCH)] },
    ],
    tells: LOST,
  },
  {
    name: 'beacon node: dies when it has told what is final, with a fallback on another branch that has a finality of its own',
    moment: 'past',
    beacon: [
      { faults: [{ of: afterFinality(), times: 120, reply: () => 'reset' }] },
      { faults: [forkFrom(FORK_SLOT, OWN_FINAL_EPOCH)] },
    ],
    tells: /calls epoch 5 final, beacon node 1 has called \d so/,
  },
  {
    name: 'beacon node: 500 to questions about states, with a fallback of another chain',
    moment: 'past',
    beacon: [
      { faults: [{ of: ofStates, times: OFTEN, reply: status(500, 'Internal error') }] },
      {
        faults: [
          { of: ofSpec, reply: changed(({ data }) => ({ data: { ...(data as object), DEPOSIT_CHAIN_ID: '77' } })) },
        ],
      },
    ],
    tells: /beacon node 2 is lost: is on another chain \(deposit chain 77\)/,
  },
  {
    name: 'execution node: 500 to questions about blocks, with a fallback of another chain',
    moment: 'past',
    execution: [
      { faults: [{ of: ofMethod('eth_getBlockByHash'), times: OFTEN, reply: status(500, 'Internal error') }] },
      {
        faults: [
          {
            of: ofMethod('eth_chainId'),
            reply: results((result, method) => (method === 'eth_chainId' ? '0x4d' : result)),
          },
        ],
      },
    ],
    tells: /execution node 2 is lost: is on another chain/,
  },
  execution('500', [{ of: ofAnything, times: OFTEN, reply: status(500, 'Internal error') }], LOST),
  execution(
    '429 with Retry-After',
    [{ of: ofAnything, times: 12, reply: status(429, 'Too many requests', { 'retry-after': '1' }) }],
    /asked for a pause of 1 s/,
  ),
  execution('no answer', [{ of: ofAnything, times: 2, reply: () => 'hang' }], LOST),
  execution('a byte of the answer now and then', [{ of: ofAnything, times: 2, reply: trickle }], /answers too slowly/),
  execution('200 with HTML', [{ of: ofAnything, times: OFTEN, reply: html }], LOST),
  execution('half of the bytes of every answer', [{ of: ofAnything, times: OFTEN, reply: half }], LOST),
]

/** Every question, finality too, once head and epochs know what is final. */
function afterFinality(): NodeFault['of'] {
  let told = 0
  return (asked) => {
    if (ofFinality(asked)) told++
    return told > 2 && !ofChain(asked)
  }
}
