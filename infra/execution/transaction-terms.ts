import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/schema'
import type { ChainNode } from '../nodes/nodes.ts'
import type { TransactionTerms, UnsentTransaction } from '../ports/staking-node.ts'
import { type AskNode, JsonRpcError, malformed, openBatch, toFault } from './json-rpc.ts'
import type { Question } from './result-shapes.ts'

const Quantity = Type.String({ pattern: '^0x[0-9a-fA-F]{1,64}$' })
const SmallQuantity = Type.String({ pattern: '^0x[0-9a-fA-F]{1,13}$' })
const isQuantity = Compile(Quantity)
const isSmallQuantity = Compile(SmallQuantity)
const Head = Type.Object({ baseFeePerGas: Quantity })
const isHead = Compile(Head)

/** A balance that pays for everything: the sender may fund the address after it was told the terms. */
const PLENTY_WEI = `0x${'f'.repeat(24)}`
/** What execution nodes say of a call that would revert, or fail otherwise: execution-apis, and what they do. */
const EXECUTION_FAILED: ReadonlySet<number> = new Set([3, -32_000, -32_003, -32_015])

/** Asks one node what a transaction needs now. Throws AppError of a node fault. */
export async function askTerms(node: ChainNode, transaction: UnsentTransaction): Promise<TransactionTerms> {
  const ask = openBatch(node)
  try {
    const [nonce, gas, tip, head] = await Promise.all([
      ask(quantity('eth_getTransactionCount', [transaction.from, 'pending'], isSmallQuantity)),
      askGas(ask, transaction),
      ask(quantity('eth_maxPriorityFeePerGas', [], isQuantity)),
      ask(headQuestion),
    ])
    const [tipWei, baseFeeWei] = [BigInt(tip), BigInt(head.baseFeePerGas)]
    return {
      nonce: Number(nonce),
      gas,
      maxPriorityFeePerGasWei: tipWei,
      // Six full blocks in a row double the base fee (EIP-1559).
      maxFeePerGasWei: 2n * baseFeeWei + tipWei,
    }
  } catch (error) {
    throw toFault(node, error)
  }
}

async function askGas(ask: AskNode, { from, to, valueWei, data }: UnsentTransaction): Promise<bigint | undefined> {
  const call = { from, to, value: `0x${valueWei.toString(16)}`, data }
  const params = [call, 'latest', { [from]: { balance: PLENTY_WEI } }]
  try {
    return BigInt(await ask(quantity('eth_estimateGas', params, isQuantity)))
  } catch (error) {
    if (error instanceof JsonRpcError && EXECUTION_FAILED.has(error.code)) return undefined
    throw error
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
