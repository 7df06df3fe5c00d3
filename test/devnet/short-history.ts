import { ssz } from '@lodestar/types'
import { pubkeyOf, withdrawalAddressOf } from '../../infra/devnet/consensus/keys.ts'
import { type Devnet, type DevnetOptions, openDevnet } from '../../infra/devnet/open.ts'
import type { Scenario } from '../../infra/devnet/scenario.ts'
import { openSyntheticEngine } from './synthetic-engine.ts'

export const GENESIS_TIME_SEC = 1_800_000_011
export const SLASHED_PROPOSER = 23
export const SLASHED_ATTESTER = 101
export const VOLUNTARILY_EXITED = 41
export const EXITED_BY_REQUEST = 33
export const TOPPED_UP = 15 // compounding, so the top-up stays

/** Every incident of the default scenario, and more chance, within the first ten epochs. */
export const shortScenario: Scenario = {
  version: 'short-1',
  rates: {
    missedProposal: 0.05,
    missedAttestation: 0.01,
    lateAttestation: 0.04,
    veryLateAttestation: 0.02,
    wrongHead: 0.1,
    missedSync: 0.03,
  },
  weakEvery: 37,
  weakFactor: 8,
  shardCommitteePeriodEpochs: 3,
  incidents: [
    { kind: 'missed', slots: [20, 21, 31, 64] },
    { kind: 'reorg', slot: 50, depth: 1, everySlots: 200 },
    { kind: 'reorg', slot: 102, depth: 2 },
    { kind: 'offline', validators: [12, 13], fromSlot: 70, toSlot: 170 },
    { kind: 'proposer_slashing', slot: 110, validator: SLASHED_PROPOSER },
    { kind: 'attester_slashing', slot: 150, validator: SLASHED_ATTESTER },
    { kind: 'voluntary_exit', slot: 60, validator: VOLUNTARILY_EXITED },
  ],
}

/** A devnet with a manual clock, free ports and no anvil: 128 validators, two deposits, a top-up, an exit request. */
export function openShortDevnet(options: Partial<DevnetOptions> = {}): Promise<Devnet> {
  const validators = options.validators ?? 128
  const eth = 1_000_000_000n
  return openDevnet({
    seed: 'short',
    genesisTimeSec: GENESIS_TIME_SEC,
    validators,
    clock: 'manual',
    beaconPort: 0,
    executionPort: 0,
    scenario: shortScenario,
    openEngine: (setup) =>
      openSyntheticEngine({
        genesisTimeSec: setup.genesisTimeSec,
        deposits: new Map([
          [5, { validatorNumber: validators, amountGwei: 32n * eth }],
          [40, { validatorNumber: TOPPED_UP, amountGwei: eth }],
          [90, { validatorNumber: validators + 1, amountGwei: 32n * eth }],
        ]),
        withdrawalRequests: new Map([
          [
            140,
            ssz.electra.WithdrawalRequest.fromJson({
              source_address: withdrawalAddressOf(EXITED_BY_REQUEST),
              validator_pubkey: `0x${Buffer.from(pubkeyOf(EXITED_BY_REQUEST)).toString('hex')}`,
              amount: '0',
            }),
          ],
        ]),
      }),
    ...options,
  })
}
