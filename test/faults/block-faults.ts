import type { ExecutionSourceOptions } from '../../infra/execution/source.ts'
import { DEFAULT_LIMITS } from '../../infra/nodes/nodes.ts'
import { LOST, WAITS } from './fault.ts'
import type { NodeFault } from './faulty-node.ts'
import { cut, half, json, ofAnything, ofMethod, results, rpc, status } from './replies.ts'

/** What becomes of the chain while it is read. */
export interface Turn {
  /** Number of the last block that both branches have, and of the new head. */
  readonly from: number
  readonly to: number
  /** `reached`: when the log has the head of before; `asked`: when that was told once, whether it was read or not. */
  readonly when: 'reached' | 'asked'
  /** Nobody reads meanwhile: the process is down. */
  readonly isDown?: boolean
}

export interface BlockFault {
  readonly name: string
  /** What each node of the chain does wrong, main node first. */
  readonly nodes: readonly (readonly NodeFault[])[]
  readonly turns?: readonly Turn[]
  /** Block from which on the head is followed; those before come by a backfill, while it goes on. */
  readonly followedFrom?: number
  readonly rules?: Pick<ExecutionSourceOptions, 'check' | 'logsOnly'>
  /** Methods that no node knows. */
  readonly missing?: readonly string[]
  readonly tells: RegExp
}

/** The chain before its turns. */
export const BLOCKS = 110
/** Deep enough below for the deepest reorg. */
export const FINAL = 45
/** Blocks that are read side by side. */
export const CONCURRENCY = 8
/**
 * One more than all tries of the genesis block, of which nobody waits for anything, and of all blocks that are read side by side: the
 * first of them fails in all its tries, which is what an operator is told. A later one alone is read anew with the next blocks.
 */
const EVERY_TRY = 1 + (1 + CONCURRENCY) * DEFAULT_LIMITS.attemptsPerNode
/** Blocks before this one come by a backfill, where a fault has one. */
const FOLLOWED_FROM = 41

const LOGS_BLOOM = { check: 'bloom', logsOnly: true } as const
const LOGS_NONE = { check: 'none', logsOnly: true } as const
const ofReceipts = ofMethod('eth_getBlockReceipts')
const ofSingle = ofMethod('eth_getTransactionReceipt')
const ofLogs = ofMethod('eth_getLogs')
const ofBlocks = ofMethod('eth_getBlockByNumber', 'eth_getBlockByHash')

/** What passes when it is asked for again need not be told. */
const QUIET = /^/

type Json = Readonly<Record<string, unknown>>
type Rows = readonly Json[]
const resultOf = (wanted: string, change: (result: Rows) => unknown): NodeFault['reply'] =>
  results((result, method) => (method === wanted && Array.isArray(result) ? change(result) : result))
const receipts = (change: (result: Rows) => unknown) => resultOf('eth_getBlockReceipts', change)
const logs = (change: (result: Rows) => unknown) => resultOf('eth_getLogs', change)

/** Every nth of the questions, from the first one on. */
function everyNth(n: number, of: NodeFault['of'] = ofAnything): NodeFault['of'] {
  let count = 0
  return (asked) => of(asked) && count++ % n === 0
}

/** Nothing contradicts what a node calls final: a lie about that is believed. */
function isAboutBlocks(questions: Rows, { id }: Json): boolean {
  const { method, params } = questions.find((question) => question.id === id) ?? {}
  return String(method).startsWith('eth_getBlockBy') && !JSON.stringify(params).includes('finalized')
}

/** A node behind a balancer, some of whose replicas lack the newest blocks: for a while they are not there. */
const LAGGING: NodeFault['reply'] = rpc((answers, questions) =>
  answers.map((answer) => (isAboutBlocks(questions, answer) ? { ...answer, result: null } : answer)),
)

/** The answer that was given to the question before: a cache in between. */
function repeated(): NodeFault['reply'] {
  let before: unknown
  return rpc((answers, questions) =>
    answers.map((answer) => {
      if (!isAboutBlocks(questions, answer) || answer.result === null) return answer
      const result = before ?? answer.result
      before = answer.result
      return { ...answer, result }
    }),
  )
}

const SHORT: readonly BlockFault[] = [
  {
    name: 'null for receipts',
    nodes: [
      [{ of: ofReceipts, times: EVERY_TRY, reply: results((r, method) => (method.endsWith('Receipts') ? null : r)) }],
    ],
    tells: WAITS,
  },
  {
    name: 'a receipt less than transactions',
    nodes: [[{ of: ofReceipts, times: EVERY_TRY, reply: receipts((all) => all.slice(1)) }]],
    tells: LOST,
  },
  {
    name: 'receipts without logs',
    nodes: [[{ of: ofReceipts, times: EVERY_TRY, reply: receipts((all) => all.map((one) => ({ ...one, logs: [] }))) }]],
    tells: LOST,
  },
  {
    name: 'receipts without logs, where blooms are what is checked',
    rules: { check: 'bloom' },
    nodes: [[{ of: ofReceipts, times: EVERY_TRY, reply: receipts((all) => all.map((one) => ({ ...one, logs: [] }))) }]],
    tells: QUIET,
  },
  {
    name: 'single receipts that are missing',
    missing: ['eth_getBlockReceipts'],
    nodes: [[{ of: ofSingle, times: EVERY_TRY, reply: rpc((all) => all.map((one) => ({ ...one, result: null }))) }]],
    tells: QUIET,
  },
  {
    name: 'empty logs, where blooms are what is checked',
    rules: LOGS_BLOOM,
    nodes: [[{ of: ofLogs, times: EVERY_TRY, reply: logs(() => []) }]],
    tells: QUIET,
  },
  {
    name: 'empty logs, where nothing is checked',
    rules: LOGS_NONE,
    nodes: [[{ of: ofLogs, times: EVERY_TRY, reply: logs(() => []) }]],
    tells: QUIET,
  },
  {
    name: 'empty logs of every third block, and a second node',
    rules: LOGS_BLOOM,
    nodes: [[{ of: everyNth(3, ofLogs), reply: logs(() => []) }], []],
    tells: QUIET,
  },
  {
    name: 'logs of a transaction less',
    rules: LOGS_BLOOM,
    nodes: [[{ of: ofLogs, times: EVERY_TRY, reply: logs((all) => all.slice(3)) }]],
    tells: LOST,
  },
]

const DISORDERED: readonly BlockFault[] = [
  {
    name: 'receipts in another order',
    nodes: [[{ of: ofReceipts, times: EVERY_TRY, reply: receipts((all) => all.toReversed()) }]],
    tells: LOST,
  },
  {
    name: 'logs in another order',
    rules: LOGS_NONE,
    nodes: [[{ of: ofLogs, times: EVERY_TRY, reply: logs((all) => all.toReversed()) }]],
    tells: LOST,
  },
  {
    name: 'a log twice',
    rules: LOGS_NONE,
    nodes: [[{ of: ofLogs, times: EVERY_TRY, reply: logs((all) => [...all.slice(0, 1), ...all]) }]],
    tells: LOST,
  },
  {
    name: 'answers of a batch in another order',
    nodes: [[{ of: ofAnything, reply: rpc((answers) => answers.toReversed()) }]],
    tells: /^$/,
  },
  {
    name: 'blocks that were answered before',
    nodes: [[{ of: ofBlocks, times: EVERY_TRY, reply: repeated() }]],
    tells: WAITS,
  },
]

const HTTP: readonly BlockFault[] = [
  {
    name: 'HTTP 429 with Retry-After',
    nodes: [[{ of: everyNth(20), times: 3, reply: status(429, 'too many requests', { 'retry-after': '1' }) }]],
    tells: /asked for a pause/,
  },
  {
    name: 'HTTP 429 for every third question',
    nodes: [[{ of: everyNth(3), reply: status(429, 'slow down') }]],
    tells: QUIET,
  },
  {
    name: 'JSON-RPC error -32005 for every third question',
    nodes: [
      [
        {
          of: everyNth(3),
          reply: rpc((_, questions) =>
            questions.map(({ id }) => ({ jsonrpc: '2.0', id, error: { code: -32_005, message: 'limit exceeded' } })),
          ),
        },
      ],
    ],
    tells: QUIET,
  },
  { name: 'connections that break half-way', nodes: [[{ of: everyNth(3), reply: cut }]], tells: QUIET },
  { name: 'half of the bytes, as if they were all', nodes: [[{ of: everyNth(3), reply: half }]], tells: QUIET },
  {
    name: 'an error for the whole batch',
    nodes: [
      [
        {
          of: everyNth(3),
          reply: () => json(200, { jsonrpc: '2.0', id: null, error: { code: -32_000, message: 'response too large' } }),
        },
      ],
    ],
    tells: QUIET,
  },
]

const LAG: readonly BlockFault[] = [
  { name: 'a node that lags now and then', nodes: [[{ of: everyNth(2), reply: LAGGING }]], tells: QUIET },
  {
    name: 'a main node that has no block, and a second one',
    nodes: [[{ of: ofBlocks, reply: LAGGING }], []],
    tells: QUIET,
  },
]

const turn = (depth: number, when: Turn['when'] = 'reached', more: Partial<Turn> = {}): Turn => ({
  from: BLOCKS - depth,
  to: BLOCKS + 1,
  when,
  ...more,
})

const THREE: readonly Turn[] = [
  { from: BLOCKS - 2, to: BLOCKS + 1, when: 'asked' },
  { from: BLOCKS - 5, to: BLOCKS + 2, when: 'asked' },
  { from: BLOCKS - 1, to: BLOCKS + 3, when: 'asked' },
]

const REORGS: readonly BlockFault[] = [
  { name: 'a reorg of depth 1', nodes: [[]], turns: [turn(1)], tells: QUIET },
  { name: 'a reorg of depth 7', nodes: [[]], turns: [turn(7)], tells: /7 blocks deep/ },
  { name: 'a reorg of depth 60', nodes: [[]], turns: [turn(60)], tells: /60 blocks deep/ },
  {
    name: 'a reorg of depth 7 while the process is down',
    nodes: [[]],
    turns: [turn(7, 'reached', { isDown: true })],
    tells: /7 blocks deep/,
  },
  {
    name: 'a reorg of depth 60 while the process is down',
    nodes: [[]],
    turns: [turn(60, 'reached', { isDown: true })],
    tells: /60 blocks deep/,
  },
  { name: 'three reorgs, each while the one before is read', nodes: [[]], turns: THREE, tells: QUIET },
  {
    name: 'a reorg of depth 7 during a backfill',
    nodes: [[]],
    followedFrom: FOLLOWED_FROM,
    turns: [turn(7, 'asked')],
    tells: QUIET,
  },
  {
    name: 'a backfill from a node that answers short',
    nodes: [[{ of: everyNth(3, ofReceipts), reply: receipts((all) => all.slice(1)) }]],
    followedFrom: FOLLOWED_FROM,
    turns: [turn(7, 'asked')],
    tells: QUIET,
  },
  {
    name: 'a reorg of logs alone',
    nodes: [[{ of: everyNth(4, ofLogs), reply: logs(() => []) }]],
    rules: LOGS_BLOOM,
    turns: [turn(7), { from: BLOCKS - 3, to: BLOCKS + 3, when: 'asked' }],
    tells: QUIET,
  },
  {
    name: 'all of it at once',
    nodes: [
      [
        { of: everyNth(11), reply: cut },
        { of: everyNth(7), reply: status(429, 'slow down') },
        { of: everyNth(5, ofReceipts), reply: receipts((all) => all.map((one) => ({ ...one, logs: [] }))) },
        { of: everyNth(6), reply: LAGGING },
        { of: everyNth(9, ofBlocks), reply: repeated() },
      ],
      [
        { of: everyNth(3), reply: half },
        { of: everyNth(4, ofReceipts), reply: receipts((all) => all.toReversed()) },
      ],
    ],
    followedFrom: FOLLOWED_FROM,
    turns: [
      turn(7),
      ...THREE.map((one) => ({ ...one, to: one.to + 1 })),
      turn(60, 'reached', { isDown: true, to: BLOCKS + 5 }),
    ],
    tells: QUIET,
  },
]

/** Every fault of a node of an execution chain that the program is known to meet. */
export const BLOCK_FAULTS: readonly BlockFault[] = [...SHORT, ...DISORDERED, ...HTTP, ...LAG, ...REORGS]
