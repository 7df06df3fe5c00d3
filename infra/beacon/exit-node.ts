import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/schema'
import { AppError, isNodeFault } from '../../schemas/errors.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import { epochOf } from '../../schemas/eth/time.ts'
import type { SignedVoluntaryExit } from '../../schemas/eth/voluntary-exit.ts'
import { malformed, parseJson } from '../nodes/json.ts'
import { NodeGroup } from '../nodes/node-group.ts'
import { ChainNode, DEFAULT_LIMITS, type NodeLimits } from '../nodes/nodes.ts'
import type { BeaconChain, BeaconSource } from '../ports/beacon-source.ts'
import type { ExitFacts, ExitNode, RegisteredValidator, Submission } from '../ports/exit-node.ts'
import type { Log } from '../ports/log.ts'
import { flagsOfJson, refuseOptimistic } from './answer-flags.ts'
import { toSubmission } from './exit-refusals.ts'
import { nodeName } from './options.ts'
import { IDS_PER_REQUEST_MAX } from './validator-ids.ts'

export interface ExitNodeOptions {
  /** Tells what the chain is and where it stands. */
  readonly beacon: Pick<BeaconSource, 'chain' | 'head' | 'watch'>
  /** The main node, then its fallbacks. */
  readonly urls: readonly string[]
  readonly log: Log
  readonly limits?: Partial<NodeLimits>
}

/**
 * Opens the beacon nodes of a chain for exits; asks them nothing. A node with another genesis than the chain's is `node_inconsistent`,
 * and gets no exit. Throws AppError `config` for an address that is none.
 */
export function openExitNode(options: ExitNodeOptions): ExitNode {
  return new HttpExitNode(options)
}

const JSON_TYPE = 'application/json'

const Genesis = Type.Object({
  data: Type.Object({ genesis_validators_root: Type.String({ pattern: '^0x[0-9a-fA-F]{64}$' }) }),
})
const isGenesis = Compile(Genesis)

const EpochText = Type.String({ pattern: '^[0-9]{1,20}$' })
const Registry = Type.Object({
  data: Type.Array(
    Type.Object({
      index: Type.String({ pattern: '^[0-9]{1,15}$' }),
      validator: Type.Object({
        pubkey: Type.String({ pattern: '^0x[0-9a-fA-F]{96}$' }),
        activation_epoch: EpochText,
        exit_epoch: EpochText,
      }),
    }),
  ),
})
const isRegistry = Compile(Registry)

class HttpExitNode implements ExitNode {
  readonly #nodes: NodeGroup<ChainNode>
  readonly #beacon: ExitNodeOptions['beacon']
  #facts: ExitFacts | undefined

  constructor({ beacon, urls, log, limits: given }: ExitNodeOptions) {
    const limits = { ...DEFAULT_LIMITS, ...given }
    const nodes = urls.map((url, i) => new ChainNode(nodeName(i), url, limits))
    this.#nodes = new NodeGroup({ nodes, limits, log, identify: (node) => this.#identify(node) })
    this.#beacon = beacon
  }

  async #identify(node: ChainNode): Promise<string> {
    const { genesisValidatorsRoot } = await this.#beacon.chain()
    const root = await askGenesisRoot(node)
    if (root === genesisValidatorsRoot) return root
    throw node.fault('node_inconsistent', `has another genesis (${root}) than the chain (${genesisValidatorsRoot})`)
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
    const found = new Map<string, RegisteredValidator>()
    for (let from = 0; from < pubkeys.length; from += IDS_PER_REQUEST_MAX) {
      const ids = pubkeys.slice(from, from + IDS_PER_REQUEST_MAX)
      const { data } = await this.#nodes.ask('validators', (node) => askRegistry(node, state, ids))
      const asked = new Set(ids)
      for (const { index, validator } of data) {
        const pubkey = validator.pubkey.toLowerCase()
        if (!asked.has(pubkey)) continue
        const { activation_epoch: activation, exit_epoch: exit } = validator
        found.set(pubkey, { index: Number(index), activationEpoch: toEpoch(activation), exitEpoch: toEpoch(exit) })
      }
    }
    return found
  }

  submit(exit: SignedVoluntaryExit): Promise<readonly Submission[]> {
    return Promise.all(this.#nodes.nodes.map((node) => this.#submitTo(node, exit)))
  }

  async #submitTo(node: ChainNode, exit: SignedVoluntaryExit): Promise<Submission> {
    const body = JSON.stringify({
      message: { epoch: String(exit.epoch), validator_index: String(exit.validatorIndex) },
      signature: exit.signature,
    })
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

async function askGenesisRoot(node: ChainNode): Promise<string> {
  const what = 'the genesis'
  const answer = await node.request({ method: 'GET', path: '/eth/v1/beacon/genesis', accept: JSON_TYPE })
  if (answer === undefined) throw node.fault('node_lagging', `does not have ${what}`)
  const json = parseJson(what, answer.body)
  if (!isGenesis.Check(json)) throw malformed(`the answer about ${what} is not of the documented shape`)
  return json.data.genesis_validators_root.toLowerCase()
}

async function askRegistry(node: ChainNode, state: string, ids: readonly string[]): Promise<Static<typeof Registry>> {
  const what = `the validators of the ${state} state`
  const path = `/eth/v1/beacon/states/${state}/validators`
  const answer = await node.request({ method: 'POST', path, accept: JSON_TYPE, body: JSON.stringify({ ids }) })
  if (answer === undefined) throw node.fault('node_lagging', `does not have ${what}`)
  const json = parseJson(what, answer.body)
  refuseOptimistic(node, what, flagsOfJson(json))
  if (!isRegistry.Check(json)) throw malformed(`the answer about ${what} is not of the documented shape`)
  return json
}

/** Undefined for 2^64 - 1, which means that it is not set. Throws AppError `node_malformed` for one that no chain gets to. */
function toEpoch(text: string): number | undefined {
  if (BigInt(text) === FAR_FUTURE_EPOCH) return undefined
  const epoch = Number(text)
  if (Number.isSafeInteger(epoch)) return epoch
  throw new AppError('node_malformed', `a validator has the epoch ${text}`, { retryable: true })
}

const FAR_FUTURE_EPOCH = (1n << 64n) - 1n
