import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openBeaconSource } from '../../infra/beacon/source.ts'
import type { Devnet } from '../../infra/devnet/open.ts'
import type { BeaconSource, ChainNews, FinalChain } from '../../infra/ports/beacon-source.ts'
import { finalizedBlocks } from '../../ingest/epochs/epoch-blocks.ts'
import { PubkeyBook } from '../../ingest/epochs/pubkey-book.ts'
import { syncColumns, trackedMembers } from '../../ingest/epochs/sync-rewards.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { silentLog } from '../unit/silent-log.ts'
import { askEpoch } from './epoch-question.ts'
import { GENESIS_TIME_SEC, openShortDevnet } from './short-history.ts'

// The source against a whole node: what each codec reads is what the chain holds.

const HEAD_SLOT = 140

let devnet: Devnet
let source: BeaconSource
let final: FinalChain
beforeAll(async () => {
  devnet = await openShortDevnet()
  await devnet.advanceTo(HEAD_SLOT)
  source = await openBeaconSource({ urls: [devnet.beaconUrl], log: silentLog })
  final = source.finalChain(await source.finalized())
})
afterAll(async () => {
  await source[Symbol.asyncDispose]()
  await devnet[Symbol.asyncDispose]()
})

function record(slot: number) {
  const found = devnet.history.slot(slot)
  if (found === undefined) throw new Error(`no slot ${slot}`)
  return found
}

test('the chain, its head and its finality are read', async () => {
  const { clock } = await source.chain()
  expect(clock).toEqual({ genesisTimeSec: GENESIS_TIME_SEC, secondsPerSlot: 12, slotsPerEpoch: 32 })
  const { head, finality } = record(HEAD_SLOT)
  expect(await source.head()).toEqual({ slot: head.slot, root: head.root })
  expect(await source.finalized()).toEqual({ ...finality.finalized, toldBy: 0 })
})

test('a block is read with its sync bits, and an empty slot is none', async () => {
  const { head, block } = record(63)
  expect(await source.blockAt(64)).toBeUndefined()
  const found = await source.blockAt(63)
  expect(found).toMatchObject({ slot: 63, root: head.root, proposerIndex: block?.proposerIndex })
  expect(found?.syncBits.some((byte) => byte !== 0)).toBe(true)
})

test('the committee, the queue of deposits and rewards are read', async () => {
  expect(await final.syncCommittee(2)).toEqual(record(64).syncCommittee)
  const deposits = record(6).pendingDeposits
  expect((await final.pendingDeposits(6)).map(({ pubkey, amountGwei }) => [pubkey, amountGwei])).toEqual(
    deposits.map(({ pubkey, amount }) => [hexOf(pubkey), BigInt(amount)]),
  )
  const { head, block } = record(63)
  expect(Object.values(await final.proposerReward(head.root)).reduce((sum, gwei) => sum + gwei, 0n)).toBe(
    BigInt(Object.values(block?.rewards ?? {}).reduce((sum, gwei) => sum + gwei, 0)),
  )
})

test('the sync rewards of an epoch are those that the chain has applied', async () => {
  const epoch = 1
  const indices = Uint32Array.of(3, 5, 12, 77)
  const slots = Array.from({ length: 32 }, (_, i) => epoch * 32 + i)
  const blocks = (await Promise.all(slots.map((slot) => source.blockAt(slot)))).filter((block) => block !== undefined)
  const tracked = { pubkeys: new PubkeyBook(), indices }
  const input = { final, chain: await source.chain(), epoch, tracked }
  const members = trackedMembers(await final.syncCommittee(epoch), new Set(indices))
  const states = final.validators(epoch * 32 + 31, indices)
  const rewarded = finalizedBlocks(input, blocks, (index) => indices.includes(index))
  const columns = await syncColumns({ ...input, blocks, members, states, rewarded })
  const rows = Array.from(columns.validatorIndex, (index, i) => [columns.slotOffset[i], index, columns.syncGwei[i]])
  const applied = blocks.flatMap(({ slot }) => {
    const rewards = record(slot).block?.syncRewards()
    return Array.from(members.indices, (index) => [slot - epoch * 32, index, BigInt(rewards?.get(index) ?? 0)])
  })
  expect(rows).toEqual(applied)
  expect(rows.length).toBeGreaterThan(32)
})

test('what is computed from states is what the endpoints of a node say that does not round', async () => {
  const { epoch: finalEpoch } = await source.finalized()
  const set = Uint32Array.from({ length: 140 }, (_, index) => index) // some of them are in no registry yet
  for (let epoch = 0; epoch < finalEpoch; epoch++) {
    const { blocks, question } = await askEpoch(source, epoch)
    const cutSlots = Array.from({ length: 33 }, (_, i) => epoch * 32 - 1 + i).filter((slot) => slot > 0)
    const explained = await final.explainedEpoch({ ...question, cutSlots }, set)
    for (const [nth, slot] of cutSlots.entries())
      expect(explained?.cuts[nth], `slot ${slot}`).toEqual({ slot, balances: await final.balances(slot, set) })
    expect(explained, `epoch ${epoch}`).toMatchObject({
      states: await final.validators(epoch * 32 + 31, set),
      residuals: [],
      proof: { level: 'anchored', stateRoot: record(epoch * 32 + 31).stateRoot },
    })
    if (epoch >= 2) expect(explained?.attestations).toEqual(await final.attestationRewards(epoch - 2, set))
    const told = await Promise.all(
      blocks.map(async ({ slot, root }) => ({ slot, ...(await final.proposerReward(root)) })),
    )
    expect(explained?.proposals).toEqual(told)
    const members = new Set(await final.syncCommittee(epoch))
    const { validatorIndex, syncGwei } = await final.syncRewards(
      blocks[0]?.root ?? '',
      set.filter((index) => members.has(index)),
    )
    const first = new Map(
      Array.from(explained?.sync.validatorIndex ?? [], (index, row) => [index, row] as const).reverse(),
    )
    expect(Array.from(validatorIndex, (index) => explained?.sync.syncGwei[first.get(index) ?? -1])).toEqual([
      ...syncGwei,
    ])
  }
  expect(finalEpoch).toBeGreaterThan(1)
})

test('a state that is read anew behind an empty slot is proven by the next one, which has its root', async () => {
  expect(record(31).block).toBeUndefined()
  await using fresh = await openBeaconSource({ urls: [devnet.beaconUrl], log: silentLog })
  const { question } = await askEpoch(fresh, 1)
  const explained = await fresh.finalChain(await fresh.finalized()).explainedEpoch(question, Uint32Array.of(3, 5))
  expect(explained?.proof.level).toBe('anchored')
})

test('an epoch is not published whose blocks do not set the participation of its state', async () => {
  const { question } = await askEpoch(source, 2)
  const oneLess = { ...question, blockRoots: question.blockRoots.toSpliced(1, 1) }
  await expect(final.explainedEpoch(oneLess, Uint32Array.of(3, 5))).rejects.toThrow(
    /the blocks of epoch 2 do not set the participation/,
  )
})

test('whether a state can be had is known without having it', async () => {
  const answer = await fetch(`${devnet.beaconUrl}/eth/v2/debug/beacon/states/63`, {
    headers: { accept: 'application/octet-stream' },
  })
  expect(await final.stateOffer(63)).toEqual({ bytes: (await answer.arrayBuffer()).byteLength })
  await expect(final.stateOffer(HEAD_SLOT + 1)).rejects.toMatchObject({ code: 'node_lagging' })
  await using light = await openBeaconSource({ urls: [devnet.beaconUrl], log: silentLog, rewardsBy: 'endpoints' })
  expect(await light.finalChain(await light.finalized()).stateOffer(63)).toBeUndefined()
})

test('validators are identified by their keys', async () => {
  const pubkey = hexOf(record(64).registry[5]?.pubkey ?? new Uint8Array(0))
  expect(await final.identify(64, [pubkey, `0x${'ab'.repeat(48)}`])).toMatchObject([{ index: 5, pubkey }])
})

test('who validators are is held against the registry of the state that was read last, at the head or behind an epoch', async () => {
  const { registry } = record(64)
  const keyOf = (index: number) => registry[index]?.pubkey ?? new Uint8Array(0)
  const credentialsOf = (index: number) => registry[index]?.withdrawalCredentials ?? new Uint8Array(0)
  /** That validator 5 is itself, and 7 is 6. */
  const claims = { indices: Uint32Array.of(5, 6), pubkeys: Buffer.concat([keyOf(5), keyOf(7)]) }
  const identityOf = (index: number) => {
    return { index, pubkey: hexOf(keyOf(index)), withdrawalCredentials: hexOf(credentialsOf(index)) }
  }
  const contradicted = [{ place: 1, holder: identityOf(6), right: identityOf(7) }]
  await using fresh = await openBeaconSource({ urls: [devnet.beaconUrl], log: silentLog })
  const checkpoint = await fresh.finalized()
  expect(await fresh.finalChain(checkpoint).registered(claims)).toBeUndefined()
  await fresh.finalChain(checkpoint).explainedEpoch((await askEpoch(fresh, 1)).question, Uint32Array.of(3, 5))
  const word = await fresh.finalChain(checkpoint).registered(claims)
  expect(word).toMatchObject({ slot: 63, contradicted })
  expect(word?.credentials.slice(0, 32)).toEqual(Uint8Array.from(credentialsOf(5)))
  const folder = mkdtempSync(join(tmpdir(), 'epochline-registry-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  await using keeping = await openBeaconSource({ urls: [devnet.beaconUrl], log: silentLog, statesFolder: folder })
  const { question } = await askEpoch(keeping, checkpoint.epoch)
  expect(await keeping.keepState(question)).toBe('kept')
  expect(await keeping.finalChain(checkpoint).registered(claims)).toMatchObject({ contradicted })
  // A checkpoint of another chain, with the same epoch.
  const other = { ...checkpoint, root: `0x${'cd'.repeat(32)}` }
  expect(await keeping.finalChain(other).registered(claims)).toBeUndefined()
})

test('the node announces its heads and its finality', async () => {
  const stop = new AbortController()
  const news: ChainNews[] = []
  let advancing: Promise<void> | undefined
  await source.watch((one) => {
    news.push(one)
    if (one.kind === 'gap') advancing = devnet.advanceTo(HEAD_SLOT + 30)
    if (one.kind === 'finalized') stop.abort()
  }, stop.signal)
  await advancing
  const heads = news.filter((one) => one.kind === 'head')
  expect(heads.length).toBeGreaterThan(5)
  for (const { slot, root } of heads) expect(record(slot).head.root).toBe(root)
  expect(news.at(-1)).toEqual({ kind: 'finalized', ...(await source.finalized()) })
})
