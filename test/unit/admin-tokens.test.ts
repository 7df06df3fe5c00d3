import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { showAccount } from '../../commands/admin/accounts.ts'
import { createToken, listTokens, revokeToken, revokeTokenOfHash } from '../../commands/admin/tokens.ts'
import { openEventLog } from '../../infra/open-ports.ts'
import { ACCOUNTS_KEY, hashToken, tokenCreated } from '../../schemas/events/accounts.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { refusal } from './refusal.ts'
import { settingsOfFile, type TestSetting } from './setting-of-file.ts'

const settings = settingsOfFile()

async function tokensIn(setting: TestSetting): Promise<readonly string[]> {
  await listTokens(setting, undefined)
  return setting.printed().trimEnd().split('\n')
}

it('a token is listed with its name and what it is for; the token itself is printed once', async () => {
  const setting = settings()
  await createToken(setting, { account: 'a', new: true })
  const first = setting.printed().trim()
  await createToken(setting, {
    account: 'a',
    new: false,
    name: 'CI "nightly"',
    scope: ['exit', 'create', 'exit'],
    family: ['graphql', 'rewards'],
    chain: 'mainnet',
  })
  const second = setting.printed().trim()
  await revokeToken(setting, Readable.from([Buffer.from(second)]))
  setting.printed()
  const hashOf = (token: string) => hashToken(token).slice(0, 12)
  const expected = [
    `sha256 ${hashOf(first)}…  a  no name  scopes read  all families  all chains  created TIME`,
    `sha256 ${hashOf(second)}…  a  "CI \\"nightly\\""  scopes create,exit  families rewards,graphql  chain mainnet  created TIME, revoked TIME`,
  ]
  const withoutTimes = (lines: readonly string[]) => lines.map((line) => line.replaceAll(/20\S+?Z/g, 'TIME'))
  expect(withoutTimes(await tokensIn(setting))).toEqual(expected)
  await showAccount(setting, 'a')
  const shown = withoutTimes(setting.printed().split('\n'))
  expect(shown.slice(shown.indexOf('tokens') + 1, shown.indexOf('tokens') + 3)).toEqual(
    expected.map((line) => `  ${line}`),
  )
  await using eventLog = await openEventLog(setting.config, setting.log)
  const events = await Array.fromAsync(eventLog.read({ topic: 'accounts', signal: setting.signal }))
  const text = events.map(({ event }) => `${event.id} ${Buffer.from(event.data)}`).join('\n')
  for (const token of [first, second]) {
    expect(token).toMatch(/^[\w-]{32}$/)
    expect(text).not.toContain(token)
  }
})

it('a token is listed with from where and for which calls it may be used', async () => {
  const setting = settings()
  await createToken(setting, {
    ...{ account: 'a', new: true, allowOrigin: ['https://app.example.org'], allowIp: ['10.0.0.0/8', '2001:DB8::1'] },
    ...{ allowMethod: ['eth_*'], allowContract: ['0xdAC17F958D2ee523a2206206994597C13D831ec7'] },
  })
  setting.printed()
  const [line] = await tokensIn(setting)
  expect(line).toContain(
    'all chains  origins https://app.example.org  ips 10.0.0.0/8,2001:db8::1  methods eth_*  contracts 0xdac17f958d2ee523a2206206994597c13d831ec7  created ',
  )
})

it.each<[string, object, string | RegExp]>([
  [
    'an unknown scope',
    { scope: ['read', 'exti'] },
    '--scope is a list of read, create, exit, and "exti" is none of them: no token was created. Did you mean exit?',
  ],
  [
    'no scope',
    { scope: [''] },
    /^--scope is a list of read, create, exit, and "" is none of them: no token was created\./,
  ],
  [
    'an unknown family',
    { family: ['reward'] },
    /"reward" is none of them: no token was created\. Did you mean rewards\?$/,
  ],
  ['an unknown chain', { chain: 'maninet' }, /^"maninet" is not the name of a configured chain; there is mainnet\.$/],
  [
    'a long name',
    { name: 'é'.repeat(65) },
    /^--name is a text of at most 64 printable characters, not "é+": no token was created\.$/,
  ],
  [
    'a name with a control character',
    { name: 'a\u001b[2J' },
    /^--name is .* not "a\\u001b\[2J": no token was created\.$/,
  ],
  [
    'no address',
    { allowIp: ['10.0.0.0/8', '10.0.0.0/40'] },
    '--allow-ip has "10.0.0.0/40", neither an address nor a network, e.g. 203.0.113.0/24: no token was created.',
  ],
  [
    'no origin',
    { allowOrigin: ['app.example.org'] },
    '--allow-origin has "app.example.org", no origin of a page, e.g. https://app.example.org: no token was created.',
  ],
  [
    'too many methods',
    { allowMethod: Array.from({ length: 101 }, (_one, i) => `eth_${i}`) },
    '--allow-method has more than 100 entries: no token was created.',
  ],
])('a token with %s is refused with a sentence, and is not created', async (_, options, sentence) => {
  const setting = settings()
  await createToken(setting, { account: 'a', new: true, name: 'é'.repeat(64) })
  setting.printed()
  expect(await refusal(createToken(setting, { account: 'a', new: false, ...options }))).toMatch(sentence)
  expect(await tokensIn(setting)).toHaveLength(1)
})

const beginningAlike = ['ab3b3bd8d3da'.padEnd(64, '0'), 'ab3b3bd8d3db'.padEnd(64, '0')] as const

async function givenTokens(): Promise<TestSetting> {
  const setting = settings()
  await using eventLog = await openEventLog(setting.config, setting.log)
  await eventLog.append(
    'accounts',
    ['a', 'b'].map((account, i) => {
      const tokenHash = beginningAlike[i] ?? ''
      const envelope = { key: ACCOUNTS_KEY, time: '2026-01-01T00:00:00Z', id: `account.token-created:${tokenHash}` }
      return encodeEvent(tokenCreated, { ...envelope, data: { account, tokenHash, name: '', scopes: ['read'] } })
    }),
  )
  return setting
}

it.each([
  ['as it is listed', 'ab3b3bd8d3da'],
  ['with the mark behind it', 'ab3b3bd8d3da…'],
  ['in capitals', 'AB3B3BD8D3DA'],
  ['as a whole', beginningAlike[0]],
])('a token is revoked by its hash, %s, by who does not have it', async (_, beginning) => {
  const setting = await givenTokens()
  await revokeTokenOfHash(setting, beginning)
  expect(setting.printed()).toBe('The token sha256 ab3b3bd8d3da… of a was revoked.\n')
  const [first, second] = await tokensIn(setting)
  expect(first).toMatch(/^sha256 ab3b3bd8d3da… {2}a .*, revoked /)
  expect(second).not.toContain('revoked')
})

it.each([
  [
    'of several',
    'ab3b3bd8',
    `--sha256 is the beginning of 2 tokens, ${beginningAlike[0]} of a, ${beginningAlike[1]} of b: nothing was revoked; give more of it.`,
  ],
  ['of none', 'AB3B3BD9', 'No token has a sha256 ab3b3bd9…: nothing was revoked.'],
  ['that is short', 'ab3b3bd', /^--sha256 is 8 to 64 hex digits, .*, not "ab3b3bd": nothing was revoked\.$/],
  ['that is no hex', '0xab3b3bd8', /not "0xab3b3bd8": nothing was revoked\.$/],
])('the beginning of a hash %s revokes nothing, and is refused with a sentence', async (_, beginning, sentence) => {
  const setting = await givenTokens()
  expect(await refusal(revokeTokenOfHash(setting, beginning))).toMatch(sentence)
  expect((await tokensIn(setting)).join('')).not.toContain('revoked')
})

it('whoever gives out a token for a chain without validators is told that NFTs alone are served there', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'epochline-chains-')), 'epochline.yaml')
  writeFileSync(file, 'chains: { scroll_mainnet: { execution: { urls: ["http://127.0.0.1:9"] } } }')
  const setting = settings({ EPOCHLINE_CONFIG: file })
  const warned: string[] = []
  const log = { ...setting.log, warn: (_: object, text: string) => warned.push(text) }
  await createToken({ ...setting, log }, { account: 'a', new: true, chain: 'mainnet' })
  expect(warned).toEqual([])
  await createToken({ ...setting, log }, { account: 'a', new: false, chain: 'scroll_mainnet' })
  expect(warned).toEqual(['the chain has no validators: NFTs alone are served there'])
  setting.printed() // the tokens themselves
  expect(await tokensIn(setting)).toHaveLength(2)
  rmSync(dirname(file), { recursive: true })
})
