import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBeaconSource } from '../../infra/beacon/source.ts'
import type { Devnet } from '../../infra/devnet/open.ts'
import { type NodeFault, openFaultyNode, type Told, TrueNode } from '../faults/faulty-node.ts'
import { silentLog } from '../unit/silent-log.ts'
import { openShortDevnet } from './short-history.ts'

// A node that tells states wrongly, between the source and a whole devnet: nothing of them becomes a figure.

const HEAD_SLOT = 200
const EPOCH = 2
const STATE = `/eth/v2/debug/beacon/states/${EPOCH * 32 + 31}`
const LIMITS = { attemptsPerNode: 2, retryDelayMs: 1 }

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

/** What the source says of epoch 2 through nodes with these faults. */
async function explained(faults: readonly (readonly NodeFault[])[]) {
  await using nodes = new AsyncDisposableStack()
  const urls: string[] = []
  for (const own of faults) urls.push(nodes.use(await openFaultyNode(truth, own)).url)
  await using source = await openBeaconSource({ urls, log: silentLog, limits: LIMITS })
  const final = source.finalChain(await source.finalized())
  const slots = Array.from({ length: 32 }, (_, offset) => EPOCH * 32 + offset)
  const roots = await Promise.all(slots.map((slot) => final.rootAt(slot)))
  const question = { epoch: EPOCH, blockRoots: roots.filter((root) => root !== undefined) }
  return await final.explainedEpoch(question, Uint32Array.of(3, 5, 12))
}

/** Answers the state behind the epoch otherwise. */
const wrongState = (change: (told: Told) => Told | 'reset' | { cut: Told }): NodeFault => ({
  of: ({ path }) => path === STATE,
  reply: async (_, told) => change(await told()),
})

const withBody = (told: Told, change: (body: Uint8Array) => Uint8Array): Told => {
  const body = change(Uint8Array.from(told.body))
  return { ...told, headers: { ...told.headers, 'content-length': String(body.length) }, body }
}

/** One gwei more on the balance of validator 3, which lies behind the registry. */
function oneGweiMore(body: Uint8Array): Uint8Array {
  const balances = devnet.history.slot(EPOCH * 32 + 31)?.balances ?? []
  const wanted = Buffer.alloc(24)
  for (const [place, index] of [2, 3, 4].entries()) wanted.writeBigUInt64LE(BigInt(balances[index] ?? 0), 8 * place)
  const at = Buffer.from(body.buffer).indexOf(wanted)
  if (at === -1) throw new Error('the state does not have the balances that the devnet tells')
  body[at + 8] = ((body[at + 8] as number) + 1) % 256
  return body
}

describe('a state', () => {
  const cases: readonly (readonly [string, NodeFault, RegExp])[] = [
    [
      'of another slot',
      { of: ({ path }) => path === STATE, reply: (_, told) => told(STATE.replace('95', '94')) },
      /with that of slot 94/,
    ],
    [
      'that lacks its end',
      wrongState((told) => withBody(told, (body) => body.subarray(0, body.length - 9))),
      /malformed/,
    ],
    [
      'that lacks all but its beginning',
      wrongState((told) => withBody(told, (body) => body.subarray(0, 1_000))),
      /malformed/,
    ],
    ['that is cut off on its way', wrongState((told) => ({ cut: told })), /did not answer/],
    [
      'under the name of another fork',
      wrongState((told) => ({ ...told, headers: { ...told.headers, 'eth-consensus-version': 'deneb' } })),
      /malformed/,
    ],
    ['with one gwei more than its root allows', wrongState((told) => withBody(told, oneGweiMore)), /does not name/],
  ]
  test.each(cases)('%s explains nothing, and another node is asked', async (_, fault, why) => {
    await expect(explained([[fault]])).rejects.toThrow(why)
    expect(await explained([[fault], []])).toMatchObject({ residuals: [], proof: { level: 'agreed' } })
  })

  test('that a node does not have is asked of another one, and where none has it, rewards are what endpoints tell', async () => {
    const absent: NodeFault = {
      of: ({ path }) => path.startsWith('/eth/v2/debug/'),
      reply: () => ({
        status: 404,
        headers: { 'content-type': 'application/json' },
        body: Buffer.from('{"code":404}'),
      }),
    }
    expect(await explained([[absent], []])).toMatchObject({ residuals: [], proof: { level: 'agreed' } })
    expect(await explained([[absent], [absent]])).toBeUndefined()
  })
})
