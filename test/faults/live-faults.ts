import { type Fault, LOST, type TrueChain, WAITS } from './fault.ts'
import type { ChangeEvents } from './faulty-node.ts'
import { json, ofBlocksByRoot, ofFinality, ofHead, status } from './replies.ts'

/** The node is away from the first of these slots to the last. */
const AWAY_FROM_SLOT = 205
const AWAY_TO_SLOT = 260
/** Pieces of the stream until it breaks off: each time at another event. */
const PIECES_PER_STREAM = 7

/** Faults of a node that is listened to while its chain grows. */
export const liveFaults = ({ headSlot }: TrueChain): readonly Fault[] => [
  {
    name: 'beacon node: an event stream that breaks off again and again',
    moment: 'live',
    beacon: [{ faults: [], changeEvents: breakingOff() }],
    tells: /^$/,
  },
  {
    name: 'beacon node: an event stream that announces blocks that are not there',
    moment: 'live',
    beacon: [{ faults: [], changeEvents: (text) => text.replace(/"block":"0x\w{8}/g, '"block":"0xdeadbeef') }],
    tells: WAITS,
  },
  {
    name: 'beacon node: an event stream that announces the same head for ever',
    moment: 'live',
    beacon: [{ faults: [], changeEvents: sameHead() }],
    tells: /^$/,
  },
  {
    name: 'beacon node: an event stream of garbage',
    moment: 'live',
    beacon: [{ faults: [], changeEvents: (text) => text.replace(/"slot":"\d+"/g, '"slot":"soon"') }],
    tells: /^$/,
  },
  {
    name: 'beacon node: restarted while the chain grows',
    moment: 'live',
    beacon: [
      { faults: [{ of: () => headSlot() > AWAY_FROM_SLOT && headSlot() < AWAY_TO_SLOT, reply: () => 'reset' }] },
    ],
    tells: LOST,
  },
  {
    name: 'beacon node: finality and head told wrong for a while',
    moment: 'live',
    beacon: [
      {
        faults: [
          { of: ofFinality, times: 3, reply: () => json(200, { data: {} }) },
          { of: ofHead, times: 3, reply: () => json(200, { data: [] }) },
          { of: ofBlocksByRoot, times: 9, reply: status(404, 'Block not found') },
        ],
      },
    ],
    tells: WAITS,
  },
]

function breakingOff(): ChangeEvents {
  let pieces = 0
  return (text) => (++pieces % PIECES_PER_STREAM === 0 ? undefined : text)
}

function sameHead(): ChangeEvents {
  let first: string | undefined
  return (text) => {
    if (!text.startsWith('event: head')) return text
    first ??= text
    return first
  }
}
