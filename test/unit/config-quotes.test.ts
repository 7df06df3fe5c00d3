import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { quoteConfigOf } from '../../commands/quote-config.ts'
import { readConfig } from '../../infra/config/config.ts'
import type { Environment } from '../../infra/config/environment.ts'

const NODES = 'beacon: { urls: ["http://127.0.0.1:5052"] }, execution: { urls: ["http://127.0.0.1:8545"] }'
const CHAINS = `chains: { mainnet: { ${NODES} }, scroll_mainnet: { execution: { urls: ["http://127.0.0.1:8546"] } } }`

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'epochline-config-quotes-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

function read(lines: readonly string[], env: Environment = {}) {
  const file = join(directory, 'epochline.yaml')
  writeFileSync(file, lines.join('\n'))
  return readConfig({ ...env, EPOCHLINE_CONFIG: file })
}

describe('quotes', () => {
  it('are made for the configured account on the configured chain', () => {
    const config = read([CHAINS, 'quote: { chain: mainnet, account: acme }'])
    expect(quoteConfigOf(config)).toEqual({ chain: 'mainnet', account: 'acme' })
  })

  it('are not there where nothing is said of them, but on the devnet', () => {
    expect(quoteConfigOf(read([CHAINS]))).toBeUndefined()
    expect(quoteConfigOf(read(['log_level: warn']))).toEqual({ chain: 'mainnet', account: 'demo' })
    const named = read(['quote: { chain: mainnet, account: acme }'])
    expect(quoteConfigOf(named)).toEqual({ chain: 'mainnet', account: 'acme' })
  })

  it.each([
    ['{ chain: mainnet }', 'quote.account: is missing'],
    ['{ account: acme }', 'quote.chain: is missing'],
    ['{ chain: hoodi, account: acme }', 'quote.chain: is not the name of a configured chain'],
    ['{ chain: scroll_mainnet, account: acme }', 'quote.chain: is a chain without validators'],
    ['{ chain: mainnet, account: "A Name" }', 'quote.account: is not the name of an account'],
    ['{ chain: mainnet, account: acme, acount: b }', 'quote.acount: is not a setting; did you mean account'],
  ])('are refused for %s', (quote, mistake) => {
    expect(() => read([CHAINS, `quote: ${quote}`])).toThrow(mistake)
  })
})

describe('trusted proxies', () => {
  it('are addresses and networks, of the file or of the variable', () => {
    const inFile = ['http: { trusted_proxies: [127.0.0.1, 10.0.0.0/8, "2001:db8::/32"] }']
    expect(read(inFile).trustedProxies).toEqual(['127.0.0.1', '10.0.0.0/8', '2001:db8::/32'])
    expect(read(inFile, { TRUSTED_PROXIES: '192.0.2.1,::1' }).trustedProxies).toEqual(['192.0.2.1', '::1'])
    expect(read([]).trustedProxies).toEqual([])
  })

  it.each(['10.0.0.0/33', '10.0.0/8', '1.2.3.256', 'loopback', '2001:db8::/129', 'a.b'])('are not %s', (proxy) => {
    expect(() => read([`http: { trusted_proxies: ["${proxy}"] }`])).toThrow(/^.*epochline.yaml:1: http.trusted_proxies/)
    expect(() => read([], { TRUSTED_PROXIES: proxy })).toThrow(/^TRUSTED_PROXIES /)
  })
})
