import { openContractNode } from '../../infra/execution/contract-node.ts'
import type { ContractNode } from '../../infra/ports/contract-node.ts'
import { devnetUrls, urlsOf } from '../chain-nodes.ts'
import type { Running } from '../role.ts'

/** The nodes that contracts of the configured chains are asked through; opened when they are needed, and anew when the chains change. */
export class ContractNodes implements AsyncDisposable {
  readonly #running: Running
  readonly #nodes = new Map<string, ContractNode>()
  #closing: Promise<unknown> = Promise.resolve()

  constructor(running: Running, signal: AbortSignal) {
    this.#running = running
    running.chains.onChange(() => this.#close(), signal)
    signal.addEventListener('abort', () => this.#close(), { once: true })
  }

  /** Undefined for a chain that is not configured, or paused. */
  of(name: string): ContractNode | undefined {
    const chain = this.#running.chains.current.find(({ names }) => names.name === name)
    if (chain === undefined || chain.paused) return undefined
    const known = this.#nodes.get(name)
    if (known !== undefined) return known
    const { config, devnet, log } = this.#running
    const { executionUrls } = urlsOf(chain, devnet ?? devnetUrls(config))
    const node = openContractNode({ urls: executionUrls, log })
    this.#nodes.set(name, node)
    return node
  }

  #close(): void {
    const closing = [...this.#nodes.values()].map((node) => node[Symbol.asyncDispose]())
    this.#nodes.clear()
    this.#closing = Promise.allSettled([this.#closing, ...closing])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#close()
    await this.#closing
  }
}
