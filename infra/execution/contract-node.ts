import { Type } from 'typebox'
import { Compile } from 'typebox/schema'
import { bytesOf } from '../../schemas/eth/hex.ts'
import { NodeGroup } from '../nodes/node-group.ts'
import { AnswerTooLarge, ChainNode, DEFAULT_LIMITS, type NodeLimits } from '../nodes/nodes.ts'
import type { CallAnswer, ContractCall, ContractNode, Deployment } from '../ports/contract-node.ts'
import type { Log } from '../ports/log.ts'
import { askChainId } from './deposit-chain-nodes.ts'
import { type AskNode, askBatch, JsonRpcError, openBatch } from './json-rpc.ts'
import {
  Address,
  Hash,
  isHexBytes,
  orNull,
  type Question,
  question,
  referenceQuestion,
  SmallQuantity,
} from './result-shapes.ts'

export interface ContractNodeOptions {
  /** The main node, then its fallbacks. */
  readonly urls: readonly string[]
  readonly log: Log
  readonly limits?: Partial<NodeLimits>
}

/** A call's: images that are drawn on the chain take some ten million; nodes allow fifty. */
const GAS_MAX = '0x2faf080'
/** Of what a node answers at once, to a call in hex: a text of two megabytes, four times the longest that is read. */
const BODY_BYTES_MAX = 4 << 20
/** One token may take a node seconds, and must not take it minutes; behind the 20 s after which Nethermind itself says that a call takes too long. */
const ANSWER_MS_MAX = 25_000
/** Nodes say in many words what a call came to: these are all that end one in geth, and what others call them. */
const ENDED =
  /revert|out of gas|gas required|invalid (opcode|jump|code)|stack (underflow|overflow|limit)|call depth|write protection|return ?data out of bounds|gas uint64 overflow|execution (error|halted)|opcode|evm/i
const REVERTED = 3
/** `VM execution error`, as Nethermind and geth number it. */
const VM_ERROR = -32_015
/** Of a call that has used up the node's time for one: geth and those after it, Nethermind, Besu. */
const TIMED_OUT = /execution (aborted|timed out)|request timed out|enabled timeout|timeout expired/i
/** Of an answer that is beyond what the node hands out at once. */
const TOO_LARGE = /response (is )?too (large|big)|response size exceed/i

/** Opens the execution nodes of a chain for calls of contracts; asks them nothing. Throws AppError `config` for an address that is none. */
export function openContractNode({ urls, log, limits: given }: ContractNodeOptions): ContractNode {
  const limits = {
    ...DEFAULT_LIMITS,
    ...{ bodyBytesMax: BODY_BYTES_MAX, headersTimeoutMs: ANSWER_MS_MAX, bodyFloorMs: ANSWER_MS_MAX },
    ...given,
  }
  const nodes = urls.map((url, i) => new ChainNode(`execution node ${i + 1}`, url, limits))
  const group = new NodeGroup({ nodes, limits, log, identify: async (node) => `chain ${await askChainId(node)}` })
  return {
    call: (calls) => group.ask('calls', (node) => askBatch(node, (ask) => askCalls(node, ask, calls))),
    deploymentOf: (contract) =>
      group.ask('deployments', (node) => askBatch(node, (ask) => askDeployment(node, ask, contract))),
    [Symbol.asyncDispose]: () => group[Symbol.asyncDispose](),
  }
}

async function askCalls(node: ChainNode, ask: AskNode, calls: readonly ContractCall[]) {
  const head = await ask(headQuestion)
  if (head === null) throw node.fault('node_lagging', 'has no block yet')
  const number = Number(head.number)
  // Each by itself: in one batch they would share the size of one answer, and the time of one.
  const answers = await Promise.all(calls.map((call) => outcomeOf(openBatch(node)(callQuestion(call, head.number)))))
  return { block: { number, hash: head.hash.toLowerCase(), timeSec: Number(head.timestamp) }, answers }
}

async function outcomeOf(answer: Promise<string>): Promise<CallAnswer> {
  try {
    return { status: 'returned', data: bytesOf(await answer) }
  } catch (error) {
    const status = error instanceof AnswerTooLarge ? 'too_large' : statusOf(error)
    if (status === undefined) throw error
    return { status }
  }
}

/** What an error says that a call came to; undefined where it is the node's. What a revert says is the contract's words. */
function statusOf(error: unknown): Exclude<CallAnswer['status'], 'returned'> | undefined {
  if (!(error instanceof JsonRpcError)) return undefined
  const { code, message } = error
  if (code === REVERTED || code === VM_ERROR || ENDED.test(message)) return 'reverted'
  if (TIMED_OUT.test(message)) return 'timed_out'
  return TOO_LARGE.test(message) ? 'too_large' : undefined
}

/** Halves what lies between a block without the contract and one with it: as many questions as a block number has bits. */
async function askDeployment(node: ChainNode, ask: AskNode, contract: string): Promise<Deployment> {
  const head = await ask(referenceQuestion('latest'))
  if (head === null) throw node.fault('node_lagging', 'has no block yet')
  if (!(await hasCode(ask, contract, Number(head.number))))
    return { block: null, deployer: null, reason: 'not_a_contract' }
  let [without, having] = [-1, Number(head.number)]
  while (having - without > 1) {
    const middle = Math.floor((without + having) / 2)
    try {
      if (await hasCode(ask, contract, middle)) having = middle
      else without = middle
    } catch (error) {
      // Of old blocks most nodes have no states.
      if (error instanceof JsonRpcError) return await askCreation(ask, contract)
      throw error
    }
  }
  const block = having
  const creations = await creationsIn(ask, block)
  if (creations === undefined) return { ...(await askCreation(ask, contract)), block }
  const creation = creations.find(({ contractAddress }) => contractAddress?.toLowerCase() === contract)
  if (creation === undefined) return { block, deployer: null, reason: 'made_by_contract' }
  return { block, deployer: creation.from.toLowerCase(), reason: null }
}

/** Undefined of a node that does not say: whoever fills a block with logs makes its receipts larger than it tells, and some know no such method. */
async function creationsIn(ask: AskNode, block: number): Promise<readonly Type.Static<typeof Creation>[] | undefined> {
  try {
    return (await ask(creationsQuestion(block))) ?? undefined
  } catch (error) {
    if (error instanceof AnswerTooLarge || error instanceof JsonRpcError) return undefined
    throw error
  }
}

/** Without old states: the transaction that some nodes know a contract's creation by; its receipt says the rest. */
async function askCreation(ask: AskNode, contract: string): Promise<Deployment> {
  const unknown = { block: null, deployer: null, reason: 'no_old_states' } as const
  try {
    const creator = await ask(creatorQuestion(contract))
    const receipt = creator === null ? null : await ask(receiptQuestion(creator.hash))
    if (receipt === null) return unknown
    const block = Number(receipt.blockNumber)
    if (receipt.contractAddress?.toLowerCase() !== contract)
      return { block, deployer: null, reason: 'made_by_contract' }
    return { block, deployer: receipt.from.toLowerCase(), reason: null }
  } catch (error) {
    if (error instanceof JsonRpcError || error instanceof AnswerTooLarge) return unknown
    throw error
  }
}

const Head = Type.Object({ number: SmallQuantity, hash: Hash, timestamp: SmallQuantity })
const isHead = Compile(orNull(Head))
const Creation = Type.Object({ from: Address, contractAddress: Type.Optional(orNull(Address)) })
const Creations = orNull(Type.Array(Creation))
const isCreations = Compile(Creations)
const Creator = orNull(Type.Object({ hash: Hash }))
const isCreator = Compile(Creator)
const Receipt = orNull(Type.Object({ ...Creation.properties, blockNumber: SmallQuantity }))
const isReceipt = Compile(Receipt)

const headQuestion: Question<Type.Static<typeof Head> | null> = question(
  'eth_getBlockByNumber',
  ['latest', false],
  (result) => isHead.Check(result),
)

const isHex = (result: unknown): result is string => typeof result === 'string' && isHexBytes(result)

/** No caller, no value, and no more gas than an answer may cost. */
function callQuestion({ to, data }: ContractCall, block: string): Question<string> {
  return question('eth_call', [{ to, data, gas: GAS_MAX }, block], isHex)
}

async function hasCode(ask: AskNode, contract: string, block: number): Promise<boolean> {
  return (await ask(question('eth_getCode', [contract, `0x${block.toString(16)}`], isHex))) !== '0x'
}

function creationsQuestion(block: number): Question<Type.Static<typeof Creations>> {
  return question('eth_getBlockReceipts', [`0x${block.toString(16)}`], (result) => isCreations.Check(result))
}

/** Of Otterscan's methods, which nodes with traces have. */
function creatorQuestion(contract: string): Question<Type.Static<typeof Creator>> {
  return question('ots_getContractCreator', [contract], (result) => isCreator.Check(result))
}

function receiptQuestion(hash: string): Question<Type.Static<typeof Receipt>> {
  return question('eth_getTransactionReceipt', [hash], (result) => isReceipt.Check(result))
}
