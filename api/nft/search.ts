import type { QueryParams } from '../../infra/ports/warehouse.ts'
import type { NftPin } from './asking.ts'

/** As many as an answer has. */
const FOUND_MAX = 100
/** A shorter text is nearly like everything. */
const NEARLY_CHARACTERS_MIN = 3
/** A name's runs of four characters are compared with those of a text that has some. */
const ALIKE_CHARACTERS_MIN = 6
const SHORT_CHARACTERS = 9
/** Share of a text's runs of four characters that a name has to have; a letter that is wrong costs four of them. */
const ALIKE_MIN = 0.4
/** Compared closely: more than have anything in common with a text that means something. */
const CANDIDATES_MAX = 100_000
/** Of a whole address: two digits that are wrong. */
const WRONG_BITS_MAX = 8
const ADDRESS_DIGITS = 40
/** A part of an address that is no beginning: fewer digits are in every other one. */
const PART_DIGITS_MIN = 6

const PART_OF_ADDRESS = /^(0x)?([0-9a-f]{1,40})$/

/**
 * Contracts whose names, symbols or addresses have a text in them, lower-case, the best first: the whole, a beginning, a word's
 * beginning, a part; where there are none, those that are nearly so. What a contract was called before does not count.
 */
export async function searchNames(scope: NftPin, text: string): Promise<readonly string[]> {
  const query = text.replaceAll('\n', ' ')
  if (query === '') return []
  const found = new Set([...(await byName(scope, query)), ...(await byAddress(scope, query))])
  if (found.size === 0 && query.length >= NEARLY_CHARACTERS_MIN && !query.startsWith('0x'))
    for (const address of await nearly(scope, query)) found.add(address)
  return [...found].slice(0, FOUND_MAX)
}

const OF_CHAIN = 'FROM nft_contracts FINAL WHERE chain = {chain:String}'
/** Shorter names are nearer to what was asked for; of equal ones each question gets the same. */
const THEN = 'length(search_text), contract LIMIT {limit:UInt32}'

async function select(scope: NftPin, sql: string, params: QueryParams): Promise<readonly string[]> {
  const rows = await scope.warehouse.query<{ address: string }>(`SELECT lower(hex(contract)) AS address ${sql}`, {
    ...params,
    chain: scope.chain,
    limit: FOUND_MAX,
  })
  return rows.map(({ address }) => `0x${address}`)
}

function byName(scope: NftPin, query: string): Promise<readonly string[]> {
  return select(
    scope,
    `${OF_CHAIN} AND position(search_text, {query:String}) > 0
     ORDER BY multiIf(
       has(splitByChar('\\n', search_text), {query:String}), 0,
       startsWith(search_text, {query:String}) OR position(search_text, concat('\\n', {query:String})) > 0, 1,
       position(search_text, concat(' ', {query:String})) > 0, 2,
       3
     ), ${THEN}`,
    { query },
  )
}

async function byAddress(scope: NftPin, query: string): Promise<readonly string[]> {
  const digits = PART_OF_ADDRESS.exec(query)?.[2]
  if (digits === undefined) return []
  const isNamed = query.startsWith('0x')
  if (!isNamed && digits.length < PART_DIGITS_MIN) return []
  const [first, last] = ['0', 'f'].map((digit) => `unhex('${digits.padEnd(ADDRESS_DIGITS, digit)}')`)
  const beginning = await select(
    scope,
    `${OF_CHAIN} AND contract >= ${first} AND contract <= ${last} ORDER BY contract LIMIT {limit:UInt32}`,
    {},
  )
  if (digits.length === ADDRESS_DIGITS && beginning.length === 0)
    return await select(
      scope,
      `, bitHammingDistance(contract, toFixedString(unhex({digits:String}), 20)) AS wrong
       ${OF_CHAIN} AND wrong <= ${WRONG_BITS_MAX} ORDER BY wrong, contract LIMIT {limit:UInt32}`,
      { digits },
    )
  if (digits.length < PART_DIGITS_MIN) return beginning
  // Whole bytes of it, wherever it begins in an address: cheap to look for, and what has them is looked at closely.
  const bytes = [0, 1].map((from) => `unhex('${digits.slice(from, digits.length - ((digits.length - from) % 2))}')`)
  const within = await select(
    scope,
    `FROM (
       SELECT contract ${OF_CHAIN} AND multiSearchAny(concat(contract, '.'), [${bytes.join(', ')}]) LIMIT ${CANDIDATES_MAX}
     )
     WHERE position(lower(hex(contract)), {digits:String}) > 0 ORDER BY contract LIMIT {limit:UInt32}`,
    { digits },
  )
  return [...new Set([...beginning, ...within])]
}

/**
 * Whole names and symbols with a letter or two that are wrong, and names that have most of the text in them. Comparing is dear: only those
 * are compared that have something in common with the text, which the limit keeps apart from the comparison.
 */
function nearly(scope: NftPin, query: string): Promise<readonly string[]> {
  const isShort = query.length < ALIKE_CHARACTERS_MIN
  const slips = isShort ? 1 : 2
  const bytes = Buffer.from(query)
  const params = { query, length: bytes.length, ...(isShort ? {} : { runs: runsOf(query) }) }
  // One slip leaves the first letter or the last one as it is.
  const ends = [`startsWith(lowerUTF8(one), {first:String})`, `endsWith(lowerUTF8(one), {last:String})`].join(' OR ')
  const isLike = (column: string) =>
    `(abs(toInt32(length(${column})) - {length:Int32}) <= 1 AND (${ends.replaceAll('one', column)}))`
  const common = isShort
    ? `(${isLike('name')} OR ${isLike('symbol')})`
    : 'multiSearchAny(search_text, {runs:Array(String)})'
  return select(
    scope,
    `, arrayMin(arrayMap(one -> if(abs(toInt32(length(one)) - {length:Int32}) <= ${slips},
         damerauLevenshteinDistance(one, {query:String}), 100), splitByChar('\\n', search_text))) AS wrong,
       ${isShort ? '0' : 'ngramSearch(search_text, {query:String})'} AS alike
     FROM (SELECT contract, search_text ${OF_CHAIN} AND ${common} LIMIT ${CANDIDATES_MAX})
     WHERE alike >= ${ALIKE_MIN} OR wrong <= ${slips}
     ORDER BY least(wrong, ${slips} + 1), alike DESC, ${THEN}`,
    isShort ? { ...params, first: query.slice(0, 1), last: query.slice(-1) } : params,
  )
}

/** Every four letters that follow on each other; of a short text every three, for two slips leave no four of it. */
function runsOf(query: string): readonly string[] {
  const letters = query.length < SHORT_CHARACTERS ? 3 : 4
  return [...new Set(Array.from({ length: query.length - letters + 1 }, (_, i) => query.slice(i, i + letters)))]
}
