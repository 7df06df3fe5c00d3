import { decodeFunctionData, type Hex, parseAbi } from 'viem'
import { describe, expect, test } from 'vitest'
import type { Simulation, StakingNode } from '../../infra/ports/staking-node.ts'
import { quoteUnstakeFor } from '../../processors/validators/quote-unstake.ts'
import { REQUESTED_EXITS_MAX } from '../../schemas/eth/withdrawal-request.ts'
import type { QuoteUnstakeInput } from '../../schemas/jobs/quote-unstake.ts'
import { ALICE, BOB, CallsWorld, CONTRACT, pubkeyOf } from './calls-world.ts'
import { silentLog } from './silent-log.ts'

const ABI = parseAbi(['function requestExits(bytes pubkeys)', 'function requestAllExits()'])
const [A, B, FOREIGN] = [pubkeyOf(1), pubkeyOf(2), pubkeyOf(99)]
const CLOCK = { genesisTimeSec: 0, secondsPerSlot: 12, slotsPerEpoch: 32 }

interface Given {
  readonly exitContract?: string | undefined
  readonly hasCode?: boolean
  readonly simulation?: Simulation
}

/** Two validators of Alice's, and one that is not run here. */
function world(): CallsWorld {
  const made = new CallsWorld()
  made.created(ALICE, [A, B])
  made.registered(ALICE, [A, B, FOREIGN])
  return made
}

function quote(world: CallsWorld, input: Partial<QuoteUnstakeInput>, given: Given = {}) {
  const { exitContract = CONTRACT, hasCode = true, simulation = { status: 'done', gas: 100_000n } } = given
  const node: Partial<StakingNode> = {
    facts: async () => ({
      ...{ chainId: 1, genesisForkVersion: new Uint8Array(4), depositContract: CONTRACT, clock: CLOCK },
    }),
    hasCode: async () => hasCode,
    simulate: async () => simulation,
  }
  const { unstakeNode } = world
  const contract = 'exitContract' in given ? given.exitContract : exitContract
  const chain = { name: 'mainnet', node: node as StakingNode, unstakeNode, exitContract: contract }
  const funded = { has: () => false, readOn: async () => {}, addSeen: () => {} }
  const asked = { chain: 'mainnet', address: ALICE, pubkeys: [A, B], notAfterMs: world.custody.wallNow() }
  // The log tells of the registry what the node tells, once it was read.
  const onLog = new Map<string, string>()
  const registered = {
    credentialsOf: (_: string, pubkey: string) => onLog.get(pubkey),
    readOn: async () => {
      for (const [pubkey, { withdrawalCredentials }] of world.registry) onLog.set(pubkey, withdrawalCredentials)
    },
  }
  return quoteUnstakeFor({ ...world.custody, funded, registered, log: silentLog }, chain, { ...asked, ...input })
}

describe('several validators are unstaked', () => {
  test('by a call that names all of them, without a fee', async () => {
    const answer = await quote(world(), {})
    expect(answer).toMatchObject({ status: 'quoted', transaction: { gas: '0x1d4c0', value: '0x0', chainId: '0x1' } })
    const { transaction } = answer as Extract<typeof answer, { status: 'quoted' }>
    expect([transaction.to, transaction.from].map((address) => address.toLowerCase())).toEqual([CONTRACT, ALICE])
    expect(decodeFunctionData({ abi: ABI, data: transaction.data as Hex })).toEqual({
      functionName: 'requestExits',
      args: [`0x${A.slice(2)}${B.slice(2)}`],
    })
  })

  test('all together, where some are leaving too', async () => {
    const given = world()
    given.registered(ALICE, [A], { exitEpoch: 9 })
    const answer = await quote(given, { pubkeys: 'all' })
    const { transaction } = answer as Extract<typeof answer, { status: 'quoted' }>
    expect(decodeFunctionData({ abi: ABI, data: transaction.data as Hex }).functionName).toBe('requestAllExits')
  })

  test('all together with imported ones, and no node is asked for what others have here', async () => {
    const given = world()
    const [own, bobs, unknown] = [10, 11, 12].map(pubkeyOf) as [string, string, string]
    given.imported([own, bobs, unknown], 1)
    given.registered(ALICE, [own])
    given.registered(BOB, [bobs])
    for (const amountGwei of ['96000000000', '96000000021'])
      expect(await quote(given, { pubkeys: 'all', amountGwei })).toMatchObject({ status: 'quoted' })
    expect(given.asked).toEqual([
      [A, B, own],
      [A, B, own],
    ])
  })

  test('as a whole: an amount is that of all of them, or there is none', async () => {
    for (const amountGwei of ['64000000000', '64000000014'])
      expect(await quote(world(), { amountGwei })).toMatchObject({ status: 'quoted' })
    for (const amountGwei of ['32000000000', '1', '64000000001'])
      expect(await quote(world(), { amountGwei })).toMatchObject({
        status: 'refused',
        reason: expect.stringMatching(/as a whole/),
      })
  })

  test('with enough gas where no node simulates it', async () => {
    const given = new CallsWorld()
    const many = Array.from({ length: REQUESTED_EXITS_MAX }, (_, i) => pubkeyOf(1_000 + i))
    given.created(ALICE, many)
    given.registered(ALICE, many)
    const answer = await quote(given, { pubkeys: many }, { simulation: { status: 'unknown' } })
    expect(answer).toMatchObject({ transaction: { gas: `0x${290_000n.toString(16)}` } })
  })
})

describe('several validators are not unstaked', () => {
  test.each<[string, (given: CallsWorld) => Partial<QuoteUnstakeInput>, RegExp]>([
    ['by a stranger', () => ({ address: BOB }), /has another withdrawal address/],
    [
      'where one is another’s',
      (w) => {
        w.registered(BOB, [B])
        return {}
      },
      new RegExp(`${B} has another withdrawal address`),
    ],
    [
      'where one is not run here',
      () => ({ pubkeys: [A, FOREIGN] }),
      new RegExp(`${FOREIGN} is not run by this service`),
    ],
    [
      'where none is run here',
      (w) => {
        w.registered(ALICE, [pubkeyOf(98)])
        return { pubkeys: [FOREIGN, pubkeyOf(98)] }
      },
      /none of the validators is run by this service/,
    ],
    ['where one is unknown', () => ({ pubkeys: [A, pubkeyOf(97)] }), /is not known to the chain/],
    [
      'where one is leaving',
      (w) => {
        w.registered(ALICE, [B], { exitEpoch: 9 })
        return {}
      },
      /is exiting already/,
    ],
    [
      'where all are leaving',
      (w) => {
        w.registered(ALICE, [A, B], { exitEpoch: 9 })
        return { pubkeys: 'all' }
      },
      /all of the validators are exiting already/,
    ],
    [
      'where the key of one is lost',
      (w) => {
        w.lost.add(B)
        return { pubkeys: 'all' }
      },
      new RegExp(`${B} is not run`),
    ],
    [
      'where one is not deposited',
      (w) => {
        w.registry.delete(B)
        return {}
      },
      new RegExp(`${B} is not deposited yet`),
    ],
    ['where an address has none', () => ({ address: BOB, pubkeys: 'all' }), /none of the validators/],
  ])('%s: never a part of them', async (_, change, reason) => {
    const given = world()
    const unknown = reason.source.includes('not known') ? { unknown: pubkeyOf(97) } : {}
    expect(await quote(given, change(given))).toEqual({
      ...{ status: 'refused', reason: expect.stringMatching(reason) },
      ...unknown,
    })
  })

  test('where no contract is configured, or there is none at its address, or it would revert', async () => {
    expect(await quote(world(), {}, { exitContract: undefined })).toMatchObject({
      reason: expect.stringMatching(/ask for one at a time/),
    })
    expect(await quote(world(), {}, { hasCode: false })).toEqual({ status: 'unavailable' })
    expect(await quote(world(), {}, { simulation: { status: 'reverted' } })).toEqual({ status: 'unavailable' })
  })
})
