import { Compile } from 'typebox/schema'
import type { Address } from 'viem'
import { expect } from 'vitest'
import type { ApiParts } from '../../api/http/api-parts.ts'
import type { ApiChain } from '../../api/http/chain-path.ts'
import { type Api, openApi } from '../../api/http/server.ts'
import { NFT_OPERATIONS } from '../../api/nft/plugin.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { foldChain } from '../../processors/nft/fold.ts'
import { chainNames } from '../../schemas/chains.ts'
import { NftError } from '../../schemas/routes/nft/nft-route.ts'
import {
  ART,
  type Block,
  blockOn,
  COINS,
  eventsOf,
  type Move,
  NOBODY,
  revertOf,
  tell,
} from '../unit/given-nft-chain.ts'
import { HOODI, insertRows, MAINNET, SCROLL } from './api-fixture.ts'
import { openGivenApi, TOKEN } from './given-api.ts'

// An API of three chains on which a few tokens were moved, and of two of which nothing is indexed.

export const [ANN, BOB, CID, ZED] = ['a1', 'b2', 'c3', 'd4'].map((byte) => `0x${byte.repeat(20)}`) as [
  Address,
  Address,
  Address,
  Address,
]
export const BURNED_AT: Address = `0x${'00'.repeat(18)}dead`
export const MAX = 2n ** 256n - 1n
const HOLESKY: ApiChain = { names: chainNames('ethereum', 'holesky'), hasBeacon: true }
const never = new AbortController().signal

export const art = (from: Address, to: Address, id: bigint): Move => ({ contract: ART, from, to, id, amount: 1n })
export const coins = (from: Address, to: Address, id: bigint, amount: bigint): Move => ({
  contract: COINS,
  from,
  to,
  id,
  amount,
})
export interface GivenNftApi extends AsyncDisposable {
  readonly warehouse: Warehouse
  readonly api: Api
  readonly parts: ApiParts
  /** What the API has logged. */
  readonly logged: string[]
  /** Of mainnet, without the reverted one. */
  readonly blocks: readonly Block[]
  readonly orphan: Block
  /** Folds what a chain was told. */
  readonly fold: (chain: string) => Promise<unknown>
  readonly ask: (path: string, init?: RequestInit) => Promise<Answer>
  /** By the operation's id; the answer has the shape that the route says. */
  readonly get: (operation: string, query: string, chain?: string) => Promise<Answer>
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: what is read of it is compared.
  readonly body: any
}

export const HEAD = 6
export const FINAL = 4

export async function openGivenNftApi(): Promise<GivenNftApi> {
  const given = await openGivenApi()
  const { warehouse, logged } = given
  const { blocks, orphan } = await fillMainnet(warehouse)
  await fillScroll(warehouse)
  await fillHoodi(warehouse)
  const parts = given.partsOf([
    MAINNET,
    HOLESKY,
    HOODI,
    SCROLL,
    { names: chainNames('feed', 'mainnet'), hasBeacon: false },
  ])
  const api = await openApi({ ...parts, host: '127.0.0.1', port: 0 })
  const ask = async (path: string, init: RequestInit = {}): Promise<Answer> => {
    const response = await fetch(`${api.url}${path}`, init)
    const text = await response.text()
    if (response.status === 500) throw new Error(logged.join('\n').slice(-3_000))
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
  }
  return {
    ...{ warehouse, api, parts, logged, blocks, orphan, ask },
    fold: (chain) => foldChain(warehouse, chain, never),
    async get(operation, query, chain = 'eth_mainnet') {
      const route = NFT_OPERATIONS.find((one) => one.route.id === operation)?.route
      const answer = await ask(`${base(chain)}/${route?.names[0]}?${query}`)
      if (answer.status === 200) {
        if (route !== undefined) expect(Compile(route.response).Errors(answer.body)).toEqual([true, []])
      } else expect(Compile(NftError).Errors(answer.body)).toEqual([true, []])
      return answer
    },
    async [Symbol.asyncDispose]() {
      await api[Symbol.asyncDispose]()
      await given[Symbol.asyncDispose]()
    },
  }
}

export const base = (chain = 'eth_mainnet', token = TOKEN) => `/nft/${chain}/${token}`

export const amounts = ({ body }: Answer) =>
  Object.fromEntries(
    (body.owners as { owner_address: string; amount: string }[]).map((row) => [row.owner_address, row.amount]),
  )
export const tokens = ({ body }: Answer) =>
  (body.owner_nfts as { contract_address: string; token_id: string; balance: string }[]).map(
    (row) => `${row.contract_address === ART ? 'art' : 'coins'} ${row.token_id}: ${row.balance}`,
  )
/** Six blocks, of which four are final; one more was reverted. */
async function fillMainnet(warehouse: Warehouse): Promise<Pick<GivenNftApi, 'blocks' | 'orphan'>> {
  const chain = MAINNET.names.name
  const blocks: Block[] = []
  const grow = async (moves: readonly (readonly Move[])[]): Promise<void> => {
    for (const each of moves) blocks.push(blockOn(blocks.at(-1), each))
    await tellFolded(warehouse, blocks.slice(-moves.length), chain)
  }
  await grow([
    [art(NOBODY, ANN, 1n), art(NOBODY, ANN, 2n), art(NOBODY, BOB, 3n), coins(NOBODY, ANN, 7n, 10n)],
    [coins(ANN, BOB, 7n, 4n), art(ANN, BOB, 2n)],
    [art(BOB, BURNED_AT, 3n), art(NOBODY, CID, MAX)],
  ])
  const orphan = blockOn(blocks.at(-1), [art(ANN, ZED, 1n), art(NOBODY, ZED, 99n)])
  await tellFolded(warehouse, [orphan], chain)
  await tell(warehouse, [revertOf(orphan, chain)], { chain })
  await grow([[coins(NOBODY, CID, 8n, MAX)], [coins(NOBODY, CID, 8n, MAX)], [art(NOBODY, ANN, 4n)]])
  await insertRows(warehouse, 'finalized_blocks', [
    {
      slot: 40,
      epoch: 1,
      day: '2026-11-20',
      block_root: `0x${'00'.repeat(32)}`,
      proposer_index: 1,
      execution_block_hash: (blocks[FINAL - 1] as Block).hash,
      execution_block_number: FINAL,
      fee_recipient: ANN,
      attestations_gwei: 0,
      sync_aggregate_gwei: 0,
      proposer_slashings_gwei: 0,
      attester_slashings_gwei: 0,
      version: 1,
    },
  ])
  return { blocks, orphan }
}

async function tellFolded(warehouse: Warehouse, blocks: readonly Block[], chain: string): Promise<void> {
  await tell(
    warehouse,
    blocks.flatMap((block) => eventsOf(block, chain)),
    { chain },
  )
  await foldChain(warehouse, chain, never)
}

export const ODD: Address = `0x${'0e'.repeat(20)}`

/** Transfers that are not what they seem: of tokens that `from` does not have. */
async function fillHoodi(warehouse: Warehouse): Promise<void> {
  const chain = HOODI.names.name
  const odd = (from: Address, to: Address, id: bigint, sender: Address): Move => ({
    contract: ODD,
    from,
    to,
    id,
    amount: 1n,
    sender,
  })
  const paid = (move: Move): Move => ({ ...move, sender: ANN })
  let head: Block | undefined
  const made: Block[] = []
  for (const moves of [
    [odd(NOBODY, ANN, 1n, ANN), paid(coins(NOBODY, ANN, 1n, 5n))],
    // Of somebody who has it not, and of one who lost it in the transaction before.
    [odd(BOB, CID, 1n, ZED), odd(ANN, CID, 1n, ZED), paid(coins(ANN, BOB, 1n, 6n))],
    [odd(CID, ANN, 1n, ANN), odd(NOBODY, ZED, 1n, ZED), paid(coins(ANN, BOB, 2n, 0n))],
    // Of nobody, of a token that was never made.
    [odd(ANN, ZED, 77n, ZED)],
  ]) {
    head = blockOn(head, moves)
    made.push(head)
  }
  await tellFolded(warehouse, made, chain)
}

/** Blocks from 100 on: what came before nobody has told. */
async function fillScroll(warehouse: Warehouse): Promise<void> {
  const chain = SCROLL.names.name
  const first = blockOn(undefined, [art(ANN, BOB, 1n), coins(ANN, BOB, 7n, 5n)], 100)
  const second = { ...blockOn(first, [coins(BOB, CID, 7n, 2n)]), logsCheck: 'bloom' } as const
  await tellFolded(warehouse, [first, second], chain)
}
