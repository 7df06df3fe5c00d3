import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/schema'
import { depositDataRoot } from '../../schemas/eth/deposit-data.ts'
import { decodeDepositEvent } from '../../schemas/eth/deposit-event.ts'
import { bytesOf, hexOf } from '../../schemas/eth/hex.ts'
import { DEPOSIT_EVENT_TOPIC } from '../../schemas/eth/kept-logs.ts'
import { settledOrAborted } from '../../schemas/wait.ts'
import { malformed } from '../nodes/json.ts'
import type { ChainNode } from '../nodes/nodes.ts'
import type { BroadcastNode, LoggedDeposit, SendOutcome, TransactionState } from '../ports/broadcast-node.ts'
import { type DepositChainNodesOptions, openDepositChainNodes } from './deposit-chain-nodes.ts'
import { askBatch, JsonRpcError, openBatch } from './json-rpc.ts'
import {
  Address,
  Hash,
  orNull,
  type Question,
  question,
  receiptQuestion,
  referenceQuestion,
  SmallQuantity,
} from './result-shapes.ts'

export interface BroadcastNodeOptions extends DepositChainNodesOptions {
  /** Instead of `SEND_MS_MAX`. */
  readonly answerMsMax?: number
}

/** So long one node may take for a transaction that others may have long since, and to say whether it has it. */
const SEND_MS_MAX = 8_000
/** Blocks whose deposits one question is about: an hour of slots, below what providers refuse. */
const LOG_BLOCKS = 300
/** Such questions in one request. */
const LOG_QUESTIONS_AT_ONCE = 8
/** Three months: what was deposited before that is out of the chain's queue, and in the registry. */
const DEPOSIT_BLOCKS_MAX = 657_000

/** What nodes say of a transaction that they have; not of a nonce that another one has. */
const ALREADY_KNOWN = /^(?!.*nonce).*(already[ _]?(known|imported|exists)|\bknown transaction)/i

/**
 * Opens the execution nodes of a chain for broadcasting; asks them nothing. A node of another chain than the beacon chain takes deposits
 * from is `node_inconsistent`, and gets no transaction. Throws AppError `config` for an address that is none.
 */
export function openBroadcastNode(options: BroadcastNodeOptions): BroadcastNode {
  const { answerMsMax = SEND_MS_MAX } = options
  const group = openDepositChainNodes(options)

  async function sendTo(node: ChainNode, raw: string, hash: string): Promise<SendOutcome> {
    await group.check(node)
    try {
      await openBatch(node)(sendQuestion(raw))
      return { status: 'accepted' }
    } catch (error) {
      if (!(error instanceof JsonRpcError)) throw error
      if (ALREADY_KNOWN.test(error.message)) return { status: 'accepted' }
      // Nodes have many words more for what they know already; what they know they show.
      const isKnown = await askBatch(node, (ask) => ask(transactionQuestion(hash)))
      return isKnown ? { status: 'accepted' } : { status: 'refused', words: node.quote(error.message) }
    }
  }

  async function sendInTime(node: ChainNode, raw: string, hash: string): Promise<SendOutcome> {
    let outcome: SendOutcome = { status: 'unanswered' }
    const sent = sendTo(node, raw, hash).then(
      (told) => {
        outcome = told
      },
      (error: unknown) => options.log.warn({ reason: reasonOf(error) }, `${node.name} did not take a transaction`),
    )
    await settledOrAborted(sent, AbortSignal.timeout(answerMsMax))
    return outcome
  }

  async function knowsInTime(node: ChainNode, hash: string): Promise<boolean> {
    let isKnown: boolean | undefined
    const asked = group
      .check(node)
      .then(() => askBatch(node, (ask) => ask(transactionQuestion(hash))))
      .then((told) => {
        isKnown = told
      })
    await settledOrAborted(asked, AbortSignal.timeout(answerMsMax))
    if (isKnown === undefined) throw node.fault('node_unreachable', 'does not say whether it has a transaction')
    return isKnown
  }

  return {
    send: (raw, hash) => Promise.all(group.nodes.map((node) => sendInTime(node, raw, hash))),
    async isKnown(hash) {
      const told = await Promise.allSettled(group.nodes.map((node) => knowsInTime(node, hash)))
      if (told.some((answer) => answer.status === 'fulfilled' && answer.value)) return true
      for (const answer of told) if (answer.status === 'rejected') throw answer.reason
      return false
    },
    state: (hash, sender) => group.ask('transactions', (node) => askState(node, hash, sender)),
    recentDeposits: (contract, blocks) => group.ask('deposits', (node) => askDeposits(node, contract, blocks)),
    [Symbol.asyncDispose]: () => group[Symbol.asyncDispose](),
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown error'
}

/** All of one node: of several one could be at another block than the next. */
function askState(node: ChainNode, hash: string, sender: string): Promise<TransactionState> {
  return askBatch(node, async (ask) => {
    const [head, final] = await Promise.all([ask(referenceQuestion('latest')), ask(referenceQuestion('finalized'))])
    if (head === null) throw node.fault('node_lagging', 'has no block yet')
    const number = Number(head.number)
    // Of the newest block: older states are not kept by every node.
    const [isKnown, included, nonce] = await Promise.all([
      ask(transactionQuestion(hash)),
      ask(receiptPlaceQuestion(hash)),
      ask(nonceQuestion(sender, number)),
    ])
    return {
      isKnown,
      included,
      head: { number, hash: head.hash.toLowerCase() },
      nonce: Number(nonce),
      finalBlockNumber: final === null ? 0 : Number(final.number),
    }
  })
}

function askDeposits(node: ChainNode, contract: string, blocks: number): Promise<readonly LoggedDeposit[]> {
  return askBatch(node, async (ask) => {
    const head = await ask(referenceQuestion('latest'))
    if (head === null) throw node.fault('node_lagging', 'has no block yet')
    const first = Math.max(0, Number(head.number) - LOG_BLOCKS - Math.min(blocks, DEPOSIT_BLOCKS_MAX))
    const starts: number[] = []
    for (let from = first; from <= Number(head.number); from += LOG_BLOCKS + 1) starts.push(from)
    const found: LoggedDeposit[] = []
    for (let at = 0; at < starts.length; at += LOG_QUESTIONS_AT_ONCE) {
      const some = starts.slice(at, at + LOG_QUESTIONS_AT_ONCE)
      const logs = await Promise.all(
        some.map((from) =>
          ask(depositLogsQuestion(contract, from, from === starts.at(-1) ? 'latest' : quantity(from + LOG_BLOCKS))),
        ),
      )
      for (const log of logs.flat()) if (log.address.toLowerCase() === contract) found.push(toLogged(log))
    }
    return found
  })
}

function toLogged({ data, transactionHash, blockNumber }: DepositLog): LoggedDeposit {
  const deposit = decodeDepositEvent(bytesOf(DEPOSIT_EVENT_TOPIC), bytesOf(data))
  if (deposit === undefined) throw malformed('a log of the deposit contract is no deposit')
  return {
    pubkey: hexOf(deposit.pubkey),
    depositDataRoot: hexOf(depositDataRoot(deposit, deposit.signature)),
    transactionHash: transactionHash.toLowerCase(),
    blockNumber: Number(blockNumber),
  }
}

const DepositLog = Type.Object({
  address: Address,
  /** Five `bytes` of 48, 32, 8, 96 and 8. */
  data: Type.String({ pattern: '^0x([0-9a-fA-F]{2}){576}$' }),
  transactionHash: Hash,
  blockNumber: SmallQuantity,
})
type DepositLog = Static<typeof DepositLog>
const DepositLogs = Type.Array(DepositLog)
const isDepositLogs = Compile(DepositLogs)

function depositLogsQuestion(contract: string, from: number, toBlock: string): Question<Static<typeof DepositLogs>> {
  const filter = { address: contract, topics: [DEPOSIT_EVENT_TOPIC], fromBlock: quantity(from), toBlock }
  const isOfShape = (result: unknown) => isDepositLogs.Check(result)
  return question('eth_getLogs', [filter], isOfShape, 'the logs of the deposit contract are no deposits')
}

const isHash = Compile(Hash)

function sendQuestion(raw: string): Question<string> {
  return question('eth_sendRawTransaction', [raw], (result) => isHash.Check(result))
}

const isTransaction = Compile(orNull(Type.Object({ hash: Hash })))

/** Whether the node knows the transaction. */
function transactionQuestion(hash: string): Question<boolean> {
  return {
    method: 'eth_getTransactionByHash',
    params: [hash],
    parse(result) {
      if (!isTransaction.Check(result)) throw malformed('a transaction is not of the documented shape')
      return result?.hash.toLowerCase() === hash
    },
  }
}

const isPlace = Compile(Type.Object({ blockHash: Hash, blockNumber: SmallQuantity }))

/** The block that a receipt says it is of; what else it says is taken from the block, which commits to it. */
function receiptPlaceQuestion(hash: string): Question<TransactionState['included']> {
  const { method, params, parse } = receiptQuestion(hash)
  return {
    method,
    params,
    parse(result) {
      if (parse(result) === null) return undefined
      if (!isPlace.Check(result)) throw malformed('a receipt does not tell its block')
      return { blockHash: result.blockHash.toLowerCase(), blockNumber: Number(result.blockNumber) }
    },
  }
}

const isNonce = Compile(SmallQuantity)

function nonceQuestion(sender: string, blockNumber: number): Question<string> {
  return question('eth_getTransactionCount', [sender, quantity(blockNumber)], (result) => isNonce.Check(result))
}

function quantity(value: number): string {
  return `0x${value.toString(16)}`
}
