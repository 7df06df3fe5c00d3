import { pubkeyOf } from '../../infra/devnet/consensus/keys.ts'
import { type Devnet, openDevnet } from '../../infra/devnet/open.ts'
import type { Scenario } from '../../infra/devnet/scenario.ts'
import { hexOf } from '../../schemas/eth/hex.ts'

// The history that every fault is tried on: slots of a quarter of an hour, so that a whole UTC+8 day is three epochs' worth of them.

const SECONDS_PER_SLOT = 900
/** Inside epoch 1, as on mainnet a day begins inside an epoch. */
const FIRST_SLOT_OF_DAY = 45
const GENESIS_TIME_SEC = Date.UTC(2026, 0, 10, 16) / 1_000 + 11 - FIRST_SLOT_OF_DAY * SECONDS_PER_SLOT
export const VALIDATORS = 64

/** What is there before anybody looks; the rest comes while followers listen. */
export const PAST_SLOTS = 200
/** The day ends with slot 140, whose epoch and the one after it are final by now. */
export const LAST_SLOT = 270
/** Index of the tracked validator that joins the registry, and the epoch in which it does. */
export const JOINER = { index: VALIDATORS, epoch: 4 }

/** Some of the genesis validators, one that a deposit of slot 40 brings in, and one that never comes. */
export const TRACKED = [...Array.from({ length: 40 }, (_, number) => number), VALIDATORS, 900].map((number) =>
  hexOf(pubkeyOf(number)),
)

const SCENARIO: Scenario = {
  version: 'faults-1',
  secondsPerSlot: SECONDS_PER_SLOT,
  shardCommitteePeriodEpochs: 2,
  rates: {
    missedProposal: 0.02,
    missedAttestation: 0.01,
    lateAttestation: 0.02,
    veryLateAttestation: 0.01,
    wrongHead: 0.02,
    missedSync: 0.02,
  },
  weakEvery: 13,
  weakFactor: 5,
  incidents: [
    { kind: 'missed', slots: [64, 90, 91] },
    { kind: 'reorg', slot: 100, depth: 1 },
    { kind: 'reorg', slot: 230, depth: 2 },
    { kind: 'offline', validators: [12, 13], fromSlot: 70, toSlot: 120 },
    { kind: 'voluntary_exit', slot: 96, validator: 21 },
  ],
}

/** The chain, with nothing produced yet; no block is proposed in the slots of `missed` either. */
export function openHistory({ missed = [] }: { readonly missed?: readonly number[] } = {}): Promise<Devnet> {
  return openDevnet({
    seed: 'faults',
    genesisTimeSec: GENESIS_TIME_SEC,
    validators: VALIDATORS,
    scenario: { ...SCENARIO, incidents: [...SCENARIO.incidents, { kind: 'missed', slots: missed }] },
    beaconPort: 0,
    executionPort: 0,
    clock: 'manual',
  })
}
