import type { ToldDocument, ToldState } from '../../schemas/nft/told-token.ts'
import { bytesSql, textSql } from '../../schemas/tables/literals.ts'
import { hexKeys, lookUpKeys } from '../http/lookups.ts'
import { tokenHex } from './amounts.ts'
import type { NftPin } from './asking.ts'
import type { KeptTold } from './kept-told.ts'
import type { Token } from './metadata.ts'
import { foundOnce, isNewer, type Versioned } from './newest-rows.ts'

/** What is known of a token; undefined: nothing was read, or nobody has tried. */
export interface ToldToken {
  readonly document: ToldDocument | undefined
  readonly state: ToldState | undefined
}

interface Row extends Versioned {
  readonly of_token: string
  readonly of_kind: string
  readonly json: string
}

/** Contract and token id, in one. */
const TOKEN_BYTES = 52

/** As `hex` writes it. */
const keyOf = ({ contract, tokenId }: Token): string => `${contract.slice(2)}${tokenHex(tokenId)}`.toUpperCase()

/** Of each token, by kind, the row that was written last. */
function newestOfTokens(rows: readonly Row[]): ReadonlyMap<string, Readonly<Partial<Record<string, Row>>>> {
  const newest = new Map<string, Partial<Record<string, Row>>>()
  for (const row of rows) {
    const of = newest.get(row.of_token) ?? {}
    if (isNewer(row, of[row.of_kind])) of[row.of_kind] = row
    newest.set(row.of_token, of)
  }
  return newest
}

/** Where tokens are looked up; without a standing nothing is kept. */
type TokenTables = Pick<NftPin, 'warehouse' | 'chain'> & {
  readonly standing?: { readonly toldTokens: KeptTold<ToldToken> }
}

const NOTHING_TOLD: ToldToken = { document: undefined, state: undefined }

/** Of each token, in the order of the question. */
export async function selectTokens(tables: TokenTables, tokens: readonly Token[]): Promise<readonly ToldToken[]> {
  const kept = tables.standing?.toldTokens
  const keys = tokens.map(keyOf)
  const known = keys.map((key) => kept?.of(key))
  const found = await lookUpTokens(
    tables,
    keys.filter((_, i) => known[i] === undefined),
  )
  const told = keys.map((key, i) => known[i] ?? found.get(key) ?? NOTHING_TOLD)
  const [only] = told
  if (told.length > 1 || only === undefined || !isShortened(only)) return told
  return [{ ...only, ...(await selectWhole(tables, (keys[0] as string).toLowerCase())) }]
}

/** By key, those of which something is told. */
async function lookUpTokens(
  { warehouse, chain, standing }: TokenTables,
  keys: readonly string[],
): Promise<ReadonlyMap<string, ToldToken>> {
  const told = new Map<string, ToldToken>()
  if (keys.length === 0) return told
  const rows = await lookUpKeys<Row>(
    warehouse,
    `SELECT hex(token) AS of_token, toString(kind) AS of_kind, told AS json, version FROM nft_token_told
     WHERE chain = ${textSql(chain)} AND token IN (${hexKeys(TOKEN_BYTES)})`,
    keys.join(''),
  )
  const newest = foundOnce(rows, newestOfTokens)
  for (const key of keys) {
    const { document: ofDocument, state: ofState } = newest.get(key) ?? {}
    const [document, state] = [ofDocument?.json, ofState?.json]
    const own = {
      document: document === undefined ? undefined : (JSON.parse(document) as ToldDocument),
      state: state === undefined ? undefined : (JSON.parse(state) as ToldState),
    }
    told.set(key, own)
    const isTold = document !== undefined || state !== undefined
    standing?.toldTokens.keep(key, isTold ? own : null, (document?.length ?? 0) + (state?.length ?? 0))
  }
  return told
}

const isShortened = ({ document, state }: ToldToken): boolean =>
  document?.shortened !== undefined || state?.shortened !== undefined

/** What lists shorten, as it is. */
async function selectWhole(
  { warehouse, chain }: Pick<NftPin, 'warehouse' | 'chain'>,
  key: string,
): Promise<Partial<ToldToken>> {
  const rows = await warehouse.query<{ of_kind: keyof ToldToken; whole: string }>(
    `SELECT toString(kind) AS of_kind, whole FROM nft_token_told WHERE chain = ${textSql(chain)} AND token = ${bytesSql(key)}
     ORDER BY version DESC LIMIT 1 BY kind`,
  )
  return Object.fromEntries(
    rows.filter(({ whole }) => whole !== '').map(({ of_kind, whole }) => [of_kind, JSON.parse(whole)]),
  )
}
