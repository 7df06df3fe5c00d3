import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/schema'
import type { ChainNode } from '../nodes/nodes.ts'
import type { TransactionTerms } from '../ports/staking-node.ts'
import { askBatch } from './json-rpc.ts'
import { Quantity, type Question, question, SmallQuantity } from './result-shapes.ts'

const quantityShape = Compile(Quantity)
const smallQuantityShape = Compile(SmallQuantity)
const isQuantity = (result: unknown) => quantityShape.Check(result)
const isSmallQuantity = (result: unknown) => smallQuantityShape.Check(result)
const Head = Type.Object({ baseFeePerGas: Quantity })
const isHead = Compile(Head)

/** Asks one node what a transaction needs now. Throws AppError of a node fault. */
export async function askTerms(node: ChainNode, sender: string): Promise<TransactionTerms> {
  const [nonce, tip, head] = await askBatch(node, (ask) =>
    Promise.all([
      ask(question('eth_getTransactionCount', [sender, 'pending'], isSmallQuantity)),
      ask(question('eth_maxPriorityFeePerGas', [], isQuantity)),
      ask(headQuestion),
    ]),
  )
  const [tipWei, baseFeeWei] = [BigInt(tip), BigInt(head.baseFeePerGas)]
  return {
    nonce: Number(nonce),
    maxPriorityFeePerGasWei: tipWei,
    // Six full blocks in a row double the base fee (EIP-1559).
    maxFeePerGasWei: 2n * baseFeeWei + tipWei,
  }
}

/** Asks one node whether an address has code. Throws AppError of a node fault. */
export async function askHasCode(node: ChainNode, address: string): Promise<boolean> {
  return (await askBatch(node, (ask) => ask(codeQuestion(address)))) !== '0x'
}

/** Asks one node for a word of a contract's storage. Throws AppError of a node fault. */
export async function askStorage(node: ChainNode, address: string, slot: string): Promise<bigint> {
  const storage = question('eth_getStorageAt', [address, slot, 'latest'], isQuantity)
  return BigInt(await askBatch(node, (ask) => ask(storage)))
}

const isCode = Compile(Type.String({ pattern: '^0x([0-9a-fA-F]{2})*$' }))

function codeQuestion(address: string): Question<string> {
  return question('eth_getCode', [address, 'latest'], (result) => isCode.Check(result))
}

const headQuestion: Question<Static<typeof Head>> = question(
  'eth_getBlockByNumber',
  ['latest', false],
  (result) => isHead.Check(result),
  'the newest block has no base fee',
)
