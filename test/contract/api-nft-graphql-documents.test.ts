import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ART, type Block, NOBODY, revertOf, tell, timeOf } from '../unit/given-nft-chain.ts'
import { SCROLL } from './api-fixture.ts'
import { TOKEN } from './given-api.ts'
import {
  ANN,
  type Asked,
  art,
  BOB,
  CID,
  type GivenGraphqlApi,
  openGivenGraphqlApi,
  SCROLL_PATH,
} from './given-nft-graphql.ts'

let given: GivenGraphqlApi
beforeAll(async () => {
  given = await openGivenGraphqlApi()
})
afterAll(() => given[Symbol.asyncDispose]())
const ask: GivenGraphqlApi['ask'] = (...asked) => given.ask(...asked)
const rest: GivenGraphqlApi['rest'] = (...asked) => given.rest(...asked)
const post: GivenGraphqlApi['post'] = (...asked) => given.post(...asked)

describe('a document', () => {
  test('is of one block, which it names', async () => {
    const fields = `validAt { blockNumber blockHash blockTimestamp } owner(address: "${BOB}") { address tokens { totalCount coverage { toBlock } } }
      transfers { totalCount coverage { toBlock } } contract(address: "${ART}") { owners { coverage { toBlock } } }`
    for (const number of [2, 4]) {
      const { hash } = given.blocks[number - 1] as Block
      for (const block of [`${number}`, hash]) {
        const found = await ask(fields, block)
        expect(found.validAt).toEqual({ blockNumber: number, blockHash: hash, blockTimestamp: timeOf(number) })
        expect(found.owner.address).toBe(BOB)
        const covered = [found.owner.tokens, found.transfers, found.contract.owners]
        expect(covered.map(({ coverage }) => coverage.toBlock)).toEqual([number, number, number])
      }
    }
  })

  test('of two blocks is refused', async () => {
    const { status, body } = await post(
      '{ a: nft { validAt { blockNumber } } b: nft(block: "2") { validAt { blockNumber } } }',
    )
    expect(status).toBe(400)
    expect(body.errors[0]).toMatchObject({
      message: 'Param error: all of a document is of one block',
      extensions: { code: '400' },
    })
  })

  test('pages as of the block of its page keys, which REST understands as well', async () => {
    const page = (key: string) =>
      `validAt { blockNumber } owner(address: "${ANN}") { tokens(pageSize: 1${key}) { ownerNfts { token { tokenId } } pageKey totalCount } }`
    const first = await ask(page(''))
    const key = first.owner.tokens.pageKey as string
    await given.grow([[art(ANN, BOB, 1n)]])
    const second = await ask(page(`, pageKey: "${key}"`))
    expect(second.validAt).toEqual(first.validAt)
    expect((await ask('validAt { blockNumber }')).validAt.blockNumber).toBe(first.validAt.blockNumber + 1)
    expect(second.owner.tokens.totalCount).toBe(first.owner.tokens.totalCount)
    const ofRest = await rest('getNFTsForOwner', `owner=${ANN}&page_size=1&page_key=${key}`)
    expect(second.owner.tokens.ownerNfts).toEqual([{ token: { tokenId: ofRest.owner_nfts[0].token_id } }])
    const fields = `owner(address: "${ANN}") { tokens(pageSize: 1, pageKey: "${key}") { totalCount } }`
    const wrong: readonly [string, RegExp][] = [
      [`nft(block: "1") { ${fields} }`, /page_key is of block \d+, 0x[0-9a-f]{64}, and not of 1$/],
      [`nft { ${fields.replace(ANN, BOB)} }`, /page_key is none of this question/],
      [`nft { ${fields.replace(key, `${key}A`)} }`, /page_key is none of this question/],
      ['nft { transfers(pageKey: "nonsense") { totalCount } }', /page_key is none of this question/],
    ]
    for (const [question, message] of wrong) {
      const { status, body } = await post(`{ ${question} }`)
      expect(body.errors?.[0].message, question).toMatch(message)
      expect(status).toBe(400)
    }
  })

  test('goes on behind pages of REST and gives it keys, whether or not either names their block', async () => {
    const query = `owner=${ANN}&page_size=1`
    const fields = (key?: string) =>
      `owner(address: "${ANN}") { tokens(pageSize: 1${key === undefined ? '' : `, pageKey: "${key}"`}) { ownerNfts { token { tokenId } } pageKey } }`
    const named = await rest('getNFTsForOwner', `${query}&block=1`)
    const { block_hash: hash } = named.valid_at
    const ofGraphql = await ask(fields(), '1')
    expect(ofGraphql.owner.tokens.pageKey).toBe(named.page_key)
    const key = named.page_key as string
    const next = await rest('getNFTsForOwner', `${query}&page_key=${key}`)
    expect(next.valid_at).toEqual(named.valid_at)
    for (const same of ['block=1', 'block=0x1', `block=${hash}`, `block_hash=${hash}`, 'block=latest'])
      expect(await rest('getNFTsForOwner', `${query}&page_key=${key}&${same}`), same).toEqual(next)
    for (const same of [undefined, '1', '0x1', hash, 'latest']) {
      const { ownerNfts } = (await ask(fields(key), same)).owner.tokens
      expect(ownerNfts, same).toEqual([{ token: { tokenId: next.owner_nfts[0].token_id } }])
    }
    const other = `0x${'ab'.repeat(32)}`
    // No block is known to be final on this chain.
    for (const block of ['2', other, 'finalized', 'safe']) {
      const detail = `page_key is of block 1, ${hash}, and not of ${block}`
      const response = await fetch(
        `${given.api.url}/nft/scroll_mainnet/${TOKEN}/getNFTsForOwner?${query}&page_key=${key}&block=${block}`,
      )
      expect([response.status, (await response.json()).detail]).toEqual([400, detail])
      const { status, body } = await post(`{ nft(block: "${block}") { ${fields(key)} } }`)
      expect([status, body.errors?.[0].message]).toEqual([400, `Param error: ${detail}`])
    }
  })

  test('in which a block is reverted is asked again', async () => {
    const chain = SCROLL.names.name
    await given.grow([[art(NOBODY, CID, 50n)]])
    const reverted = given.blocks.pop() as Block
    let done = false
    given.beforeStatement = async (sql) => {
      if (done || !sql.includes('nft_holder_tokens')) return
      done = true
      await tell(given.warehouse, [revertOf(reverted, chain)], { chain })
    }
    try {
      const found = await ask(
        `validAt { blockHash } owner(address: "${CID}") { tokens { ownerNfts { token { tokenId } } } }`,
      )
      expect(done).toBe(true)
      expect(found.validAt.blockHash).toBe((given.blocks.at(-1) as Block).hash)
      expect(JSON.stringify(found.owner)).not.toContain('"50"')
    } finally {
      given.beforeStatement = async () => {}
    }
  })

  test('is answered from memory until a block comes', async () => {
    const fields = 'validAt { blockNumber }'
    const first = await ask(fields)
    const before = given.statements.length
    await ask(fields)
    // How the tables stand.
    const again = given.statements.length - before
    expect(given.statements.slice(before).filter((sql) => /nft_(holder|totals)/.test(sql))).toEqual([])
    await given.grow([[art(NOBODY, CID, 60n)]])
    expect((await ask(fields)).validAt.blockNumber).toBe(first.validAt.blockNumber + 1)
    // Its text may hide that it is about tokens.
    const hidden = async () => {
      const body = '{"query":"{ \\u006eft { validAt { blockNumber } } }"}'
      const response = await fetch(`${given.api.url}/${SCROLL_PATH}/${TOKEN}/graphql`, { method: 'POST', body })
      return ((await response.json()) as Asked['body']).data.nft.validAt.blockNumber
    }
    const number = await hidden()
    await given.grow([[art(NOBODY, CID, 61n)]])
    expect(await hidden()).toBe(number + 1)
    expect(again).toBeLessThan(8)
  })
})
