import { formatInstant } from '../../schemas/eth/time.ts'
import type { ReadyAnswer } from '../../schemas/routes/probes.ts'

/** Named conditions (`has_data`, `follows_head`, …); the program is ready when all of all chains are true. */
type Checks = Readonly<Record<string, boolean>>

export interface BeaconChainHealth {
  readonly kind: 'beacon'
  /** Newest slot that the head follower has seen; undefined before the first one, or where no role follows the head. */
  readonly headSlot: number | undefined
  /** Newest finalized epoch of which everything is in the warehouse. */
  readonly lastFinalizedEpoch: number | undefined
  readonly checks: Checks
}

export interface ExecutionChainHealth {
  readonly kind: 'execution'
  /** Newest block that is in the warehouse. */
  readonly headBlock: number | undefined
  /** Newest block that is final. */
  readonly finalizedBlock: number | undefined
  readonly checks: Checks
}

export type ChainHealth = BeaconChainHealth | ExecutionChainHealth

/** A node that something is read from. */
export interface NodeHealth {
  /** One word, for example `answering` or `away`. */
  readonly state: string
  /** Unix seconds since when it is in this state. */
  readonly sinceSec?: number
  /** What is wrong in one sentence, without an address. */
  readonly fault?: string
}

/** How far the program has come; measured by the roles that run, told to the API as a function. */
export interface Health {
  /** By name of the chain, in the order of the configuration. */
  readonly chains: Readonly<Record<string, ChainHealth>>
  /** By a name that holds no address; absent where the process reads from no node. */
  readonly nodes?: Readonly<Record<string, NodeHealth>>
  /** Events that each consumer group has not processed yet. */
  readonly lag: Readonly<Record<string, number>>
  /** Conditions that belong to no chain. */
  readonly checks: Checks
}

export function toReadyAnswer(health: Health): ReadyAnswer {
  const chains = Object.values(health.chains)
  const first = chains.find((chain) => chain.kind === 'beacon')
  return {
    status: [health, ...chains].every(({ checks }) => allPass(checks)) ? 'ready' : 'not_ready',
    head_slot: first?.headSlot ?? null,
    last_finalized_epoch: first?.lastFinalizedEpoch ?? null,
    chains: mapValues(health.chains, toChainReady),
    ...(health.nodes === undefined ? {} : { nodes: mapValues(health.nodes, toNodeReady) }),
    lag: { ...health.lag },
    checks: { ...health.checks },
  }
}

function toChainReady(chain: ChainHealth): ReadyAnswer['chains'][string] {
  const checks = { ...chain.checks }
  if (chain.kind === 'execution') {
    return { head_block: chain.headBlock ?? null, finalized_block: chain.finalizedBlock ?? null, checks }
  }
  return { head_slot: chain.headSlot ?? null, last_finalized_epoch: chain.lastFinalizedEpoch ?? null, checks }
}

function toNodeReady({ state, sinceSec, fault }: NodeHealth): NonNullable<ReadyAnswer['nodes']>[string] {
  return {
    state,
    ...(sinceSec === undefined ? {} : { since: formatInstant(sinceSec) }),
    ...(fault === undefined ? {} : { fault }),
  }
}

function allPass(checks: Checks): boolean {
  return Object.values(checks).every((passed) => passed)
}

function mapValues<From, To>(record: Readonly<Record<string, From>>, map: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]))
}
