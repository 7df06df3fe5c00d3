import { hexOf } from '../../schemas/eth/hex.ts'
import type { NodeGroup } from '../nodes/node-group.ts'
import type { ChainNode } from '../nodes/nodes.ts'
import type {
  AttestationRewards,
  Balances,
  BeaconBlock,
  ClaimedValidators,
  EpochQuestion,
  ExplainedRows,
  FinalChain,
  FinalizedCheckpoint,
  PendingDeposit,
  ProposerReward,
  RegistryWord,
  SyncRewards,
  ValidatorIdentity,
  ValidatorSet,
  ValidatorStates,
} from '../ports/beacon-source.ts'
import { refuseOptimistic } from './answer-flags.ts'
import { askRootAt, type CheckpointHolders } from './checkpoint-holders.ts'
import type { ExplainedEpochs } from './explained-epochs.ts'
import { type OtherNodes, withinMs } from './other-nodes.ts'
import { type AskOptions, type Route, required } from './route.ts'
import { BEACON } from './routes.ts'
import { askStateOffer } from './state-offer.ts'
import { askProposerReward, type ToldRewards } from './told-rewards.ts'
import { IDS_PER_REQUEST_MAX } from './validator-ids.ts'
import type { Ask, WideTables } from './wide-tables.ts'

export interface FinalChainParts {
  readonly checkpoint: FinalizedCheckpoint
  readonly nodes: NodeGroup<ChainNode>
  readonly holders: CheckpointHolders
  readonly tables: WideTables
  /** Undefined where rewards are what the endpoints tell. */
  readonly explained: ExplainedEpochs | undefined
  readonly otherNodes: OtherNodes
  readonly toldRewards: ToldRewards
  readonly slotsPerEpoch: () => Promise<number>
  /** Of a sync committee. */
  readonly seats: () => Promise<number>
  readonly blockHint: (slot: number, ask: Ask) => Promise<BeaconBlock | undefined>
}

/** An epoch is not held up for longer by what a node tells of rewards; later it is told of in the program's log alone. */
const COMPARING_MS_MAX = 2_000

/** What nodes that hold a checkpoint's block say of its chain. */
export class HttpFinalChain implements FinalChain {
  readonly #parts: FinalChainParts

  constructor(parts: FinalChainParts) {
    this.#parts = parts
  }

  /** Asks holders of the checkpoint's block. */
  readonly #ask: Ask = async (kind, question) => {
    const { nodes, holders } = this.#parts
    await holders.slot() // a node that lacks the block is not the one that is asked for it
    return nodes.ask(kind, async (node) => {
      await holders.check(node)
      return question(node)
    })
  }

  #required<Args, Data, Meta>(
    kind: string,
    ...[route, args, options]: readonly [Route<Args, Data, Meta>, Args, AskOptions]
  ): Promise<Data> {
    return this.#ask(kind, async (node) => {
      const { data, flags } = await required(node, route, args, options)
      refuseOptimistic(node, options.what, flags)
      return data
    })
  }

  blockHint(slot: number): Promise<BeaconBlock | undefined> {
    return this.#parts.blockHint(slot, this.#ask)
  }

  rootAt(slot: number): Promise<string | undefined> {
    return this.#ask('block roots', (node) => askRootAt(node, slot))
  }

  validators(slot: number, set: ValidatorSet): Promise<ValidatorStates> {
    return this.#parts.tables.validators(this.#ask, slot, set)
  }

  balances(slot: number, set: ValidatorSet): Promise<Balances> {
    return this.#parts.tables.balances(this.#ask, slot, set)
  }

  async attestationRewards(epoch: number, set: ValidatorSet): Promise<AttestationRewards> {
    const slot = (epoch + 1) * (await this.#parts.slotsPerEpoch())
    return this.#parts.tables.attestationRewards(this.#ask, { epoch, slot }, set)
  }

  syncRewards(blockRoot: string, set: ValidatorSet): Promise<SyncRewards> {
    return this.#parts.tables.syncRewards(this.#ask, blockRoot, set)
  }

  async identify(slot: number, pubkeys: readonly string[]): Promise<readonly ValidatorIdentity[]> {
    const found: ValidatorIdentity[] = []
    for (let from = 0; from < pubkeys.length; from += IDS_PER_REQUEST_MAX) {
      const validatorIds = pubkeys.slice(from, from + IDS_PER_REQUEST_MAX)
      const asked = new Set(validatorIds)
      const args = { stateId: slot, validatorIds }
      const rows = await this.#required('identities', BEACON.postStateValidators, args, {
        what: `the state of slot ${slot}`,
      })
      for (const { index, validator } of rows) {
        const pubkey = hexOf(validator.pubkey)
        const withdrawalCredentials = hexOf(validator.withdrawalCredentials)
        if (asked.has(pubkey)) found.push({ index, pubkey, withdrawalCredentials })
      }
    }
    return found.sort((a, b) => a.index - b.index)
  }

  async explainedEpoch(question: EpochQuestion, set: ValidatorSet): Promise<ExplainedRows | undefined> {
    const rows = await this.#parts.explained?.of(question, set, this.#ask)
    if (rows?.proof.level !== 'anchored') return rows
    // Nobody waits for it for long: no figure depends on it.
    const comparing = withinMs(COMPARING_MS_MAX, this.#parts.toldRewards.compare(question, rows), [])
    const slot = (question.epoch + 1) * (await this.#parts.slotsPerEpoch()) - 1
    const { isAgreed, differences } = await this.#parts.otherNodes.agree({ slot, root: rows.proof.stateRoot })
    const told = { ...rows, differences: [...differences, ...(await comparing)] }
    return isAgreed ? { ...told, proof: { ...rows.proof, level: 'agreed' } } : told
  }

  async registered(claims: ClaimedValidators): Promise<RegistryWord | undefined> {
    const { explained, checkpoint, slotsPerEpoch } = this.#parts
    const slot = checkpoint.epoch * (await slotsPerEpoch())
    return explained?.registered(claims, { slot, blockRoot: checkpoint.root })
  }

  async stateOffer(slot: number): Promise<{ readonly bytes: number | undefined } | undefined> {
    return this.#parts.explained === undefined ? undefined : askStateOffer(this.#ask, slot)
  }

  async pendingDeposits(slot: number): Promise<readonly PendingDeposit[]> {
    const options = { what: `the state of slot ${slot}`, ssz: true }
    const data = await this.#required('pending deposits', BEACON.getPendingDeposits, { stateId: slot }, options)
    return data.map((deposit) => ({
      pubkey: hexOf(deposit.pubkey),
      withdrawalCredentials: hexOf(deposit.withdrawalCredentials),
      amountGwei: BigInt(deposit.amount),
      signature: hexOf(deposit.signature),
      slot: deposit.slot,
    }))
  }

  proposerReward(blockRoot: string): Promise<ProposerReward> {
    return this.#ask('proposer rewards', (node) => askProposerReward(node, blockRoot))
  }

  async syncCommittee(epoch: number): Promise<Uint32Array> {
    const stateId = epoch * (await this.#parts.slotsPerEpoch())
    const seats = await this.#parts.seats()
    const what = `the state of slot ${stateId}`
    return this.#ask('sync committees', async (node) => {
      const { data, flags } = await required(node, BEACON.getEpochSyncCommittees, { stateId, epoch }, { what })
      refuseOptimistic(node, what, flags)
      // Whoever is left out would have no sync rewards, and nobody would ask for them.
      if (data.validators.length === seats) return Uint32Array.from(data.validators)
      throw node.fault('node_malformed', `told a sync committee of ${data.validators.length} seats instead of ${seats}`)
    })
  }

  confirm(): Promise<void> {
    return this.#parts.holders.confirm()
  }
}
