import { type Devnet, type DevnetOptions, openDevnet } from '../../infra/devnet/open.ts'
import { openSyntheticEngine } from './synthetic-engine.ts'

const GWEI_PER_ETH = 1_000_000_000n
const SLOTS_PER_EPOCH = 32
/** Epochs before the first exit that the chain takes. */
export const SERVICE_EPOCHS = 3
/** Exits that a block has room for (MAX_VOLUNTARY_EXITS). */
const EXITS_PER_BLOCK = 16

export interface CrowdedDevnet {
  readonly validators: number
  /** New validators of 32 ETH, whose deposits are in the blocks from this slot on, this many in each. */
  readonly deposits: { readonly count: number; readonly fromSlot: number; readonly perBlock: number }
  /** More for validators of genesis, in the block of one slot: each gets so much. */
  readonly topUps?: { readonly slot: number; readonly validators: readonly number[]; readonly amountGwei: bigint }
  /** Validators that want to leave from this epoch on, those of the lowest indices. */
  readonly exits: { readonly count: number; readonly fromEpoch: number }
  /** Slots of further exits, of the validators with the indices that follow. */
  readonly laterExits?: readonly number[]
}

/** A devnet with a manual clock and no incidents, whose queues are long: 4 validators a epoch get in, and 4 out. */
export function openCrowdedDevnet(crowd: CrowdedDevnet, options: Partial<DevnetOptions> = {}): Promise<Devnet> {
  const { validators, deposits, exits, topUps } = crowd
  const bySlot = new Map<number, { validatorNumber: number; amountGwei: bigint }[]>()
  if (topUps !== undefined) {
    const { slot, amountGwei } = topUps
    bySlot.set(
      slot,
      topUps.validators.map((validatorNumber) => ({ validatorNumber, amountGwei })),
    )
  }
  for (let i = 0; i < deposits.count; i++) {
    const slot = deposits.fromSlot + Math.floor(i / deposits.perBlock)
    const made = bySlot.get(slot) ?? []
    bySlot.set(slot, [...made, { validatorNumber: validators + i, amountGwei: 32n * GWEI_PER_ETH }])
  }
  const first = exits.fromEpoch * SLOTS_PER_EPOCH + 1
  const slots = Array.from({ length: exits.count }, (_, i) => first + Math.floor(i / EXITS_PER_BLOCK))
  const incidents = [...slots, ...(crowd.laterExits ?? [])].map((slot, validator) => ({
    kind: 'voluntary_exit' as const,
    slot,
    validator,
  }))
  const rates = { missedProposal: 0.01, missedAttestation: 0, lateAttestation: 0, veryLateAttestation: 0 }
  return openDevnet({
    seed: 'crowded',
    genesisTimeSec: 1_800_000_011,
    validators,
    clock: 'manual',
    beaconPort: 0,
    executionPort: 0,
    scenario: {
      version: `crowded-${deposits.count}-${incidents.length}-${topUps?.validators.length ?? 0}`,
      rates: { ...rates, wrongHead: 0, missedSync: 0 },
      weakEvery: validators + deposits.count,
      weakFactor: 1,
      shardCommitteePeriodEpochs: SERVICE_EPOCHS,
      incidents,
    },
    openEngine: ({ genesisTimeSec }) => openSyntheticEngine({ genesisTimeSec, deposits: bySlot }),
    ...options,
  })
}
