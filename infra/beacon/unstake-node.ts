import { Type } from 'typebox'
import { Compile } from 'typebox/schema'
import { epochOf } from '../../schemas/eth/time.ts'
import { malformed } from '../nodes/json.ts'
import type { ChainNode } from '../nodes/nodes.ts'
import type { BeaconChain, BeaconSource } from '../ports/beacon-source.ts'
import type { StakedValidator, UnstakeFacts, UnstakeNode } from '../ports/unstake-node.ts'
import {
  askNodeIfThere,
  askRegistry,
  type GenesisNodesOptions,
  IndexText,
  openGenesisNodes,
  type RegistryRow,
  toEpoch,
  UInt64Text,
} from './genesis-nodes.ts'

export interface UnstakeNodeOptions extends GenesisNodesOptions {
  readonly beacon: Pick<BeaconSource, 'chain' | 'head'>
}

/**
 * Opens the beacon nodes of a chain for unstaking; asks them nothing. A node with another genesis than the chain's is
 * `node_inconsistent`. Throws AppError `config` for an address that is none.
 */
export function openUnstakeNode(options: UnstakeNodeOptions): UnstakeNode {
  const { beacon } = options
  const nodes = openGenesisNodes(options)
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
    async registered(pubkeys, state) {
      const rows = await askRegistry(nodes, state, pubkeys)
      return new Map(Array.from(rows, ([pubkey, row]) => [pubkey, toStaked(row)]))
    },
    pendingPartials: () => nodes.ask('partial withdrawals', askPartials),
    [Symbol.asyncDispose]: () => nodes[Symbol.asyncDispose](),
  }
}

/** Throws AppError `node_malformed` where the node does not tell what every node of a chain with withdrawals tells. */
function toFacts({ spec }: BeaconChain): UnstakeFacts {
  const { SHARD_COMMITTEE_PERIOD: period = '', MIN_ACTIVATION_BALANCE: balance = '' } = spec
  if (!/^[0-9]{1,9}$/.test(period)) throw malformed('the config/spec answer has no SHARD_COMMITTEE_PERIOD')
  if (!/^[0-9]{1,18}$/.test(balance)) throw malformed('the config/spec answer has no MIN_ACTIVATION_BALANCE')
  return { shardCommitteePeriodEpochs: Number(period), minActivationBalanceGwei: BigInt(balance) }
}

const isPartials = Compile(
  Type.Object({ data: Type.Array(Type.Object({ validator_index: IndexText, amount: UInt64Text })) }),
)

async function askPartials(node: ChainNode): Promise<ReadonlyMap<number, bigint>> {
  const path = '/eth/v1/beacon/states/head/pending_partial_withdrawals'
  const found = await askNodeIfThere(node, { what: 'the partial withdrawals at the head', path, shape: isPartials })
  const sums = new Map<number, bigint>()
  for (const { validator_index: index, amount } of found?.data ?? [])
    sums.set(Number(index), (sums.get(Number(index)) ?? 0n) + BigInt(amount))
  return sums
}

function toStaked({ index, balance, validator }: RegistryRow): StakedValidator {
  return {
    index: Number(index),
    withdrawalCredentials: validator.withdrawal_credentials.toLowerCase(),
    balanceGwei: BigInt(balance),
    effectiveBalanceGwei: BigInt(validator.effective_balance),
    activationEpoch: toEpoch(validator.activation_epoch),
    exitEpoch: toEpoch(validator.exit_epoch),
  }
}
