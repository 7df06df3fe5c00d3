import { type CachedBeaconStateFulu, createCachedBeaconState, createPubkeyCache } from '@lodestar/state-transition'
import { ssz } from '@lodestar/types'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readBlockOperations } from '../../infra/beacon/block-operations.ts'
import { scanState } from '../../infra/beacon/state-columns.ts'
import { createDevnetConfig } from '../../infra/devnet/consensus/chain-config.ts'
import type { SlotRecord } from '../../infra/devnet/consensus/history.ts'
import { replaySlot } from '../../infra/devnet/consensus/regenerate.ts'
import type { Devnet } from '../../infra/devnet/open.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { explainEpoch, wantedPubkeys } from '../../schemas/eth/transition/explain-epoch.ts'
import {
  EXITED_BY_REQUEST,
  openShortDevnet,
  SLASHED_ATTESTER,
  SLASHED_PROPOSER,
  shortScenario,
  TOPPED_UP,
  VOLUNTARILY_EXITED,
} from './short-history.ts'

const SLOTS_PER_EPOCH = 32
const EPOCHS = 20
/** consensus-specs electra: MIN_SLASHING_PENALTY_QUOTIENT_ELECTRA */
const SLASHING_PENALTY_QUOTIENT = 4_096

let devnet: Devnet
beforeAll(async () => {
  devnet = await openShortDevnet()
  await devnet.advanceTo(EPOCHS * SLOTS_PER_EPOCH)
})
afterAll(() => devnet[Symbol.asyncDispose]())

function record(slot: number): SlotRecord {
  return devnet.history.slot(slot) as SlotRecord
}

/** What everything that the devnet reports about a slot says about balances: gwei by validator index. */
function explainedChanges(slot: number): Map<number, number> {
  const changes = new Map<number, number>()
  const add = (validator: number, gwei: number) => changes.set(validator, (changes.get(validator) ?? 0) + gwei)
  const before = record(slot - 1)
  const after = record(slot)
  if (slot % SLOTS_PER_EPOCH === 0) {
    const rewards = devnet.history.attestationRewards(slot / SLOTS_PER_EPOCH - 2)
    rewards?.head.forEach((head, i) => {
      add(i, head + (rewards.target[i] ?? 0) + (rewards.source[i] ?? 0) + (rewards.inactivity[i] ?? 0))
    })
    const waiting = new Set(after.pendingDeposits.map((deposit) => hexOf(deposit.signature)))
    for (const deposit of before.pendingDeposits) {
      if (waiting.has(hexOf(deposit.signature))) continue
      add(
        after.registry.findIndex((v) => hexOf(v.pubkey) === hexOf(deposit.pubkey)),
        deposit.amount,
      )
    }
  }
  const { block } = after
  if (block === undefined) return changes
  const { body } = ssz.fulu.SignedBeaconBlock.deserialize(block.bytes()).message
  for (const [validator, gwei] of block.syncRewards()) add(validator, gwei)
  for (const gwei of Object.values(block.rewards)) add(block.proposerIndex, gwei)
  for (const withdrawal of body.executionPayload.withdrawals) add(withdrawal.validatorIndex, -Number(withdrawal.amount))
  const slashed = [
    ...body.proposerSlashings.map((slashing) => slashing.signedHeader1.message.proposerIndex),
    ...body.attesterSlashings.flatMap((slashing) => slashing.attestation1.attestingIndices),
  ]
  for (const validator of slashed)
    add(validator, -Math.floor((before.registry[validator]?.effectiveBalance ?? 0) / SLASHING_PENALTY_QUOTIENT))
  return changes
}

test("the library's own state transition comes to the chain's root in every slot", () => {
  const { clock, chainId, depositContractAddress } = devnet
  const { shardCommitteePeriodEpochs } = shortScenario
  const network = { genesisTimeSec: clock.genesisTimeSec, chainId, depositContractAddress, validators: 128 }
  const view = ssz.fulu.BeaconState.deserializeToViewDU(devnet.stateBytes(0))
  const config = createDevnetConfig({ ...network, shardCommitteePeriodEpochs }, view.genesisValidatorsRoot)
  let state = createCachedBeaconState(view, { config, pubkeyCache: createPubkeyCache() }) as CachedBeaconStateFulu
  for (let slot = 1; slot <= devnet.headSlot; slot++) {
    state = replaySlot(state, slot, record(slot).block)
    expect(hexOf(state.hashTreeRoot()), `slot ${slot}`).toBe(record(slot).stateRoot)
  }
})

test('the reported rewards, deposits, withdrawals and penalties explain every balance of every slot to the gwei', () => {
  const unexplained: string[] = []
  for (let slot = 1; slot <= devnet.headSlot; slot++) {
    const changes = explainedChanges(slot)
    record(slot).balances.forEach((balance, validator) => {
      const change = balance - (record(slot - 1).balances[validator] ?? 0)
      if (change === (changes.get(validator) ?? 0)) return
      unexplained.push(`slot ${slot} validator ${validator}: ${change} gwei, explained ${changes.get(validator) ?? 0}`)
    })
  }
  expect(unexplained.slice(0, 5)).toEqual([])
})

test('states and blocks alone explain every balance of every epoch, and a gwei too much in one state stays where it is', async () => {
  const answer = await fetch(`${devnet.beaconUrl}/eth/v1/config/spec`)
  const { data: spec } = (await answer.json()) as { data: Readonly<Record<string, string>> }
  const TAMPERED = { epoch: 7, validator: 64 }
  const unexplained: [epoch: number, validator: number, gwei: number][] = []
  const lastSlotOf = (epoch: number) => (epoch + 1) * SLOTS_PER_EPOCH - 1
  let before = scanState({ fork: 'fulu', bytes: devnet.stateBytes(0), pubkeys: [] })
  for (let epoch = 0; epoch < EPOCHS; epoch++) {
    const slots = Array.from({ length: SLOTS_PER_EPOCH }, (_, offset) => epoch * SLOTS_PER_EPOCH + offset).slice(
      epoch === 0 ? 1 : 0,
    )
    const blocks = slots.flatMap((slot) => {
      const { block } = record(slot)
      return block === undefined ? [] : [readBlockOperations('fulu', block.bytes())]
    })
    const bytes = devnet.stateBytes(lastSlotOf(epoch))
    const after = scanState({ fork: 'fulu', bytes, pubkeys: wantedPubkeys(before, blocks) })
    if (epoch === TAMPERED.epoch)
      after.balancesGwei[TAMPERED.validator] = (after.balancesGwei[TAMPERED.validator] ?? 0) + 1
    const explained = explainEpoch({ before, after, blocks, spec, isSigned: () => true })
    expect(explained.isParticipationReplayed, `epoch ${epoch}`).toBe(true)
    expect(explained.headGwei.length, `epoch ${epoch}`).toBe(record(lastSlotOf(epoch)).registry.length)
    for (const [validator, gwei] of explained.residuals) unexplained.push([epoch, validator, gwei])
    if (epoch >= 2) expect(explained.targetGwei.some((gwei) => gwei > 0)).toBe(true)
    before = after
  }
  expect(unexplained).toEqual([
    [TAMPERED.epoch, TAMPERED.validator, 1],
    [TAMPERED.epoch + 1, TAMPERED.validator, -1],
  ])
})

test('the history contains every kind of incident', () => {
  const { registry } = devnet.history.head
  expect(registry[SLASHED_PROPOSER]?.slashed).toBe(true)
  expect(registry[SLASHED_ATTESTER]?.slashed).toBe(true)
  expect(registry[VOLUNTARILY_EXITED]?.exitEpoch).toBeLessThan(EPOCHS)
  expect(registry[EXITED_BY_REQUEST]?.exitEpoch).toBeLessThan(EPOCHS)
  expect(registry.length).toBe(130)
  expect(registry[128]?.activationEpoch).toBeLessThan(EPOCHS)
  const slots = Array.from({ length: devnet.headSlot }, (_, i) => i + 1)
  expect(slots.filter((slot) => record(slot).block === undefined).length).toBeGreaterThan(15)
  expect(slots.filter((slot) => devnet.history.blocksOfSlot(slot).length > (record(slot).block ? 1 : 0))).toEqual([
    50, 102, 103, 250, 450,
  ])
  const top = slots.find(
    (slot) => (record(slot).balances[TOPPED_UP] ?? 0) - (record(slot - 1).balances[TOPPED_UP] ?? 0) > 9e8,
  )
  expect(top).toBeDefined()
})

test('attesters miss heads, targets and sources separately', () => {
  const seen = new Set<string>()
  for (let epoch = 1; epoch < EPOCHS - 2; epoch++) {
    const rewards = devnet.history.attestationRewards(epoch)
    rewards?.eligible.forEach((eligible, i) => {
      if (eligible === 1 && record(epoch * SLOTS_PER_EPOCH).registry[i]?.slashed === false)
        seen.add(
          [rewards.head, rewards.target, rewards.source].map((column) => ((column[i] ?? 0) > 0 ? '+' : '-')).join(''),
        )
    })
  }
  expect([...seen].sort()).toEqual(['+++', '-++', '-+-', '--+', '---'].toSorted())
})

test('every epoch is justified and finalized', () => {
  for (let epoch = 4; epoch < EPOCHS; epoch++) {
    const { finality } = record(epoch * SLOTS_PER_EPOCH + 5)
    expect([finality.currentJustified.epoch, finality.finalized.epoch], `epoch ${epoch}`).toEqual([
      epoch - 1,
      epoch - 2,
    ])
  }
})
