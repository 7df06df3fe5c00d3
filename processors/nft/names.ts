import { bytesOf } from '../../schemas/eth/hex.ts'
import type { ContractRead } from '../../schemas/events/nft-metadata.ts'
import { searchText, wordsOf } from '../../schemas/nft/search-text.ts'
import type { TableRows } from '../loop/rows.ts'

/** What a contract is found by: its name and symbol, and their words. */
export function nameRows(
  { chain, contract, name, symbol }: Pick<ContractRead, 'chain' | 'contract' | 'name' | 'symbol'>,
  version: bigint,
): readonly TableRows[] {
  const text = searchText(name ?? '', symbol ?? '')
  const words = wordsOf(text)
  return [
    {
      table: 'nft_contract_names',
      columns: {
        chain: [chain],
        contract: bytesOf(contract),
        search_text: [text],
        version: BigUint64Array.of(version),
      },
    },
    {
      table: 'nft_words',
      columns: {
        chain: words.map(() => chain),
        letters: Uint16Array.from(words, (word) => Buffer.byteLength(word)),
        word: words,
        version: new BigUint64Array(words.length).fill(version),
      },
    },
  ]
}
