import { execution, type Fault, OFTEN, WAITS } from './fault.ts'
import type { NodeFault } from './faulty-node.ts'
import { ofAnything, ofMethod, results, rpc } from './replies.ts'

const BLOCKS = ['eth_getBlockByHash', 'eth_getBlockByNumber']
const isBlock = (method: string) => BLOCKS.includes(method)
type Transactions = readonly Readonly<Record<string, string>>[]

/** A block whose transactions were changed. */
const withTransactions = (change: (transactions: Transactions) => Transactions) =>
  results((result, method) => {
    if (!isBlock(method) || result === null) return result
    const block = result as { readonly transactions: Transactions }
    return { ...block, transactions: change(block.transactions) }
  })

const withHeader = (fields: Readonly<Record<string, string>>) =>
  results((result, method) => (isBlock(method) && result !== null ? { ...(result as object), ...fields } : result))

const ADDRESS = `0x${'d0'.repeat(20)}`
const ofBlock = ofMethod(...BLOCKS)
const quantity = (value: bigint) => `0x${value.toString(16)}`

/** Faults by what nobody signed but what a hash commits to. */
const CHANGED_BLOCKS: readonly Fault[] = [
  execution(
    'a transaction of another value',
    [
      {
        of: ofBlock,
        times: OFTEN,
        reply: withTransactions((all) => all.map((one) => ({ ...one, value: quantity(BigInt(one.value ?? 0) + 1n) }))),
      },
    ],
    WAITS,
  ),
  execution(
    'a transaction of another sender',
    [{ of: ofBlock, times: OFTEN, reply: withTransactions((all) => all.map((one) => ({ ...one, from: ADDRESS }))) }],
    WAITS,
  ),
  execution(
    'a transaction at another price, in the receipt too',
    [
      {
        of: ofBlock,
        times: OFTEN,
        reply: results((result, method) => {
          const price = (one: Readonly<Record<string, string>>, name: string) =>
            quantity(BigInt(one[name] ?? 0) + 1_000n)
          if (method === 'eth_getBlockReceipts')
            return (result as Transactions).map((one) => ({
              ...one,
              effectiveGasPrice: price(one, 'effectiveGasPrice'),
            }))
          if (!isBlock(method) || result === null) return result
          const block = result as { readonly transactions: Transactions }
          const dearer = block.transactions.map((one) => ({
            ...one,
            gasPrice: price(one, 'gasPrice'),
            ...(one.maxFeePerGas === undefined
              ? {}
              : { maxFeePerGas: price(one, 'maxFeePerGas'), maxPriorityFeePerGas: price(one, 'maxPriorityFeePerGas') }),
          }))
          return { ...block, transactions: dearer }
        }),
      },
    ],
    WAITS,
  ),
  execution(
    'a header with another miner',
    [{ of: ofBlock, times: OFTEN, reply: withHeader({ miner: ADDRESS }) }],
    WAITS,
  ),
  execution(
    'a header with other extra data',
    [{ of: ofBlock, times: OFTEN, reply: withHeader({ extraData: '0x626f6f' }) }],
    WAITS,
  ),
]

export const EXECUTION_FAULTS: readonly Fault[] = [
  ...CHANGED_BLOCKS,
  execution(
    'receipts of another block',
    [
      {
        of: ofMethod('eth_getBlockReceipts'),
        times: OFTEN,
        reply: firstReceipts(),
      },
    ],
    WAITS,
  ),
  execution(
    'batches that lack an answer',
    [{ of: ofBlock, times: OFTEN, reply: rpc((answers) => answers.slice(0, -1)) }],
    WAITS,
  ),
  execution(
    'no block of the hash',
    [{ of: ofBlock, times: OFTEN, reply: results((result, method) => (isBlock(method) ? null : result)) }],
    /does not have block 0x/,
  ),
  execution(
    'JSON-RPC errors',
    [
      {
        of: ofAnything,
        times: OFTEN,
        reply: rpc((_, questions) =>
          questions.map(({ id }) => ({ jsonrpc: '2.0', id, error: { code: -32_000, message: 'header not found' } })),
        ),
      },
    ],
    /JSON-RPC error -32000: header not found/,
  ),
]

/** The receipts that were asked for first, whatever is asked for. */
function firstReceipts(): NodeFault['reply'] {
  let first: unknown
  return results((result, method) => {
    if (method !== 'eth_getBlockReceipts') return result
    first ??= result
    return first
  })
}
