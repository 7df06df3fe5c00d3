import { expect, test } from 'vitest'
import { selectTokens } from '../../api/nft/told-tokens.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { tokenNotRead, tokenRead } from '../../schemas/events/nft-metadata.ts'
import { ART, CHAIN, idOf, tell } from './given-metadata.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const stores = storesOfFile()

interface Document {
  readonly json: string
  readonly title?: string
  readonly description?: string
  readonly media?: string
  readonly attributes?: string
  readonly tokenUri?: string
}

const ofToken = (id: bigint, atSec: number) => ({
  ...{ chain: CHAIN, contract: ART, tokenId: idOf(id), tokenUri: 'https://a.test', atSec },
  block: { number: 1, hash: idOf(1n) },
})

function readAt(id: bigint, atSec: number, document: Document) {
  const data = {
    ...{ ...ofToken(id, atSec), title: 'One', description: null, mediaType: null, mediaExternal: null },
    ...{ media: null, attributes: null, ...document },
  }
  const named = {
    id: `read ${id} ${atSec}`,
    key: CHAIN,
    chain: CHAIN,
    source: 'test',
    time: '2026-01-01T00:00:00.000Z',
  }
  return encodeEvent(tokenRead, { ...named, data })
}

function failedAt(id: bigint, atSec: number) {
  const named = { id: `not ${id} ${atSec}`, key: CHAIN, time: '2026-01-01T00:00:00.000Z' }
  const data = { ...ofToken(id, atSec), error: 'UNREACHABLE' as const, attempts: 1, nextRetrySec: atSec + 30 }
  return encodeEvent(tokenNotRead, { ...named, data })
}

const ask = (...ids: readonly bigint[]) =>
  selectTokens(
    { warehouse: stores().warehouse, chain: CHAIN },
    ids.map((id) => ({ contract: ART, tokenId: String(id), standard: 'ERC721' })),
  )

test('a document stays where a later attempt fails, and of several the last one counts', async () => {
  await stores().empty()
  await tell(stores().warehouse, 'nft.metadata', [
    readAt(1n, 10, { json: 'first' }),
    readAt(1n, 20, { json: 'second' }),
    failedAt(1n, 30),
    failedAt(2n, 30),
  ])
  const [read, failed, unknown] = await ask(1n, 2n, 3n)
  expect(read).toMatchObject({
    document: { json: 'second', read_sec: 20 },
    state: { error: 'UNREACHABLE', read_sec: 30 },
  })
  expect(failed).toMatchObject({ document: undefined, state: { attempts: 1, retry_sec: 60 } })
  expect(unknown).toEqual({ document: undefined, state: undefined })
})

test('a list cuts long names and descriptions and leaves out long URIs, and names them; a token alone has them', async () => {
  await stores().empty()
  const long = {
    tokenUri: `data:,${'u'.repeat(32_763)}`,
    title: '😀'.repeat(501),
    description: `a${'😀'.repeat(2_000)}`,
  }
  const most = { tokenUri: long.tokenUri.slice(1), title: '😀'.repeat(500), description: 'ü'.repeat(4_000) }
  await tell(stores().warehouse, 'nft.metadata', [
    readAt(1n, 10, { json: '{}', ...long }),
    readAt(2n, 10, { json: '{}', ...most }),
  ])
  const { tokenUri, ...document } = long
  const [alone] = await ask(1n)
  expect(alone).toMatchObject({ document, state: { token_uri: tokenUri } })
  expect([alone?.document?.shortened, alone?.state?.shortened]).toEqual([undefined, undefined])
  const [listed, other] = await ask(1n, 2n)
  expect(listed).toMatchObject({
    document: { title: most.title, description: `a${'😀'.repeat(1_999)}`, shortened: ['title', 'description'] },
    state: { token_uri: null, shortened: ['token_uri'] },
  })
  expect(other).toMatchObject({
    document: { title: most.title, description: most.description },
    state: { token_uri: most.tokenUri },
  })
  expect([other?.document?.shortened, other?.state?.shortened]).toEqual([undefined, undefined])
})

test('a list leaves out long texts, and a token alone has them', async () => {
  await stores().empty()
  const [long, most] = ['ü'.repeat(16_385), 'u'.repeat(32_768)]
  const document = { json: long, media: long, attributes: most }
  await tell(stores().warehouse, 'nft.metadata', [readAt(1n, 10, document), readAt(2n, 10, { json: '{}' })])
  expect((await ask(1n))[0]?.document).toMatchObject(document)
  const [listed, other] = await ask(1n, 2n)
  expect(listed?.document).toMatchObject({ title: 'One', json: null, media: null, attributes: most })
  expect(other?.document?.json).toBe('{}')
})
