import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/schema'
import { AppError } from '../../schemas/errors.ts'
import { fixedEpoch } from '../../schemas/eth/far-future.ts'
import { malformed, parseJson } from '../nodes/json.ts'
import { NodeGroup } from '../nodes/node-group.ts'
import { ChainNode, DEFAULT_LIMITS, type NodeLimits } from '../nodes/nodes.ts'
import type { BeaconSource } from '../ports/beacon-source.ts'
import type { Log } from '../ports/log.ts'
import { flagsOfJson, refuseOptimistic } from './answer-flags.ts'
import { nodeName } from './options.ts'
import { IDS_PER_REQUEST_MAX } from './validator-ids.ts'

export interface GenesisNodesOptions {
  /** Tells which chain it is. */
  readonly beacon: Pick<BeaconSource, 'chain'>
  /** The main node, then its fallbacks. */
  readonly urls: readonly string[]
  readonly log: Log
  readonly limits?: Partial<NodeLimits>
}

export const JSON_TYPE = 'application/json'
export const UInt64Text = Type.String({ pattern: '^[0-9]{1,20}$' })
export const IndexText = Type.String({ pattern: '^[0-9]{1,15}$' })
export const RootText = Type.String({ pattern: '^0x[0-9a-fA-F]{64}$' })

const isGenesis = Compile(Type.Object({ data: Type.Object({ genesis_validators_root: RootText }) }))

const RegistryRow = Type.Object({
  index: IndexText,
  balance: UInt64Text,
  validator: Type.Object({
    pubkey: Type.String({ pattern: '^0x[0-9a-fA-F]{96}$' }),
    withdrawal_credentials: RootText,
    effective_balance: UInt64Text,
    activation_epoch: UInt64Text,
    exit_epoch: UInt64Text,
  }),
})
const isRegistry = Compile(Type.Object({ data: Type.Array(RegistryRow) }))

/** A validator as `states/{state_id}/validators` tells it. */
export type RegistryRow = Static<typeof RegistryRow>

/** Opens the beacon nodes of a chain; asks them nothing. One with another genesis than the chain's is `node_inconsistent`. */
export function openGenesisNodes({ beacon, urls, log, limits: given }: GenesisNodesOptions): NodeGroup<ChainNode> {
  const limits = { ...DEFAULT_LIMITS, ...given }
  const nodes = urls.map((url, i) => new ChainNode(nodeName(i), url, limits))
  const identify = async (node: ChainNode): Promise<string> => {
    const { genesisValidatorsRoot } = await beacon.chain()
    const { data } = await askNode(node, { what: 'the genesis', path: '/eth/v1/beacon/genesis', shape: isGenesis })
    const root = data.genesis_validators_root.toLowerCase()
    if (root === genesisValidatorsRoot) return root
    throw node.fault('node_inconsistent', `has another genesis (${root}) than the chain (${genesisValidatorsRoot})`)
  }
  return new NodeGroup({ nodes, limits, log, identify })
}

/** A question of the Beacon API (https://ethereum.github.io/beacon-APIs); with a body it is a POST. */
export interface NodeQuestion<Value> {
  /** For sentences: "does not have <what>". */
  readonly what: string
  readonly path: string
  readonly body?: string
  readonly shape: { Check(value: unknown): value is Value }
}

/** Throws AppError `node_lagging` for what the node does not have, `node_malformed` for another shape, `node_*` as a question does. */
export async function askNode<Value>(node: ChainNode, question: NodeQuestion<Value>): Promise<Value> {
  const found = await askNodeIfThere(node, question)
  if (found === undefined) throw node.fault('node_lagging', `does not have ${question.what}`)
  return found
}

/** Undefined where the node does not know the path, or the state. */
export async function askNodeIfThere<Value>(
  node: ChainNode,
  { what, path, body, shape }: NodeQuestion<Value>,
): Promise<Value | undefined> {
  const asked = body === undefined ? ({ method: 'GET' } as const) : ({ method: 'POST', body } as const)
  const answer = await node.request({ ...asked, path, accept: JSON_TYPE })
  if (answer === undefined) return undefined
  const json = parseJson(what, answer.body)
  refuseOptimistic(node, what, flagsOfJson(json))
  if (!shape.Check(json)) throw malformed(`the answer about ${what} is not of the documented shape`)
  return json
}

/** Those of the public keys (lower case) that a state's registry has, each with what is told of it, in questions of a bounded length. */
export async function askRegistry(
  nodes: NodeGroup<ChainNode>,
  state: 'head' | 'finalized',
  pubkeys: readonly string[],
): Promise<ReadonlyMap<string, RegistryRow>> {
  const found = new Map<string, RegistryRow>()
  for (let from = 0; from < pubkeys.length; from += IDS_PER_REQUEST_MAX) {
    const ids = pubkeys.slice(from, from + IDS_PER_REQUEST_MAX)
    const question = {
      what: `the validators of the ${state} state`,
      path: `/eth/v1/beacon/states/${state}/validators`,
      body: JSON.stringify({ ids }),
      shape: isRegistry,
    }
    const { data } = await nodes.ask('validators', (node) => askNode(node, question))
    const asked = new Set(ids)
    for (const row of data) {
      const pubkey = row.validator.pubkey.toLowerCase()
      if (asked.has(pubkey)) found.set(pubkey, row)
    }
  }
  return found
}

/** Undefined where the chain has not fixed it. Throws AppError `node_malformed` for an epoch that no chain gets to. */
export function toEpoch(text: string): number | undefined {
  const epoch = fixedEpoch(text)
  if (epoch === undefined || Number.isSafeInteger(epoch)) return epoch
  throw new AppError('node_malformed', `a validator has the epoch ${text}`, { retryable: true })
}
