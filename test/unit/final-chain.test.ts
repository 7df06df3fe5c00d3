import { beforeAll, expect, test } from 'vitest'
import { openHttpBeaconSource } from '../../infra/beacon/http-source.ts'
import type { Log } from '../../infra/ports/log.ts'
import { followEpochs } from '../../ingest/epochs/epoch-follower.ts'
import { epochBlocks, epochValidators } from '../../schemas/events/beacon-epoch.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { eventLogOfEachTest } from './event-log-of-each-test.ts'
import { BEACON_CHAIN, eventsIn, ofChain, trackValidators } from './follow-synthetic.ts'
import { type Fork, ForkedNode, makeFork, SLOTS_PER_EPOCH } from './forked-beacon.ts'
import { silentLog } from './silent-log.ts'
import type { SyntheticNode } from './synthetic-node.ts'

// Finality has a root: what is not of its chain must never be in the log, whichever node is asked when.

const eventLog = eventLogOfEachTest()
const EPOCHS = 5
const SLOTS = (EPOCHS + 1) * SLOTS_PER_EPOCH
/** The forks part in the middle of this epoch. */
const FORK_EPOCH = 2
const LIMITS = { retryDelayMs: 1, restMs: 20 }

let right: Fork
let wrong: Fork
beforeAll(() => {
  right = makeFork(SLOTS, 1)
  wrong = makeFork(SLOTS, 2, right.blocks.slice(0, FORK_EPOCH * SLOTS_PER_EPOCH + 7))
})

interface Following {
  /** The nodes, the main one first. */
  readonly nodes: readonly SyntheticNode[]
  /** Ends when the log has all epochs before this one. */
  readonly to: number
  readonly onProgress?: (nextEpoch: number) => void
  /** Hears what the log is told; `stop` ends the following. */
  readonly onLine?: (line: string, stop: () => void) => void
}

async function follow({ nodes, to, onProgress, onLine }: Following): Promise<void> {
  const stop = new AbortController()
  const hear = (_: object, line: string) => onLine?.(line, () => stop.abort())
  const log: Log = { ...silentLog, warn: hear, info: hear, debug: hear }
  const urls = nodes.map(({ url }) => url)
  await using beacon = await openHttpBeaconSource({ urls, log, limits: LIMITS, rewardsBy: 'endpoints' })
  await followEpochs(
    {
      ...ofChain(BEACON_CHAIN, eventLog()),
      log,
      beacon,
      startEpoch: 1,
      pollMs: 5,
      onProgress: ({ nextEpoch }) => {
        onProgress?.(nextEpoch)
        if (nextEpoch >= to) stop.abort()
      },
    },
    stop.signal,
  )
}

/** Roots of the blocks of each epoch, and the balances: whose answers they were. */
async function told() {
  const epochs: { epoch: number; roots: readonly string[]; balances: readonly bigint[] }[] = []
  const balances = new Map<number, readonly bigint[]>()
  for (const event of await eventsIn(eventLog(), 'beacon.epochs')) {
    if (event.type === epochValidators.name) {
      const { header, columns } = decodeEvent(epochValidators, event)
      balances.set(
        header.epoch,
        Array.from(columns.balanceGwei, (gwei) => gwei - 32_000_000_000n),
      )
    }
    if (event.type === epochBlocks.name) {
      const { epoch, blocks } = decodeEvent(epochBlocks, event).header
      epochs.push({ epoch, roots: blocks.map(({ root }) => root), balances: balances.get(epoch) ?? [] })
    }
  }
  return epochs
}

/** What the log must hold: the epochs from 1 on of a fork, each once. */
function epochsOf({ blocks, mark }: Fork, to: number) {
  return Array.from({ length: to - 1 }, (_, i) => ({
    epoch: i + 1,
    roots: blocks.slice((i + 1) * SLOTS_PER_EPOCH, (i + 2) * SLOTS_PER_EPOCH).map(({ root }) => root),
    balances: [BigInt(mark), BigInt(mark)],
  }))
}

test('a node that dies behind its checkpoint leaves nothing of a fallback on another fork, and its return is gone on with', async () => {
  await trackValidators(eventLog(), [1, 2], BEACON_CHAIN)
  const [main, fallback] = [new ForkedNode(right, EPOCHS), new ForkedNode(wrong, EPOCHS)]
  await using mainNode = await main.open()
  await using fallbackNode = await fallback.open()
  // It says what is final, and is gone.
  main.change = (path) => {
    if (path.endsWith('finality_checkpoints')) main.isAway = true
    return undefined
  }
  let refusals = 0
  await follow({
    nodes: [mainNode, fallbackNode],
    to: EPOCHS,
    onLine: (line) => {
      if (!line.includes('is on another fork than beacon node 1') || ++refusals < 3) return
      main.change = () => undefined
      main.isAway = false
    },
  })
  expect(refusals).toBeGreaterThanOrEqual(3)
  expect(await told()).toEqual(epochsOf(right, EPOCHS))
})

test('states and rewards are not asked of a node on another fork, which is named', async () => {
  await trackValidators(eventLog(), [1, 2], BEACON_CHAIN)
  const [main, fallback] = [new ForkedNode(right, EPOCHS), new ForkedNode(wrong, EPOCHS)]
  await using mainNode = await main.open()
  await using fallbackNode = await fallback.open()
  let outages = 7 // more than one question has tries
  main.change = (path) => (path.endsWith('/validators') && outages-- > 0 ? { status: 500, json: {} } : undefined)
  const lines: string[] = []
  await follow({ nodes: [mainNode, fallbackNode], to: EPOCHS, onLine: (line) => void lines.push(line) })
  expect(await told()).toEqual(epochsOf(right, EPOCHS))
  expect(fallback.asked.filter((path) => /validators|rewards/.test(path))).toEqual([])
})

test('a node that changes to another fork while an epoch is read has to answer for it again', async () => {
  await trackValidators(eventLog(), [1, 2], BEACON_CHAIN)
  const node = new ForkedNode(right, EPOCHS)
  await using server = await node.open()
  const other = makeFork(SLOTS, 2, right.blocks.slice(0, SLOTS_PER_EPOCH + 7))
  let changes = 0
  node.change = (path) => {
    // A balancer that leads to another machine, and back when that one has said which chain it is on.
    if (path.endsWith(`/states/${2 * SLOTS_PER_EPOCH - 1}/validators`) && changes++ === 0) node.fork = other
    if (!path.endsWith('/root') || node.fork === right) return undefined
    node.fork = right
    return { json: { data: { root: other.blocks[EPOCHS * SLOTS_PER_EPOCH]?.root } } }
  }
  await follow({ nodes: [server], to: EPOCHS })
  expect(changes).toBeGreaterThan(1)
  expect(await told()).toEqual(epochsOf(right, EPOCHS))
})

test("nor of one that has a block behind the checkpoint's, where the final chain has none", async () => {
  await trackValidators(eventLog(), [1, 2], BEACON_CHAIN)
  const first = EPOCHS * SLOTS_PER_EPOCH
  const checkpoint = { epoch: String(EPOCHS), root: right.blocks[first - 1]?.root }
  const finality = { previous_justified: checkpoint, current_justified: checkpoint, finalized: checkpoint }
  const [main, fallback] = [new ForkedNode({ ...right, mark: 3 }, EPOCHS), new ForkedNode(right, EPOCHS)]
  const isOfFirst = (path: string) => path.includes(`/blocks/${first}`)
  main.change = (path) => {
    return path.endsWith('finality_checkpoints') ? { json: { execution_optimistic: false, data: finality } } : undefined
  }
  fallback.change = (path) => (isOfFirst(path) ? { status: 404, json: {} } : undefined)
  await using mainNode = await main.open()
  await using fallbackNode = await fallback.open()
  const lines: string[] = []
  await follow({ nodes: [mainNode, fallbackNode], to: 3, onLine: (line) => void lines.push(line) })
  expect(lines.join('\n')).toContain(`is on another fork: the final chain has no block in slot ${first}, it has one`)
  expect((await told()).slice(0, 2)).toEqual(epochsOf(right, 3))
  expect(main.asked.filter((path) => /validators|rewards/.test(path))).toEqual([])
})

test('a block that a node gives by its slot and that is not of the final chain is not taken', async () => {
  const node = new ForkedNode(right, EPOCHS)
  await using server = await node.open()
  const orphan = wrong.blocks[FORK_EPOCH * SLOTS_PER_EPOCH + 9]
  const lost = FORK_EPOCH * SLOTS_PER_EPOCH + 11
  node.change = (path) => {
    const headers = { 'eth-consensus-version': 'fulu' }
    if (orphan !== undefined && path.endsWith(`/beacon/blocks/${orphan.slot}`)) return { body: orphan.bytes, headers }
    return path.endsWith(`/beacon/blocks/${lost}`) ? { status: 404, json: {} } : undefined
  }
  await follow({ nodes: [server], to: EPOCHS })
  expect((await told()).map(({ epoch, roots }) => [epoch, roots])).toEqual(
    epochsOf(right, EPOCHS).map(({ epoch, roots }) => [epoch, roots]),
  )
})

const NOT_FINAL = { execution_optimistic: false, finalized: false }
const OPTIMISTIC = { execution_optimistic: true, finalized: true }
const FIGURES = ['validators', 'validator_balances', 'rewards', 'pending_deposits', 'sync_committees'] as const

test.each([
  ['root', 'not final', NOT_FINAL] as const,
  ...(['root', ...FIGURES] as const).map((kind) => [kind, 'optimistic', OPTIMISTIC] as const),
])('an answer (%s) that calls itself %s is not used', async (kind, _, flags) => {
  await trackValidators(eventLog(), [1, 2], BEACON_CHAIN)
  const [main, fallback] = [new ForkedNode({ ...right, mark: 3 }, EPOCHS), new ForkedNode(right, EPOCHS)]
  await using mainNode = await main.open()
  await using fallbackNode = await fallback.open()
  const says = { execution_optimistic: false, finalized: true }
  main.flags = (of) => (of === kind ? flags : says)
  main.hasFlagsLast = true
  const lines: string[] = []
  await follow({ nodes: [mainNode, fallbackNode], to: 3, onLine: (line) => void lines.push(line) })
  expect(lines.join('\n')).toMatch(/beacon node 1 (says that .* is not final yet|has .* only optimistically)/)
  const pathOf = kind === 'root' ? '/root' : kind
  expect(fallback.asked.some((path) => path.includes(pathOf))).toBe(true)
})

test('states and rewards that call themselves not final are used: the block that the node holds proves them', async () => {
  await trackValidators(eventLog(), [1, 2], BEACON_CHAIN)
  const node = new ForkedNode(right, EPOCHS)
  await using server = await node.open()
  node.flags = (kind) => (kind === 'root' ? { ...NOT_FINAL, finalized: true } : NOT_FINAL)
  const lines: string[] = []
  await follow({ nodes: [server], to: 3, onLine: (line, stop) => (/waits/.test(line) ? stop() : undefined) })
  expect(lines).toEqual([])
  expect((await told()).slice(0, 2)).toEqual(epochsOf(right, 3))
})

test('answers that say nothing of themselves are used: not every node does', async () => {
  await trackValidators(eventLog(), [1, 2], BEACON_CHAIN)
  const node = new ForkedNode(right, EPOCHS)
  await using server = await node.open()
  node.flags = () => ({})
  await follow({ nodes: [server], to: 3 })
  expect((await told()).slice(0, 2)).toEqual(epochsOf(right, 3))
})

test('what a node believes to be final without having verified it is not final', async () => {
  const [main, fallback] = [new ForkedNode(wrong, EPOCHS), new ForkedNode(right, EPOCHS)]
  await using mainNode = await main.open()
  await using fallbackNode = await fallback.open()
  main.flags = (kind) => ({ execution_optimistic: kind === 'finality_checkpoints', finalized: true })
  await follow({ nodes: [mainNode, fallbackNode], to: EPOCHS })
  expect((await told()).map(({ roots }) => roots)).toEqual(epochsOf(right, EPOCHS).map(({ roots }) => roots))
})
