import type {
  AttestationRewards,
  Balances,
  BeaconBlock,
  EpochQuestion,
  ExplainedRows,
  ValidatorStates,
} from '../../infra/ports/beacon-source.ts'
import type { Log } from '../../infra/ports/log.ts'
import { chainKey } from '../../schemas/chains.ts'
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
import { effectsOf } from '../../schemas/events/balance-effects.ts'
import {
  dayBalances,
  type EpochBlocksData,
  type EpochBlocksHeader,
  type EpochPart,
  type EpochValidatorsColumns,
  epochBlocks,
  epochValidators,
} from '../../schemas/events/beacon-epoch.ts'
import { type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { computedEpoch, giveBackComputed } from './computed-epoch.ts'
import type { DutySets } from './duty-sets.ts'
import type { EndBalances } from './end-balances.ts'
import {
  creditedDeposits,
  type EpochInput,
  finalizedBlocks,
  trackedSlashings,
  trackedWithdrawals,
} from './epoch-blocks.ts'
import type { FinalBlocks } from './final-walk.ts'
import type { Joiners } from './joiners.ts'
import { provenBlocks } from './proposer-rewards.ts'
import { checkRegistryRows, isAmong, joinRewards, rangesOf, sliceColumns } from './registry-rows.ts'
import { forkEpoch } from './spec.ts'
import { syncColumns, type TrackedMembers } from './sync-rewards.ts'
import { addToDayStart, addToTold, type DayStart, type EpochContent, isToldOf, type ToldEpoch } from './told-epoch.ts'
import { toldResiduals, unexplainedChanges } from './told-residuals.ts'

/** A finalized epoch, read and encoded. */
export interface BuiltEpoch {
  readonly epoch: number
  /** Appended at once; the blocks event names the others. */
  readonly events: readonly EncodedEvent[]
  readonly blocks: readonly BeaconBlock[]
  /** Those whom nodes were asked about, where the log has told of the others; undefined where they were asked about all. */
  readonly addedIndices: Uint32Array | undefined
  /** Of the tracked validators that the registry has, by index: `ExplainedRows.credentialTypes`; undefined where endpoints told the epoch. */
  readonly credentialTypes: Uint8Array | undefined
  /** Root of the newest final block up to the epoch's end: what the next epoch continues. */
  readonly endRoot: string
}

/** The validators that an epoch is read for, with what is kept of them from one epoch to the next. */
export interface EpochShare extends Pick<EpochInput, 'tracked'> {
  readonly duties: DutySets
  readonly joiners: Joiners
  readonly endBalances: EndBalances
}

export interface EpochRequest extends EpochInput, EpochShare {
  readonly chainName: string
  /** Asks for what states say of the epoch, when it is its turn; undefined where nodes have none, or nobody is tracked. */
  readonly explain: (question: EpochQuestion) => Promise<ExplainedRows | undefined>
  /** What the log has of the epoch, and those of the validators whom that lacks. */
  readonly told?: { readonly epoch: ToldEpoch; readonly lacking: EpochShare } | undefined
  /** The epoch's blocks, as the walk back from the finalized block has found them. */
  readonly walked: Promise<FinalBlocks>
  /** Throws when what was answered so far may be of another chain. */
  readonly confirm: () => Promise<void>
  readonly members: (epoch: number, indices: Uint32Array) => Promise<TrackedMembers>
  readonly log: Log
}

/**
 * Reads everything of one finalized epoch and makes its events. All questions are about finalized states and blocks, so
 * asking again gives the same events. Where endpoints tell the epoch, and had told the log of it before, they are asked about those
 * alone whom that lacks. Throws AppErrors of node faults, and `usage` for epochs before Altair.
 */
export async function buildEpoch(request: EpochRequest): Promise<BuiltEpoch> {
  const { epoch } = request
  refusePhase0(request)
  const { blocks, endRoot } = await request.walked
  const parentRoot = blocks[0]?.parentRoot ?? endRoot
  const cutSlots = dayCuts(request).map(({ slot }) => slot)
  const question = { epoch, blockRoots: blocks.map(({ root }) => root), parentRoot, cutSlots }
  const explained = await request.explain(question)
  const { told: logged } = request
  const told = explained === undefined && logged && isToldOf(logged.epoch, blocks, cutSlots) ? logged : undefined
  const asking = told === undefined ? request : { ...request, ...told.lacking }
  const [starts, content] = await Promise.all([
    asking.tracked.indices.length > 0 ? dayStarts(asking, explained) : [],
    explained === undefined ? toldEpoch(asking, blocks) : computedEpoch(request, blocks, explained),
  ])
  await request.confirm()
  const { validators, data } = told === undefined ? content : addToTold(told.epoch, content)
  const days = told === undefined ? starts : starts.map((start) => addToDayStart(told.epoch, start))
  const parts = [...dayEvents(request, days), ...validatorEvents(request, validators)]
  const events = [...parts.map(({ event }) => event), blocksEvent(request, data, parts)]
  if (explained !== undefined) giveBackComputed(explained)
  const addedIndices = told && asking.tracked.indices
  return { epoch, events, blocks, addedIndices, credentialTypes: explained?.credentialTypes, endRoot }
}

/** By the node's reward endpoints, where it gives no states to compute them from. */
async function toldEpoch(request: EpochRequest, blocks: readonly BeaconBlock[]): Promise<EpochContent> {
  const dutyEpoch = request.epoch - ATTESTATION_CREDIT_DELAY_EPOCHS
  const some = request.tracked.indices.length > 0
  const states = some ? statesOf(request) : Promise.resolve(NO_STATES)
  states.catch(() => {}) // awaited below, after other questions
  if (some) request.endBalances.keep(request.epoch, states)
  const rewards = some && dutyEpoch >= 0 ? await rewardsOf(request, states, dutyEpoch) : undefined
  const joined = states.then((rows) => joinRewards(rows, rewards, dutyEpoch))
  const [validators, data] = await Promise.all([joined, toldBlocks(request, blocks, { states, joined })])
  return { validators, data }
}

/** An event that the epoch is not complete without. */
interface PartEvent {
  readonly part: EpochPart
  readonly event: EncodedEvent
}

const NO_STATES: ValidatorStates = {
  validatorIndex: new Uint32Array(0),
  balanceGwei: new BigInt64Array(0),
  effectiveBalanceEth: new Uint32Array(0),
  status: new Uint8Array(0),
  slashed: new Uint8Array(0),
  activationEligibilityEpoch: new BigUint64Array(0),
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

/** The tracked validators after the epoch, all of those who were there. */
async function statesOf(request: EpochRequest): Promise<ValidatorStates> {
  const { final, chain, epoch, tracked } = request
  const slot = lastSlotOfEpoch(chain.clock, epoch)
  const states = await final.validators(slot, tracked.indices)
  await checkRows(request, states, `validators of epoch ${epoch}`, slot)
  return states
}

async function checkRows(
  { chain, tracked, joiners }: EpochRequest,
  rows: ValidatorStates | Balances,
  what: string,
  slot: number,
): Promise<void> {
  const eligibleSince = (from: number) => joiners.eligibleSince(from)
  await checkRegistryRows(rows, tracked.indices, { what, slot, clock: chain.clock, eligibleSince })
}

async function rewardsOf(
  { final, tracked, duties }: EpochRequest,
  states: Promise<ValidatorStates>,
  dutyEpoch: number,
): Promise<AttestationRewards | undefined> {
  const { indices } = tracked
  const active = duties.known(indices, dutyEpoch) ?? duties.of(indices, await states, dutyEpoch)
  return active.length === 0 ? undefined : final.attestationRewards(dutyEpoch, active)
}

function validatorEvents(request: EpochRequest, columns: EpochValidatorsColumns): readonly PartEvent[] {
  const { chain, chainName, epoch } = request
  return rangesOf(columns.validatorIndex).map(({ range, from, to }) => ({
    part: { kind: 'validators', range, rows: to - from },
    event: encodeEvent(epochValidators, {
      id: `beacon.epoch-validators:${chainName}:${epoch}:${range}`,
      key: chainKey(chainName, range),
      time: timeOf(request),
      data: {
        header: { chain: chainName, clock: chain.clock, epoch, range },
        columns: sliceColumns(columns, { range, from, to }),
      },
    }),
  }))
}

interface DayCut {
  readonly day: number
  /** The last one before the day; 0, whose state is that of the genesis, where the chain began in it. */
  readonly slot: number
}

/** The UTC+8 days whose first slot lies in the epoch; in epoch 0 that in which the chain began, too. */
function dayCuts({ chain: { clock }, epoch }: EpochRequest): readonly DayCut[] {
  const firstSlot = firstSlotOfEpoch(clock, epoch)
  const cuts: DayCut[] = []
  for (let day = dayOfSlot(clock, firstSlot); ; day++) {
    const dayStart = firstSlotOfDay(clock, day)
    if (dayStart > lastSlotOfEpoch(clock, epoch)) return cuts
    if (dayStart >= firstSlot) cuts.push({ day, slot: Math.max(0, dayStart - 1) })
  }
}

/**
 * Balances that days start with: post-state of the slot before, as it was replayed, or else as a node tells it. Where the epoch leaves
 * something unexplained a node is asked first; one that no longer has the state leaves what was replayed, which is right of all
 * others, and the days of who has the residual are not proven anyway.
 */
async function dayStarts(request: EpochRequest, explained: ExplainedRows | undefined): Promise<readonly DayStart[]> {
  const { final, tracked } = request
  const starts: DayStart[] = []
  for (const { day, slot } of dayCuts(request)) {
    const replayed = explained?.cuts.find((cut) => cut.slot === slot)?.balances
    const isSure = replayed !== undefined && explained?.residuals.length === 0
    const balances = isSure ? replayed : await final.balances(slot, tracked.indices).catch(unlessGone(replayed))
    await checkRows(request, balances, `balances of slot ${slot}`, slot)
    starts.push({ day, slot, balances })
  }
  return starts
}

/** What takes the place of an answer that nodes no longer have. */
function unlessGone(instead: Balances | undefined): (error: unknown) => Balances {
  return (error) => {
    if (instead !== undefined && error instanceof AppError && error.code === 'node_lagging') return instead
    throw error
  }
}

function dayEvents(request: EpochRequest, starts: readonly DayStart[]): readonly PartEvent[] {
  const { chainName, epoch } = request
  return starts.flatMap(({ day, slot, balances }) =>
    rangesOf(balances.validatorIndex).map(({ range, from, to }) => ({
      part: { kind: 'day_balances', range, rows: to - from },
      event: encodeEvent(dayBalances, {
        id: `beacon.day-balances:${chainName}:${day}:${range}`,
        key: chainKey(chainName, range),
        time: timeOf(request),
        data: {
          header: { chain: chainName, epoch, day, slot, range },
          columns: sliceColumns(balances, { range, from, to }),
        },
      }),
    })),
  )
}

/** What the epoch's blocks changed, without the other events of the epoch. */
async function toldBlocks(
  request: EpochRequest,
  blocks: readonly BeaconBlock[],
  { states, joined }: { states: Promise<ValidatorStates>; joined: Promise<EpochValidatorsColumns> },
): Promise<EpochBlocksData> {
  const { chain, chainName, epoch, tracked } = request
  const isTracked = (index: number) => isAmong(tracked.indices, index)
  const members = await request.members(epoch, tracked.indices)
  const rewarding = finalizedBlocks(request, blocks, isTracked)
  const [before, rewarded, columns, slashings, deposits] = await Promise.all([
    balancesBefore(request),
    rewarding,
    syncColumns({ ...request, blocks, members, states, rewarded: rewarding }),
    trackedSlashings(request, blocks, isTracked),
    creditedDeposits(request, blocks),
  ])
  const effects = effectsOf({ withdrawals: trackedWithdrawals(blocks, isTracked), slashings, deposits })
  // Nothing is concluded from rewards that lack somebody.
  const validators = await joined
  const figures = { before, states: validators, attestations: validators, sync: columns, effects }
  const changes = unexplainedChanges(figures)
  const proven = await provenBlocks(request, { ...figures, blocks: rewarded, changes }, request.log)
  const residuals = toldResiduals(figures, changes, proven)
  warnOf(request, residuals)
  const content = { blocks: [...proven], effects, residuals, ...NOT_COMPUTED }
  return { header: { chain: chainName, clock: chain.clock, epoch, ...content, parts: [] }, columns }
}

/** Endpoints do not tell who was to propose in slots that are long past, nor of validators that nobody tracks. */
const NOT_COMPUTED = { proof: null, proposers: null, network: null, differences: null } as const

function warnOf({ epoch, log }: EpochRequest, residuals: EpochBlocksHeader['residuals']): void {
  const [first] = residuals
  if (first === undefined) return
  const example = `validator ${first.validatorIndex}: ${first.gwei} gwei`
  log.warn(
    { epoch, validators: residuals.length },
    `what a node told of epoch ${epoch} does not explain the balances of ${residuals.length} validators (${example}): their days are in no figure`,
  )
}

/** The tracked validators' balances that the epoch has changed; the state of slot 0 is that of the genesis. */
async function balancesBefore(request: EpochRequest): Promise<Balances> {
  const { final, chain, epoch, tracked, endBalances } = request
  if (tracked.indices.length === 0) return NO_STATES
  const known = endBalances.take(epoch - 1)
  if (known !== undefined) return known
  const slot = Math.max(0, firstSlotOfEpoch(chain.clock, epoch) - 1)
  const balances = await final.balances(slot, tracked.indices)
  await checkRows(request, balances, `balances of slot ${slot}`, slot)
  return balances
}

function blocksEvent(request: EpochRequest, data: EpochBlocksData, parts: readonly PartEvent[]): EncodedEvent {
  const { chainName, epoch } = request
  // Epoch 0 of a chain that began just before midnight tells what two days begin with: a range's events of both are one part, and keep their order.
  const named = new Map(parts.map(({ part }) => [`${part.kind} ${part.range}`, part]))
  return encodeEvent(epochBlocks, {
    id: `beacon.epoch-blocks:${chainName}:${epoch}`,
    key: chainKey(chainName),
    time: timeOf(request),
    data: { ...data, header: { ...data.header, parts: [...named.values()] } },
  })
}
