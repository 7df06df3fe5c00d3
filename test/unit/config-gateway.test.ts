import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { checkConfig, showConfig } from '../../commands/config.ts'
import { readConfig } from '../../infra/config/config.ts'
import type { Environment } from '../../infra/config/environment.ts'
import { gatewayName } from '../../infra/config/gateway.ts'
import { PROTOCOLS } from '../../schemas/protocols/protocols.ts'

const URL = 'http://127.0.0.1:8545'
const SECRETS = {
  NODE: 'https://user:hunter2@eth.example/v3/hunter2?key=hunter2',
  NODE_WS: 'wss://eth.example/v3/hunter2',
  NODE_KEY: 'Bearer hunter2',
}

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'epochline-config-gateway-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

/** The environment that reads this file. */
function fileOf(text: string, env: Environment = {}): Environment {
  const file = join(directory, 'epochline.yaml')
  writeFileSync(file, text)
  return { ...SECRETS, ...env, EPOCHLINE_CONFIG: file }
}

/** A file with one network. */
const networkOf = (name: string, settings: string): string => `gateway: { networks: { "${name}": ${settings} } }`
/** A file with one network that has one upstream. */
const upstreamOf = (settings: string, name = 'ethereum/mainnet'): string =>
  networkOf(name, `{ upstreams: [{ ${settings} }] }`)
const headerOf = (header: string): string => upstreamOf(`url: "${URL}", headers: { ${header} }`)
const read = (text: string, env: Environment = {}) => readConfig(fileOf(text, env)).gateway.networks

/** The lines of the refusal, without the name of the file. */
function mistakesOf(text: string, env: Environment = {}): readonly string[] {
  try {
    readConfig(fileOf(text, env))
  } catch (error) {
    expect(error).toMatchObject({ code: 'config' })
    return (error as Error).message.replaceAll(`${join(directory, 'epochline.yaml')}:`, '').split('\n')
  }
  return []
}

const FULL = `
gateway:
  networks:
    ethereum/mainnet:
      identity: '0x6b1239'
      hedge: false
      coalesce: true
      cache_mb: 2
      upstreams:
        - url: env:NODE
          ws_url: env:NODE_WS
          headers: { Authorization: env:NODE_KEY, x-api-key: env:NODE_KEY }
          archive: true
          weight: 100
        - url: ${URL}
          ws_url: ws://127.0.0.1:8546
    ton/mainnet/v3:
      upstreams: [{ url: http://127.0.0.1:8081 }]
`

describe('upstreams of the gateway', () => {
  it('are read with their references looked up, and header names in lower case', () => {
    expect(read(FULL)).toEqual([
      {
        ...{ protocol: 'ethereum', network: 'mainnet', service: '', identity: '0x6b1239', hedge: false },
        ...{ coalesce: true, keptBytes: 2 * 1024 * 1024 },
        upstreams: [
          {
            ...{ url: SECRETS.NODE, wsUrl: SECRETS.NODE_WS },
            headers: { authorization: SECRETS.NODE_KEY, 'x-api-key': SECRETS.NODE_KEY },
            ...{ isArchive: true, weight: 100 },
          },
          { url: URL, wsUrl: 'ws://127.0.0.1:8546', headers: {}, isArchive: false, weight: 1 },
        ],
      },
      {
        ...{ protocol: 'ton', network: 'mainnet', service: 'v3', hedge: true, coalesce: false },
        upstreams: [{ url: 'http://127.0.0.1:8081', headers: {}, isArchive: false, weight: 1 }],
      },
    ])
  })

  it.each(['', 'gateway:', 'gateway: {}', 'gateway: { networks: {} }'])('are none where the file says %j', (text) => {
    expect(read(text)).toEqual([])
  })

  it('may be of every network of every protocol', () => {
    const names = PROTOCOLS.flatMap(({ name, networks, services }) =>
      Object.keys(networks).flatMap((network) =>
        services.map((service) => gatewayName({ protocol: name, network, service: service.name })),
      ),
    )
    const lines = names.map((name) => `    ${name}: { upstreams: [{ url: ${URL} }] }\n`)
    expect(names).toContain('ton/mainnet/v2')
    expect(read(`gateway:\n  networks:\n${lines.join('')}`).map(gatewayName)).toEqual(names)
  })

  it('are at most 64 of a network', () => {
    const list = (count: number): string =>
      networkOf('ethereum/mainnet', `{ upstreams: [${Array(count).fill(`{ url: "${URL}" }`).join(', ')}] }`)
    expect(read(list(64))[0]?.upstreams).toHaveLength(64)
    for (const count of [0, 65])
      expect(mistakesOf(list(count))).toEqual([
        '1: gateway.networks.ethereum/mainnet.upstreams: is not a list of 1 to 64 upstreams; e.g. [{ url: http://127.0.0.1:8545 }]',
      ])
  })

  it('are shown with where they come from, and without a secret', () => {
    const env = fileOf(FULL)
    const text = showConfig({ env })
    expect(text).not.toContain('hunter2')
    expect(text).toContain('Authorization: "***" # file, env:NODE_KEY')
    expect(parse(text)).toMatchObject({
      gateway: {
        networks: {
          'ethereum/mainnet': {
            identity: '0x6b1239',
            upstreams: [
              { url: '***', ws_url: '***', headers: { 'x-api-key': '***' }, archive: true, weight: 100 },
              { url: URL, ws_url: 'ws://127.0.0.1:8546', archive: false, weight: 1 },
            ],
          },
          'ton/mainnet/v3': { upstreams: [{ url: 'http://127.0.0.1:8081' }] },
        },
      },
    })
    expect(checkConfig({ env })).toContain('\nupstreams: ethereum/mainnet (2); ton/mainnet/v3 (1)\n')
  })
})

const AT = '1: gateway.networks.ethereum/mainnet'
const IN_FIRST = `${AT}.upstreams[0]`

describe('mistakes of the gateway', () => {
  it.each([
    [
      'ethereun/mainnet',
      '1: gateway.networks.ethereun/mainnet: is of no protocol that there is; did you mean ethereum?',
    ],
    [
      'ethereum/main',
      `1: gateway.networks.ethereum/main: is no network of ethereum; write ethereum/mainnet or ethereum/`,
    ],
    ['ethereum', '1: gateway.networks.ethereum: is no network of ethereum; write ethereum/mainnet or ethereum/'],
    ['ipfs/toString', '1: gateway.networks.?: is no network of ipfs; write ipfs/pub'],
    [
      'ethereum/mainnet/v2',
      '1: gateway.networks.ethereum/mainnet/v2: is not what upstreams of ethereum go by; write ethereum/mainnet',
    ],
    ['ethereum/mainnet/', '1: gateway.networks.?: is not what upstreams of ethereum go by; write ethereum/mainnet'],
    [
      'ton/mainnet',
      '1: gateway.networks.ton/mainnet: is not what upstreams of ton go by; write ton/mainnet/v2 or ton/mainnet/v3',
    ],
    ['ton/mainnet/v4', '1: gateway.networks.ton/mainnet/v4: is not what upstreams of ton go by; write ton/mainnet/v2'],
    ['ton/mainnet/v2/x', '1: gateway.networks.?: is not what upstreams of ton go by; write ton/mainnet/v2'],
  ])('such as the name %s are told with what there is', (name, sentence) => {
    const [mistake, ...others] = mistakesOf(networkOf(name, `{ upstreams: [{ url: "${URL}" }] }`))
    expect(others).toEqual([])
    expect(mistake?.startsWith(sentence)).toBe(true)
  })

  it('such as a protocol like no other are told with all that there are', () => {
    const [mistake = ''] = mistakesOf(networkOf('0x/mainnet', `{ upstreams: [{ url: "${URL}" }] }`))
    for (const { name } of PROTOCOLS) expect(mistake).toContain(name)
  })

  it.each([
    ['no upstreams', networkOf('ethereum/mainnet', '{}'), `${AT}.upstreams: is missing; e.g. upstreams: [{ url: http`],
    [
      'a network that is no section',
      networkOf('ethereum/mainnet', '5'),
      `${AT}: is not a section with identity, hedge, coalesce, cache_mb, upstreams`,
    ],
    [
      'a cache without room',
      networkOf('ethereum/mainnet', `{ cache_mb: 0, upstreams: [{ url: "${URL}" }] }`),
      `${AT}.cache_mb: is not a whole number from 1 to 16384`,
    ],
    [
      'an upstream that is none',
      networkOf('ethereum/mainnet', `{ upstreams: ["${URL}"] }`),
      `${IN_FIRST}: is not a section with url`,
    ],
    ['no URL', upstreamOf('weight: 1'), `${IN_FIRST}.url: is missing; e.g. url: http://127.0.0.1:8545 or env:NAME`],
    [
      'a URL of a WebSocket',
      upstreamOf('url: ws://a'),
      `${IN_FIRST}.url: is not a URL that starts with http:// or https://`,
    ],
    [
      'a reference to another one',
      upstreamOf('url: env:NODE_WS'),
      `${IN_FIRST}.url: refers to something that is not a URL that starts with http:// or https://`,
    ],
    [
      'a reference to nothing',
      upstreamOf('url: env:UNSET'),
      `${IN_FIRST}.url: refers to the variable UNSET, which is not set`,
    ],
    [
      'a WebSocket over HTTP',
      upstreamOf(`url: "${URL}", ws_url: http://a`),
      `${IN_FIRST}.ws_url: is not a URL that starts with ws:// or wss://`,
    ],
    [
      'a WebSocket of a protocol without',
      upstreamOf(`url: "${URL}", ws_url: ws://a`, 'bitcoin/mainnet'),
      '1: gateway.networks.bitcoin/mainnet.upstreams[0].ws_url: is for protocols whose nodes have WebSocket; those of bitcoin have none',
    ],
    [
      'a WebSocket of a protocol whose nodes have none',
      upstreamOf(`url: "${URL}", ws_url: ws://a`, 'dogecoin/mainnet'),
      '1: gateway.networks.dogecoin/mainnet.upstreams[0].ws_url: is for protocols whose nodes have WebSocket',
    ],
    [
      'a weight of nothing',
      upstreamOf(`url: "${URL}", weight: 0`),
      `${IN_FIRST}.weight: is not a whole number from 1 to 100; e.g. 2`,
    ],
    [
      'too much weight',
      upstreamOf(`url: "${URL}", weight: 101`),
      `${IN_FIRST}.weight: is not a whole number from 1 to 100`,
    ],
    [
      'another word',
      upstreamOf(`url: "${URL}", archive: yes-please`),
      `${IN_FIRST}.archive: is not true or false; e.g. true`,
    ],
    [
      'an unknown setting',
      upstreamOf(`url: "${URL}", wsurl: ws://a`),
      `${IN_FIRST}.wsurl: is not a setting; did you mean ws_url?`,
    ],
    [
      'a number for a chain',
      networkOf('ethereum/mainnet', `{ identity: 0x1, upstreams: [{ url: "${URL}" }] }`),
      `${AT}.identity: is not what nodes of the network answer, as a text in quotes; e.g. "0x1"`,
    ],
    [
      'a chain in another form',
      networkOf('ethereum/mainnet', `{ identity: "1", upstreams: [{ url: "${URL}" }] }`),
      `${AT}.identity: is not 0x and hex digits in quotes, as nodes of ethereum answer; e.g. identity: "0x1"`,
    ],
    [
      'a chain that is no number',
      networkOf('aptos/mainnet', `{ identity: one, upstreams: [{ url: "${URL}" }] }`),
      '1: gateway.networks.aptos/mainnet.identity: is not a whole number in quotes, as nodes of aptos answer; e.g. identity: "1"',
    ],
    [
      'the chain of what has none',
      networkOf('xrp/mainnet', `{ identity: "1", upstreams: [{ url: "${URL}" }] }`),
      '1: gateway.networks.xrp/mainnet.identity: is for protocols whose nodes say which chain they follow; those of xrp do not',
    ],
    [
      'a header that is no token',
      headerOf('"a b": env:NODE_KEY'),
      `${IN_FIRST}.headers.?: is not the name of a header; e.g. authorization`,
    ],
    [
      'a header of the connection',
      headerOf('Transfer-Encoding: env:NODE_KEY'),
      `${IN_FIRST}.headers.Transfer-Encoding: belongs to the connection, and cannot be set`,
    ],
    [
      'a length',
      headerOf('content-length: env:NODE_KEY'),
      `${IN_FIRST}.headers.content-length: belongs to the connection`,
    ],
    ['a host', headerOf('Host: env:NODE_KEY'), `${IN_FIRST}.headers.Host: belongs to the connection`],
    [
      'a header of WebSocket',
      headerOf('sec-websocket-key: env:NODE_KEY'),
      `${IN_FIRST}.headers.sec-websocket-key: belongs to the connection`,
    ],
    [
      'a header twice',
      headerOf('a: env:NODE_KEY, A: env:NODE_KEY'),
      `${IN_FIRST}.headers.A: is there twice: its letters may be of either case`,
    ],
    [
      'a header that is written out',
      headerOf('authorization: hunter2'),
      `${IN_FIRST}.headers.authorization: is a secret: write a reference to it, env:NAME or file:/path`,
    ],
    [
      'more headers than 16',
      headerOf(Array.from({ length: 17 }, (_, index) => `h${index}: env:NODE_KEY`).join(', ')),
      `${IN_FIRST}.headers: is not a section with at most 16 headers, by name; e.g. { authorization: env:NODE_KEY }`,
    ],
  ])('such as %s are told by their place', (_, text, sentence) => {
    const [mistake, ...others] = mistakesOf(text)
    expect(others).toEqual([])
    expect(mistake?.slice(0, sentence.length)).toBe(sentence)
  })

  it.each([`two lines`, 'not ascii'])('such as a header value of %s are told by their place', (what) => {
    const value = what === 'two lines' ? 'a\r\nx: hunter2' : 'hünter2'
    expect(mistakesOf(headerOf('authorization: env:VALUE'), { VALUE: value })).toEqual([
      `${IN_FIRST}.headers.authorization: refers to something that is not one line of ASCII, which a header has`,
    ])
  })

  it.each([
    ['a user', upstreamOf('url: "http://hunter2:hunter2@node:8545"')],
    ['a path', upstreamOf('url: "http://node:8545/v3/hunter2"')],
    ['a query', upstreamOf('url: "http://node:8545/?key=hunter2"')],
    ['a path of a WebSocket', upstreamOf(`url: "${URL}", ws_url: "ws://node/hunter2"`)],
    ['an address for a name', networkOf('eth.example/v3/hunter2', `{ upstreams: [{ url: "${URL}" }] }`)],
    ['a key for a name', networkOf(`localhost/${'hunter2'.repeat(3)}`, `{ upstreams: [{ url: "${URL}" }] }`)],
    ['a key for a header', headerOf('"hunter2=": env:NODE_KEY')],
    ['a value for a header', headerOf('authorization: Bearer hunter2')],
    ['a chain', networkOf('ethereum/mainnet', `{ identity: hunter2, upstreams: [{ url: "${URL}" }] }`)],
  ])('do not repeat a secret: %s that is written out', (_, text) => {
    const mistakes = mistakesOf(text)
    expect(mistakes).toHaveLength(1)
    expect(mistakes[0]).not.toContain('hunter2')
  })

  it('are told all at once, by line', () => {
    const text = `gateway:
  networks:
    ethereum/mainnet:
      identity: nonsense
      upstreams:
        - url: ftp://node
          weight: 1000
          headers:
            te: env:NODE_KEY
            authorization: env:UNSET
    bitcoin/regtest:
      upstreams: []
`
    expect(mistakesOf(text)).toEqual([
      expect.stringMatching(/^4: gateway\.networks\.ethereum\/mainnet\.identity: /),
      expect.stringMatching(/^6: gateway\.networks\.ethereum\/mainnet\.upstreams\[0\]\.url: /),
      expect.stringMatching(/^7: gateway\.networks\.ethereum\/mainnet\.upstreams\[0\]\.weight: /),
      expect.stringMatching(/^9: gateway\.networks\.ethereum\/mainnet\.upstreams\[0\]\.headers\.te: belongs/),
      expect.stringMatching(
        /^10: gateway\.networks\.ethereum\/mainnet\.upstreams\[0\]\.headers\.authorization: refers/,
      ),
      expect.stringMatching(/^11: gateway\.networks\.bitcoin\/regtest: is no network of bitcoin/),
      expect.stringMatching(/^12: gateway\.networks\.bitcoin\/regtest\.upstreams: is not a list of 1 to 64/),
    ])
  })
})

/** A file with host names. */
const hostsOf = (entries: string): string => `gateway: { hosts: { ${entries} } }`

describe('nodes of orders', () => {
  const ORDER = 'ord_0123456789abcdef'
  const orders = (id: string, networks: string): string => `gateway: { orders: { "${id}": ${networks} } }`
  const NODE = '{ upstreams: [{ url: env:NODE }] }'

  it('are read beside those that all share, by the order, of both services of TON', () => {
    const text = `gateway:
  networks: { ethereum/mainnet: ${NODE} }
  orders:
    ${ORDER}: { ethereum/mainnet: ${NODE}, ton/mainnet/v2: ${NODE}, ton/mainnet/v3: ${NODE} }
`
    const networks = read(text)
    expect(networks.map(gatewayName)).toEqual([
      'ethereum/mainnet',
      ...['ethereum/mainnet', 'ton/mainnet/v2', 'ton/mainnet/v3'].map((place) => `${ORDER} ${place}`),
    ])
    expect(networks[1]).toEqual({ ...networks[0], order: ORDER })
    const shown = showConfig({ env: fileOf(text) })
    expect(shown).toContain(`${ORDER} ethereum/mainnet (1)`)
    expect(shown).not.toContain('hunter2')
  })

  it.each([
    [
      'ord_1',
      `{ ethereum/mainnet: ${NODE} }`,
      '1: gateway.orders.ord_1: is not the id of an order, as admin order list',
    ],
    [
      ORDER,
      `{ ethereun/mainnet: ${NODE} }`,
      `gateway.orders.${ORDER}.ethereun/mainnet: is of no protocol that there is`,
    ],
    [ORDER, '{ ethereum/mainnet: {} }', `gateway.orders.${ORDER}.ethereum/mainnet.upstreams: is missing`],
    [ORDER, `{ ethereum/mainnet: { upstreams: [{ url: "${SECRETS.NODE}" }] } }`, 'ethereum/mainnet.upstreams[0].url'],
    [ORDER, '[]', `gateway.orders.${ORDER}: is not a section with networks`],
  ])('of %s as %s are refused', (id, networks, mistake) => {
    const told = mistakesOf(orders(id, networks)).join('\n')
    expect(told).toContain(mistake)
    expect(told).not.toContain('hunter2')
  })
})

describe('host names of the gateway', () => {
  const FILE = hostsOf('RPC.example: ethereum/mainnet, fil.example: filecoin/calibration, sol.example: solana/mainnet')

  it('are read in lower case, each with its network', () => {
    expect(readConfig(fileOf(FILE)).gateway.hosts).toEqual([
      { name: 'rpc.example', protocol: 'ethereum', network: 'mainnet' },
      { name: 'fil.example', protocol: 'filecoin', network: 'calibration' },
      { name: 'sol.example', protocol: 'solana', network: 'mainnet' },
    ])
    expect(readConfig(fileOf('')).gateway.hosts).toEqual([])
    expect(checkConfig({ env: fileOf(FILE) })).toContain('\nhosts: rpc.example (ethereum/mainnet); fil.example (')
    expect(parse(showConfig({ env: fileOf(FILE) }))).toMatchObject({
      gateway: { hosts: { 'RPC.example': 'ethereum/mainnet', 'sol.example': 'solana/mainnet' } },
    })
  })

  it('are of networks that have public access, and of Solana', () => {
    const places = PROTOCOLS.flatMap(({ name, networks }) => Object.keys(networks).map((one) => `${name}/${one}`))
    const good = places.filter((place) => mistakesOf(hostsOf(`a.example: ${place}`)).length === 0)
    expect(good).toEqual([
      ...['ethereum/mainnet', 'solana/mainnet', 'filecoin/mainnet', 'filecoin/calibration', 'filecoin/hyperspace'],
      'bitcoin/mainnet',
    ])
  })

  it.each([
    [
      'a network without public access',
      'a.example: bsc/mainnet',
      'a.example: is for a network that has no host names;',
    ],
    ['a protocol that is none', 'a.example: ethereun/mainnet', 'a.example: is of no protocol that there is; did you'],
    ['a network that is none', 'a.example: ethereum/main', 'a.example: is no network of ethereum; write ethereum/'],
    ['a path', 'a.example: filecoin/mainnet/rpc/v1', 'a.example: is for a network that has no host names;'],
    ['a host name twice', 'a.example: bitcoin/mainnet, A.example: ethereum/mainnet', '?: is there twice, in other'],
    ['a port', '"a.example:80": bitcoin/mainnet', '?: is not a host name without a port; e.g. rpc.example.org'],
    ['an address', '"https://a.example": bitcoin/mainnet', '?: is not a host name without a port; e.g. rpc.example'],
    ['no text', 'a.example: 7', 'a.example: is not protocol/network; e.g. ethereum/mainnet'],
  ])('are refused with line and path for %s', (_, entries, sentence) => {
    const [mistake, ...others] = mistakesOf(hostsOf(entries))
    expect(others).toEqual([])
    expect(mistake).toContain(`1: gateway.hosts.${sentence}`)
  })
})
