import { textSql, writtenSql } from '../../schemas/tables/literals.ts'
import type { ContractTables } from './told-contracts.ts'

// Words that names have, and that somebody may have meant who has written another one: one or two letters are wrong.

/** A shorter word is nearly like too many others, unless they have other words of the text, too. */
const LONE_CHARACTERS_MIN = 5
/** So many words of a text are looked for one by one. */
const WORDS_MAX = 8
/** Of each word, the nearest: a statement looks for 255 texts at once, and each word is four, by what lies around it. */
const MEANT_MAX = 60

/** A word of a text, and how many of its letters may be wrong. */
export interface AskedWord {
  readonly word: string
  readonly slipsMax: number
}

export interface Meant {
  readonly word: string
  readonly slips: number
}

/** A word of a text with others that may be meant by it. */
export interface MeantWord {
  readonly word: string
  readonly meant: readonly Meant[]
}

/** Undefined where no word may have a wrong letter, or they are too many. */
export function askedWords(query: string): readonly AskedWord[] | undefined {
  const words = query.split(/\s+/).filter((word) => word !== '')
  if (words.length > WORDS_MAX || (words.length === 1 && query.length < LONE_CHARACTERS_MIN)) return undefined
  const longest = Math.max(...words.map(({ length }) => length))
  return words.map((word) => ({ word, slipsMax: slipsOf(word, longest) }))
}

/** How many letters of a word may be wrong: of four letters one, unless there is a longer word to find names by. */
function slipsOf(word: string, longest: number): number {
  if (word.length < 4 || (word.length === 4 && longest > 4)) return 0
  return word.length < 8 ? 1 : 2
}

interface Row extends Meant {
  readonly nth: number
}

/** All words of the question in one statement, of words about as long. */
export async function meantWords(
  { warehouse, chain }: ContractTables,
  asked: readonly AskedWord[],
): Promise<readonly MeantWord[]> {
  const selects = asked.flatMap(({ word, slipsMax }, nth) =>
    slipsMax === 0 ? [] : [selectMeant({ chain, word, slipsMax, nth })],
  )
  if (selects.length === 0) return asked.map(({ word }) => ({ word, meant: [] }))
  const rows = await warehouse.query<Row>(`${selects.join(' UNION ALL ')} SETTINGS max_threads = 1`)
  const ofWord = Map.groupBy(rows, ({ nth }) => nth)
  return asked.map(({ word }, nth) => ({ word, meant: ofWord.get(nth) ?? [] }))
}

function selectMeant({ chain, word, slipsMax, nth }: AskedWord & { readonly chain: string; readonly nth: number }) {
  const own = writtenSql(word)
  const bytes = Buffer.byteLength(word)
  const [begin, end] = endsOf(word)
  return `SELECT ${nth} AS nth, word, slips FROM (
    SELECT DISTINCT word, damerauLevenshteinDistance(word, ${own}) AS slips FROM nft_words
    WHERE chain = ${textSql(chain)} AND letters BETWEEN ${bytes - slipsMax} AND ${bytes + slipsMax}
      AND (startsWith(word, ${writtenSql(begin)}) OR endsWith(word, ${writtenSql(end)})) AND slips BETWEEN 1 AND ${slipsMax}
    ORDER BY slips, word LIMIT ${MEANT_MAX}
  )`
}

/** A slip, of two letters at most, leaves a word's beginning or its end as it is, but in the middle of four letters. */
function endsOf(word: string): readonly [string, string] {
  const letters = Math.min(4, Math.max(2, Math.floor((word.length - 1) / 2)))
  return [word.slice(0, letters), word.slice(-letters)]
}
