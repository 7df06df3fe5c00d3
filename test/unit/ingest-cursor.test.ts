import { expect, test } from 'vitest'
import type { FollowBeaconHeadOptions } from '../../ingest/beacon-head/beacon-head.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { chainRemoved, LOG_FACTS_KEY } from '../../schemas/events/log-facts.ts'
import { eventLogOfEachTest } from './event-log-of-each-test.ts'
import { BEACON_CHAIN, followBeacon, until } from './follow-synthetic.ts'
import { told } from './head-topics.ts'
import { SyntheticChain, syntheticChain } from './synthetic-chain.ts'

const never = new AbortController().signal
const eventLog = eventLogOfEachTest()

const beaconBlocks = () => told(eventLog(), 'beacon.blocks')

/** Follows until the log has the slot, then stops and waits for the end. */
const followTo = (slot: number, chain: SyntheticChain, options: Partial<FollowBeaconHeadOptions> = {}): Promise<void> =>
  followBeacon(eventLog(), chain, until(slot), { pollMs: 5, ...options })

const blocks = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => `block b${from + i}`)

const otherChain = (chain: SyntheticChain) => ({
  ...chain.beacon,
  chain: async () => ({ ...(await chain.beacon.chain()), genesisValidatorsRoot: `0x${'22'.repeat(32)}` }),
})

test('a log of another chain of the same name is refused, and the sentence names the chain', async () => {
  const chain = new SyntheticChain()
  chain.extendRange(1, 3, 'genesis')
  await followTo(3, chain)
  await expect(followTo(3, chain, { beacon: otherChain(chain) })).rejects.toThrow(
    expect.objectContaining({ code: 'config', message: expect.stringContaining('by the name of mainnet') }),
  )
})

test('chains of different names share a log, and none looks at the cursors of the other', async () => {
  const chain = new SyntheticChain()
  chain.extendRange(1, 3, 'genesis')
  await followTo(3, chain)
  await followTo(3, chain, { chain: 'hoodi', beacon: otherChain(chain) })
  const keys = (await Array.fromAsync(eventLog().read({ topic: 'beacon.blocks', signal: never }))).map(
    ({ event }) => event.key,
  )
  expect(keys).toEqual(['mainnet', 'mainnet', 'mainnet', 'hoodi', 'hoodi', 'hoodi'])
})

/** A cursor as the release before chains had names wrote it. */
async function unnamedCursor(key: string, data: object): Promise<void> {
  const bytes = new TextEncoder().encode(JSON.stringify(data))
  const time = '2020-09-13T12:27:16.000Z'
  await eventLog().append('ingest.cursors', [
    { id: `old:${key}`, type: 'ingest.cursor', version: 1, key, time, data: bytes },
  ])
}

const rootOf = (name: string) => `0x${Buffer.from(name).toString('hex').padStart(64, '0')}`
const unnamedBlock = (slot: number) => ({
  slot,
  root: rootOf(`b${slot}`),
  executionBlockHash: rootOf(`xb${slot}`),
  executionBlockNumber: slot,
})

test('a log from before chains had names is gone on with: reverts what was unsettled, continues what was there', async () => {
  const { genesisValidatorsRoot } = syntheticChain
  const chain = [1, 2, 3].map(unnamedBlock)
  await unnamedCursor('epochs', { next: 7, headRoot: rootOf('b3') })
  await unnamedCursor('head', { next: 4, genesisValidatorsRoot, chain, unsettled: [unnamedBlock(4)] })
  const nodes = new SyntheticChain()
  nodes.extendRange(1, 5, 'genesis')
  await followTo(5, nodes)
  await followTo(5, nodes)
  expect(await beaconBlocks()).toEqual(['revert b4', 'block b4', 'block b5'])
})

test('the cursor of a log from before chains had names is that of its unnamed chain alone', async () => {
  await unnamedCursor('head', { next: 4, chain: [1, 2, 3].map(unnamedBlock), genesisValidatorsRoot: rootOf('other') })
  const chain = new SyntheticChain()
  chain.extendRange(1, 3, 'genesis')
  await followTo(3, chain, { unnamedChain: 'hoodi' })
  expect(await beaconBlocks()).toEqual(blocks(1, 3))
})

test('of the cursors from before and after chains had names the newest counts', async () => {
  const chain = new SyntheticChain()
  chain.extendRange(1, 3, 'genesis')
  await unnamedCursor('head', { next: 2, chain: [unnamedBlock(1)] })
  await followTo(3, chain)
  chain.extend('b4', 4, 'b3')
  await followTo(4, chain)
  // The release before ran once more in between.
  await unnamedCursor('head', { next: 4, chain: [1, 2, 3].map(unnamedBlock), unsettled: [] })
  await followTo(4, chain)
  expect(await beaconBlocks()).toEqual([...blocks(2, 4), 'block b4'])
})

test('a chain that was removed and added again begins anew', async () => {
  const chain = new SyntheticChain()
  chain.extendRange(1, 3, 'genesis')
  await followTo(3, chain)
  const before = { 'ingest.cursors': { '0': String((await eventLog().ends('ingest.cursors')).get(0)) } }
  const id = 'log.chain-removed:mainnet:1'
  const removed = { id, key: LOG_FACTS_KEY, time: '2020-09-13T12:27:16.000Z', data: { chain: BEACON_CHAIN, before } }
  await eventLog().append('log', [encodeEvent(chainRemoved, removed)])
  await followTo(3, chain)
  expect(await beaconBlocks()).toEqual([...blocks(1, 3), ...blocks(1, 3)])
})
