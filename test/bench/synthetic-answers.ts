import { ssz } from '@lodestar/types'
import { bytesOf, hexOf } from '../../schemas/eth/hex.ts'
import { noise } from './noise.ts'
import type { SyntheticExecution, SyntheticExecutionBlock } from './synthetic-execution.ts'
import { pubkeyOf, SLOTS_PER_EPOCH } from './synthetic-registry.ts'

// What the synthetic beacon node knows: a chain of blocks, a registry of any size, and the rewards that follow from both.

const COMMITTEE_SEATS = 512
/** Gwei per seat and block; about what 34 million staked ether make. */
const SEAT_REWARD_GWEI = 22_500
/** Seats that sign, as on a good day of mainnet. */
const PARTICIPATION = 0.97
/** About the size of a block of mainnet. */
const ATTESTATIONS_PER_BLOCK = 8
const FAR = '18446744073709551615'

const SECONDS_PER_SLOT = 12
/** 2024-01-02 of UTC+8 begins 4 s before this slot: in the midst of an epoch, and of the epochs that are measured. */
const FIRST_SLOT_OF_DAY = 8 * SLOTS_PER_EPOCH + 15
const GENESIS_TIME_SEC = 1_704_124_800 + 4 - FIRST_SLOT_OF_DAY * SECONDS_PER_SLOT

const ROOT = `0x${'5a'.repeat(32)}`

export interface Block {
  readonly slot: number
  readonly bytes: Uint8Array
  readonly root: string
  readonly parentRoot: string
  readonly proposerIndex: number
  readonly execution: SyntheticExecutionBlock
  readonly syncBits: Uint8Array
}

export function makeChain(slots: number, registry: number, execution: SyntheticExecution): readonly Block[] {
  const chain: Block[] = []
  let parentRoot: Uint8Array = new Uint8Array(32)
  for (let slot = 0; slot < slots; slot++) {
    const block = ssz.fulu.SignedBeaconBlock.defaultValue()
    const { message } = block
    const { body } = message
    message.slot = slot
    message.proposerIndex = Math.floor(noise(slot, 200) * registry)
    message.parentRoot = parentRoot
    body.executionPayload.blockNumber = slot
    const executionBlock = execution.block(slot, GENESIS_TIME_SEC + slot * SECONDS_PER_SLOT)
    body.executionPayload.blockHash = bytesOf(executionBlock.hash)
    body.executionPayload.timestamp = GENESIS_TIME_SEC + slot * SECONDS_PER_SLOT
    body.attestations = Array.from({ length: ATTESTATIONS_PER_BLOCK }, () => ssz.electra.Attestation.defaultValue())
    body.executionPayload.transactions = [...execution.transactions]
    const { syncCommitteeBits } = body.syncAggregate
    for (let seat = 0; seat < COMMITTEE_SEATS; seat++) {
      if (noise(seat, slot + 1_000) < PARTICIPATION) syncCommitteeBits.set(seat, true)
    }
    const root = ssz.fulu.BeaconBlock.hashTreeRoot(message)
    chain.push({
      slot,
      bytes: ssz.fulu.SignedBeaconBlock.serialize(block),
      root: hexOf(root),
      parentRoot: hexOf(parentRoot),
      proposerIndex: message.proposerIndex,
      execution: executionBlock,
      syncBits: syncCommitteeBits.uint8Array,
    })
    parentRoot = root
  }
  return chain
}

/** A member of the registry per seat, evenly spread; small registries have several seats for each. */
export function makeCommittee(registry: number): readonly number[] {
  return Array.from({ length: COMMITTEE_SEATS }, (_, seat) => Math.floor((seat * registry) / COMMITTEE_SEATS))
}

export function syncRewardRows(committee: readonly number[], { syncBits }: Block) {
  const rewards = new Map<number, number>()
  committee.forEach((member, seat) => {
    const hasSigned = ((syncBits[seat >> 3] as number) & (1 << (seat & 7))) !== 0
    rewards.set(member, (rewards.get(member) ?? 0) + (hasSigned ? SEAT_REWARD_GWEI : -SEAT_REWARD_GWEI))
  })
  return [...rewards].map(([index, reward]) => ({ validator_index: String(index), reward: String(reward) }))
}

/** Gwei with which a validator begins, so that balances have as many digits for as long as anybody measures. */
export function genesisGwei(index: number): number {
  return 32_000_000_000 + Math.floor(noise(index, 0) * 20_000_000)
}

/** Everybody is active, also in the first epoch. */
export function validatorRow(index: number, balance: number): string {
  const credentials = `0x010000000000000000000000${index.toString(16).padStart(40, '0')}`
  return `{"index":"${index}","balance":"${balance}","status":"active_ongoing","validator":{"pubkey":"${pubkeyOf(index)}","withdrawal_credentials":"${credentials}","effective_balance":"32000000000","slashed":false,"activation_eligibility_epoch":"0","activation_epoch":"0","exit_epoch":"${FAR}","withdrawable_epoch":"${FAR}"}}`
}

/** One in fifty misses its attestation, one in twenty the head: as on a good day of mainnet. */
/** What an epoch's duties of a variant earn, gwei. */
export function dutiesGwei(index: number, variant: number): number {
  const { head, target, source } = attestationOf(index, variant)
  return head + target + source
}

function attestationOf(index: number, variant: number) {
  const luck = noise(index, variant + 100)
  const missed = luck < 0.02
  return {
    head: missed || luck < 0.07 ? 0 : 2_650 + variant,
    target: missed ? -4_900 : 4_880 + variant,
    source: missed ? -2_640 : 2_630 + variant,
  }
}

export function attestationRow(index: number, variant: number): string {
  const { head, target, source } = attestationOf(index, variant)
  return `{"validator_index":"${index}","head":"${head}","target":"${target}","source":"${source}","inclusion_delay":"0","inactivity":"0"}`
}

/** Gwei that an epoch's blocks and its sync committee bring, by validator. */
export function blockRewards(blocks: readonly Block[], committee: readonly number[]): ReadonlyMap<number, number> {
  const rewards = new Map<number, number>()
  const add = (index: number, gwei: number) => rewards.set(index, (rewards.get(index) ?? 0) + gwei)
  for (const block of blocks) {
    for (const { validator_index, reward } of syncRewardRows(committee, block))
      add(Number(validator_index), Number(reward))
    add(block.proposerIndex, Number(proposerReward(block).total))
  }
  return rewards
}

export function balanceRow(index: number, gwei: number): string {
  return `{"index":"${index}","balance":"${gwei}"}`
}

export function headerData({ slot, root, parentRoot }: Block) {
  const roots = { parent_root: parentRoot, state_root: ROOT, body_root: ROOT }
  const message = { slot: String(slot), proposer_index: '0', ...roots }
  return { root, canonical: true, header: { message, signature: `0x${'00'.repeat(96)}` } }
}

export function headEvent({ slot, root }: Block): string {
  const duties = { previous_duty_dependent_root: ROOT, current_duty_dependent_root: ROOT }
  const data = { slot: String(slot), block: root, state: ROOT, epoch_transition: false, ...duties }
  return `event: head\ndata: ${JSON.stringify({ ...data, execution_optimistic: false })}\n\n`
}

export function finalizedEvent(epoch: number, root: string): string {
  const data = { block: root, state: ROOT, epoch: String(epoch), execution_optimistic: false }
  return `event: finalized_checkpoint\ndata: ${JSON.stringify(data)}\n\n`
}

export function proposerReward({ proposerIndex }: Block) {
  return {
    proposer_index: String(proposerIndex),
    total: '42540000',
    attestations: '41000000',
    sync_aggregate: '1540000',
    proposer_slashings: '0',
    attester_slashings: '0',
  }
}

const FORKS = ['ALTAIR', 'BELLATRIX', 'CAPELLA', 'DENEB', 'ELECTRA', 'FULU']

/** Answers that never change, by path. */
export const CHAIN_DATA: Readonly<Record<string, unknown>> = {
  '/eth/v1/beacon/genesis': {
    genesis_time: String(GENESIS_TIME_SEC),
    genesis_validators_root: ROOT,
    genesis_fork_version: '0x00000000',
  },
  '/eth/v1/config/spec': {
    SECONDS_PER_SLOT: String(SECONDS_PER_SLOT),
    SLOTS_PER_EPOCH: String(SLOTS_PER_EPOCH),
    DEPOSIT_CHAIN_ID: '1',
    EPOCHS_PER_SYNC_COMMITTEE_PERIOD: '256',
    SYNC_COMMITTEE_SIZE: '512',
    MIN_SLASHING_PENALTY_QUOTIENT_ELECTRA: '4096',
    ...Object.fromEntries(FORKS.map((fork) => [`${fork}_FORK_EPOCH`, '0'])),
  },
}
