import { describe, expect, test } from 'vitest'
import { openHttpBeaconSource } from '../../infra/beacon/http-source.ts'
import { createGenesis } from '../../infra/devnet/consensus/genesis.ts'
import type { BeaconChain } from '../../infra/ports/beacon-source.ts'
import { followBeaconHead } from '../../ingest/beacon-head/beacon-head.ts'
import { followEpochs } from '../../ingest/epochs/epoch-follower.ts'
import { decodeEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { type CursorData, ingestCursor } from '../../schemas/events/cursor.ts'
import { openSyntheticEngine } from '../devnet/synthetic-engine.ts'
import { eventLogOfEachTest } from './event-log-of-each-test.ts'
import { BEACON_CHAIN, chainTo, eventsIn, followBeacon, ofChain, until } from './follow-synthetic.ts'
import { silentLog } from './silent-log.ts'
import { FAST, headerAnswer, openNode } from './synthetic-beacon.ts'
import { syntheticChain } from './synthetic-chain.ts'

const eventLog = eventLogOfEachTest()
const never = new AbortController().signal
const HEAD = '/eth/v1/beacon/headers/head'
const OTHER_ROOT = `0x${'22'.repeat(32)}`

/** Follows the head for a few slots of a chain whose node says this of it. */
async function followAs(says: Partial<BeaconChain>, name = BEACON_CHAIN): Promise<void> {
  const chain = chainTo(6)
  const beacon = { ...chain.beacon, chain: async () => ({ ...syntheticChain, ...says }) }
  await followBeacon(eventLog(), chain, until(6), { beacon, chain: name, pollMs: 5 })
}

async function cursors(): Promise<readonly CursorData[]> {
  return (await eventsIn(eventLog(), 'ingest.cursors')).map((event) => decodeEvent(ingestCursor, event))
}

const FORKS = [
  { version: '0x00000000', epoch: 0 },
  { version: '0x01000000', epoch: 1 },
]

describe('a log goes on with its own chain alone', () => {
  test.each<[string, Partial<BeaconChain>, string]>([
    ['of another genesis time', { clock: { ...syntheticChain.clock, genesisTimeSec: 1_600_000_001 } }, 'genesis time'],
    ['of other slots', { clock: { ...syntheticChain.clock, secondsPerSlot: 6 } }, 'epoch in seconds'],
    ['of another genesis block', { genesisBlockRoot: OTHER_ROOT }, 'genesis block'],
    [
      'that forked at another time',
      { forks: FORKS.map((fork) => ({ ...fork, epoch: 0 })) },
      'epoch of the fork 0x01000000',
    ],
  ])('and not with one %s that has the same validators', async (_, says, what) => {
    await followAs({ forks: FORKS })
    await expect(followAs({ forks: FORKS, ...says })).rejects.toMatchObject({
      code: 'config',
      message: expect.stringMatching(
        new RegExp(`another chain by the name of mainnet than the node: its ${what} is .*, the node's is`),
      ),
    })
  })

  test('whose forks of the future are planned anew', async () => {
    await followAs({ forks: [...FORKS, { version: '0x02000000', epoch: 1_000 }] })
    await followAs({
      forks: [...FORKS, { version: '0x02000000', epoch: 2_000 }, { version: '0x03000000', epoch: 3_000 }],
    })
  })

  test('told by its validators alone, which is completed', async () => {
    const { genesisValidatorsRoot: identity } = syntheticChain
    const data = { chain: BEACON_CHAIN, identity, next: 1 }
    const time = '2020-09-13T12:27:16.000Z'
    await eventLog().append('ingest.cursors', [
      encodeEvent(ingestCursor, { id: 'old', key: `${BEACON_CHAIN}:head`, time, data }),
    ])
    await followAs({})
    const newest = (await cursors()).at(-1)
    expect(newest?.identity).toBe(`${identity}:1600000000+48:0x00000000@0:${syntheticChain.genesisBlockRoot}`)
    await expect(followAs({ genesisBlockRoot: OTHER_ROOT })).rejects.toMatchObject({ code: 'config' })
  })

  test('whose genesis block a node does not have, without forgetting it', async () => {
    await followAs({})
    await followAs({ genesisBlockRoot: undefined })
    const newest = (await cursors()).at(-1)
    expect(newest?.identity).toMatch(new RegExp(`:${syntheticChain.genesisBlockRoot}$`))
  })
})

describe('nodes that do not belong together', () => {
  test('an execution node of another chain than the deposits are made on is refused, with both chains', async () => {
    await expect(followAs({ depositChainId: 1 }, 'private')).rejects.toMatchObject({
      code: 'config',
      message:
        'the execution node of private is on chain 7 (eth_chainId), its beacon node on chain 1 (DEPOSIT_CHAIN_ID): they must be nodes of one network',
    })
    expect(await eventsIn(eventLog(), 'beacon.blocks')).toEqual([])
  })

  test.each<[string, Partial<BeaconChain>]>([
    ['by its name', { spec: { ...syntheticChain.spec, CONFIG_NAME: 'hoodi' } }],
    ['by its deposit chain', { depositChainId: 560_048 }],
  ])('a public network under the name of another is refused (%s)', async (_, says) => {
    const refusal = { code: 'config', message: expect.stringContaining('the beacon node of mainnet is on hoodi') }
    await expect(followAs(says)).rejects.toMatchObject(refusal)
    const chain = chainTo(24)
    const beacon = { ...chain.beacon, chain: async () => ({ ...syntheticChain, ...says }) }
    const following = followEpochs({ ...ofChain(BEACON_CHAIN, eventLog()), beacon, startEpoch: 0 }, never)
    await expect(following).rejects.toMatchObject(refusal)
  })

  test('a private network goes by any name, and a public one by its own', async () => {
    await followAs({ spec: { ...syntheticChain.spec, CONFIG_NAME: 'devnet' } })
    await followAs({ spec: { ...syntheticChain.spec, CONFIG_NAME: 'sepolia' } }, 'sepolia')
    await followAs({ spec: { ...syntheticChain.spec, CONFIG_NAME: 'sepolia' } }, 'our_sepolia')
  })

  test.each<[string, Readonly<Record<string, object>>]>([
    [
      'genesis time',
      {
        '/eth/v1/beacon/genesis': {
          genesis_time: '1001',
          genesis_validators_root: `0x${'11'.repeat(32)}`,
          genesis_fork_version: '0x00000000',
        },
      },
    ],
    ['genesis block', { '/eth/v1/beacon/blocks/genesis/root': { root: OTHER_ROOT } }],
  ])('a fallback of a chain that was made again is not asked (%s)', async (what, changed) => {
    await using main = await openNode((path) => {
      if (path === '/eth/v1/beacon/blocks/genesis/root') return { json: { data: { root: `0x${'33'.repeat(32)}` } } }
      return path === HEAD ? { status: 500, json: {} } : undefined
    })
    await using other = await openNode((path) => {
      const data = changed[path]
      if (data !== undefined) return { json: { data } }
      return path === HEAD ? headerAnswer : undefined
    })
    await using source = await openHttpBeaconSource({ urls: [main.url, other.url], log: silentLog, limits: FAST })
    await source.chain()
    await expect(source.head()).rejects.toMatchObject({
      code: 'node_inconsistent',
      message: expect.stringMatching(new RegExp(`^beacon node 2 is on another chain: its ${what} is`)),
    })
  })
})

test('the following of a chain that is refused asks no further', async () => {
  const chain = chainTo(6)
  const asked: string[] = []
  chain.before = (question) => void asked.push(question)
  const beacon = { ...chain.beacon, chain: async () => ({ ...syntheticChain, depositChainId: 1 }) }
  const options = { ...ofChain('private', eventLog()), beacon, execution: chain.execution }
  await expect(followBeaconHead(options, never)).rejects.toMatchObject({ code: 'config' })
  expect(asked).toEqual([])
})

test('devnets of two seeds have the same validators, and another genesis block each', async () => {
  const genesisTimeSec = 1_700_000_000
  const engine = await openSyntheticEngine({ genesisTimeSec })
  const { chainId, depositContractAddress } = engine
  const facts = { genesisTimeSec, chainId, depositContractAddress, validators: 64 }
  const [one, two] = ['one', 'two'].map((seed) => createGenesis({ seed, facts, engine }))
  const rootOf = (root: Uint8Array | undefined) => Buffer.from(root ?? []).toString('hex')
  expect(rootOf(one?.state.genesisValidatorsRoot)).toBe(rootOf(two?.state.genesisValidatorsRoot))
  expect(rootOf(one?.blockRoot)).not.toBe(rootOf(two?.blockRoot))
})
