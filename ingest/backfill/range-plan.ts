import type { FinalChain } from '../../infra/ports/beacon-source.ts'
import { AppError } from '../../schemas/errors.ts'
import { type ChainClock, firstSlotOfEpoch, lastSlotOfEpoch } from '../../schemas/eth/time.ts'

/** What was found at one epoch of a range. */
export interface ProbedEpoch {
  readonly place: 'oldest' | 'middle' | 'newest'
  readonly epoch: number
  /** By what its rewards can be known. */
  readonly by: 'states' | 'endpoints'
  /** Of the whole state; undefined by endpoints, and where the node does not tell it before the state. */
  readonly stateBytes: number | undefined
}

/** What a backfill is going to read. */
export interface RangePlan {
  /** That the log lacks. */
  readonly epochs: number
  readonly validators: number
  readonly probes: readonly ProbedEpoch[]
  /** Undefined where not all probed epochs have states. */
  readonly states: { readonly count: number; readonly bytes: number | undefined } | undefined
}

interface Probing {
  readonly final: FinalChain
  readonly clock: ChainClock
  /** Tracked, ascending. */
  readonly indices: Uint32Array
  /** Whether the log has an epoch as it was computed of states: what endpoints tell does not take its place. */
  readonly isComputed: (epoch: number) => boolean
}

/**
 * Asks for the oldest, the middle and the newest of the epochs that are missing (ascending), before anything is read of them. Throws AppError
 * `node_lagging` that names every epoch of these which no node can tell, and why.
 */
export async function planRange(probing: Probing, missing: readonly number[]): Promise<RangePlan> {
  const { indices } = probing
  const found: (ProbedEpoch | LackingEpoch)[] = []
  if (indices.length > 0) for (const [place, epoch] of probedOf(missing)) found.push(await probe(probing, place, epoch))
  const lacking = found.filter((one) => 'lacks' in one)
  if (lacking.length > 0) {
    const epochs = lacking.map(({ place, epoch, lacks }) => `epoch ${epoch}, the ${place}: ${lacks}`)
    throw new AppError('node_lagging', epochs.join('; '), { retryable: true })
  }
  const probes = found.filter((one) => 'by' in one)
  return { epochs: missing.length, validators: indices.length, probes, states: statesOf(probes, missing) }
}

function probedOf(missing: readonly number[]): readonly (readonly [ProbedEpoch['place'], number])[] {
  const found = new Map<number, ProbedEpoch['place']>()
  const places = { oldest: missing[0], newest: missing.at(-1), middle: missing[missing.length >> 1] }
  for (const [place, epoch] of Object.entries(places) as [ProbedEpoch['place'], number | undefined][])
    if (epoch !== undefined && !found.has(epoch)) found.set(epoch, place)
  return [...found].map(([epoch, place]) => [place, epoch] as const)
}

interface LackingEpoch {
  readonly place: ProbedEpoch['place']
  readonly epoch: number
  readonly lacks: string
}

const COMPUTED = 'the log has it as computed of states, and no node gives any'

/** An epoch is computed from the states before and behind it; without them it is told by registry and rewards as they stood then. */
async function probe(
  { final, clock, indices, isComputed }: Probing,
  place: ProbedEpoch['place'],
  epoch: number,
): Promise<ProbedEpoch | LackingEpoch> {
  const last = lastSlotOfEpoch(clock, epoch)
  const offer = await unlessLacking(async () => {
    if (place === 'oldest') await final.stateOffer(Math.max(0, firstSlotOfEpoch(clock, epoch) - 1))
    return final.stateOffer(last)
  })
  if (typeof offer === 'object') return { place, epoch, by: 'states', stateBytes: offer.bytes }
  if (isComputed(epoch)) return { place, epoch, lacks: offer ?? COMPUTED }
  const told = await unlessLacking(async () => {
    await final.validators(last, indices.slice(0, 1))
  })
  if (told === undefined) return { place, epoch, by: 'endpoints', stateBytes: undefined }
  return { place, epoch, lacks: offer === undefined || offer === told ? told : `${offer}; ${told}` }
}

/** What a node says where it lacks what it is asked for, as text. */
export async function unlessLacking<Value>(ask: () => Promise<Value>): Promise<Value | string> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof AppError && error.code === 'node_lagging') return error.message
    throw error
  }
}

/** Each state is read once: one behind every epoch, and one before each stretch of them. Their size changes slowly. */
function statesOf(probes: readonly ProbedEpoch[], missing: readonly number[]): RangePlan['states'] {
  if (probes.length === 0 || probes.some(({ by }) => by !== 'states')) return undefined
  const count = missing.length + missing.filter((epoch, i) => missing[i - 1] !== epoch - 1).length
  const sizes = probes.map(({ stateBytes }) => stateBytes)
  if (!sizes.every((bytes) => bytes !== undefined)) return { count, bytes: undefined }
  const average = sizes.reduce((sum, bytes) => sum + bytes, 0) / sizes.length
  return { count, bytes: Math.round(average * count) }
}
