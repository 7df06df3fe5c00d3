import { bytesOf, hexOf } from '../../schemas/eth/hex.ts'
import { encodeRlp, rlpInteger } from '../../schemas/eth/rlp.ts'
import { orderedTrieRoot } from '../../schemas/eth/trie.ts'
import type { Withdrawal } from '../ports/execution-source.ts'
import type { NodeBlock } from './result-shapes.ts'

/**
 * What a block credited from the beacon chain (EIP-4895): none before Shanghai; undefined where what the node tells does not make the
 * header's withdrawals root. Figures need it only to correct a balance, so it refuses no block.
 */
export function provenWithdrawals({ withdrawals, withdrawalsRoot }: NodeBlock): readonly Withdrawal[] | undefined {
  if (typeof withdrawalsRoot !== 'string') return []
  const told = withdrawals ?? []
  const encoded = told.map(({ index, validatorIndex, address, amount }) =>
    encodeRlp([
      rlpInteger(BigInt(index)),
      rlpInteger(BigInt(validatorIndex)),
      bytesOf(address),
      rlpInteger(BigInt(amount)),
    ]),
  )
  if (hexOf(orderedTrieRoot(encoded)) !== withdrawalsRoot.toLowerCase()) return undefined
  return told.map(({ address, amount }) => ({ address: address.toLowerCase(), amountGwei: BigInt(amount) }))
}
