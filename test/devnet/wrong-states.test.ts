import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBeaconSource } from '../../infra/beacon/source.ts'
import type { Devnet } from '../../infra/devnet/open.ts'
import type { ExplainedRows, KeepingOutcome } from '../../infra/ports/beacon-source.ts'
import { type NodeFault, openFaultyNode, type Told, TrueNode } from '../faults/faulty-node.ts'
import { silentLog } from '../unit/silent-log.ts'
import { askEpoch } from './epoch-question.ts'
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

interface Read {
  /** What the source says of epoch 2. */
  readonly explained: () => Promise<ExplainedRows | undefined>
  /** Has the state behind epoch 2 kept. */
  readonly kept: () => Promise<KeepingOutcome>
  readonly folder: string
}

/** A source that asks nodes with these faults. */
async function reading<Result>(
  faults: readonly (readonly NodeFault[])[],
  read: (parts: Read) => Promise<Result>,
): Promise<Result> {
  await using open = new AsyncDisposableStack()
  const urls: string[] = []
  for (const own of faults) urls.push(open.use(await openFaultyNode(truth, own)).url)
  const folder = mkdtempSync(join(tmpdir(), 'epochline-states-'))
  open.defer(() => rmSync(folder, { recursive: true }))
  const source = open.use(await openBeaconSource({ urls, log: silentLog, limits: LIMITS, statesFolder: folder }))
  const { question } = await askEpoch(source, EPOCH)
  const final = source.finalChain(await source.finalized())
  const explained = () => final.explainedEpoch(question, Uint32Array.of(3, 5, 12))
  return await read({ explained, kept: () => source.keepState(question), folder })
}

const explained = (...faults: readonly (readonly NodeFault[])[]) => reading(faults, (read) => read.explained())

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

/** Another root in the header of the last block, which lies behind the fixed roots and the fork (consensus-specs, BeaconState). */
function anotherLastBlock(body: Uint8Array): Uint8Array {
  const at = 8 + 32 + 8 + 16 + 8 + 8 + 32 // genesis_time … fork, then slot, proposer_index and parent_root of latest_block_header
  body[at] = (body[at] as number) ^ 1
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
      wrongState((told) => ({ ...told, headers: { ...told.headers, 'eth-consensus-version': 'electra' } })),
      /one of the fork "electra"/,
    ],
    [
      'under the name of no fork',
      wrongState((told) => ({ ...told, headers: { ...told.headers, 'eth-consensus-version': 'toString' } })),
      /one of the fork "toString"/,
    ],
    ['of another branch', wrongState((told) => withBody(told, anotherLastBlock)), /does not name/],
    ['with one gwei more than its root allows', wrongState((told) => withBody(told, oneGweiMore)), /does not name/],
  ]
  test.each(cases)('%s explains nothing, and another node is asked', async (_, fault, why) => {
    await expect(explained([fault])).rejects.toThrow(why)
    expect(await explained([fault], [])).toMatchObject({ residuals: [], proof: { level: 'agreed' } })
  })

  test.each(cases)('%s is not kept, and that of another node is', async (_, fault, why) => {
    await reading([[fault]], async ({ kept, folder }) => {
      await expect(kept()).rejects.toThrow(why)
      expect(readdirSync(folder)).toEqual([])
    })
    await reading([[fault], []], async ({ kept, folder }) => {
      expect([await kept(), readdirSync(folder).length]).toEqual(['kept', 1])
    })
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
    expect(await explained([absent], [])).toMatchObject({ residuals: [], proof: { level: 'agreed' } })
    expect(await explained([absent], [absent])).toBeUndefined()
  })
})
