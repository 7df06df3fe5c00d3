import { openExitNode } from '../../infra/beacon/exit-node.ts'
import { openUnstakeNode } from '../../infra/beacon/unstake-node.ts'
import { hasBeacon } from '../../infra/config/select-chain.ts'
import type { ChainConfig } from '../../infra/config/types.ts'
import { BATCH_DEPOSIT_ADDRESS } from '../../infra/devnet/execution/genesis.ts'
import { openBroadcastNode } from '../../infra/execution/broadcast-node.ts'
import { openStakingNode } from '../../infra/execution/staking-node.ts'
import type { BroadcastChain } from '../../processors/validators/broadcast-staking.ts'
import type { ExitChain } from '../../processors/validators/exit/exit-custody.ts'
import type { UnstakeChain } from '../../processors/validators/quote-unstake.ts'
import type { StakingContract } from '../../schemas/eth/staking-transaction.ts'
import { openChainNodes, urlsOf } from '../chain-nodes.ts'
import type { Running } from '../role.ts'

/** A chain with all that the duties need of its nodes. */
export type OpenedChain = BroadcastChain & ExitChain & UnstakeChain

/** The configured chains that validators can be created on, with their nodes: opened when they are first asked for. */
export class StakingChains implements AsyncDisposable {
  readonly #running: Running
  readonly #signal: AbortSignal
  readonly #open = new AsyncDisposableStack()
  readonly #opened = new Map<ChainConfig, Promise<OpenedChain>>()

  constructor(running: Running, signal: AbortSignal) {
    this.#running = running
    this.#signal = signal
  }

  /** Undefined for a chain that is not configured, is paused, or has no beacon chain. */
  of(name: string): Promise<OpenedChain> | undefined {
    const chain = this.#running.chains.current.find(({ names }) => names.name === name)
    if (chain === undefined || chain.paused || !hasBeacon(chain)) return undefined
    const opened = this.#opened.get(chain) ?? this.#openChain(chain)
    this.#opened.set(chain, opened)
    return opened
  }

  async #openChain(chain: ChainConfig): Promise<OpenedChain> {
    const { log, devnet } = this.#running
    const { beacon, execution } = this.#open.use(await openChainNodes(chain, this.#running, this.#signal))
    if (beacon === undefined) throw new Error('a chain with validators has a beacon chain')
    const { beaconUrls = [], executionUrls } = urlsOf(chain, devnet)
    const node = this.#open.use(await openStakingNode({ beacon, executionUrls, log }))
    const exitNode = this.#open.use(openExitNode({ beacon, urls: beaconUrls, log }))
    const unstakeNode = this.#open.use(openUnstakeNode({ beacon, urls: beaconUrls, log }))
    const broadcast = this.#open.use(openBroadcastNode({ urls: executionUrls, log }))
    return {
      ...{ name: chain.names.name, network: chain.names.network, contract: stakingContractOf(chain) },
      ...{ node, exitNode, unstakeNode, broadcast, blocks: execution },
      registered: async (pubkeys) => [...(await exitNode.registered('head', pubkeys)).keys()],
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#open.disposeAsync()
  }
}

/** Takes several deposits at once; the devnet has one of its own. */
export function stakingContractOf({ source, stakingContract }: ChainConfig): StakingContract | undefined {
  return source.kind === 'devnet' ? { kind: 'abyss', address: BATCH_DEPOSIT_ADDRESS, feeWei: 0n } : stakingContract
}
