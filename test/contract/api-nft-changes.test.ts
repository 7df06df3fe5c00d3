import type { Address } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openApi } from '../../api/http/server.ts'
import { foldChain } from '../../processors/nft/fold.ts'
import { FOLDED_TABLES } from '../../schemas/tables/nft.ts'
import { tries } from '../long-form.ts'
import { ART, type Block, blockOn, eventsOf, type Move, NOBODY, revertOf, tell } from '../unit/given-nft-chain.ts'
import { ANN, art, BOB, BURNED_AT, base, CID, coins, type GivenNftApi, openGivenNftApi, ZED } from './given-nft-api.ts'

const never = new AbortController().signal
let nft: GivenNftApi
beforeAll(async () => {
  nft = await openGivenNftApi()
})
afterAll(() => nft[Symbol.asyncDispose]())
const get: GivenNftApi['get'] = (...asked) => nft.get(...asked)

describe('the change feed', () => {
  interface Copy {
    position: string | undefined
    readonly held: Map<string, string>
  }
  interface Told {
    readonly contract_address: string
    readonly token_id: string
    readonly owner_address: string
    readonly amount: string
  }

  /** Takes one answer's changes over; true where there was nothing more. */
  async function take(copy: Copy, limit: number): Promise<boolean> {
    const since = copy.position === undefined ? '' : `&since=${copy.position}`
    const { body } = await get('getChanges', `limit=${limit}${since}`, FEED)
    for (const change of body.changes as { holdings: Told[] }[]) {
      for (const { contract_address, token_id, owner_address, amount } of change.holdings) {
        const key = `${contract_address} ${token_id} ${owner_address}`
        if (amount === '0') copy.held.delete(key)
        else copy.held.set(key, amount)
      }
    }
    copy.position = body.next
    return body.is_at_head
  }

  const FEED = 'feed_mainnet'
  const chain = 'feed_mainnet'

  async function dropFold(name: string): Promise<void> {
    for (const table of FOLDED_TABLES) {
      const parts = await nft.warehouse.query<{ id: string }>(
        `SELECT DISTINCT partition_id AS id FROM system.parts
         WHERE active AND database = currentDatabase() AND table = '${table}' AND partition LIKE '%''${name}''%'`,
      )
      for (const { id } of parts) await nft.warehouse.command(`ALTER TABLE ${table} DROP PARTITION ID '${id}'`)
    }
    expect(await nft.warehouse.query(`SELECT 1 FROM nft_changes WHERE chain = '${name}'`)).toEqual([])
  }

  async function heldNow(): Promise<Map<string, string>> {
    const held = new Map<string, string>()
    for (const owner of [ANN, BOB, CID, ZED]) {
      const { body } = await get('getNFTsForOwner', `owner=${owner}`, FEED)
      for (const row of body.owner_nfts) held.set(`${row.contract_address} ${row.token_id} ${owner}`, row.balance)
    }
    return held
  }

  test('makes a copy equal to the API, whenever who keeps it dies and goes on, through reorgs', async () => {
    let seed = 7
    const random = (below: number): number => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
      return (seed >>> 8) % below
    }
    const people = [NOBODY, BURNED_AT, ANN, BOB, CID, ZED]
    const anyMove = (): Move => {
      const [from, to] = [people[random(6)] as Address, people[random(6)] as Address]
      return random(2) === 0 ? art(from, to, BigInt(random(3))) : coins(from, to, BigInt(random(2)), BigInt(random(4)))
    }
    const copy: Copy = { position: undefined, held: new Map() }
    let saved: Copy = { position: undefined, held: new Map() }
    let head: Block | undefined
    for (let step = 0; step < tries(5, 200); step++) {
      const events: ReturnType<typeof eventsOf>[number][] = []
      for (let away = random(5); away > 0 && head?.parent !== undefined; away--) {
        events.push(revertOf(head, chain))
        head = head.parent
      }
      for (let more = 1 + random(4); more > 0; more--) {
        head = blockOn(head, Array.from({ length: random(4) }, anyMove))
        events.push(...eventsOf(head, chain))
      }
      await tell(nft.warehouse, events, { chain })
      await foldChain(nft.warehouse, chain, never)
      for (let answers = random(4); answers > 0; answers--) {
        await take(copy, 1 + random(3))
        if (random(3) === 0) {
          // What was saved last comes back.
          copy.position = saved.position
          copy.held.clear()
          for (const [key, amount] of saved.held) copy.held.set(key, amount)
        } else if (random(2) === 0) saved = { position: copy.position, held: new Map(copy.held) }
      }
    }
    while (!(await take(copy, 2)));
    expect(copy.held).toEqual(await heldNow())
  })

  test('tells nothing of what is burned, as all other answers: the owners of a contract are who the copy has', async () => {
    const pictures: Address = `0x${'0f'.repeat(20)}`
    const ids = [1n, 2n, 3n]
    const move = (from: Address, to: Address): Move[] =>
      ids.map((id) => ({ contract: pictures, from, to, id, amount: 1n }))
    const [, number, hash] = (await get('getChanges', 'since=latest', FEED)).body.next.split('.')
    const made = blockOn({ number: Number(number), hash, parent: undefined, moves: [] }, [
      ...move(NOBODY, ANN),
      { contract: pictures, from: NOBODY, to: BOB, id: 4n, amount: 1n },
    ])
    const burning = blockOn(made, move(ANN, BURNED_AT))
    await tell(nft.warehouse, [...eventsOf(made, chain), ...eventsOf(burning, chain)], { chain })
    await foldChain(nft.warehouse, chain, never)
    const copy: Copy = { position: undefined, held: new Map() }
    const owners = async () => {
      while (!(await take(copy, 1)));
      const { body } = await get('getOwnersForContract', `contract_address=${pictures}`, FEED)
      const copied = [...copy.held.keys()].map((key) => key.split(' ')).filter(([contract]) => contract === pictures)
      const told = body.owners.map((row: { owner_address: string }) => row.owner_address)
      expect([...new Set(copied.map(([, , owner]) => owner))].sort()).toEqual(told)
      return told
    }
    expect(await owners()).toEqual([BOB])
    const { body } = await get('getChanges', `limit=3&since=1.${made.number}.${made.hash}`, FEED)
    expect(body.changes.map((change: { holdings: Told[] }) => change.holdings.map((row) => row.owner_address))).toEqual(
      [[ANN, ANN, ANN]],
    )
    expect(body.is_at_head).toBe(true)
    await tell(nft.warehouse, [revertOf(burning, chain)], { chain })
    await foldChain(nft.warehouse, chain, never)
    const back = await get('getChanges', `since=1.${burning.number}.${burning.hash}`, FEED)
    expect(back.body.changes[0].holdings.map((row: Told) => row.owner_address)).toEqual([ANN, ANN, ANN])
    expect(await owners()).toEqual([ANN, BOB])
  })

  test('goes on amid a block, and tells it again to who has a place in it that counts', async () => {
    const sales: Address = `0x${'0c'.repeat(20)}`
    const [, number, hash] = (await get('getChanges', 'since=latest', FEED)).body.next.split('.')
    const from = `1.${number}.${hash}`
    const made = blockOn(
      { number: Number(number), hash, parent: undefined, moves: [] },
      [1n, 2n, 3n].map((id) => ({ contract: sales, from: NOBODY, to: ANN, id, amount: 1n })),
    )
    await tell(nft.warehouse, eventsOf(made, chain), { chain })
    await foldChain(nft.warehouse, chain, never)
    const toldFrom = async (since: string) => {
      const { body } = await get('getChanges', `limit=2&since=${since}`, FEED)
      return [body.changes[0].holdings.map((row: Told) => row.token_id), body.next]
    }
    const within = `1.${made.number}.${made.hash}`
    const [ids, amid] = await toldFrom(from)
    expect(ids).toEqual(['1', '2'])
    expect(amid.startsWith(`${within}~`)).toBe(true)
    expect(await toldFrom(amid)).toEqual([['3'], within])
    for (const counted of ['.2', '-2']) expect(await toldFrom(`${within}${counted}`)).toEqual([['1', '2'], amid])
    expect((await get('getChanges', `since=${amid.slice(0, -1)}`, FEED)).status).toBe(400)
  })

  test('goes on from a reverted block where the fold was made anew and never saw it', async () => {
    const copy: Copy = { position: undefined, held: new Map() }
    while (!(await take(copy, 100)));
    const head = {
      number: Number(copy.position?.split('.')[1]),
      hash: copy.position?.split('.')[2] as string,
      parent: undefined,
      moves: [],
    }
    const forked = { ...blockOn(undefined, [art(ANN, BOB, 0n), art(NOBODY, CID, 50n)], head.number + 1), parent: head }
    await tell(nft.warehouse, eventsOf(forked, chain), { chain })
    await foldChain(nft.warehouse, chain, never)
    while (!(await take(copy, 100)));
    expect(copy.held.get(`${ART} 50 ${CID}`)).toBe('1')
    await tell(nft.warehouse, [revertOf(forked, chain)], { chain })
    await dropFold(chain)
    await foldChain(nft.warehouse, chain, never)
    while (!(await take(copy, 100)));
    expect(copy.held).toEqual(await heldNow())
  })

  test('goes on from a position however its hash and numbers are written', async () => {
    const next = (await get('getChanges', 'limit=1', 'eth_hoodi')).body.next as string
    expect(next.split('~')[0]).toMatch(/[a-f]/)
    const [start, number, rest] = next.split('.') as [string, string, string]
    const [hash, amid] = rest.split('~') as [string, string | undefined]
    const within = amid === undefined ? '' : `~${amid}`
    const digits = hash.slice(2)
    const expected = await get('getChanges', `since=${next}`, 'eth_hoodi')
    expect(expected.body.changes.length).toBeGreaterThan(0)
    for (const since of [
      `${start}.${number}.0x${digits.toUpperCase()}${within}`,
      `${start}.${number}.0X${digits.slice(0, 32).toUpperCase()}${digits.slice(32)}${within}`,
      `00${start}.000${number}.${hash}${within}`,
      `${start.padStart(15, '0')}.${number.padStart(15, '0')}.${hash}${within}`,
    ])
      expect((await get('getChanges', `since=${since}`, 'eth_hoodi')).body, since).toEqual(expected.body)
    const tooLong = await get('getChanges', `since=${start.padStart(16, '0')}.${number}.${hash}`, 'eth_hoodi')
    expect(tooLong).toMatchObject({ status: 400, body: { detail: 'since is no position' } })
  })

  test('refuses a position from which nobody can tell how to go on', async () => {
    const hash = `0x${'ee'.repeat(32)}`
    expect((await get('getChanges', `since=1.3.${hash}`, FEED)).status).toBe(410)
    expect((await get('getChanges', `since=0.3.${hash}`, FEED)).status).toBe(410)
    expect((await get('getChanges', 'since=yesterday', FEED)).status).toBe(400)
    // Of a block that was reverted, at a height that it never had.
    const [reverted] = await nft.warehouse.query<{ number: string; hash: string }>(
      `SELECT block_number AS number, concat('0x', lower(hex(block_hash))) AS hash FROM reverted_blocks
       WHERE chain = '${chain}' AND is_reverted = 1 ORDER BY block_number DESC LIMIT 1`,
    )
    const above = Number(reverted?.number) + 1
    expect((await get('getChanges', `since=1.${above - 1}.${reverted?.hash}`, FEED)).status).toBe(200)
    expect((await get('getChanges', `since=1.${above}.${reverted?.hash}`, FEED)).status).toBe(410)
    const [start, number, known] = (await get('getChanges', 'since=latest', FEED)).body.next.split('.')
    expect((await get('getChanges', `since=${start}.${Number(number) + 1_000}.${known}`, FEED)).status).toBe(410)
  })

  test.each([
    ['application/json', /^application\/json/],
    ['text/event-stream', /^text\/event-stream/],
  ])('says that its form depends on what is accepted: %s', async (accept, type) => {
    const page = 'https://dashboard.example'
    await using api = await openApi({ ...nft.parts, corsOrigins: [page], host: '127.0.0.1', port: 0 })
    const ask = async (headers: Readonly<Record<string, string>>) => {
      const abandon = new AbortController()
      const url = `${api.url}${base(FEED)}/changes?since=latest`
      const { headers: told, status } = await fetch(url, { headers: { accept, ...headers }, signal: abandon.signal })
      abandon.abort()
      return { told, status }
    }
    const { told } = await ask({ origin: page })
    expect(told.get('content-type')).toMatch(type)
    expect(told.get('vary')).toBe('Origin, accept')
    const etag = told.get('etag')
    if (etag === null) return
    const unchanged = await ask({ 'if-none-match': etag })
    expect(unchanged.status).toBe(304)
    expect(unchanged.told.get('vary')).toBe('Origin, accept')
  })

  test('tells changes as they happen, from the position that was heard last', async () => {
    const { body } = await get('getChanges', 'since=latest', FEED)
    const abandon = new AbortController()
    const headers = { accept: 'text/event-stream', 'last-event-id': body.next }
    const response = await fetch(`${nft.api.url}${base(FEED)}/changes`, { headers, signal: abandon.signal })
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
    expect(response.headers.get('x-valid-at')).toMatch(
      /^block_number=\d+, block_hash="0x[0-9a-f]{64}", block_timestamp=\d+$/,
    )
    const [, number, hash] = body.next.split('.')
    const parent = { number: Number(number), hash, parent: undefined, moves: [] }
    await tell(nft.warehouse, eventsOf(blockOn(parent, [art(NOBODY, ZED, 60n)]), chain), { chain })
    await foldChain(nft.warehouse, chain, never)
    let text = ''
    for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += Buffer.from(bytes).toString()
      if (text.includes('event: position')) break
    }
    abandon.abort()
    expect(text).toMatch(/event: block\ndata: \{.*"token_id":"60".*\}\n\nid: 1\./)
    expect(text).toMatch(/event: position\ndata: \{"next":"1\..*","is_at_head":true,"valid_at":/)
  })
})
