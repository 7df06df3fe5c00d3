import { expect, test } from 'vitest'
import { isBehindSql } from '../../api/nft/behind.ts'
import { addressKey, STANDARD_KEY, TOKEN_KEY } from '../../api/nft/history-rows.ts'
import { TOKEN_STANDARDS } from '../../schemas/eth/nft-transfers.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const stores = storesOfFile()
const KEYS = [addressKey('contract'), TOKEN_KEY, STANDARD_KEY]
const [CONTRACTS, TOKENS] = [
  ['01', '02', '03'],
  ['01', '02', '03'],
] as const
const STANDARDS = TOKEN_STANDARDS.toSorted()
/** All keys there are, in their order. */
const all = CONTRACTS.flatMap((contract) => TOKENS.flatMap((token) => STANDARDS.map((one) => [contract, token, one])))

/** The keys that the engine finds behind this one. */
async function behind([contract = '', token = '', standard = '']: readonly string[]): Promise<readonly string[][]> {
  const key = [`0x${contract.repeat(20)}`, `0x${token.repeat(32)}`, standard]
  const keys = all.map((one) => `('${one.join("', '")}')`)
  const rows = await stores().warehouse.query<{ c: string; t: string; standard: string }>(
    `SELECT c, t, standard FROM (
       SELECT arrayJoin([${keys.join(', ')}]) AS one, one.1 AS c, one.2 AS t, one.3 AS standard,
         toFixedString(unhex(repeat(c, 20)), 20) AS contract, toFixedString(unhex(repeat(t, 32)), 32) AS token_id)
     WHERE ${isBehindSql(KEYS, key)} ORDER BY c, t, standard`,
  )
  return rows.map(({ c, t, standard: found }) => [c, t, found])
}

test('behind each key lie those that come after it in their order', async () => {
  for (const [i, key] of all.entries()) expect(await behind(key), key.join(' ')).toEqual(all.slice(i + 1))
})

test('where no value is greater than the last one, none is looked for', () => {
  const sqlBehind = (standard: string) => isBehindSql(KEYS, [`0x${'01'.repeat(20)}`, `0x${'02'.repeat(32)}`, standard])
  expect(sqlBehind('ERC1155')).toContain('standard >')
  expect(sqlBehind('ERC721')).not.toContain('standard')
  expect(isBehindSql([STANDARD_KEY, addressKey('holder')], ['ERC721', `0x${'01'.repeat(20)}`])).toContain('holder >')
})
