import type { Address } from 'viem'
import { expect } from 'vitest'
import type { ApiParts } from '../../api/http/api-parts.ts'
import { type Api, openApi } from '../../api/http/server.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { foldChain } from '../../processors/nft/fold.ts'
import { ART, type Block, blockOn, COINS, eventsOf, type Move, NOBODY, tell } from '../unit/given-nft-chain.ts'
import { tellTokens } from '../unit/given-told-tokens.ts'
import { HOODI, MAINNET, SCROLL } from './api-fixture.ts'
import { openGivenApi, TOKEN } from './given-api.ts'

// An API of two chains on which the same tokens were moved, asked over GraphQL and REST.

export const [ANN, BOB, CID] = ['a1', 'b2', 'c3'].map((byte) => `0x${byte.repeat(20)}`) as [Address, Address, Address]
export const MAX = 2n ** 256n - 1n
const never = new AbortController().signal
export const SCROLL_PATH = 'scroll/mainnet'

export const art = (from: Address, to: Address, id: bigint): Move => ({
  contract: ART,
  from,
  to,
  id,
  amount: 1n,
  sender: to,
})
export const coins = (from: Address, to: Address, id: bigint, amount: bigint): Move => ({
  ...{ contract: COINS, from, to, id, amount },
})
export interface GivenGraphqlApi extends AsyncDisposable {
  readonly warehouse: Warehouse
  readonly api: Api
  readonly parts: ApiParts
  /** What the API has asked the tables. */
  readonly statements: string[]
  readonly blocks: Block[]
  /** Called before each statement of the API. */
  beforeStatement: (sql: string) => Promise<unknown>
  /** Blocks with these moves follow on both chains. */
  readonly grow: (moves: readonly (readonly Move[])[]) => Promise<void>
  readonly post: (query: string, options?: Post) => Promise<Asked>
  /** What the document answers of tokens. */
  readonly ask: (fields: string, block?: string) => Promise<Asked['body']>
  readonly rest: (operation: string, query: string) => Promise<Asked['body']>
}

interface Post {
  readonly variables?: object
  readonly url?: string
  readonly path?: string
}

export interface Asked {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: answers are compared as a whole.
  readonly body: any
}

export async function openGivenGraphqlApi(): Promise<GivenGraphqlApi> {
  const given = await openGivenApi()
  const { warehouse } = given
  const statements: string[] = []
  const blocks: Block[] = []
  const grow = (moves: readonly (readonly Move[])[]) => growBoth(warehouse, blocks, moves)
  await fill(warehouse, grow)
  const parts: ApiParts = {
    ...given.partsOf([MAINNET, SCROLL, HOODI]),
    warehouse: {
      ...warehouse,
      query: async (sql, ...rest) => {
        statements.push(sql)
        await opened.beforeStatement(sql)
        return await warehouse.query(sql, ...rest)
      },
    } as Warehouse,
    standingAgeMsMax: 0,
  }
  const api = await openApi({ ...parts, host: '127.0.0.1', port: 0 })
  const post = async (
    query: string,
    { variables = {}, url = api.url, path = SCROLL_PATH }: Post = {},
  ): Promise<Asked> => {
    const body = JSON.stringify({ query, variables })
    const response = await fetch(`${url}/${path}/${TOKEN}/graphql`, { method: 'POST', body })
    const text = await response.text()
    if (response.status === 500) throw new Error(`${text} ${given.logged.join('\n').slice(-3_000)}`)
    return { status: response.status, body: JSON.parse(text) }
  }
  const opened: GivenGraphqlApi = {
    ...{ warehouse, api, parts, statements, blocks, grow, post },
    beforeStatement: async () => {},
    async ask(fields, block) {
      const { status, body } = await post(`{ nft${block === undefined ? '' : `(block: "${block}")`} { ${fields} } }`)
      expect(body.errors).toBeUndefined()
      expect(status).toBe(200)
      return body.data.nft
    },
    async rest(operation, query) {
      const response = await fetch(`${api.url}/nft/scroll_mainnet/${TOKEN}/${operation}?${query}`)
      expect(response.status).toBe(200)
      return await response.json()
    },
    async [Symbol.asyncDispose]() {
      await api[Symbol.asyncDispose]()
      await given[Symbol.asyncDispose]()
    },
  }
  return opened
}

async function fill(warehouse: Warehouse, grow: GivenGraphqlApi['grow']): Promise<void> {
  await grow([
    [art(NOBODY, ANN, 1n), art(NOBODY, ANN, 2n), art(NOBODY, BOB, 3n), coins(NOBODY, ANN, 7n, 10n)],
    [coins(ANN, BOB, 7n, 4n), art(ANN, BOB, 2n)],
    [art(NOBODY, CID, MAX), coins(NOBODY, CID, 8n, MAX)],
    [{ ...art(CID, ANN, 3n), sender: CID }, coins(NOBODY, ANN, MAX, 1n)],
  ])
  const bytes = (text: string) => `unhex('${text.slice(2)}')`
  for (const { names } of [MAINNET, SCROLL]) {
    await warehouse.command(
      `INSERT INTO nft_contracts (chain, contract, read_at, name, has_name, symbol, has_symbol, token_type, deploy_block, version)
       VALUES ('${names.name}', ${bytes(ART)}, 77, 'Lanterns', 1, '', 1, 'ERC721', 1, 1)`,
    )
    await tellTokens(warehouse, names.name, [
      {
        ...{ contract: ART, id: 1n, state: { token_uri: 'ipfs://one', read_sec: 79 } },
        document: { json: '{"name":"One"}', title: 'One', attributes: '[{"value":9007199254740993}]', read_sec: 78 },
      },
      { contract: ART, id: MAX, state: { error: 'CALL_REVERTED', attempts: 2, read_sec: 79, retry_sec: 99 } },
    ])
  }
}

async function growBoth(warehouse: Warehouse, blocks: Block[], moves: readonly (readonly Move[])[]): Promise<void> {
  const grown = moves.map((each) => {
    const block = blockOn(blocks.at(-1), each)
    blocks.push(block)
    return block
  })
  for (const { names } of [MAINNET, SCROLL]) {
    const chain = names.name
    await tell(
      warehouse,
      grown.flatMap((block) => eventsOf(block, chain)),
      { chain },
    )
    await foldChain(warehouse, chain, never)
  }
}
