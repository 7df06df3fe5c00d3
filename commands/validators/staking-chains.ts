import { isDeepStrictEqual } from 'node:util'
import { openExitNode } from '../../infra/beacon/exit-node.ts'
import { openUnstakeNode } from '../../infra/beacon/unstake-node.ts'
import { hasBeacon } from '../../infra/config/select-chain.ts'
import type { ChainConfig } from '../../infra/config/types.ts'
import { BATCH_DEPOSIT_ADDRESS, EXIT_REQUEST_ADDRESS } from '../../infra/devnet/execution/genesis.ts'
import { openBroadcastNode } from '../../infra/execution/broadcast-node.ts'
import { openStakingNode } from '../../infra/execution/staking-node.ts'
import type { BroadcastChain } from '../../processors/validators/broadcast-staking.ts'
import type { ExitChain } from '../../processors/validators/exit/exit-custody.ts'
import type { UnstakeChain } from '../../processors/validators/quote-unstake.ts'
import type { StakingContract } from '../../schemas/eth/staking-transaction.ts'
import { openChainNodes, urlsOf } from '../chain-nodes.ts'
import type { Running } from '../role.ts'
import { validatorClientOf } from './client-of-chain.ts'

/** A chain with all that the duties need of its nodes. */
export type OpenedChain = BroadcastChain & ExitChain & UnstakeChain

/** Opens the nodes of a chain onto the stack, whatever becomes of it: they are closed with that. */
export type OpenChain = (config: ChainConfig, open: AsyncDisposableStack) => Promise<OpenedChain>

interface Entry {
  readonly config: ChainConfig
  readonly chain: Promise<OpenedChain>
  /** When all is opened that will be, closes it: once. */
  readonly close: () => Promise<void>
}

/**
 * The configured chains that validators can be created on, with their nodes: opened when they are first asked for, and anew when what is
 * configured of the chain has changed. What is being asked of the old nodes ends with AppError `usage`.
 */
export class StakingChains implements AsyncDisposable {
  readonly #running: Pick<Running, 'chains' | 'log'>
  readonly #open: OpenChain
  readonly #entries = new Map<string, Entry>()

  constructor(running: Pick<Running, 'chains' | 'log'>, open: OpenChain) {
    this.#running = running
    this.#open = open
  }

  /** Undefined for a chain that is not configured, is paused, or has no beacon chain. */
  of(name: string): Promise<OpenedChain> | undefined {
    const config = this.#running.chains.current.find(({ names }) => names.name === name)
    if (config === undefined || config.paused || !hasBeacon(config)) return undefined
    const known = this.#entries.get(name)
    // Every change of the configuration makes other objects, of chains too that it does not change.
    if (known !== undefined && isDeepStrictEqual(known.config, config)) return known.chain
    if (known !== undefined) this.#closeOld(name, known)
    const entry = this.#opened(config)
    this.#entries.set(name, entry)
    entry.chain.catch(() => {
      // Its askers have the failure; the next one opens it again.
      if (this.#entries.get(name) === entry) this.#entries.delete(name)
      this.#closeOld(name, entry)
    })
    return entry.chain
  }

  #opened(config: ChainConfig): Entry {
    const open = new AsyncDisposableStack()
    const chain = this.#open(config, open)
    let closed: Promise<void> | undefined
    const settled = chain.then(
      () => undefined,
      () => undefined, // whoever has asked for the chain has the failure
    )
    return {
      config,
      chain,
      close: () => {
        closed ??= settled.then(() => open.disposeAsync())
        return closed
      },
    }
  }

  #closeOld(name: string, entry: Entry): void {
    entry.close().catch((error: unknown) => {
      this.#running.log.error({ chain: name, err: error }, 'nodes of a chain could not be closed')
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await using all = new AsyncDisposableStack()
    for (const { close } of this.#entries.values()) all.defer(close)
    this.#entries.clear()
  }
}

/** Opens a chain's nodes for the duties; the signal closes them as well. */
export function openingChains(running: Running, signal: AbortSignal): OpenChain {
  return async (config, open) => {
    const { log, devnet } = running
    const { beacon, execution } = open.use(await openChainNodes(config, running, signal))
    if (beacon === undefined) throw new Error('a chain with validators has a beacon chain')
    const { beaconUrls = [], executionUrls } = urlsOf(config, devnet)
    const node = open.use(await openStakingNode({ beacon, executionUrls, log }))
    const exitNode = open.use(openExitNode({ beacon, urls: beaconUrls, log }))
    const unstakeNode = open.use(openUnstakeNode({ beacon, urls: beaconUrls, log }))
    const broadcast = open.use(openBroadcastNode({ beacon, executionUrls, log }))
    return {
      ...{ name: config.names.name, network: config.names.network, contract: stakingContractOf(config) },
      exitContract: exitContractOf(config),
      ...{ node, exitNode, unstakeNode, broadcast, blocks: execution },
      validatorClient: await validatorClientOf(config, running),
      genesisValidatorsRoot: async () => (await exitNode.facts()).genesisValidatorsRoot,
      registered: async (pubkeys) => [...(await exitNode.registered('head', pubkeys)).keys()],
    }
  }
}

/** Takes several deposits at once; the devnet has one of its own. */
export function stakingContractOf({ source, stakingContract }: ChainConfig): StakingContract | undefined {
  return source.kind === 'devnet' ? { kind: 'abyss', address: BATCH_DEPOSIT_ADDRESS, feeWei: 0n } : stakingContract
}

/** Takes requests for exits; the devnet has one of its own. */
export function exitContractOf({ source, exitContract }: ChainConfig): string | undefined {
  if (source.kind !== 'devnet') return exitContract
  return source.layer === 'ethereum' ? EXIT_REQUEST_ADDRESS : undefined
}
