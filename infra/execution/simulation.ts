import { Compile } from 'typebox/schema'
import type { ChainNode } from '../nodes/nodes.ts'
import type { SimulatedCall, Simulation } from '../ports/staking-node.ts'
import { JsonRpcError, openBatch } from './json-rpc.ts'
import { Gas, type Question, question } from './result-shapes.ts'

/** `execution reverted`, as geth and those after it number it. */
const REVERTED = 3
/** Others have no number of their own for it. */
const REVERTED_WORDS = /revert/i
/** What the sender is given beyond the call's value, for the gas: 2^64 wei are 18 ETH. */
const GAS_MONEY_WEI = 1n << 64n

/** Asks one node what gas a call uses when its sender has the ether for it. Throws AppError of a node fault. */
export async function askSimulation(node: ChainNode, call: SimulatedCall): Promise<Simulation> {
  try {
    return { status: 'done', gas: BigInt(await openBatch(node)(gasQuestion(call))) }
  } catch (error) {
    if (!(error instanceof JsonRpcError)) throw error
    const isReverted = error.code === REVERTED || REVERTED_WORDS.test(error.message)
    return { status: isReverted ? 'reverted' : 'unknown' }
  }
}

const isGas = Compile(Gas)

function gasQuestion({ from, to, valueWei, data, gas }: SimulatedCall): Question<string> {
  const hex = (value: bigint) => `0x${value.toString(16)}`
  const call = { from, to, value: hex(valueWei), data, ...(gas === undefined ? {} : { gas: hex(gas) }) }
  const params = [call, 'latest', { [from]: { balance: hex(valueWei + GAS_MONEY_WEI) } }]
  return question('eth_estimateGas', params, (result) => isGas.Check(result))
}
