import type { ChainHealth, Checks, Judged } from '../../schemas/chain-health.ts'
import { formatInstant } from '../../schemas/eth/time.ts'
import type { ReadyAnswer } from '../../schemas/routes/probes.ts'

/** A node that something is read from. */
export interface NodeHealth {
  /** One word, for example `answering` or `away`. */
  readonly state: string
  /** Unix seconds since when it is in this state. */
  readonly sinceSec?: number
  /** What is wrong in one sentence, without an address. */
  readonly fault?: string
}

/** An upstream of the gateway. */
export interface UpstreamHealth {
  /** Names it, and tells no address. */
  readonly id: string
  readonly head: number | undefined
  /** Why it is left out; undefined: it is not. */
  readonly fault: string | undefined
  /** Undefined: nothing is wrong with its WebSocket. */
  readonly socketFault: string | undefined
}

/** The key vault. */
export interface VaultHealth extends NodeHealth {
  /** When the process that has it last said so, Unix seconds; absent where this process has it. */
  readonly toldSec?: number
  /** Validators whose secret it lacks, and some of them: lower-case hex. */
  readonly missing: { readonly count: number; readonly pubkeys: readonly string[] }
}

/** How far the program has come; measured by the roles that run, told to the API as a function. */
export interface Health extends Judged {
  /** By name of the chain, in the order of the configuration. */
  readonly chains: Readonly<Record<string, ChainHealth>>
  /** By a name that holds no address; absent where the process reads from no node. */
  readonly nodes?: Readonly<Record<string, NodeHealth>>
  /** Of the gateway, by network; absent where the process has none. */
  readonly upstreams?: Readonly<Record<string, readonly UpstreamHealth[]>>
  /** Absent where no process ever had a key vault. */
  readonly vault?: VaultHealth
  /** Events that each consumer group has not processed yet. */
  readonly lag: Readonly<Record<string, number>>
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
    ...(health.upstreams === undefined ? {} : { upstreams: mapValues(health.upstreams, toUpstreamsReady) }),
    ...(health.vault === undefined ? {} : { vault: toVaultReady(health.vault) }),
    lag: { ...health.lag },
    paused: Object.keys(health.chains).filter((name) => health.chains[name]?.paused === true),
    reasons: [health, ...chains].flatMap(({ reasons }) => reasons),
    checks: { ...health.checks },
  }
}

function toChainReady(chain: ChainHealth): ReadyAnswer['chains'][string] {
  const checks = { ...chain.checks }
  if (chain.kind === 'execution') {
    return {
      head_block: chain.headBlock ?? null,
      head_lag_blocks: chain.headLag?.blocks ?? null,
      head_lag_seconds: chain.headLag?.seconds ?? null,
      finalized_block: chain.finalizedBlock ?? null,
      checks,
    }
  }
  return {
    head_slot: chain.headSlot ?? null,
    head_lag_slots: chain.headLag?.slots ?? null,
    head_lag_seconds: chain.headLag?.seconds ?? null,
    last_finalized_epoch: chain.lastFinalizedEpoch ?? null,
    finality_lag_epochs: chain.finalityLag?.epochs ?? null,
    finality_lag_seconds: chain.finalityLag?.seconds ?? null,
    checks,
  }
}

function toNodeReady({ state, sinceSec, fault }: NodeHealth): NonNullable<ReadyAnswer['nodes']>[string] {
  return {
    state,
    ...(sinceSec === undefined ? {} : { since: formatInstant(sinceSec) }),
    ...(fault === undefined ? {} : { fault }),
  }
}

function toUpstreamsReady(upstreams: readonly UpstreamHealth[]): NonNullable<ReadyAnswer['upstreams']>[string] {
  return {
    well: upstreams.filter(({ fault }) => fault === undefined).length,
    nodes: Object.fromEntries(
      upstreams.map(({ id, head, fault, socketFault }) => [
        id,
        {
          head: head ?? null,
          ...(fault === undefined ? {} : { fault }),
          ...(socketFault === undefined ? {} : { web_socket_fault: socketFault }),
        },
      ]),
    ),
  }
}

function toVaultReady({ missing, toldSec, ...state }: VaultHealth): NonNullable<ReadyAnswer['vault']> {
  return {
    ...toNodeReady(state),
    ...(toldSec === undefined ? {} : { told_at: formatInstant(toldSec) }),
    missing: { count: missing.count, pubkeys: [...missing.pubkeys] },
  }
}

function allPass(checks: Checks): boolean {
  return Object.values(checks).every((passed) => passed)
}

function mapValues<From, To>(record: Readonly<Record<string, From>>, map: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]))
}
