import { ssz } from '@lodestar/types'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openHttpBeaconSource } from '../../infra/beacon/http-source.ts'
import {
  PENDING_CONSOLIDATION,
  PENDING_DEPOSIT,
  PENDING_PARTIAL,
  readPubkeys,
  readRecords,
} from '../../infra/beacon/queue-bodies.ts'
import { openBeaconSource } from '../../infra/beacon/source.ts'
import { pubkeyOf } from '../../infra/devnet/consensus/keys.ts'
import type { Devnet } from '../../infra/devnet/open.ts'
import type { StakingQueues } from '../../infra/ports/beacon-source.ts'
import { approximateExitQueue } from '../../schemas/eth/churn.ts'
import { FAR_FUTURE_EPOCH } from '../../schemas/eth/far-future.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { openCrowdedDevnet } from '../devnet/queues.ts'
import { openFaultyNode, TrueNode } from '../faults/faulty-node.ts'
import { silentLog } from './silent-log.ts'

// The queues of a node's head: what is read is what the state holds.

const HEAD_SLOT = 168
const CROWD = {
  validators: 128,
  deposits: { count: 40, fromSlot: 70, perBlock: 4 },
  exits: { count: 20, fromEpoch: 4 },
  topUps: { slot: 66, validators: [0, 19, 30], amountGwei: 1_000_000_000n },
}

let devnet: Devnet
beforeAll(async () => {
  devnet = await openCrowdedDevnet(CROWD)
  await devnet.advanceTo(HEAD_SLOT)
})
afterAll(() => devnet[Symbol.asyncDispose]())

const prefixOf = (pubkey: Uint8Array) => Buffer.from(pubkey).readBigUInt64BE()
/** After the newest block. */
const headState = () => ssz.fulu.BeaconState.deserialize(devnet.stateBytes(devnet.history.head.head.slot))

test('all that estimates need of the head is read, the two fields of the exit queue among it', async () => {
  await using source = await openBeaconSource({ urls: [devnet.beaconUrl], log: silentLog })
  const queues = await source.queues([])
  const state = headState()
  const { head } = devnet.history.head
  expect(queues).toMatchObject({ slot: head.slot, root: head.root })
  expect(queues.finalizedEpoch).toBe(state.finalizedCheckpoint.epoch)
  expect(state.pendingDeposits.length).toBeGreaterThan(30)
  expect([...queues.deposits.pubkeyPrefix]).toEqual(state.pendingDeposits.map(({ pubkey }) => prefixOf(pubkey)))
  expect([...queues.deposits.amountGwei]).toEqual(state.pendingDeposits.map(({ amount }) => BigInt(amount)))
  expect([...queues.deposits.slot]).toEqual(state.pendingDeposits.map(({ slot }) => BigInt(slot)))
  expect(queues.fields).toMatchObject({
    nextWithdrawalValidatorIndex: state.nextWithdrawalValidatorIndex,
    depositBalanceToConsumeGwei: state.depositBalanceToConsume,
    exitBalanceToConsumeGwei: state.exitBalanceToConsume,
    earliestExitEpoch: state.earliestExitEpoch,
  })
  expect(state.earliestExitEpoch).toBeGreaterThan(10)
  expect(queues.sweepPosition).toBe(state.nextWithdrawalValidatorIndex)
  const active = state.validators.filter(({ activationEpoch, exitEpoch }) => activationEpoch <= 5 && exitEpoch > 5)
  const activeGwei = active.reduce((sum, { effectiveBalance }) => sum + BigInt(effectiveBalance), 0n)
  expect(queues.registry).toMatchObject({
    size: state.validators.length,
    isSampled: false,
    totalActiveGwei: activeGwei,
  })
})

test('whose deposits are put off is read, and how it stands with validators of one’s own that come or go', async () => {
  await using source = await openBeaconSource({ urls: [devnet.beaconUrl], log: silentLog })
  const key = (number: number) => hexOf(pubkeyOf(number))
  const [leaving, staying, unknown] = [key(5), key(100), key(CROWD.validators + 39)]
  const queues = await source.queues([leaving, staying, unknown])
  const state = headState()
  const leavesBy = new Map(state.validators.map((one) => [hexOf(one.pubkey), one.withdrawableEpoch]))
  const expected = state.pendingDeposits.map(({ pubkey }) => leavesBy.get(hexOf(pubkey)) ?? Number.POSITIVE_INFINITY)
  expect(expected.filter(Number.isFinite)).toHaveLength(2)
  expect(Array.from(queues.deposits.withdrawableEpoch, epochOfColumn)).toEqual(expected)
  const { activationEpoch, exitEpoch, withdrawableEpoch } = state.validators[5] as (typeof state.validators)[5]
  expect(queues.own).toEqual([{ pubkey: leaving, eligibilityEpoch: 0, activationEpoch, exitEpoch, withdrawableEpoch }])
})

function epochOfColumn(epoch: bigint): number {
  return epoch === FAR_FUTURE_EPOCH ? Number.POSITIVE_INFINITY : Number(epoch)
}

async function queuesOfNodeWithout(paths: readonly string[]): Promise<StakingQueues> {
  await using truth = new TrueNode(devnet.beaconUrl)
  const gone = { status: 404, headers: { 'content-type': 'application/json' }, body: Buffer.from('{"code":404}') }
  const isGone = ({ path }: { readonly path: string }) => paths.some((part) => path.includes(part))
  await using node = await openFaultyNode(truth, [{ of: isGone, reply: () => gone }])
  await using source = await openHttpBeaconSource({ urls: [node.url], log: silentLog })
  return await source.queues([])
}

test('a node that keeps its whole state to itself tells who is exiting instead', async () => {
  const queues = await queuesOfNodeWithout(['/eth/v2/debug/'])
  expect(queues.fields).toBeUndefined()
  const state = headState()
  const exiting = state.validators.flatMap(({ exitEpoch }, index) => (exitEpoch < 1_000 ? [{ index, exitEpoch }] : []))
  expect([...queues.exiting.validatorIndex]).toEqual(exiting.map(({ index }) => index))
  const scheduled = Array.from(queues.exiting.exitEpoch, (epoch) => ({
    epoch: Number(epoch),
    balanceGwei: 32_000_000_000n,
  }))
  expect(Math.abs(approximateExitQueue(scheduled, 128_000_000_000n).earliestEpoch - state.earliestExitEpoch)).toBe(0)
})

test('a node without the younger queues tells the others', async () => {
  const queues = await queuesOfNodeWithout(['pending_partial_withdrawals', 'pending_consolidations'])
  expect(queues.partials.amountGwei).toHaveLength(0)
  expect(queues.deposits.slot.length).toBe(headState().pendingDeposits.length)
})

test('a node without pending deposits is behind', async () => {
  await expect(queuesOfNodeWithout(['pending_deposits'])).rejects.toMatchObject({ code: 'node_lagging' })
})

const deposits = Array.from({ length: 300 }, (_, i) => ({
  pubkey: new Uint8Array(48).fill((i * 7) % 256),
  withdrawalCredentials: new Uint8Array(32).fill(i % 256),
  amount: 1_000_000_000 + i * 1_234_567_891,
  signature: new Uint8Array(96).fill(i % 256),
  slot: i * 1_000_003,
}))

test('queues are the same from SSZ and from JSON', () => {
  const bytes = ssz.electra.PendingDeposits.serialize(deposits)
  const json = Buffer.from(
    JSON.stringify({ version: 'fulu', finalized: false, data: ssz.electra.PendingDeposits.toJson(deposits) }, null, 1),
  )
  const ofJson = readRecords(PENDING_DEPOSIT, { headers: { 'content-type': 'application/json' }, body: json })
  expect(readRecords(PENDING_DEPOSIT, { headers: {}, body: bytes })).toEqual(ofJson)
  const pubkeys = deposits.map(({ pubkey }) => hexOf(pubkey))
  expect(readPubkeys({ headers: {}, body: bytes })).toEqual(pubkeys)
  expect(readPubkeys({ headers: { 'content-type': 'application/json' }, body: json })).toEqual(pubkeys)
  expect([...ofJson.amountGwei]).toEqual(deposits.map(({ amount }) => BigInt(amount)))
  expect([...ofJson.slot]).toEqual(deposits.map(({ slot }) => BigInt(slot)))
  expect([...ofJson.pubkeyPrefix]).toEqual(deposits.map(({ pubkey }) => prefixOf(pubkey)))
  const partials = [{ validatorIndex: 7, amount: 9n, withdrawableEpoch: 11 }]
  expect(
    readRecords(PENDING_PARTIAL, { headers: {}, body: ssz.electra.PendingPartialWithdrawals.serialize(partials) }),
  ).toEqual({
    validatorIndex: BigUint64Array.of(7n),
    amountGwei: BigUint64Array.of(9n),
    withdrawableEpoch: BigUint64Array.of(11n),
  })
  const consolidations = [{ sourceIndex: 5, targetIndex: 6 }]
  const told = ssz.electra.PendingConsolidations.serialize(consolidations)
  expect([...readRecords(PENDING_CONSOLIDATION, { headers: {}, body: told }).sourceIndex]).toEqual([5n])
})

test.each([
  ['is cut off', '{"data":[{"pubkey":"0x0011223344556677","amount":"1","slot":"2"}'],
  ['has a record without a slot', '{"data":[{"pubkey":"0x0011223344556677","amount":"1"}]}'],
  ['has a key that is too short', '{"data":[{"pubkey":"0x00","amount":"1","slot":"2"}]}'],
  ['has letters in a key', '{"data":[{"pubkey":"0xzz11223344556677","amount":"1","slot":"2"}]}'],
  ['has an amount that is no number', '{"data":[{"pubkey":"0x0011223344556677","amount":"1x","slot":"2"}]}'],
  ['has something behind it', '{"data":[]} {}'],
])('an answer that %s is malformed', (_, text) => {
  const answer = { headers: { 'content-type': 'application/json' }, body: Buffer.from(text) }
  expect(() => readRecords(PENDING_DEPOSIT, answer)).toThrow(expect.objectContaining({ code: 'node_malformed' }))
})

test('a public key of another length is malformed', () => {
  const body = Buffer.from('{"data":[{"pubkey":"0x0011223344556677","amount":"1","slot":"2"}]}')
  const answer = { headers: { 'content-type': 'application/json' }, body }
  expect(() => readPubkeys(answer)).toThrow(expect.objectContaining({ code: 'node_malformed' }))
})

test('an answer of no whole records is malformed', () => {
  const answer = { headers: {}, body: new Uint8Array(193) }
  expect(() => readRecords(PENDING_DEPOSIT, answer)).toThrow(expect.objectContaining({ code: 'node_malformed' }))
})
