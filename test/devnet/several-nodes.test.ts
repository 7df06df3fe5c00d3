import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openHttpBeaconSource } from '../../infra/beacon/http-source.ts'
import type { Devnet } from '../../infra/devnet/open.ts'
import { type NodeFault, openFaultyNode, TrueNode } from '../faults/faulty-node.ts'
import { changed, json } from '../faults/replies.ts'
import { askEpoch } from './epoch-question.ts'
import { ERRING_CLIENTS, lightChainOf } from './erring-clients.ts'
import { openShortDevnet } from './short-history.ts'

// What several nodes say of the same epoch, computed of the states of the first: figures are the same whatever the others say.

const HEAD_SLOT = 200
const EPOCH = 3
const LAST_SLOT = EPOCH * 32 + 31
const TRACKED = Uint32Array.from({ length: 128 }, (_, index) => index)
const LIMITS = { attemptsPerNode: 2, retryDelayMs: 1 }
/** What would be told otherwise is by then. */
const SETTLED_MS = 300
const CLIENT = 'Nimbus/v25.9.2-f3a1b2-stateofus'

let devnet: Devnet
let truth: TrueNode
beforeAll(async () => {
  devnet = await openShortDevnet()
  await devnet.advanceTo(HEAD_SLOT)
  truth = new TrueNode(devnet.beaconUrl)
  truth.isSettled = true // a whole state takes the devnet a second
})
afterAll(async () => {
  await truth[Symbol.asyncDispose]()
  await devnet[Symbol.asyncDispose]()
})

const ofRoot = ({ path }: { readonly path: string }) => path === `/eth/v1/beacon/states/${LAST_SLOT}/root`
const asNimbus: NodeFault = {
  of: ({ path }) => path === '/eth/v1/node/version',
  reply: () => json(200, { data: { version: CLIENT } }),
}

/** What the source says of the epoch through nodes with these faults, and what it has logged once everything was compared. */
async function read(
  faults: readonly (readonly NodeFault[])[],
  isTold: (lines: readonly string[]) => boolean = () => true,
) {
  await using nodes = new AsyncDisposableStack()
  const urls: string[] = []
  for (const own of faults) urls.push(nodes.use(await openFaultyNode(truth, [...own, asNimbus])).url)
  const lines: string[] = []
  const note = (_: object, line: string) => void lines.push(line)
  const log = { debug: () => undefined, info: () => undefined, warn: note, error: note }
  await using source = await openHttpBeaconSource({ urls, log, limits: LIMITS })
  const final = source.finalChain(await source.finalized())
  const { question } = await askEpoch(source, EPOCH)
  const begunMs = performance.now()
  const rows = await final.explainedEpoch(question, TRACKED)
  const tookMs = performance.now() - begunMs
  await expect.poll(() => isTold(lines)).toBe(true)
  if (lines.length === 0) await sleep(SETTLED_MS)
  if (rows === undefined) throw new Error('the devnet gives states')
  const { proof, differences: told, ...figures } = rows
  const differences = source.status().map((node) => node.differences)
  return { level: proof.level, figures, lines, tookMs, told, differences }
}

describe('an epoch that one node has given the states of', () => {
  test('is agreed where another one names the same state', async () => {
    const alone = await read([[]])
    expect(alone).toMatchObject({ level: 'anchored', lines: [] })
    expect(await read([[], []])).toMatchObject({ level: 'agreed', figures: alone.figures, lines: [] })
    // Of the first one's states nothing can be had: the second gives them, and both name them.
    const absent: NodeFault = {
      of: ({ path }) => path.startsWith('/eth/v2/debug/'),
      reply: () => json(404, { code: 404, message: 'NOT_FOUND' }),
    }
    expect(await read([[absent], []])).toMatchObject({ level: 'agreed', figures: alone.figures, lines: [] })
  })

  const otherRoot: NodeFault = {
    of: ofRoot,
    reply: changed((answer) => ({ ...answer, data: { root: `0x${'ab'.repeat(32)}` } })),
  }
  test('is not where the other one names another state, which is told with its client', async () => {
    const [alone, differing] = [await read([[]]), await read([[], [otherRoot]], (lines) => lines.length > 0)]
    expect(differing).toMatchObject({ level: 'anchored', figures: alone.figures })
    expect(differing.differences).toEqual([undefined, [{ what: 'state root', client: CLIENT, times: 1 }]])
    expect([alone.told, differing.told]).toEqual([[], [{ node: 'beacon node 2', client: CLIENT, what: 'state root' }]])
    expect(differing.lines).toEqual([
      expect.stringMatching(
        /^beacon node 2 \(Nimbus\/v25\.9\.2-f3a1b2-stateofus\) names another root for the state of slot 127 than the chain's blocks do/,
      ),
    ])
    // A third one that agrees with the first makes two; the other is told of all the same.
    const third = await read([[], [otherRoot], []], (lines) => lines.length > 0)
    expect(third).toMatchObject({ level: 'agreed', figures: alone.figures, lines: differing.lines })
  })

  const silent: readonly (readonly [string, NodeFault['reply']])[] = [
    ['does not have the state any more', () => json(404, { code: 404, message: 'NOT_FOUND' })],
    ['fails', () => json(500, { code: 500, message: 'Internal' })],
    ['has not executed it', changed((answer) => ({ ...answer, execution_optimistic: true }))],
    ['answers something else', () => json(200, { data: {} })],
    ['does not answer', () => 'hang'],
  ]
  test.each(silent)('is not agreed where the other one %s, and is not waited for long', async (_, reply) => {
    const found = await read([[], [{ of: ofRoot, reply }]])
    expect(found).toMatchObject({ level: 'anchored', lines: [] })
    expect(found.tookMs).toBeLessThan(10_000)
  })

  test('is not agreed where the other one is on another chain', async () => {
    const elsewhere: NodeFault = {
      of: ({ path }) => path.startsWith('/eth/v1/beacon/genesis'),
      reply: changed(({ data }) => ({
        data: { ...(data as object), genesis_validators_root: `0x${'cd'.repeat(32)}` },
      })),
    }
    expect(await read([[], [elsewhere]])).toMatchObject({ level: 'anchored', lines: [] })
  })
})

describe('the reward endpoints of a node that gives states, too', () => {
  const asked: string[] = []
  const noting: NodeFault = {
    of: ({ path }) => {
      asked.push(path)
      return false
    },
    reply: () => 'hang',
  }
  /** The last question of a comparison is answered, and what differs is told. */
  const isCompared = () => asked.some((path) => path.includes('/rewards/sync_committee/'))

  /** By the errors of test/devnet/erring-clients.ts: what is told of the client. */
  const DIFFERENCES = {
    'a node that tells the truth': undefined,
    'one row per seat of a sync committee': undefined,
    'a row of zeros is left out of sync committee rewards': undefined,
    'attestation rewards lack 1 to 3 gwei of an epoch': /attestation rewards .*: 64 of 64, by 1 gwei at most\./,
    'one row per seat, each with what all seats have earned':
      /sync committee rewards .*: \d+ of 64, by \d+ gwei at most\./,
    'a block has one vote of the sync aggregate': /proposer rewards .*: 1 of 1, by \d+ gwei at most\./,
    'a member of the sync committee has its balance for what it earned':
      /sync committee rewards .*: 64 of 64, by \d{11} gwei/,
    'what a proposer earned is counted twice': /proposer rewards .*: 1 of 1, by \d+ gwei at most\./,
    'an attester that missed everything has no row':
      /attestation rewards .*: \d of 64, by \d+ gwei at most, \d without a row/,
    'penalties are told as zeros': /attestation rewards .*: \d of 64, by \d+ gwei at most\./,
    'an epoch has the attestation rewards of the one before it':
      /attestation rewards .*: \d+ of 64, by \d+ gwei at most\./,
  } as const

  test.each(Object.entries(DIFFERENCES))('are compared, and change nothing: %s', async (error, line) => {
    const client = ERRING_CLIENTS.find((one) => one.error === error)
    if (client === undefined) throw new Error(`no client errs so: ${error}`)
    asked.length = 0
    const alone = await read([[]])
    const isTold = (lines: readonly string[]) => (line === undefined ? isCompared() : lines.length > 0)
    const found = await read([[noting, ...client.faults(lightChainOf(devnet))]], isTold)
    expect(found).toMatchObject({ level: 'anchored', figures: alone.figures })
    if (line === undefined) {
      expect(found).toMatchObject({ lines: [], told: [], differences: [undefined] })
      return
    }
    expect(found.lines).toEqual([expect.stringMatching(line)])
    expect(found.lines[0]).toMatch(
      /^beacon node 1 \(Nimbus\/v25\.9\.2-f3a1b2-stateofus\) tells .* of epoch 3 otherwise than states do/,
    )
    expect(found.differences).toEqual([[expect.objectContaining({ client: CLIENT, times: 1 })]])
    const [, what = ''] = / tells (.*) of epoch 3 /.exec(found.lines[0] ?? '') ?? []
    expect(found.told).toEqual([{ node: 'beacon node 1', client: CLIENT, what }])
  })

  test('are asked little, and told of nothing where they do not answer', async () => {
    asked.length = 0
    const client = ERRING_CLIENTS.find(({ issue }) => issue === 'sigp/lighthouse#6818')
    const found = await read([[noting, ...(client?.faults(lightChainOf(devnet)) ?? [])]], isCompared)
    expect(found).toMatchObject({ level: 'anchored', lines: [], differences: [undefined] })
    expect(asked.filter((path) => path.includes('/rewards/'))).toHaveLength(3)
  })
})
