import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBeaconSource } from '../../infra/beacon/source.ts'
import { pubkeyOf } from '../../infra/devnet/consensus/keys.ts'
import type { Devnet } from '../../infra/devnet/open.ts'
import type { BeaconSource } from '../../infra/ports/beacon-source.ts'
import type { DaySpan } from '../../schemas/eth/day-span.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { type FaultyNode, openFaultyNode, TrueNode } from '../faults/faulty-node.ts'
import { freePort } from '../servers/child-server.ts'
import { silentLog } from '../unit/silent-log.ts'
import { proveDay, readEpochs, recompute, runScript } from './recomputed-days.ts'
import { openShortDevnet, SLASHED_PROPOSER, shortScenario, TOPPED_UP } from './short-history.ts'

// docs/recompute-a-day.mjs shares no code with this program: it comes to the same from raw states and blocks, or says what differs.

const SECONDS_PER_SLOT = 900
/** From within epoch 1 to within epoch 4: a proposer is slashed, another validator is topped up, balances are swept. */
const SPAN: DaySpan = {
  ...{
    day: 20_468,
    firstSlot: 45,
    lastSlot: 140,
    firstEpoch: 1,
    closingEpoch: 4,
    firstTransition: 2,
    lastTransition: 4,
  },
}
const GENESIS_TIME_SEC = SPAN.day * 86_400 - 28_800 - SPAN.firstSlot * SECONDS_PER_SLOT + 11
const TIMEOUT_MS = 180_000

let devnet: Devnet
let source: BeaconSource
let node: FaultyNode
let epochs: Awaited<ReturnType<typeof readEpochs>>
beforeAll(async () => {
  const scenario = { ...shortScenario, secondsPerSlot: SECONDS_PER_SLOT }
  devnet = await openShortDevnet({ scenario, genesisTimeSec: GENESIS_TIME_SEC })
  await devnet.advanceTo(232)
  source = await openBeaconSource({ urls: [devnet.beaconUrl], log: silentLog })
  epochs = await readEpochs(
    source,
    SPAN,
    Uint32Array.from({ length: 140 }, (_, index) => index),
  )
  const truth = new TrueNode(devnet.beaconUrl)
  truth.isSettled = true // a whole state takes the devnet a second
  node = await openFaultyNode(truth, [])
}, TIMEOUT_MS)
afterAll(async () => {
  await node?.[Symbol.asyncDispose]()
  await source?.[Symbol.asyncDispose]()
  await devnet?.[Symbol.asyncDispose]()
})

const proofOf = (index: number) => proveDay(devnet, SPAN, epochs, index)

test('a day as it is proven is what its states and blocks come to', { timeout: TIMEOUT_MS }, async () => {
  const proposer = devnet.history.slot(110)?.block?.proposerIndex ?? -1
  const seen = new Set<string>()
  for (const index of [SLASHED_PROPOSER, proposer, 12, TOPPED_UP, 35]) {
    const proof = proofOf(index)
    for (const { kind } of proof.epochs.flatMap(({ effects }) => effects)) seen.add(kind)
    const { code, lines, errors } = await recompute(node.url, proof)
    expect({ index, code, errors, lines: lines.filter((line) => !/: (sums are )?equal/.test(line)) }).toEqual({
      ...{ index, code: 0, errors: '', lines: [] },
    })
    expect(lines).toHaveLength(5)
  }
  expect([...seen].sort()).toEqual(['deposit', 'proposer', 'slashing_penalty', 'sync', 'withdrawal_partial'])
})

test('one page of it says nothing of the day', async () => {
  const { epochs: told, ...day } = proofOf(12)
  const page = await recompute(node.url, { ...day, epochs: told.slice(0, 2) }, told.length)
  expect(page).toMatchObject({ code: 2, errors: expect.stringContaining("has 2 of the day's 4 epochs") })
})

type Proof = ReturnType<typeof proofOf>
const more = (gwei: string): string => String(BigInt(gwei) + 1n)
const ofEpoch = (proof: Proof, number: number, change: (epoch: Proof['epochs'][number]) => object): Proof => ({
  ...proof,
  epochs: proof.epochs.map((one) => (one.epoch === number ? { ...one, ...change(one) } : one)),
})

const FALSE: readonly (readonly [what: string, change: (proof: Proof) => Proof, told: RegExp])[] = [
  [
    'a component of an epoch',
    (proof) => ofEpoch(proof, 2, ({ head_gwei }) => ({ head_gwei: more(head_gwei) })),
    /^epoch 2: DIFFERS: head is -?\d+, the document has -?\d+; /,
  ],
  [
    'the sum of an epoch',
    (proof) => ofEpoch(proof, 3, ({ components_gwei }) => ({ components_gwei: more(components_gwei) })),
    /^epoch 3: DIFFERS: components_gwei is /,
  ],
  [
    'what is published',
    (proof) => ({ ...proof, cl_reward_gwei: more(proof.cl_reward_gwei) }),
    /DIFFERS: cl_reward_gwei /,
  ],
  ['a flow of the day', (proof) => ({ ...proof, withdrawals_gwei: '-1' }), /DIFFERS: withdrawals_gwei of all epochs /],
  [
    'the sync rewards',
    (proof) => ({ ...proof, sync_gwei: more(proof.sync_gwei) }),
    /DIFFERS: sync_gwei of all epochs /,
  ],
  ['the residual', (proof) => ({ ...proof, residual_gwei: '1' }), /DIFFERS: residual_gwei is 0, the document has 1/],
  ['the date', (proof) => ({ ...proof, date: '2026-01-16' }), /DIFFERS: the first slot of 2026-01-16 is 141, .* 45; /],
  ['the key', (proof) => ({ ...proof, pubkey: hexOf(pubkeyOf(13)) }), /DIFFERS: the key of validator 12 is 0x/],
  [
    'a part of the day for all of it',
    (proof) => ({ ...proof, epochs: proof.epochs.slice(0, 3), end: proof.epochs[2]?.end ?? proof.end }),
    /DIFFERS: the last slot of .* is 140, the document has 127/,
  ],
]

test.each(FALSE)('a document is found false by %s', { timeout: TIMEOUT_MS }, async (_, change, told) => {
  const { code, lines } = await recompute(node.url, change(proofOf(12)))
  expect({ code, lines }).toEqual({ code: 1, lines: expect.arrayContaining([expect.stringMatching(told)]) })
})

test('a validator beyond the registry is none, and what is no number names none', { timeout: TIMEOUT_MS }, async () => {
  const count = devnet.history.slot(127)?.balances.length ?? 0
  const unknown = `the registry of slot 127 has ${count} validators: there is no validator ${count}\n`
  const asked = ['--node', node.url, '--epoch', '3', '--validator']
  expect(await runScript([...asked, String(count)])).toEqual({ code: 2, lines: [''], errors: unknown })
  expect(await runScript([...asked, String(count - 1)])).toMatchObject({ code: 0, errors: '' })
  const ofDay = await recompute(node.url, { ...proofOf(12), validator_index: 1_000_000 })
  expect(ofDay).toMatchObject({ code: 2, errors: expect.stringContaining('there is no validator 1000000\n') })
  for (const text of ['', 'x', '-1', '1.5', '1e3'])
    expect(await runScript([...asked.slice(0, -1), `--validator=${text}`]), text).toMatchObject({
      code: 2,
      errors: `--validator is no whole number: ${JSON.stringify(text)}\n`,
    })
})

test('which of both did not answer is told, and why, without what may be secret of its address', async () => {
  await using wrong = await openWrongServer()
  const [away, secret] = [`http://127.0.0.1:${await freePort()}`, '/?key=hidden']
  const withUser = (url: string) => url.replace('//', '//user:hidden@') + secret
  const ask = async (nodeUrl: string, proofUrl: string) => {
    const { code, errors } = await runScript(['--node', withUser(nodeUrl), '--proof', withUser(proofUrl)])
    expect(code).toBe(2)
    return errors
  }
  expect(await ask(away, wrong.url)).toBe(`the node at ${away} cannot be read: ECONNREFUSED\n`)
  expect(await ask(node.url, away)).toBe(`the proof at ${away} cannot be read: ECONNREFUSED\n`)
  expect(await ask(node.url, wrong.url)).toBe(`the proof at ${wrong.url} cannot be read: SyntaxError\n`)
  expect(await ask(wrong.url, away)).toBe(`the node at ${wrong.url} cannot be read: SyntaxError\n`)
  const { errors } = await runScript(['--node', '127.0.0.1:5052', '--proof', 'proof.json'])
  expect(errors).toBe('--node is no http address: "127.0.0.1:5052"\n')
})

/** Answers everything with what is no JSON. */
async function openWrongServer() {
  const server = createServer((_, response) => response.end('<html>hidden</html>'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
