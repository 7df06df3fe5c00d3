import { searchable } from '../../schemas/nft/search-text.ts'
import type { NftContract } from '../../schemas/routes/nft/fields.ts'
import { bytesSql, textSql, writtenSql } from '../../schemas/tables/literals.ts'
import { type AskedWord, askedWords, type Meant, type MeantWord, meantWords } from './meant-words.ts'
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
/** Letters that are wrong: too many. */
const FAR = 100
/** A part of an address that is no beginning: fewer digits are in every other one. */
const PART_DIGITS_MIN = 6

/** So many texts are looked for one after the other. */
const APART_MAX = 3
/** What words of a name lie between. */
const SPACES = [' ', '\n'] as const

const PART_OF_ADDRESS = /^(0x)?([0-9a-f]{1,40})$/

/**
 * Contracts whose names, symbols or addresses have a text in them, lower-case, the best first: the whole, a beginning, a word's
 * beginning, a part; where there are none, those that have all its words, nearly; where there are none, those that have most of it. What
 * a contract was called before does not count.
 */
export async function searchContracts(tables: ContractTables, text: string): Promise<readonly NftContract[]> {
  const query = searchable(text)
  if (query === '') return []
  for (const selectionOf of [() => having(query), ...nearlyOf(query)]) {
    const selection = await selectionOf(tables)
    const found = selection === undefined ? [] : await newestOf(tables, selection)
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
interface Selection {
  readonly sql: (from: string) => string
  /** A setting; the usual one where it is not there. */
  readonly analyzer?: string
}

/** Takes a third less for what is plain, and more for what depends on the order of conditions. */
const OLDER_ANALYZER = ', enable_analyzer = 0'

/** One that other statements may be needed for; undefined where they say that nothing would be found. */
type SelectionOf = (tables: ContractTables) => Selection | Promise<Selection | undefined>

const literal = writtenSql
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
  const from = `FROM nft_contract_names ${rows} WHERE chain = ${textSql(chain)}`
  const { sql, analyzer = '' } = selection
  // Of so small a statement a second thread would only take time from another one.
  return warehouse.query<Found>(`${sql(from)} LIMIT ${ROWS_MAX} SETTINGS max_threads = 1${analyzer}`)
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
  return {
    sql: (from) => `SELECT lower(hex(contract)) AS address, version ${from} AND ${where}
    ORDER BY ${rank} AS rank, if(rank > 3, 0, length(search_text)), contract`,
    ...(ofAddress === undefined ? { analyzer: OLDER_ANALYZER } : {}),
  }
}

/** Undefined of too few digits. */
function addressHas(query: string, digits: string): string | undefined {
  if (digits.length >= PART_DIGITS_MIN) return `position(address_text, '${digits}') > 0`
  return query.startsWith('0x') ? `startsWith(address_text, '${digits}')` : undefined
}

/** What finds whatever is nearly like a text, the nearest first. */
function nearlyOf(query: string): readonly SelectionOf[] {
  const digits = PART_OF_ADDRESS.exec(query)?.[2]
  if (digits?.length === ADDRESS_DIGITS) return [() => nearlyAddress(digits)]
  const isPartOfAddress = digits !== undefined && digits.length >= PART_DIGITS_MIN && /\d/.test(digits)
  if (query.length < NEARLY_CHARACTERS_MIN || query.startsWith('0x') || isPartOfAddress) return []
  const asked = askedWords(query)
  const likeText = () => alike(query)
  return asked === undefined ? [likeText] : [(tables) => withMeant(tables, query, asked), likeText]
}

function nearlyAddress(digits: string): Selection {
  return {
    sql: (from) => `SELECT lower(hex(contract)) AS address, version,
      bitHammingDistance(contract, toFixedString(${bytesSql(digits)}, 20)) AS wrong
    ${from} AND wrong <= ${WRONG_BITS_MAX} ORDER BY wrong, contract`,
  }
}

/** Undefined where a text of one word has no name, and nothing else can be meant by it. */
async function withMeant(tables: ContractTables, query: string, asked: readonly AskedWord[]) {
  const words = await meantWords(tables, asked)
  return words.length === 1 && words[0]?.meant.length === 0 ? undefined : withWords(query, words)
}

/** What finds names that have each word of a text, or one that was meant by it. */
function withWords(query: string, words: readonly MeantWord[]): Selection {
  const wrong = words.map(({ word, meant }, i) => {
    const ofSlips = [...Map.groupBy(meant, ({ slips }) => slips)].map(([slips, some]) => `${hasWord(some)}, ${slips}`)
    return `multiIf(${[`${isPart(word)}, 0`, ...ofSlips].join(', ')}, ${FAR}) AS wrong${i}`
  })
  // That no name has a text of one word is known by then.
  const own = (word: string) => (words.length === 1 ? [] : [word])
  const mayHave = words.map(({ word, meant }) => hasPart([...own(word), ...meant.map((one) => one.word)])).join(' AND ')
  return {
    sql: (from) => `SELECT lower(hex(contract)) AS address, version, ${wrong.join(', ')}
    FROM (${candidates(from, mayHave)})
    WHERE ${words.map((_, i) => `wrong${i} < ${FAR}`).join(' AND ')}
    ORDER BY ${words.map((_, i) => `wrong${i}`).join(' + ')}, length(search_text),
      ngramSearch(search_text, ${literal(query)}) DESC, contract`,
  }
}

const isPart = (text: string): string => `position(search_text, ${literal(text)}) > 0`

/** Whether a name has one of some texts anywhere. One text is looked for in all names at once, several in each name. */
function hasPart(texts: readonly string[]): string {
  if (texts.length > APART_MAX) return `multiSearchAny(search_text, ${literals(texts)})`
  return `(${texts.map(isPart).join(' OR ')})`
}

/** Whether a name has one of some words, as a word. */
function hasWord(words: readonly Meant[]): string {
  const between = words.flatMap(({ word }) => SPACES.flatMap((left) => SPACES.map((right) => `${left}${word}${right}`)))
  return `multiSearchAny(search_text, ${literals(between)})`
}

/** Whole names and symbols with a letter or two that are wrong, and names that have most of the text in them. */
function alike(query: string): Selection {
  const isShort = query.length < ALIKE_CHARACTERS_MIN
  const slips = isShort ? 1 : 2
  const own = literal(query)
  return {
    sql: (from) => `SELECT lower(hex(contract)) AS address, version,
      ${leastWrong("splitByChar('\\n', search_text)", own, slips)} AS wrong,
      ${isShort ? '0' : `ngramSearch(search_text, ${own})`} AS alike
    FROM (${candidates(from, `multiSearchAny(search_text, ${literals(isShort ? endsOf(query) : runsOf(query))})`)})
    WHERE wrong <= ${slips} OR alike >= ${ALIKE_MIN}
    ORDER BY least(wrong, ${slips} + 1), alike DESC, length(search_text), contract`,
  }
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

/** One slip leaves the first letter or the last one as it is. */
function endsOf(query: string): readonly string[] {
  return [`\n${query.slice(0, 1)}`, `${query.slice(-1)}\n`]
}

/** Every four letters that follow on each other; of a short text every three, for two slips leave no four of it. */
function runsOf(query: string): readonly string[] {
  const letters = query.length < SHORT_CHARACTERS ? 3 : 4
  return [...new Set(Array.from({ length: query.length - letters + 1 }, (_, i) => query.slice(i, i + letters)))]
}
