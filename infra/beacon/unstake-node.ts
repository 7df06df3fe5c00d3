import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/schema'
import { epochOf } from '../../schemas/eth/time.ts'
import { malformed, parseJson } from '../nodes/json.ts'
import { NodeGroup } from '../nodes/node-group.ts'
import { ChainNode, DEFAULT_LIMITS, type NodeLimits } from '../nodes/nodes.ts'
import type { BeaconChain, BeaconSource } from '../ports/beacon-source.ts'
import type { Log } from '../ports/log.ts'
import type { StakedValidator, UnstakeFacts, UnstakeNode } from '../ports/unstake-node.ts'
import { flagsOfJson, refuseOptimistic } from './answer-flags.ts'
import { nodeName } from './options.ts'
import { IDS_PER_REQUEST_MAX } from './validator-ids.ts'

export interface UnstakeNodeOptions {
  readonly beacon: Pick<BeaconSource, 'chain' | 'head'>
  /** The main node, then its fallbacks. */
  readonly urls: readonly string[]
  readonly log: Log
  readonly limits?: Partial<NodeLimits>
}

/**
 * Opens the beacon nodes of a chain for unstaking; asks them nothing. A node with another genesis than the chain's is
 * `node_inconsistent`. Throws AppError `config` for an address that is none.
 */
export function openUnstakeNode({ beacon, urls, log, limits: given }: UnstakeNodeOptions): UnstakeNode {
  const limits = { ...DEFAULT_LIMITS, ...given }
  const nodes = urls.map((url, i) => new ChainNode(nodeName(i), url, limits))
  const identify = async (node: ChainNode): Promise<string> => {
    const { genesisValidatorsRoot } = await beacon.chain()
    const { data } = await askHead(node, { what: 'the genesis', path: '/eth/v1/beacon/genesis', shape: isGenesis })
    const root = data.genesis_validators_root.toLowerCase()
    if (root === genesisValidatorsRoot) return root
    throw node.fault('node_inconsistent', `has another genesis (${root}) than the chain (${genesisValidatorsRoot})`)
  }
  const group = new NodeGroup({ nodes, limits, log, identify })
  let facts: UnstakeFacts | undefined
  return {
    async facts() {
      facts ??= toFacts(await beacon.chain())
      return facts
    },
    async headEpoch() {
      const [{ clock }, { slot }] = await Promise.all([beacon.chain(), beacon.head()])
      return epochOf(clock, slot)
    },
    async registered(pubkeys) {
      const found = new Map<string, StakedValidator>()
      for (let from = 0; from < pubkeys.length; from += IDS_PER_REQUEST_MAX) {
        const ids = pubkeys.slice(from, from + IDS_PER_REQUEST_MAX)
        for (const row of await group.ask('validators', (node) => askValidators(node, ids))) {
          const pubkey = row.validator.pubkey.toLowerCase()
          if (ids.includes(pubkey)) found.set(pubkey, toStaked(row))
        }
      }
      return found
    },
    pendingPartials: () => group.ask('partial withdrawals', askPartials),
    [Symbol.asyncDispose]: () => group[Symbol.asyncDispose](),
  }
}

/** Throws AppError `node_malformed` where the node does not tell what every node of a chain with withdrawals tells. */
function toFacts({ spec }: BeaconChain): UnstakeFacts {
  const { SHARD_COMMITTEE_PERIOD: period = '', MIN_ACTIVATION_BALANCE: balance = '' } = spec
  if (!/^[0-9]{1,9}$/.test(period)) throw malformed('the config/spec answer has no SHARD_COMMITTEE_PERIOD')
  if (!/^[0-9]{1,18}$/.test(balance)) throw malformed('the config/spec answer has no MIN_ACTIVATION_BALANCE')
  return { shardCommitteePeriodEpochs: Number(period), minActivationBalanceGwei: BigInt(balance) }
}

const JSON_TYPE = 'application/json'
const UInt64Text = Type.String({ pattern: '^[0-9]{1,20}$' })
const IndexText = Type.String({ pattern: '^[0-9]{1,15}$' })
const Root = Type.String({ pattern: '^0x[0-9a-fA-F]{64}$' })

const isGenesis = Compile(Type.Object({ data: Type.Object({ genesis_validators_root: Root }) }))

const ValidatorRow = Type.Object({
  index: IndexText,
  balance: UInt64Text,
  validator: Type.Object({
    pubkey: Type.String({ pattern: '^0x[0-9a-fA-F]{96}$' }),
    withdrawal_credentials: Root,
    effective_balance: UInt64Text,
    activation_epoch: UInt64Text,
    exit_epoch: UInt64Text,
  }),
})
const isRegistry = Compile(Type.Object({ data: Type.Array(ValidatorRow) }))
const isPartials = Compile(
  Type.Object({ data: Type.Array(Type.Object({ validator_index: IndexText, amount: UInt64Text })) }),
)

interface HeadQuestion<Value> {
  readonly what: string
  readonly path: string
  readonly body?: string
  readonly shape: { Check(value: unknown): value is Value }
}

async function askHead<Value>(node: ChainNode, question: HeadQuestion<Value>): Promise<Value> {
  const found = await askIfThere(node, question)
  if (found === undefined) throw node.fault('node_lagging', `does not have ${question.what}`)
  return found
}

/** Undefined where the node does not know the path, or the state. */
async function askIfThere<Value>(
  node: ChainNode,
  { what, path, body, shape }: HeadQuestion<Value>,
): Promise<Value | undefined> {
  const asked = body === undefined ? ({ method: 'GET' } as const) : ({ method: 'POST', body } as const)
  const answer = await node.request({ ...asked, path, accept: JSON_TYPE })
  if (answer === undefined) return undefined
  const json = parseJson(what, answer.body)
  refuseOptimistic(node, what, flagsOfJson(json))
  if (!shape.Check(json)) throw malformed(`the answer about ${what} is not of the documented shape`)
  return json
}

async function askValidators(node: ChainNode, ids: readonly string[]): Promise<readonly Static<typeof ValidatorRow>[]> {
  const path = '/eth/v1/beacon/states/head/validators'
  const body = JSON.stringify({ ids })
  return (await askHead(node, { what: 'the validators at the head', path, body, shape: isRegistry })).data
}

async function askPartials(node: ChainNode): Promise<ReadonlyMap<number, bigint>> {
  const path = '/eth/v1/beacon/states/head/pending_partial_withdrawals'
  const found = await askIfThere(node, { what: 'the partial withdrawals at the head', path, shape: isPartials })
  const sums = new Map<number, bigint>()
  for (const { validator_index: index, amount } of found?.data ?? [])
    sums.set(Number(index), (sums.get(Number(index)) ?? 0n) + BigInt(amount))
  return sums
}

const FAR_FUTURE_EPOCH = (1n << 64n) - 1n

function toStaked({ index, balance, validator }: Static<typeof ValidatorRow>): StakedValidator {
  return {
    index: Number(index),
    withdrawalCredentials: validator.withdrawal_credentials.toLowerCase(),
    balanceGwei: BigInt(balance),
    effectiveBalanceGwei: BigInt(validator.effective_balance),
    activationEpoch: toEpoch(validator.activation_epoch),
    exitEpoch: toEpoch(validator.exit_epoch),
  }
}

function toEpoch(text: string): number | undefined {
  return BigInt(text) === FAR_FUTURE_EPOCH ? undefined : Number(text)
}
