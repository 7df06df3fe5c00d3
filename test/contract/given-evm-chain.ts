import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'

// An EVM chain in memory, and nodes of it that may be killed, fall silent, or stand still.

type Json = Readonly<Record<string, unknown>>

export interface ChainLog extends Json {
  readonly address: string
  readonly blockHash: string
  readonly logIndex: string
}

export interface ChainBlock {
  readonly hash: string
  readonly number: number
  readonly parentHash: string
  /** As it is told to subscribers. */
  readonly head: Json
  readonly logs: readonly ChainLog[]
}

export const ADDRESSES = ['a1', 'b2'].map((byte) => `0x${byte.repeat(20)}`)
const hex = (value: number): string => `0x${value.toString(16)}`
const hashOf = (text: string): string => `0x${createHash('sha256').update(text).digest('hex')}`

/** What else a block has; over HTTP alone, so that what subscribers are told stays short. */
const UNUSED = {
  ...{ baseFeePerGas: '0x7', difficulty: '0x0', extraData: '0x', gasLimit: '0x1c9c380', nonce: '0x0000000000000000' },
  ...{ miner: ADDRESSES[0], logsBloom: `0x${'00'.repeat(256)}`, mixHash: hashOf('mix'), stateRoot: hashOf('state') },
  ...{ receiptsRoot: hashOf('receipts'), sha3Uncles: hashOf('uncles'), transactionsRoot: hashOf('transactions') },
}

/** Its blocks have hashes that follow from how they were made, and logs of either address. */
export class EvmChain {
  readonly byHash = new Map<string, ChainBlock>()
  readonly nodes = new Set<EvmNode>()
  blocks: readonly ChainBlock[] = []
  /** Bytes of the data of each log that is made, besides those that differ. */
  paddingBytes = 0
  #made = 0

  constructor() {
    this.blocks = [this.#make(undefined)]
  }

  get tip(): ChainBlock {
    return this.blocks.at(-1) as ChainBlock
  }

  /** One block at a time, as nodes take them. */
  append(count = 1): void {
    for (let i = 0; i < count; i++) this.#become([...this.blocks, this.#make(this.tip)])
  }

  /** The newest blocks are replaced by others, one more than they were. */
  reorg(depth: number): void {
    let blocks = this.blocks.slice(0, -depth)
    for (let i = 0; i <= depth; i++) blocks = [...blocks, this.#make(blocks.at(-1))]
    this.#become(blocks)
  }

  #become(blocks: readonly ChainBlock[]): void {
    this.blocks = blocks
    for (const node of this.nodes) node.follow()
  }

  #make(parent: ChainBlock | undefined): ChainBlock {
    const number = parent === undefined ? 100 : parent.number + 1
    const parentHash = parent?.hash ?? hashOf('none')
    const hash = hashOf(`${parentHash} ${this.#made++}`)
    const logs = Array.from({ length: this.#made % 4 }, (_, index) => ({
      address: ADDRESSES[(this.#made + index) % 2] as string,
      ...{
        topics: [hashOf('topic')],
        data: hashOf(`${this.#made}`) + '00'.repeat(this.paddingBytes),
        blockNumber: hex(number),
        transactionHash: hashOf(hash),
      },
      ...{ transactionIndex: '0x0', blockHash: hash, logIndex: hex(index), removed: false },
    }))
    const timestamp = hex(1_700_000_000 + number)
    const head = { hash, number: hex(number), parentHash, timestamp, gasUsed: hex(this.#made) }
    const block = { hash, number, parentHash, head, logs }
    this.byHash.set(hash, block)
    return block
  }
}

const selects = (filter: unknown, { address }: ChainLog): boolean => {
  const { address: wanted } = (filter ?? {}) as { readonly address?: string | readonly string[] }
  return wanted === undefined || [wanted].flat().includes(address)
}

interface Subscribed {
  readonly id: string
  readonly socket: WebSocket
  readonly kind: string
  readonly filter: unknown
}

interface Call {
  readonly id: unknown
  readonly method: string
  readonly params?: unknown
}

/** A node of the chain, at an address that stays when it is killed. */
export class EvmNode implements AsyncDisposable {
  readonly #chain: EvmChain
  readonly subscribed = new Map<string, Subscribed>()
  /** Of one socket; further ones are refused. */
  subscriptionsOfSocketMax = Number.POSITIVE_INFINITY
  /** How often it has been asked for its newest block. */
  asked = 0
  readonly #sockets = new Set<Socket>()
  /** Questions that it says nothing to. */
  readonly #unanswered: ServerResponse[] = []
  #server: Server | undefined
  #blocks: readonly ChainBlock[]
  #port = 0
  #isStuck = false
  #isSilent = false
  #made = 0

  private constructor(chain: EvmChain) {
    this.#chain = chain
    this.#blocks = chain.blocks
    chain.nodes.add(this)
  }

  static async open(chain: EvmChain): Promise<EvmNode> {
    const node = new EvmNode(chain)
    await node.start()
    return node
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  async start(): Promise<void> {
    this.#blocks = this.#chain.blocks
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      if (this.#isSilent) {
        this.#unanswered.push(response)
        return
      }
      const answer = this.#answerText(Buffer.concat(chunks).toString())
      response.writeHead(200, { 'content-type': 'application/json' }).end(answer)
    })
    server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
    const sockets = new WebSocketServer({ server, autoPong: false })
    sockets.on('connection', (socket) => this.#serve(socket))
    server.listen(this.#port, '127.0.0.1')
    await once(server, 'listening')
    this.#port = (server.address() as AddressInfo).port
    this.#server = server
  }

  /** All connections break at once. */
  async kill(): Promise<void> {
    const server = this.#server
    if (server === undefined) return
    this.#server = undefined
    server.close()
    for (const socket of this.#sockets) socket.resetAndDestroy()
    this.subscribed.clear()
    await once(server, 'close')
  }

  /** Says nothing any more, whatever it is asked, on sockets that stay open. */
  set isSilent(isSilent: boolean) {
    this.#isSilent = isSilent
    for (const response of this.#unanswered.splice(0)) response.destroy()
    this.follow()
  }

  /** Its head stays where it is. */
  set isStuck(isStuck: boolean) {
    this.#isStuck = isStuck
    this.follow()
  }

  /** Goes to where the chain is, and tells of it as nodes do. */
  follow(): void {
    if (this.#isStuck || this.#isSilent || this.#server === undefined) return
    const [before, after] = [this.#blocks, this.#chain.blocks]
    this.#blocks = after
    const [was, is] = [new Set(before), new Set(after)]
    for (const { logs } of before.filter((block) => !is.has(block)))
      this.#tellLogs(logs.map((log) => ({ ...log, removed: true })))
    for (const block of after.filter((one) => !was.has(one))) {
      this.tell('newHeads', () => block.head)
      this.#tellLogs(block.logs)
    }
  }

  /** A result to each subscriber of the kind; to those that it is undefined for, nothing. */
  tell(kind: string, resultFor: (filter: unknown) => unknown): void {
    for (const subscribed of this.subscribed.values()) {
      const result = subscribed.kind === kind ? resultFor(subscribed.filter) : undefined
      if (result === undefined) continue
      const params = { subscription: subscribed.id, result }
      subscribed.socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params }))
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#chain.nodes.delete(this)
    await this.kill()
  }

  #tellLogs(logs: readonly ChainLog[]): void {
    for (const log of logs) this.tell('logs', (filter) => (selects(filter, log) ? log : undefined))
  }

  #serve(socket: WebSocket): void {
    socket.on('error', () => {}) // it is killed, or the gateway has gone
    socket.on('ping', (data) => {
      if (!this.#isSilent) socket.pong(data)
    })
    socket.on('message', (data) => {
      if (!this.#isSilent) socket.send(this.#answerText(data.toString(), socket))
    })
    socket.on('close', () => {
      for (const one of this.subscribed.values()) if (one.socket === socket) this.subscribed.delete(one.id)
    })
  }

  /** To a call or a batch of them. */
  #answerText(text: string, socket?: WebSocket): string {
    const asked = JSON.parse(text) as Call | readonly Call[]
    return JSON.stringify(
      Array.isArray(asked) ? asked.map((call) => this.#answer(call, socket)) : this.#answer(asked as Call, socket),
    )
  }

  #answer({ id, method, params }: Call, socket?: WebSocket): Json {
    const [first, second] = Array.isArray(params) ? params : []
    const tip = this.#blocks.at(-1) as ChainBlock
    const told = (result: unknown): Json => ({ jsonrpc: '2.0', id, result })
    const failed = (code: number, message: string): Json => ({ jsonrpc: '2.0', id, error: { code, message } })
    const bodyOf = (block: ChainBlock | undefined) =>
      block === undefined
        ? null
        : { ...block.head, ...(socket === undefined ? UNUSED : {}), transactions: [], uncles: [], size: '0x1' }
    switch (method) {
      case 'eth_chainId':
        return told('0x1')
      case 'eth_blockNumber':
        return told(hex(tip.number))
      case 'eth_getBlockByNumber':
        this.asked++
        return told(bodyOf(this.#blocks.find(({ number }) => hex(number) === first) ?? tip))
      case 'eth_getBlockByHash':
        return told(bodyOf(this.#chain.byHash.get(first as string)))
      case 'eth_getLogs': {
        const { blockHash } = Object(first) as { readonly blockHash?: string }
        // A node that has not had a block knows none of its logs.
        const block = this.#blocks.find(({ hash }) => hash === blockHash)
        return block === undefined
          ? failed(-32000, 'unknown block')
          : told(block.logs.filter((log) => selects(first, log)))
      }
      case 'eth_subscribe': {
        if (socket === undefined || first === 'refused') return failed(-32601, 'no such subscription')
        if (first === 'billed') return failed(429, 'upgrade your plan at https://node.example/KEY')
        const ofSocket = [...this.subscribed.values()].filter((one) => one.socket === socket)
        if (ofSocket.length >= this.subscriptionsOfSocketMax) return failed(-32006, 'too many subscriptions')
        // Equal at all nodes: what tells them apart is the gateway's work.
        const made = { id: hex(++this.#made), socket, kind: first as string, filter: second }
        this.subscribed.set(made.id, made)
        return told(made.id)
      }
      case 'eth_unsubscribe':
        return told(this.subscribed.delete(first as string))
      default:
        return failed(-32601, `no ${method}`)
    }
  }
}
