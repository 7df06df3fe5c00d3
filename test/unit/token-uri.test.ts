import { describe, expect, test } from 'vitest'
import { type Gateways, locate, URI_CHARACTERS_MAX, uriOfToken } from '../../schemas/nft/token-uri.ts'

const GATEWAYS: Gateways = {
  ipfs: ['https://one.test/ipfs/', 'https://two.test/ipfs/'],
  arweave: ['https://ar.test/'],
}
const CID = 'QmPK1s3pNYLi9ERiq3BDxKa4XosgWwFRQUydHUtz4YgpqB'
const CID_1 = 'bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi'
const ARWEAVE = 'bNbA3TEQVL60xlgCcqdz4ZPHFZ711cZ3hmkpGttDt_U'

const at = (uri: string) => {
  const found = locate(uri, GATEWAYS)
  return found.kind === 'remote' ? found.urls : found.kind === 'nowhere' ? found.error : undefined
}
const ipfs = (path: string) => GATEWAYS.ipfs.map((prefix) => prefix + path)

describe('the URI of an ERC-1155 token', () => {
  test.each([
    ['https://a.test/{id}.json', 1n, `https://a.test/${'0'.repeat(63)}1.json`],
    ['https://a.test/{id}', 0xabcdefn, `https://a.test/${'0'.repeat(58)}abcdef`],
    ['https://a.test/{id}', 2n ** 256n - 1n, `https://a.test/${'f'.repeat(64)}`],
    ['{id}/{id}', 2n ** 53n + 1n, `${'0'.repeat(50)}20000000000001/${'0'.repeat(50)}20000000000001`],
    ['https://a.test/%7Bid%7D', 0n, `https://a.test/${'0'.repeat(64)}`],
    ['https://a.test/id', 1n, 'https://a.test/id'],
  ])('%s of token %s is %s', (uri, tokenId, expected) => {
    expect(uriOfToken(uri, 'ERC1155', tokenId)).toBe(expected)
  })

  test('of ERC-721 it stays as it is', () => {
    expect(uriOfToken('https://a.test/{id}', 'ERC721', 1n)).toBe('https://a.test/{id}')
  })
})

describe('an address', () => {
  test.each<[string, readonly string[] | string]>([
    ['https://a.test/1', ['https://a.test/1']],
    ['HTTP://A.test/1 ', ['http://a.test/1']],
    ['\0 https://a.test/1\n', ['https://a.test/1']],
    ['https://a.test/a b?c=d#e', ['https://a.test/a%20b?c=d#e']],
    [`ipfs://${CID}/1.json`, ipfs(`${CID}/1.json`)],
    [`ipfs://ipfs/${CID}/1.json`, ipfs(`${CID}/1.json`)],
    [`ipfs://ipfs/ipfs/${CID}`, ipfs(CID)],
    [`IPFS:///${CID}`, ipfs(CID)],
    [`ipfs://${CID}/Name #1.json`, ipfs(`${CID}/Name%20%231.json`)],
    [CID, ipfs(CID)],
    [`${CID}/1`, ipfs(`${CID}/1`)],
    [`/ipfs/${CID_1}/1`, ipfs(`${CID_1}/1`)],
    [CID_1, ipfs(CID_1)],
    [`https://gateway.test/ipfs/${CID}/1`, [...ipfs(`${CID}/1`), `https://gateway.test/ipfs/${CID}/1`]],
    ['https://gateway.test/ipfs/else', ['https://gateway.test/ipfs/else']],
    [`ar://${ARWEAVE}`, [`https://ar.test/${ARWEAVE}`]],
    [`ar://${ARWEAVE}/1.json`, [`https://ar.test/${ARWEAVE}/1.json`]],
    ['', 'NO_TOKEN_URI'],
    [' \n\0', 'NO_TOKEN_URI'],
    ['ftp://a.test/1', 'UNSUPPORTED_SCHEME'],
    ['file:///etc/passwd', 'UNSUPPORTED_SCHEME'],
    ['gopher://127.0.0.1:6379/_SET', 'UNSUPPORTED_SCHEME'],
    ['javascript:alert(1)', 'UNSUPPORTED_SCHEME'],
    ['//a.test/1', 'UNSUPPORTED_SCHEME'],
    ['a.test/1', 'UNSUPPORTED_SCHEME'],
    ['https://', 'UNSUPPORTED_SCHEME'],
    ['ipfs://', 'UNSUPPORTED_SCHEME'],
    ['ipfs://short', 'UNSUPPORTED_SCHEME'],
    ['ar://short', 'UNSUPPORTED_SCHEME'],
    ['data:no comma', 'UNSUPPORTED_SCHEME'],
    [`https://a.test/${'a'.repeat(8_192)}`, 'TOO_LARGE'],
    ['a'.repeat(URI_CHARACTERS_MAX + 1), 'TOO_LARGE'],
    [`ipfs://${CID}/../../api/v0/pin`, 'BLOCKED_ADDRESS'],
    [`ipfs://${CID}/%2e%2E/%2e%2e/api`, 'BLOCKED_ADDRESS'],
    [`ipfs://${CID}/..%2f..%2fapi`, 'BLOCKED_ADDRESS'],
    [`ipfs://${CID}/..\\..\\api`, 'BLOCKED_ADDRESS'],
    [`ar://${ARWEAVE}/../wallet`, 'BLOCKED_ADDRESS'],
  ])('%j', (uri, expected) => {
    expect(at(uri)).toEqual(expected)
  })

  test('of content is not followed where no gateway is configured', () => {
    expect(locate(`ipfs://${CID}`, { ipfs: [], arweave: [] })).toEqual({ kind: 'nowhere', error: 'UNSUPPORTED_SCHEME' })
  })
})

/** Once over such a run for each of its characters would take longer than any test may. */
const PADDING = 400_000

describe('padding in the middle of a URI, however long it is', () => {
  test.each([
    ['zero bytes', `a${'\0'.repeat(PADDING)}b`, 'TOO_LARGE'],
    ['blanks', `a${' '.repeat(PADDING)}b`, 'TOO_LARGE'],
    ['blanks of a scheme that is too long', `ipfs://${CID}${' '.repeat(PADDING)}b`, 'TOO_LARGE'],
  ])('is gone over once: %s', (_, uri, expected) => {
    expect(at(uri)).toBe(expected)
  })

  test('is left out at both ends', () => {
    expect(at(`${' \0'.repeat(40_000)}https://a.test/1${'\0\n\ufeff'.repeat(40_000)}`)).toEqual(['https://a.test/1'])
  })
})

describe('data in the URI itself', () => {
  test.each([
    ['data:application/json,{"a":1}', 'application/json', '{"a":1}'],
    ['data:application/json;utf8,{"name":"Nr #1 ü"}', 'application/json', '{"name":"Nr #1 ü"}'],
    ['data:application/json;charset=utf-8;base64,eyJhIjoxfQ==', 'application/json', '{"a":1}'],
    ['data:application/json;base64,eyJhIjoxfQ%3D%3D', 'application/json', '{"a":1}'],
    ['data:application/json;base64,eyJhIjoiPz8_In0', 'application/json', '{"a":"???"}'],
    ['data:application/json,%7B%22a%22%3A%22%C3%BC%22%7D', 'application/json', '{"a":"ü"}'],
    ['data:application/json,{"a":"50% off, 100%25"}', 'application/json', '{"a":"50% off, 100%"}'],
    ['data:,a,b', 'text/plain', 'a,b'],
    ['DATA:Image/SVG+XML,<svg/>', 'image/svg+xml', '<svg/>'],
  ])('%s', (uri, type, text) => {
    expect(locate(uri, GATEWAYS)).toEqual({ kind: 'inline', type, bytes: new Uint8Array(Buffer.from(text)) })
  })
})
