import type { AttestationRewards, Balances, BeaconBlock, ValidatorStates } from '../../infra/ports/beacon-source.ts'
import { AppError } from '../../schemas/errors.ts'
import {
  ATTESTATION_CREDIT_DELAY_EPOCHS,
  dayOfSlot,
  firstSlotOfDay,
  firstSlotOfEpoch,
  formatInstant,
  lastSlotOfEpoch,
  slotTimeSec,
} from '../../schemas/eth/time.ts'
import { BEACON_EPOCHS_KEY, dayBalances, epochBlocks, epochValidators } from '../../schemas/events/beacon-epoch.ts'
import { type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import {
  creditedDeposits,
  type EpochInput,
  finalizedBlocks,
  syncColumns,
  type TrackedMembers,
  trackedSlashings,
  trackedWithdrawals,
} from './epoch-blocks.ts'
import { checkRegistryRows, joinRewards, rangesOf, sliceColumns } from './registry-rows.ts'
import { forkEpoch } from './spec.ts'

/** A finalized epoch, read and encoded. */
export interface BuiltEpoch {
  readonly epoch: number
  /** In the order in which they are appended, at once; the blocks event is the last. */
  readonly events: readonly EncodedEvent[]
  readonly blocks: readonly BeaconBlock[]
  /** Parent of the first final block after the epoch, or the finalized block itself: what the epoch must end with. */
  readonly endRoot: string
}

export interface EpochRequest extends EpochInput {
  readonly network: string
  /** The finalized checkpoint; its epoch is later than the one that is asked for. */
  readonly checkpoint: { readonly epoch: number; readonly root: string }
  readonly members: (epoch: number, indices: Uint32Array) => Promise<TrackedMembers>
}

/**
 * Reads everything of one finalized epoch and makes its events. All questions are about finalized states and blocks, so
 * asking again gives the same events. Throws AppErrors of node faults, and `usage` for epochs before Altair.
 */
export async function buildEpoch(request: EpochRequest): Promise<BuiltEpoch> {
  const { beacon, chain, epoch, tracked, checkpoint } = request
  refusePhase0(request)
  const dutyEpoch = epoch - ATTESTATION_CREDIT_DELAY_EPOCHS
  const { indices } = tracked
  const some = indices.length > 0
  const states = some ? beacon.validators(lastSlotOfEpoch(chain.clock, epoch), indices) : Promise.resolve(NO_STATES)
  states.catch(() => {}) // awaited below, after other questions
  const [blocks, rewards, days, endRoot] = await Promise.all([
    blocksOf(request),
    some && dutyEpoch >= 0 ? beacon.attestationRewards(dutyEpoch, indices) : undefined,
    some ? dayEvents(request) : [],
    rootAfter(request, checkpoint),
  ])
  checkLinks(blocks, endRoot)
  const [validators, last] = await Promise.all([
    states.then((rows) => validatorEvents(request, rows, rewards, dutyEpoch)),
    blocksEvent(request, blocks, states),
  ])
  return { epoch, events: [...days, ...validators, last], blocks, endRoot }
}

const NO_STATES: ValidatorStates = {
  validatorIndex: new Uint32Array(0),
  balanceGwei: new BigInt64Array(0),
  effectiveBalanceEth: new Uint32Array(0),
  status: new Uint8Array(0),
  slashed: new Uint8Array(0),
  activationEpoch: new BigUint64Array(0),
  exitEpoch: new BigUint64Array(0),
  withdrawableEpoch: new BigUint64Array(0),
}

/** Phase 0 has an inclusion delay reward and pays proposers in the transition: its figures would not add up here. */
function refusePhase0({ chain, epoch }: EpochRequest): void {
  const altair = forkEpoch(chain.spec, 'ALTAIR')
  const first = altair === 0 ? 0 : altair + ATTESTATION_CREDIT_DELAY_EPOCHS
  if (epoch >= first) return
  throw new AppError(
    'usage',
    `epoch ${epoch} is rewarded by the rules before Altair, which are not supported: begin at epoch ${first}`,
  )
}

function timeOf({ chain, epoch }: EpochRequest): string {
  return formatInstant(slotTimeSec(chain.clock, lastSlotOfEpoch(chain.clock, epoch)))
}

/** The epoch's blocks in order of slots. The genesis block is not one: nobody proposed it. */
async function blocksOf({ beacon, chain, epoch }: EpochRequest): Promise<readonly BeaconBlock[]> {
  const first = Math.max(1, firstSlotOfEpoch(chain.clock, epoch))
  const last = lastSlotOfEpoch(chain.clock, epoch)
  const slots = Array.from({ length: last - first + 1 }, (_, i) => beacon.blockAt(first + i))
  return (await Promise.all(slots)).filter((block) => block !== undefined)
}

async function rootAfter(
  { beacon, chain, epoch }: EpochRequest,
  checkpoint: EpochRequest['checkpoint'],
): Promise<string> {
  const finalSlot = firstSlotOfEpoch(chain.clock, checkpoint.epoch)
  for (let slot = lastSlotOfEpoch(chain.clock, epoch) + 1; slot <= finalSlot; slot++) {
    const block = await beacon.blockAt(slot)
    if (block !== undefined) return block.parentRoot
  }
  return checkpoint.root
}

/** Parent roots tie the blocks to each other and to what comes after: what is missing between two was a missed slot. */
function checkLinks(blocks: readonly BeaconBlock[], endRoot: string): void {
  for (let i = 0; i < blocks.length; i++) {
    const { root, slot } = blocks[i] as BeaconBlock
    if ((blocks[i + 1]?.parentRoot ?? endRoot) === root) continue
    throw new AppError('node_inconsistent', `the final chain does not continue after the block of slot ${slot}`, {
      retryable: true,
    })
  }
}

function validatorEvents(
  request: EpochRequest,
  states: ValidatorStates,
  rewards: AttestationRewards | undefined,
  dutyEpoch: number,
): readonly EncodedEvent[] {
  const { chain, epoch, tracked } = request
  checkRegistryRows(states, tracked.indices, `validators of epoch ${epoch}`)
  const columns = joinRewards(states, rewards, dutyEpoch)
  const ranges = rangesOf(columns.validatorIndex)
  return ranges.map((rows) =>
    encodeEvent(epochValidators, {
      id: `beacon.epoch-validators:${epoch}:${rows.range}`,
      key: BEACON_EPOCHS_KEY,
      time: timeOf(request),
      data: {
        header: { clock: chain.clock, epoch, range: rows.range, ranges: ranges.length },
        columns: sliceColumns(columns, rows),
      },
    }),
  )
}

/** Balances that the UTC+8 days start with whose first slot lies in the epoch: post-state of the slot before. */
async function dayEvents(request: EpochRequest): Promise<readonly EncodedEvent[]> {
  const { beacon, chain, epoch, tracked } = request
  const { clock } = chain
  const firstSlot = firstSlotOfEpoch(clock, epoch)
  const events: EncodedEvent[] = []
  for (let day = dayOfSlot(clock, firstSlot); ; day++) {
    const dayStart = firstSlotOfDay(clock, day)
    if (dayStart > lastSlotOfEpoch(clock, epoch)) return events
    if (dayStart < firstSlot || dayStart === 0) continue
    const slot = dayStart - 1
    const balances: Balances = await beacon.balances(slot, tracked.indices)
    checkRegistryRows(balances, tracked.indices, `balances of slot ${slot}`)
    for (const rows of rangesOf(balances.validatorIndex)) {
      events.push(
        encodeEvent(dayBalances, {
          id: `beacon.day-balances:${day}:${rows.range}`,
          key: BEACON_EPOCHS_KEY,
          time: timeOf(request),
          data: { header: { day, slot, range: rows.range }, columns: sliceColumns(balances, rows) },
        }),
      )
    }
  }
}

async function blocksEvent(
  request: EpochRequest,
  blocks: readonly BeaconBlock[],
  states: Promise<ValidatorStates>,
): Promise<EncodedEvent> {
  const { chain, epoch, network, tracked } = request
  const trackedIndices = new Set(tracked.indices)
  const isTracked = (index: number) => trackedIndices.has(index)
  const members = await request.members(epoch, tracked.indices)
  const [rewarded, columns, slashings, deposits] = await Promise.all([
    finalizedBlocks(request, blocks),
    syncColumns(request, blocks, members, states),
    trackedSlashings(request, blocks, isTracked),
    creditedDeposits(request, blocks),
  ])
  const withdrawals = trackedWithdrawals(blocks, isTracked)
  const { clock } = chain
  return encodeEvent(epochBlocks, {
    id: `beacon.epoch-blocks:${epoch}`,
    key: BEACON_EPOCHS_KEY,
    time: timeOf(request),
    data: {
      header: { clock, network, epoch, blocks: [...rewarded], withdrawals, slashings, deposits },
      columns,
    },
  })
}
