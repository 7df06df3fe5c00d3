import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { AppError } from '../../../schemas/errors.ts'
import type { Hex } from '../../../schemas/eth/hex.ts'
import { cannotListen } from '../listen.ts'
import { type BlockLookup, createBlockLookup, type Finality } from './block-lookup.ts'
import type { BlockStore, StoredBlock } from './block-store.ts'
import type { ChainFeed } from './chain-feed.ts'
import type { CallResult, JsonRpc } from './json-rpc.ts'
import { findLogs, parseLogFilter } from './logs.ts'
import { answerText, errorText, REQUEST_BYTES_MAX } from './request-text.ts'
import { INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, RpcFault, SERVER_ERROR } from './rpc-fault.ts'
import { asksForWebSocket, type Handler, type Handlers, serveWebSocket } from './web-socket.ts'

export interface FrontOptions {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  /** The setting that has to change when the port is taken. */
  readonly portSetting: string
  readonly chainId: number
  readonly finality: Finality
  readonly store: BlockStore
  /** Of the store's chain. */
  readonly feed: ChainFeed
  readonly anvil: JsonRpc
  /** Resolves when anvil's state is the head's; balances are read after it. */
  settled(): Promise<unknown>
  /** Hands a signed transaction to the pool; waits while a block is being built. */
  submit(raw: Hex): Promise<CallResult>
  /** See SenderSignatures. */
  anvilHash(hash: Hex): Hex
}

export interface Front extends AsyncDisposable {
  readonly url: string
}

const CLIENT_VERSION = 'epochline-devnet/0.1.0'

const TAGS: ReadonlySet<string> = new Set(['latest', 'safe', 'finalized', 'earliest'])

/**
 * What anvil may answer by itself: state, fees and traces. Nothing that shows a block (anvil's hashes are not ours), uses
 * the scenario's unlocked accounts, or brings in a transaction past the journal.
 */
const FORWARDED: ReadonlySet<string> = new Set([
  ...['eth_call', 'eth_estimateGas', 'eth_createAccessList', 'eth_getBalance', 'eth_getCode', 'eth_getStorageAt'],
  ...['eth_getTransactionCount', 'eth_getProof', 'eth_gasPrice', 'eth_maxPriorityFeePerGas', 'eth_feeHistory'],
  ...['eth_blobBaseFee', 'net_listening', 'web3_sha3', 'txpool_status', 'txpool_inspect'],
  ...['debug_traceTransaction', 'debug_traceCall'],
])

interface Request {
  readonly jsonrpc?: unknown
  readonly id?: unknown
  readonly method?: unknown
  readonly params?: unknown
}

const NO_HANDLERS: Handlers = new Map()

/** The JSON-RPC endpoint that readers see, over HTTP and WebSocket: sealed blocks from our own store, state from anvil. */
export async function openFront(options: FrontOptions): Promise<Front> {
  const lookup = createBlockLookup(options.store, options.finality)
  const handlers = createHandlers(options, lookup)
  const answering = { ...options, handlers, lookup }
  const answerAll = (text: string, own: Handlers) =>
    answerText(text, (request) => answer({ ...answering, own }, request))
  const server = createServer({ shouldUpgradeCallback: asksForWebSocket }, (request, response) => {
    // Fails when the client went away: nobody to tell.
    respond(request, response, (text) => answerAll(text, NO_HANDLERS)).catch(() => response.destroy())
  })
  const sockets = serveWebSocket({ server, feed: options.feed, answer: answerAll })
  server.listen(options.port, options.host)
  try {
    await once(server, 'listening')
  } catch (cause) {
    throw cannotListen({ ...options, name: 'JSON-RPC' }, cause)
  }
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port')
  return {
    url: `http://${options.host}:${address.port}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      sockets[Symbol.dispose]()
      await closed
    },
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > REQUEST_BYTES_MAX)
      throw new RpcFault(INVALID_REQUEST, `request is larger than ${REQUEST_BYTES_MAX} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  answerBody: (text: string) => Promise<string>,
): Promise<void> {
  if (request.method !== 'POST') {
    response.writeHead(405, { allow: 'POST' }).end()
    return
  }
  const text = await answerRequest(request, answerBody)
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }).end(text)
}

async function answerRequest(request: IncomingMessage, answerBody: (text: string) => Promise<string>): Promise<string> {
  try {
    return await answerBody(await readBody(request))
  } catch (error) {
    if (error instanceof RpcFault) return errorText(null, error) // of a body that is too large
    throw error
  }
}

interface Answering extends FrontOptions {
  readonly handlers: Handlers
  /** Of the connection alone. */
  readonly own: Handlers
  readonly lookup: BlockLookup
}

async function answer(
  { handlers, own, lookup, anvil, store, settled, anvilHash }: Answering,
  request: unknown,
): Promise<string> {
  const { id = null, method, params = [] } = (request ?? {}) as Request
  try {
    if (typeof method !== 'string' || !Array.isArray(params)) throw new RpcFault(INVALID_REQUEST, 'invalid request')
    const handler = own.get(method) ?? handlers.get(method)
    if (handler !== undefined) return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${await handler(params)}}`
    if (!FORWARDED.has(method)) {
      throw new RpcFault(METHOD_NOT_FOUND, `the method ${method} does not exist or is not available`)
    }
    await settled()
    const known =
      method === 'debug_traceTransaction' ? params.with(0, anvilHash(String(params[0]).toLowerCase() as Hex)) : params
    return await anvil.forward(
      JSON.stringify({ jsonrpc: '2.0', id, method, params: toAnvilParams(store, lookup, known) }),
    )
  } catch (error) {
    if (error instanceof RpcFault) return errorText(id, error)
    if (error instanceof AppError) return errorText(id, { code: INTERNAL_ERROR, message: error.message })
    throw error
  }
}

/**
 * anvil numbers its blocks as we do but hashes them differently, and may be a block ahead while one is being sealed:
 * EIP-1898 hashes and tags become numbers of ours.
 */
function toAnvilParams(store: BlockStore, lookup: BlockLookup, params: readonly unknown[]): readonly unknown[] {
  return params.map((param) => {
    if (typeof param === 'string' && TAGS.has(param)) return quantity(lookup.at(param)?.number ?? 0)
    const blockHash = (param as { blockHash?: unknown } | null)?.blockHash
    if (typeof blockHash !== 'string') return param
    const block = store.byHash(blockHash.toLowerCase())
    if (block === undefined || store.byNumber(block.number)?.hash !== block.hash) {
      throw new RpcFault(SERVER_ERROR, 'header not found or not canonical')
    }
    return quantity(block.number)
  })
}

function quantity(value: number): Hex {
  return `0x${value.toString(16)}`
}

async function blockText(block: StoredBlock | undefined, full: unknown): Promise<string> {
  if (block === undefined) return 'null'
  const { header, transactions } = await block.texts()
  const list = full === true ? transactions.join(',') : block.transactionHashes.map((hash) => `"${hash}"`).join(',')
  return `${header},"transactions":[${list}]}`
}

async function receiptsText(block: StoredBlock | undefined): Promise<string> {
  return block === undefined ? 'null' : `[${(await block.texts()).receipts.join(',')}]`
}

/** Whose receipt names a contract, in the canonical chain: anvil, which has no old states either, cannot be asked for it. */
async function creatorText(store: BlockStore, address: string): Promise<string> {
  const named = `"contractAddress":"${address}"`
  for (let number = 0; number <= store.head.number; number++) {
    const block = store.byNumber(number)
    if (block === undefined || block.transactionHashes.length === 0) continue
    const receipt = (await block.texts()).receipts.find((text) => text.includes(named))
    if (receipt === undefined) continue
    const { transactionHash, from } = JSON.parse(receipt) as { readonly transactionHash: Hex; readonly from: Hex }
    return JSON.stringify({ hash: transactionHash, creator: from })
  }
  return 'null'
}

function countText(block: StoredBlock | undefined): string {
  return block === undefined ? 'null' : `"${quantity(block.transactionHashes.length)}"`
}

async function transactionText(block: StoredBlock | undefined, index: unknown): Promise<string> {
  if (block === undefined || typeof index !== 'string') return 'null'
  return (await block.texts()).transactions[Number(index)] ?? 'null'
}

function createHandlers({ store, chainId, anvil, submit }: FrontOptions, lookup: BlockLookup): Handlers {
  const handlers: Readonly<Record<string, Handler>> = {
    eth_chainId: () => `"${quantity(chainId)}"`,
    net_version: () => `"${chainId}"`,
    eth_syncing: () => 'false',
    eth_accounts: () => '[]',
    web3_clientVersion: () => `"${CLIENT_VERSION}"`,
    eth_blockNumber: () => `"${quantity(store.head.number)}"`,
    eth_getBlockByNumber: ([tag, full]) => blockText(lookup.at(tag), full),
    eth_getBlockByHash: ([hash, full]) => blockText(lookup.withHash(hash), full),
    eth_getBlockReceipts: ([at]) => receiptsText(lookup.atOrWithHash(at)),
    eth_getBlockTransactionCountByNumber: ([tag]) => countText(lookup.at(tag)),
    eth_getBlockTransactionCountByHash: ([hash]) => countText(lookup.withHash(hash)),
    eth_getTransactionByBlockNumberAndIndex: ([tag, index]) => transactionText(lookup.at(tag), index),
    eth_getTransactionByBlockHashAndIndex: ([hash, index]) => transactionText(lookup.withHash(hash), index),
    eth_getUncleCountByBlockNumber: () => '"0x0"',
    eth_getUncleCountByBlockHash: () => '"0x0"',
    async eth_getTransactionByHash([hash]) {
      const found = store.locate(String(hash).toLowerCase())
      if (found !== undefined) return transactionText(found.block, quantity(found.index))
      // Still in the pool, or nowhere.
      const pending = (await anvil.call('eth_getTransactionByHash', [hash])) as { blockHash?: unknown } | null
      return JSON.stringify(pending?.blockHash ? null : pending)
    },
    async eth_getTransactionReceipt([hash]) {
      const found = store.locate(String(hash).toLowerCase())
      return found === undefined ? 'null' : ((await found.block.texts()).receipts[found.index] ?? 'null')
    },
    ots_getContractCreator: ([address]) => creatorText(store, String(address).toLowerCase()),
    eth_getLogs: ([filter]) =>
      findLogs(
        store,
        parseLogFilter(filter, (tag) => lookup.at(tag)?.number),
      ),
    async eth_sendRawTransaction([raw]) {
      const outcome = await submit(String(raw) as Hex)
      if (outcome.status === 'error') throw new RpcFault(outcome.code, outcome.message)
      return JSON.stringify(outcome.result)
    },
  }
  return new Map(Object.entries(handlers))
}
