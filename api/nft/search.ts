import type { NftContract } from '../../schemas/routes/nft/fields.ts'
import { bytesSql, textSql } from '../../schemas/tables/literals.ts'
import { toContract } from './metadata.ts'
import { type ContractTables, selectContracts } from './told-contracts.ts'

/** As many as an answer has. */
const FOUND_MAX = 100
/** A row may be older than another one of its contract: then it does not count. */
const ROWS_MAX = 2 * FOUND_MAX
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
/** A shorter word is nearly like too many others, unless they have other words of the text, too. */
const LONE_CHARACTERS_MIN = 5
/** So many words of a text are looked for one by one. */
const WORDS_MAX = 8
/** Letters that are wrong: too many. */
const FAR = 100
/** A part of an address that is no beginning: fewer digits are in every other one. */
const PART_DIGITS_MIN = 6

const PART_OF_ADDRESS = /^(0x)?([0-9a-f]{1,40})$/

/**
 * Contracts whose names, symbols or addresses have a text in them, lower-case, the best first: the whole, a beginning, a word's
 * beginning, a part; where there are none, those that have all its words, nearly; where there are none, those that have most of it. What
 * a contract was called before does not count.
 */
export async function searchContracts(tables: ContractTables, text: string): Promise<readonly NftContract[]> {
  const query = text.replaceAll('\n', ' ')
  if (query === '') return []
  for (const selection of [having(query), ...nearlyOf(query)]) {
    const found = await newestOf(tables, selection)
    if (found.length > 0) return found
  }
  return []
}

/** Which rows of a table are read: all of them, without the time that it takes to tell the newest ones, or those alone. */
type Rows = '' | 'FINAL'

interface Found {
  readonly address: string
  readonly version: string
}

/** A statement, up to its LIMIT. */
type Selection = (from: string) => string

/** What somebody has written, as bytes: it cannot end the literal, and the engine understands that faster than a parameter. */
const literal = (text: string): string => bytesSql(Buffer.from(text).toString('hex'))
const literals = (texts: readonly string[]): string => `[${texts.map(literal).join(', ')}]`

/** Of what is found, the contracts that are called so now. */
async function newestOf(tables: ContractTables, selection: Selection): Promise<readonly NftContract[]> {
  const found = await select(tables, selection, '')
  const newest = await newestAmong(tables, found)
  // So many rows are older ones that others had no place.
  const isCut = found.length === ROWS_MAX && newest.length < FOUND_MAX
  return isCut ? await newestAmong(tables, await select(tables, selection, 'FINAL')) : newest
}

async function newestAmong(tables: ContractTables, found: readonly Found[]): Promise<readonly NftContract[]> {
  const rows = Map.groupBy(found, ({ address }) => `0x${address}`)
  const contracts = [...rows.keys()]
  const newest: NftContract[] = []
  while (contracts.length > 0 && newest.length < FOUND_MAX) {
    const some = contracts.splice(0, FOUND_MAX - newest.length)
    const told = await selectContracts(tables, some)
    for (const contract of some) {
      const now = told.get(contract)
      const isFound = rows.get(contract)?.some(({ version }) => version === now?.version)
      if (isFound) newest.push(toContract({ contract, standard: null }, now, true))
    }
  }
  return newest
}

function select({ warehouse, chain }: ContractTables, selection: Selection, rows: Rows): Promise<readonly Found[]> {
  const from = `FROM nft_contracts ${rows} WHERE chain = ${textSql(chain)}`
  // Of so small a statement a second thread would only take time from another one.
  return warehouse.query<Found>(`${selection(from)} LIMIT ${ROWS_MAX} SETTINGS max_threads = 1`)
}

/** What finds whatever has a text in it. Shorter names are nearer to what was asked for; of equal ones each question gets the same. */
function having(query: string): Selection {
  const digits = PART_OF_ADDRESS.exec(query)?.[2]
  const ofAddress = digits === undefined ? undefined : addressHas(query, digits)
  const has = (part: string) => `position(search_text, ${literal(part)}) > 0`
  const ofName = has(query)
  const ranks = `${has(`\n${query}\n`)}, 0, ${has(`\n${query}`)}, 1, ${has(` ${query}`)}, 2`
  const [where, rank] =
    ofAddress === undefined
      ? [ofName, `multiIf(${ranks}, 3)`]
      : [`(${ofName} OR ${ofAddress})`, `multiIf(${ranks}, ${ofName}, 3, startsWith(address_text, '${digits}'), 4, 5)`]
  return (from) => `SELECT lower(hex(contract)) AS address, version ${from} AND ${where}
    ORDER BY ${rank} AS rank, if(rank > 3, 0, length(search_text)), contract`
}

/** Undefined of too few digits. */
function addressHas(query: string, digits: string): string | undefined {
  if (digits.length >= PART_DIGITS_MIN) return `position(address_text, '${digits}') > 0`
  return query.startsWith('0x') ? `startsWith(address_text, '${digits}')` : undefined
}

/** What finds whatever is nearly like a text, the nearest first. */
function nearlyOf(query: string): readonly Selection[] {
  const digits = PART_OF_ADDRESS.exec(query)?.[2]
  if (digits?.length === ADDRESS_DIGITS) return [nearlyAddress(digits)]
  const isPartOfAddress = digits !== undefined && digits.length >= PART_DIGITS_MIN && /\d/.test(digits)
  if (query.length < NEARLY_CHARACTERS_MIN || query.startsWith('0x') || isPartOfAddress) return []
  const words = withWordsOf(query)
  return words === undefined ? [alike(query)] : [words, alike(query)]
}

function nearlyAddress(digits: string): Selection {
  return (from) => `SELECT lower(hex(contract)) AS address, version,
      bitHammingDistance(contract, toFixedString(${bytesSql(digits)}, 20)) AS wrong
    ${from} AND wrong <= ${WRONG_BITS_MAX} ORDER BY wrong, contract`
}

/** What finds names that have each word of a text, or one with a letter or two that are wrong; undefined where no word may have one. */
function withWordsOf(query: string): Selection | undefined {
  const words = query.split(/\s+/).filter((word) => word !== '')
  if (words.length > WORDS_MAX || (words.length === 1 && query.length < LONE_CHARACTERS_MIN)) return undefined
  const longest = Math.max(...words.map(({ length }) => length))
  const slips = words.map((word) => slipsOf(word, longest))
  const wrong = words.map((_, i) => {
    const [own, most] = [literal(words[i] as string), slips[i] as number]
    const least = most === 0 ? '0' : `if(position(search_text, ${own}) > 0, 0, ${leastWrong('words', own, most)})`
    return `${least} AS wrong${i}`
  })
  const has = words.map((word, i) =>
    slips[i] === 0
      ? `position(search_text, ${literal(word)}) > 0`
      : `multiSearchAny(search_text, ${literals([word, ...endsOfWord(word)])})`,
  )
  return (from) => `SELECT lower(hex(contract)) AS address, version, splitByWhitespace(search_text) AS words,
      ${wrong.join(', ')}
    FROM (${candidates(from, has.join(' AND '))})
    WHERE ${slips.map((most, i) => `wrong${i} <= ${most}`).join(' AND ')}
    ORDER BY ${words.map((_, i) => `wrong${i}`).join(' + ')}, length(search_text),
      ngramSearch(search_text, ${literal(query)}) DESC, contract`
}

/** Whole names and symbols with a letter or two that are wrong, and names that have most of the text in them. */
function alike(query: string): Selection {
  const isShort = query.length < ALIKE_CHARACTERS_MIN
  const slips = isShort ? 1 : 2
  const own = literal(query)
  return (from) => `SELECT lower(hex(contract)) AS address, version,
      ${leastWrong("splitByChar('\\n', search_text)", own, slips)} AS wrong,
      ${isShort ? '0' : `ngramSearch(search_text, ${own})`} AS alike
    FROM (${candidates(from, `multiSearchAny(search_text, ${literals(isShort ? endsOf(query) : runsOf(query))})`)})
    WHERE wrong <= ${slips} OR alike >= ${ALIKE_MIN}
    ORDER BY least(wrong, ${slips} + 1), alike DESC, length(search_text), contract`
}

/** Comparing is dear: only those are compared that have something in common with the text, which the limit keeps apart from the comparison. */
function candidates(from: string, condition: string): string {
  return `SELECT contract, search_text, version ${from} AND ${condition} LIMIT ${CANDIDATES_MAX}`
}

/** How many letters differ from the nearest of some; of words that are much longer or shorter nobody counts it. */
function leastWrong(ones: string, own: string, slips: number): string {
  const isNear = `abs(toInt32(length(one)) - toInt32(length(${own}))) <= ${slips}`
  return `arrayMin(arrayMap(one -> if(${isNear}, damerauLevenshteinDistance(one, ${own}), ${FAR}), ${ones}))`
}

/** How many letters of a word may be wrong: of four letters one, unless there is a longer word to find names by. */
function slipsOf(word: string, longest: number): number {
  if (word.length < 4 || (word.length === 4 && longest > 4)) return 0
  return word.length < 8 ? 1 : 2
}

/** A slip, of two letters at most, leaves a word's beginning or its end as it is, but in the middle of four letters. */
function endsOfWord(word: string): readonly string[] {
  const letters = Math.min(4, Math.max(2, Math.floor((word.length - 1) / 2)))
  const [begin, end] = [word.slice(0, letters), word.slice(-letters)]
  return ['\n', ' '].flatMap((space) => [`${space}${begin}`, `${end}${space}`])
}

/** One slip leaves the first letter or the last one as it is. */
function endsOf(query: string): readonly string[] {
  return [`\n${query.slice(0, 1)}`, `${query.slice(-1)}\n`]
}

/** Every four letters that follow on each other; of a short text every three, for two slips leave no four of it. */
function runsOf(query: string): readonly string[] {
  const letters = query.length < SHORT_CHARACTERS ? 3 : 4
  return [...new Set(Array.from({ length: query.length - letters + 1 }, (_, i) => query.slice(i, i + letters)))]
}
