import { isNodeFault } from '../../schemas/errors.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import { epochOf } from '../../schemas/eth/time.ts'
import { type SignedVoluntaryExit, voluntaryExitBody } from '../../schemas/eth/voluntary-exit.ts'
import { malformed } from '../nodes/json.ts'
import type { NodeGroup } from '../nodes/node-group.ts'
import type { ChainNode } from '../nodes/nodes.ts'
import type { BeaconChain, BeaconSource } from '../ports/beacon-source.ts'
import type { ExitFacts, ExitNode, RegisteredValidator, Submission } from '../ports/exit-node.ts'
import { toSubmission } from './exit-refusals.ts'
import { askRegistry, type GenesisNodesOptions, JSON_TYPE, openGenesisNodes, toEpoch } from './genesis-nodes.ts'

export interface ExitNodeOptions extends GenesisNodesOptions {
  /** Tells what the chain is and where it stands. */
  readonly beacon: Pick<BeaconSource, 'chain' | 'head' | 'watch'>
}

/**
 * Opens the beacon nodes of a chain for exits; asks them nothing. A node with another genesis than the chain's is `node_inconsistent`,
 * and gets no exit. Throws AppError `config` for an address that is none.
 */
export function openExitNode(options: ExitNodeOptions): ExitNode {
  return new HttpExitNode(options)
}

class HttpExitNode implements ExitNode {
  readonly #nodes: NodeGroup<ChainNode>
  readonly #beacon: ExitNodeOptions['beacon']
  #facts: ExitFacts | undefined

  constructor(options: ExitNodeOptions) {
    this.#nodes = openGenesisNodes(options)
    this.#beacon = options.beacon
  }

  async facts(): Promise<ExitFacts> {
    this.#facts ??= toExitFacts(await this.#beacon.chain())
    return this.#facts
  }

  async headEpoch(): Promise<number> {
    const [{ clock }, { slot }] = await Promise.all([this.#beacon.chain(), this.#beacon.head()])
    return epochOf(clock, slot)
  }

  async registered(
    state: 'head' | 'finalized',
    pubkeys: readonly string[],
  ): Promise<ReadonlyMap<string, RegisteredValidator>> {
    const rows = await askRegistry(this.#nodes, state, pubkeys)
    return new Map(
      Array.from(rows, ([pubkey, { index, validator }]) => {
        const [activationEpoch, exitEpoch] = [toEpoch(validator.activation_epoch), toEpoch(validator.exit_epoch)]
        return [pubkey, { index: Number(index), activationEpoch, exitEpoch }]
      }),
    )
  }

  submit(exit: SignedVoluntaryExit): Promise<readonly Submission[]> {
    return Promise.all(this.#nodes.nodes.map((node) => this.#submitTo(node, exit)))
  }

  async #submitTo(node: ChainNode, exit: SignedVoluntaryExit): Promise<Submission> {
    const body = voluntaryExitBody(exit)
    try {
      await this.#nodes.check(node)
      const path = '/eth/v1/beacon/pool/voluntary_exits'
      const answer = await node.request({ method: 'POST', path, accept: JSON_TYPE, body })
      return { status: answer === undefined ? 'unanswered' : 'accepted' }
    } catch (error) {
      // Every node is asked again at the next occasion; what it says of itself is told by who asks the group.
      if (!isNodeFault(error)) throw error
      return error.code === 'node_refused' ? toSubmission(error.message) : { status: 'unanswered' }
    }
  }

  async watch(onEpoch: () => void, signal: AbortSignal): Promise<void> {
    const { clock } = await this.#beacon.chain()
    let known = -1
    await this.#beacon.watch((news) => {
      if (news.kind === 'finalized') return onEpoch()
      // After a gap nothing is known of where the chain stands.
      const epoch = news.kind === 'head' ? epochOf(clock, news.slot) : -1
      if (epoch !== known || epoch === -1) onEpoch()
      known = epoch
    }, signal)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#nodes[Symbol.asyncDispose]()
  }
}

/** Throws AppError `node_malformed` where the node does not tell what every node of a chain with exits tells. */
function toExitFacts({ spec, genesisValidatorsRoot }: BeaconChain): ExitFacts {
  const { CAPELLA_FORK_VERSION: version = '', SHARD_COMMITTEE_PERIOD: period = '' } = spec
  if (!/^0x[0-9a-f]{8}$/i.test(version)) throw malformed('the config/spec answer has no CAPELLA_FORK_VERSION')
  if (!/^[0-9]{1,9}$/.test(period)) throw malformed('the config/spec answer has no SHARD_COMMITTEE_PERIOD')
  return {
    capellaForkVersion: bytesOf(version),
    genesisValidatorsRoot: bytesOf(genesisValidatorsRoot),
    shardCommitteePeriodEpochs: Number(period),
  }
}
