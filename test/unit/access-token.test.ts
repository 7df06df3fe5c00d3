import { expect, it } from 'vitest'
import { DEMO_ACCOUNT, DEMO_TOKEN, demoAccountFacts, missingFacts } from '../../infra/devnet/demo-account.ts'
import { projectAccountFact } from '../../processors/accounts/account-facts.ts'
import { TOKEN_SCOPES, type TokenLimits } from '../../schemas/access-token.ts'
import { AccountBook } from '../../schemas/account-book.ts'
import { hashToken, type TokenCreated, tokenCreated, tokenRevoked } from '../../schemas/events/accounts.ts'
import { decodeEvent, type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { toTokenLimits, toTokenLimitsRow } from '../../schemas/tables/accounts.ts'

const HASH = hashToken('token')
const envelope = { id: 'fact', key: 'accounts', time: '2026-01-01T00:00:00.000Z' }
const TOKEN: TokenCreated = { account: 'a', tokenHash: HASH, name: '', scopes: ['read'] }
/** As release 0.1 wrote it. */
const EARLIER: EncodedEvent = {
  ...envelope,
  type: 'account.token-created',
  version: 1,
  data: Buffer.from(JSON.stringify({ account: 'a', tokenHash: HASH })),
}

function rowOf(event: EncodedEvent) {
  const { rows } = projectAccountFact({ event, position: { partition: 0, offset: 6n } }, 'mainnet')
  return rows
}

it('a token of an earlier release only reads, in all families and of all chains', () => {
  expect(decodeEvent(tokenCreated, EARLIER)).toEqual(TOKEN)
  const book = new AccountBook()
  book.add(EARLIER)
  expect([...book.tokens().values()]).toEqual([{ ...TOKEN, createdAt: envelope.time }])
  expect(rowOf(EARLIER)).toEqual([
    {
      table: 'access_tokens',
      columns: {
        token_hash: [HASH],
        account: ['a'],
        name: [''],
        scopes: ['read'],
        families: [''],
        only_chain: [''],
        only_origins: [''],
        only_ips: [''],
        only_methods: [''],
        only_contracts: [''],
        order_id: [''],
        order_until: [''],
        version: BigUint64Array.of(7n),
        is_deleted: Uint8Array.of(0),
      },
    },
  ])
})

it('a token says in book and table what it is for, until it is revoked', () => {
  const data: TokenCreated = {
    ...TOKEN,
    name: 'für CI',
    scopes: ['create', 'exit'],
    families: ['graphql'],
    chain: 'hoodi',
  }
  const allow = { ips: ['10.0.0.0/8'] }
  const created = encodeEvent(tokenCreated, { ...envelope, data: { ...data, allow } })
  const revoked = encodeEvent(tokenRevoked, { ...envelope, data: { tokenHash: HASH } })
  const book = new AccountBook()
  book.add(created)
  expect(book.tokens().get(HASH)).toEqual({ ...data, allow, createdAt: envelope.time })
  book.add(revoked)
  expect(book.tokens().get(HASH)).toEqual({ ...data, createdAt: envelope.time, revokedAt: envelope.time })
  const limits = { name: ['für CI'], scopes: ['create,exit'], families: ['graphql'], only_chain: ['hoodi'] }
  expect(rowOf(created)[0]?.columns).toMatchObject({ ...limits, is_deleted: Uint8Array.of(0) })
  expect(rowOf(revoked)[0]?.columns).toMatchObject({ token_hash: [HASH], scopes: [''], is_deleted: Uint8Array.of(1) })
})

it.each<[string, object]>([
  ['no scope', { scopes: [] }],
  ['a scope twice', { scopes: ['read', 'read'] }],
  ['an unknown scope', { scopes: ['write'] }],
  ['a list of no family', { families: [] }],
  ['an unknown family', { families: ['nonesuch'] }],
  ['no name of a chain', { chain: '' }],
  ['a name that is too long', { name: 'x'.repeat(65) }],
  ['a name of two lines', { name: 'a\nb' }],
  ['a name that turns the line around', { name: 'a\u202eb' }],
  ['a list of no origin', { allow: { origins: [] } }],
  ['two methods in one', { allow: { methods: ['eth_call,eth_chainId'] } }],
  ['a list of something else', { allow: { hosts: ['localhost'] } }],
])('a token with %s does not get into the log', (_, change) => {
  expect(() => encodeEvent(tokenCreated, { ...envelope, data: { ...TOKEN, ...change } as TokenCreated })).toThrow(
    expect.objectContaining({ code: 'event_log' }),
  )
})

it.each<TokenLimits>([
  { scopes: ['read'] },
  { scopes: ['read', 'create', 'exit'], families: ['rewards', 'graphql'] },
  { scopes: ['exit'], families: ['validators'], chain: 'scroll_mainnet' },
  { scopes: ['read'], allow: { origins: ['https://a.example', 'http://b.example:81'], methods: ['eth_*'] } },
  { scopes: ['read'], allow: { ips: ['10.0.0.0/8', '2001:db8::1'], contracts: [`0x${'ab'.repeat(20)}`] } },
])('a row tells what a token is for: %j', (limits) => {
  expect(toTokenLimits(toTokenLimitsRow(limits))).toEqual(limits)
})

it('names of a later release allow nothing in this one', () => {
  expect(toTokenLimits({ ...toTokenLimitsRow({ scopes: [] }), scopes: 'spend', families: 'lending' })).toEqual({
    scopes: [],
    families: [],
  })
})

it('the devnet’s token is for everything, also in a log where it only read, and stays revoked where it was', () => {
  const facts = demoAccountFacts('mainnet', 1_700_000_000, [0])
  const hash = hashToken(DEMO_TOKEN)
  const isToken = ({ type }: EncodedEvent) => type === tokenCreated.name
  const missingIn = (...known: string[]) => missingFacts(facts, new Set(known)).filter(isToken)
  const [token, ...others] = missingIn(`account.token-created:${hash}`)
  expect(others).toEqual([])
  expect(decodeEvent(tokenCreated, token as EncodedEvent)).toMatchObject({
    account: DEMO_ACCOUNT,
    scopes: TOKEN_SCOPES,
  })
  expect(missingFacts(facts, new Set(facts.map(({ id }) => id)))).toEqual([])
  expect(missingIn(`account.token-revoked:${hash}`)).toEqual([])
})
