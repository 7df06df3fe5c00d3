import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBeaconSource } from '../../infra/beacon/source.ts'
import type { Devnet } from '../../infra/devnet/open.ts'
import type { BeaconSource } from '../../infra/ports/beacon-source.ts'
import { type NodeFault, openFaultyNode, TrueNode } from '../faults/faulty-node.ts'
import { silentLog } from '../unit/silent-log.ts'
import { askEpoch } from './epoch-question.ts'
import { openShortDevnet, shortScenario } from './short-history.ts'

// A state behind empty slots has no block that names it: that it is the chain's follows from the state an epoch earlier, which may not be
// known when it is kept. A program that was away reads the newest states first, and a day must not be left out because of that.

const TIMEOUT_MS = 120_000
const EPOCH = 3
const LAST_SLOT = EPOCH * 32 + 31
const STATE = `/eth/v2/debug/beacon/states/${LAST_SLOT}`
const TRACKED = Uint32Array.of(3, 5, 12)

let devnet: Devnet
let truth: TrueNode
/** Whether the node still has states. */
let hasStates = true
/** A gwei more than validator 3 has. */
let tellsMore = false

const stateless: NodeFault = {
  of: ({ path }) => !hasStates && path.startsWith('/eth/v2/debug/'),
  reply: () => ({ status: 404, headers: { 'content-type': 'application/json' }, body: Buffer.from('{"code":404}') }),
}
const wrong: NodeFault = {
  of: ({ path }) => tellsMore && path === STATE,
  reply: async (_, told) => {
    const answer = await told()
    const body = Buffer.from(answer.body)
    const balances = devnet.history.slot(LAST_SLOT)?.balances ?? []
    const wanted = Buffer.alloc(24)
    for (const [place, index] of [2, 3, 4].entries()) wanted.writeBigUInt64LE(BigInt(balances[index] ?? 0), 8 * place)
    const at = body.indexOf(wanted)
    body.writeUInt8((body.readUInt8(at + 8) + 1) % 256, at + 8)
    return { ...answer, body }
  },
}

beforeAll(async () => {
  const incidents = [...shortScenario.incidents, { kind: 'missed', slots: [LAST_SLOT - 1, LAST_SLOT] } as const]
  devnet = await openShortDevnet({ scenario: { ...shortScenario, version: 'late-anchor-1', incidents } })
  await devnet.advanceTo(LAST_SLOT + 20)
  truth = new TrueNode(devnet.beaconUrl)
})
afterAll(async () => {
  await truth[Symbol.asyncDispose]()
  await devnet[Symbol.asyncDispose]()
})

async function withSource(read: (source: BeaconSource, folder: string) => Promise<void>): Promise<void> {
  await using open = new AsyncDisposableStack()
  const { url } = open.use(await openFaultyNode(truth, [stateless, wrong]))
  const folder = mkdtempSync(join(tmpdir(), 'epochline-states-'))
  open.defer(() => rmSync(folder, { recursive: true }))
  const limits = { attemptsPerNode: 1, retryDelayMs: 1 }
  await read(open.use(await openBeaconSource({ urls: [url], log: silentLog, statesFolder: folder, limits })), folder)
}

const keep = async (source: BeaconSource, epoch: number) => source.keepState((await askEpoch(source, epoch)).question)

async function explained(source: BeaconSource) {
  const { question } = await askEpoch(source, EPOCH)
  return await source.finalChain(await source.finalized()).explainedEpoch(question, TRACKED)
}

async function finalize(): Promise<void> {
  while (devnet.history.head.finality.finalized.epoch <= EPOCH + 1)
    await devnet.advanceTo(devnet.history.head.head.slot + 16)
}

test(
  'a state that was kept before the one an epoch earlier was known is anchored once that is',
  async () => {
    await withSource(async (source) => {
      expect([await keep(source, EPOCH), await keep(source, EPOCH - 1)]).toEqual(['kept', 'kept'])
      await finalize()
      hasStates = false
      const { stateRoot } = devnet.history.slot(LAST_SLOT) ?? {}
      expect(await explained(source)).toMatchObject({ residuals: [], proof: { level: 'anchored', stateRoot } })
    })
  },
  TIMEOUT_MS,
)

test(
  'one that turns out to be another than the chain had is forgotten, and asked of nodes again',
  async () => {
    hasStates = true
    tellsMore = true
    await withSource(async (source, folder) => {
      expect([await keep(source, EPOCH), await keep(source, EPOCH - 1)]).toEqual(['kept', 'kept'])
      tellsMore = false
      await expect(explained(source)).rejects.toThrow(/another than the one that its last block names/)
      expect(readdirSync(folder).map((name) => name.split('-')[0])).toEqual([String(EPOCH * 32 - 1)])
      expect(await explained(source)).toMatchObject({ residuals: [], proof: { level: 'anchored' } })
    })
  },
  TIMEOUT_MS,
)
