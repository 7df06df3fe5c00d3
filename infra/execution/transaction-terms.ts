import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/schema'
import type { ChainNode } from '../nodes/nodes.ts'
import type { TransactionTerms } from '../ports/staking-node.ts'
import { malformed, openBatch, toFault } from './json-rpc.ts'
import type { Question } from './result-shapes.ts'

const Quantity = Type.String({ pattern: '^0x[0-9a-fA-F]{1,64}$' })
const SmallQuantity = Type.String({ pattern: '^0x[0-9a-fA-F]{1,13}$' })
const isQuantity = Compile(Quantity)
const isSmallQuantity = Compile(SmallQuantity)
const Head = Type.Object({ baseFeePerGas: Quantity })
const isHead = Compile(Head)

/** Asks one node what a transaction needs now. Throws AppError of a node fault. */
export async function askTerms(node: ChainNode, sender: string): Promise<TransactionTerms> {
  const ask = openBatch(node)
  try {
    const [nonce, tip, head] = await Promise.all([
      ask(quantity('eth_getTransactionCount', [sender, 'pending'], isSmallQuantity)),
      ask(quantity('eth_maxPriorityFeePerGas', [], isQuantity)),
      ask(headQuestion),
    ])
    const [tipWei, baseFeeWei] = [BigInt(tip), BigInt(head.baseFeePerGas)]
    return {
      nonce: Number(nonce),
      maxPriorityFeePerGasWei: tipWei,
      // Six full blocks in a row double the base fee (EIP-1559).
      maxFeePerGasWei: 2n * baseFeeWei + tipWei,
    }
  } catch (error) {
    throw toFault(node, error)
  }
}

/** Asks one node whether an address has code. Throws AppError of a node fault. */
export async function askHasCode(node: ChainNode, address: string): Promise<boolean> {
  try {
    return (await openBatch(node)(codeQuestion(address))) !== '0x'
  } catch (error) {
    throw toFault(node, error)
  }
}

const isWord = Compile(Type.String({ pattern: '^0x[0-9a-fA-F]{1,64}$' }))

/** Asks one node for a word of a contract's storage. Throws AppError of a node fault. */
export async function askStorage(node: ChainNode, address: string, slot: string): Promise<bigint> {
  try {
    return BigInt(await openBatch(node)(quantity('eth_getStorageAt', [address, slot, 'latest'], isWord)))
  } catch (error) {
    throw toFault(node, error)
  }
}

const isCode = Compile(Type.String({ pattern: '^0x([0-9a-fA-F]{2})*$' }))

function codeQuestion(address: string): Question<string> {
  return {
    method: 'eth_getCode',
    params: [address, 'latest'],
    parse(result) {
      if (!isCode.Check(result)) throw malformed('the code of a contract is no hex')
      return result
    },
  }
}

function quantity(
  method: string,
  params: readonly unknown[],
  shape: { Check(value: unknown): boolean },
): Question<string> {
  return {
    method,
    params,
    parse(result) {
      if (!shape.Check(result)) throw malformed(`the answer to ${method} is no quantity`)
      return result as string
    },
  }
}

const headQuestion: Question<Static<typeof Head>> = {
  method: 'eth_getBlockByNumber',
  params: ['latest', false],
  parse(result) {
    if (!isHead.Check(result)) throw malformed('the newest block has no base fee')
    return result
  },
}
