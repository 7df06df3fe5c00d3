/** Statements that tell what contracts are found by, as the processor does with what was read of them. */
export function namesSql(which: string): readonly string[] {
  const text = "concat('\\n', lower(name), '\\n', lower(symbol), '\\n')"
  return [
    `INSERT INTO nft_contract_names (chain, contract, search_text, version)
     SELECT chain, contract, ${text}, version FROM nft_contracts WHERE ${which}`,
    `INSERT INTO nft_words (chain, letters, word, version)
     SELECT chain, length(word), arrayJoin(splitByWhitespace(${text})) AS word, max(version) FROM nft_contracts WHERE ${which}
     GROUP BY chain, word`,
  ]
}
