import { isNodeFault } from '../../schemas/errors.ts'
import { ATTESTATION_CREDIT_DELAY_EPOCHS } from '../../schemas/eth/time.ts'
import type { DifferenceKind, ToldOtherwise } from '../../schemas/events/beacon-epoch.ts'
import type { NodeGroup } from '../nodes/node-group.ts'
import type { ChainNode } from '../nodes/nodes.ts'
import type { AttestationRewards, EpochQuestion, ExplainedRows, ProposerReward } from '../ports/beacon-source.ts'
import type { Log } from '../ports/log.ts'
import { refuseOptimistic } from './answer-flags.ts'
import { clientOf, withClient } from './node-client.ts'
import { askStateRoot } from './other-nodes.ts'
import { required } from './route.ts'
import { BEACON } from './routes.ts'
import type { Ask, WideTables } from './wide-tables.ts'

/** Validators of an epoch that are compared: others in the next one. */
export const COMPARED_VALIDATORS_MAX = 64
/** Nodes compute old rewards anew: they are not asked more often, so that reading the past costs them no more. */
const COMPARED_EVERY_MS = 60_000
/** A client that errs does so in every epoch: the same kind of difference of the same client is told once in so long. */
const TELL_AGAIN_MS = 86_400_000
/** Of what was told lately: a node may name its client anew each time. */
const TOLD_KINDS_MAX = 64
/** Of a part of a reward: what a client that rounds leaves out. */
const ROUNDED_GWEI_MAX = 1n

/** Of each validator, parts of a reward in gwei. */
type Parts = ReadonlyMap<number, readonly bigint[]>

type What = Exclude<DifferenceKind, 'state root'>

/** What states explain of some validators. */
interface Sample {
  readonly asked: readonly number[]
  readonly computed: Parts
}

/** And what endpoints tell of the same. */
interface Compared extends Sample {
  readonly told: Parts
}

/** What of an epoch is compared; undefined where there is nothing. */
interface Samples {
  readonly attestations: (Sample & { readonly duty: number }) | undefined
  readonly proposer: (Sample & { readonly root: string }) | undefined
  readonly syncCommittee: (Sample & { readonly root: string }) | undefined
}

interface Difference {
  readonly differing: number
  /** Of those: they have no row. */
  readonly missing: number
  /** The largest one of a part. */
  readonly gweiMax: bigint
}

export interface ToldRewardsOptions {
  readonly nodes: NodeGroup<ChainNode>
  readonly tables: WideTables
  readonly log: Log
  readonly slotsPerEpoch: () => Promise<number>
  readonly everyMs?: number
}

/**
 * Compares what nodes' reward endpoints tell with what was computed of states, now and then and one node after the other: of some validators
 * an epoch's attestations, of one of its blocks the proposer and the sync committee. What is published is always what the states say; a
 * difference is a fault of the client, and told with its name and version.
 */
export class ToldRewards {
  readonly #options: ToldRewardsOptions
  #nextMs = 0
  /** Nodes come in turn. */
  #turns = 0
  /** When each kind of difference of a client may be told again. */
  readonly #untoldUntilMs = new Map<string, number>()

  constructor(options: ToldRewardsOptions) {
    this.#options = options
  }

  /**
   * What differs, when it was told; of a node that does not answer nothing is. Never throws. What is compared is taken of the rows
   * before it returns: they are not kept.
   */
  async compare(question: EpochQuestion, rows: ExplainedRows): Promise<readonly ToldOtherwise[]> {
    const { nodes, log, everyMs = COMPARED_EVERY_MS } = this.#options
    const node = nodes.nodes[this.#turns % nodes.nodes.length]
    const nowMs = performance.now()
    if (node === undefined || nowMs < this.#nextMs || nowMs < node.welcomeFromMs) return []
    this.#turns++
    this.#nextMs = nowMs + everyMs
    const [samples, { stateRoot }] = [samplesOf(question, rows), rows.proof]
    try {
      await nodes.check(node)
      // Of a node with the same state everything is of the same chain.
      if ((await askStateRoot(node, await this.#lastSlot(question.epoch))) !== stateRoot) return []
      return await this.#each(question.epoch, samples, node)
    } catch (error) {
      // A node that does not answer tells nothing that could differ.
      if (!isNodeFault(error)) log.error({ err: error }, 'rewards that nodes tell could not be compared')
      return []
    }
  }

  async #each(epoch: number, samples: Samples, node: ChainNode): Promise<readonly ToldOtherwise[]> {
    const found: ToldOtherwise[] = []
    const ask: Ask = (_, asked) => asked(node)
    const asking = {
      'attestation rewards': () => this.#attestations(samples.attestations, ask),
      'proposer rewards': () => this.#proposer(samples.proposer, ask),
      'sync committee rewards': () => this.#syncCommittee(samples.syncCommittee, ask),
    } as const
    for (const [what, compare] of Object.entries(asking) as [What, () => Promise<Compared | undefined>][]) {
      const how = await compare().then(howItDiffers, howItIsUnreadable)
      if (how !== undefined) found.push(await this.#tell(epoch, node, { what, ...how }))
    }
    return found
  }

  async #lastSlot(epoch: number): Promise<number> {
    return (epoch + 1) * (await this.#options.slotsPerEpoch()) - 1
  }

  async #attestations(sample: Samples['attestations'], ask: Ask): Promise<Compared | undefined> {
    if (sample === undefined) return undefined
    const { asked, duty } = sample
    const slot = (await this.#lastSlot(duty)) + 1
    const told = await this.#options.tables.attestationRewards(ask, { epoch: duty, slot }, Uint32Array.from(asked))
    return { ...sample, told: partsOf(told, told.validatorIndex.keys()) }
  }

  async #proposer(sample: Samples['proposer'], ask: Ask): Promise<Compared | undefined> {
    if (sample === undefined) return undefined
    const told = await ask('proposer rewards', (node) => askProposerReward(node, sample.root))
    return { ...sample, told: proposerParts(told) }
  }

  async #syncCommittee(sample: Samples['syncCommittee'], ask: Ask): Promise<Compared | undefined> {
    if (sample === undefined) return undefined
    const rows = await this.#options.tables.syncRewards(ask, sample.root, Uint32Array.from(sample.asked))
    const told = new Map(Array.from(rows.validatorIndex, (index, row) => [index, [rows.syncGwei[row] as bigint]]))
    return { ...sample, told }
  }

  async #tell(epoch: number, node: ChainNode, { what, kind, how }: Telling): Promise<ToldOtherwise> {
    const client = await clientOf(node)
    const told = { node: node.name, client, what }
    this.#options.nodes.noteDifference(node, told)
    const who = withClient(node, client)
    const [key, nowMs] = [`${who} ${what} ${kind}`, performance.now()]
    if ((this.#untoldUntilMs.get(key) ?? 0) > nowMs) return told
    if (this.#untoldUntilMs.size >= TOLD_KINDS_MAX) this.#untoldUntilMs.clear()
    this.#untoldUntilMs.set(key, nowMs + TELL_AGAIN_MS)
    this.#options.log.warn(
      { epoch },
      `${who} tells ${what} of epoch ${epoch} otherwise than states do: ${how}. Figures go by the states`,
    )
    return told
  }
}

interface How {
  /** A client that rounds is told of once, and once more when it leaves out rows. */
  readonly kind: string
  readonly how: string
}
interface Telling extends How {
  readonly what: What
}

function howItDiffers(compared: Compared | undefined): How | undefined {
  if (compared === undefined) return undefined
  const { differing, missing, gweiMax } = differenceOf(compared)
  if (differing === 0) return undefined
  const without = missing === 0 ? '' : `, ${missing} without a row`
  const how = `${differing} of ${compared.asked.length}, by ${gweiMax} gwei at most${without}`
  return { kind: `${missing > 0} ${gweiMax > ROUNDED_GWEI_MAX}`, how }
}

/** Rows that contradict each other differ, too; a node that does not answer tells nothing. */
function howItIsUnreadable(error: unknown): How | undefined {
  if (isNodeFault(error) && error.code === 'node_malformed') return { kind: error.code, how: error.message }
  if (isNodeFault(error)) return undefined
  throw error
}

function samplesOf({ epoch, blockRoots }: EpochQuestion, rows: ExplainedRows): Samples {
  const duty = epoch - ATTESTATION_CREDIT_DELAY_EPOCHS
  const some = duty < 0 ? [] : sampleOf(activeRows(rows.states, duty), epoch)
  const attestations = partsOf(rows.attestations, some)
  const at = epoch % blockRoots.length
  const [root, proposal] = [blockRoots[at], rows.proposals[at]]
  const members = root === undefined ? new Map() : membersOf(rows.sync, proposal?.slot)
  const seated = sampleOf(
    [...members.keys()].sort((one, other) => one - other),
    epoch,
  )
  return {
    attestations: some.length === 0 ? undefined : { duty, asked: [...attestations.keys()], computed: attestations },
    proposer:
      root === undefined || proposal === undefined
        ? undefined
        : { root, asked: [0], computed: proposerParts(proposal) },
    syncCommittee: root === undefined || seated.length === 0 ? undefined : { root, asked: seated, computed: members },
  }
}

/** Which of what ascends is looked at in an epoch: some others in the next one. */
function sampleOf(numbers: ArrayLike<number>, epoch: number): readonly number[] {
  if (numbers.length <= COMPARED_VALIDATORS_MAX) return Array.from(numbers)
  const from = (epoch * COMPARED_VALIDATORS_MAX) % numbers.length
  const some = Array.from(
    { length: COMPARED_VALIDATORS_MAX },
    (_, place) => numbers[(from + place) % numbers.length] as number,
  )
  return some.sort((one, other) => one - other)
}

/** Rows of validators that were active in an epoch. */
function activeRows({ activationEpoch, exitEpoch }: ExplainedRows['states'], epoch: number): Uint32Array {
  const of = BigInt(epoch)
  const rows = new Uint32Array(activationEpoch.length)
  let count = 0
  for (let row = 0; row < rows.length; row++)
    if ((activationEpoch[row] as bigint) <= of && of < (exitEpoch[row] as bigint)) rows[count++] = row
  return rows.subarray(0, count)
}

/** Of the members of the sync committee in one block. */
function membersOf({ slot, validatorIndex, syncGwei }: ExplainedRows['sync'], of: number | undefined): Parts {
  const members = new Map<number, readonly bigint[]>()
  for (let row = 0; row < slot.length; row++)
    if (slot[row] === of) members.set(validatorIndex[row] as number, [syncGwei[row] as bigint])
  return members
}

function proposerParts(one: ProposerReward): Parts {
  return new Map([
    [0, [one.attestationsGwei, one.syncAggregateGwei, one.proposerSlashingsGwei, one.attesterSlashingsGwei]],
  ])
}

function partsOf(rewards: AttestationRewards, rows: Iterable<number>): Parts {
  const { validatorIndex, sourceGwei, targetGwei, headGwei, inactivityGwei } = rewards
  const columns = [sourceGwei, targetGwei, headGwei, inactivityGwei]
  return new Map(Array.from(rows, (row) => [validatorIndex[row] as number, columns.map((gwei) => gwei[row] as bigint)]))
}

/** A row that is left out differs where there is something to tell: zeros need none (ethereum/beacon-APIs#480). */
function differenceOf({ asked, told, computed }: Compared): Difference {
  let [differing, missing, gweiMax] = [0, 0, 0n]
  for (const index of asked) {
    const row = told.get(index)
    let largest = 0n
    for (const [part, gwei] of (computed.get(index) ?? []).entries()) {
      const gap = abs(gwei - (row?.[part] ?? 0n))
      if (gap > largest) largest = gap
    }
    if (largest === 0n) continue
    differing++
    if (row === undefined) missing++
    if (largest > gweiMax) gweiMax = largest
  }
  return { differing, missing, gweiMax }
}

function abs(gwei: bigint): bigint {
  return gwei < 0n ? -gwei : gwei
}

/** What a node says that a final block's proposer earned by it. Throws AppError of a node fault. */
export async function askProposerReward(node: ChainNode, blockRoot: string): Promise<ProposerReward> {
  const what = `rewards of block ${blockRoot}`
  const { data, flags } = await required(node, BEACON.getBlockRewards, { blockId: blockRoot }, { what })
  refuseOptimistic(node, what, flags)
  return {
    attestationsGwei: BigInt(data.attestations),
    syncAggregateGwei: BigInt(data.syncAggregate),
    proposerSlashingsGwei: BigInt(data.proposerSlashings),
    attesterSlashingsGwei: BigInt(data.attesterSlashings),
  }
}
