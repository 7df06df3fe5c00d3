import { expect, test } from 'vitest'
import { reasonsOfContract, reasonsOfOwned } from '../../api/nft/owned-reasons.ts'
import { EXAMPLE_ASSET, EXAMPLE_COLLECTION, EXAMPLE_OWNER, EXAMPLE_STATE } from '../../schemas/routes/nft/examples.ts'
import { OWNED_REASONS } from '../../schemas/routes/nft/owned-reasons.ts'

const READ = { ...EXAMPLE_STATE, status: 'fetched' as const }
const STRANGER = `0x${'bb'.repeat(20)}`

function contractOf(change: Partial<typeof EXAMPLE_COLLECTION>) {
  return { ...EXAMPLE_COLLECTION, name: 'Lanterns', symbol: 'LAN', metadata_state: READ, ...change }
}

const arrivalOf = (sender: string | null) => ({
  block_number: 1,
  tx_hash: `0x${'00'.repeat(32)}`,
  log_index: 0,
  from: STRANGER,
  sender,
})

interface Given {
  readonly title?: string
  readonly description?: string
  readonly status?: 'fetched' | 'failed' | 'pending'
  readonly json?: string
  readonly shortened?: readonly string[]
  readonly contract?: Partial<typeof EXAMPLE_COLLECTION>
  readonly sender?: string | null
  readonly hasManyNewHolders?: boolean
  readonly isInconsistent?: boolean
}

function reasons({
  title,
  description,
  status = 'fetched',
  json,
  shortened = [],
  contract = {},
  sender = EXAMPLE_OWNER,
  hasManyNewHolders = false,
  isInconsistent = false,
}: Given) {
  const { metadata } = EXAMPLE_ASSET
  return reasonsOfOwned({
    owner: EXAMPLE_OWNER,
    asset: {
      ...{ metadata_json: json ?? null, shortened: [...shortened] },
      metadata: { ...metadata, title: title ?? null, description: description ?? null },
      metadata_state: { ...EXAMPLE_STATE, status },
    },
    contract: contractOf(contract),
    arrival: arrivalOf(sender),
    hasManyNewHolders,
    isInconsistent,
  })
}

test.each([
  ['nothing that is odd', {}, []],
  ['a transaction of somebody else', { sender: STRANGER }, ['unsolicited']],
  ['a contract that many others came to hold with it', { hasManyNewHolders: true }, ['many_new_holders']],
  ['a link in its title', { title: 'Visit https://example.org' }, ['link_in_name']],
  ['a host in the name of its contract', { contract: { name: 'usd-drop.com' } }, ['link_in_name']],
  ['a host in letters of another width', { contract: { symbol: 'ｄｒｏｐ．ｘｙｚ' } }, ['link_in_name']],
  ['a claim in its title', { title: 'Claim 1000 USD' }, ['asks_to_claim']],
  ['a claim and a link in its description', { description: 'Redeem at www.drop.example' }, ['asks_to_claim']],
  ['a contract that says nothing of its kind', { contract: { token_type: 'UNKNOWN' as const } }, ['unknown_type']],
  ['logs that cannot be true', { isInconsistent: true }, ['inconsistent']],
] as const)('a token with %s has exactly that reason', (_, given, found) => {
  expect(reasons(given)).toEqual({ reasons: found, unknown_reasons: [] })
})

test.each([
  ['alice.eth', 'a name of an account'],
  ['Node.js', 'an ending that hosts do not have'],
  ['v1.0', 'a number'],
  ['Disclaimer', 'a part of a word'],
  ['The end. Me too', 'two sentences'],
])('%s in a title is nothing odd: %s', (title) => {
  expect(reasons({ title }).reasons).toEqual([])
})

test('a link in a description alone, and a claim alone, are nothing odd', () => {
  expect(reasons({ description: 'By example.org' }).reasons).toEqual([])
  expect(reasons({ description: 'A reward for the first ones.' }).reasons).toEqual([])
})

test('what could not be looked at is not said to be in order', () => {
  expect(reasons({ sender: null })).toEqual({ reasons: null, unknown_reasons: ['unsolicited'] })
  expect(reasons({ status: 'pending' })).toEqual({
    reasons: null,
    unknown_reasons: ['link_in_name', 'asks_to_claim', 'no_metadata'],
  })
  // Something was found, and more may be.
  expect(reasons({ status: 'failed' })).toEqual({
    reasons: ['no_metadata'],
    unknown_reasons: ['link_in_name', 'asks_to_claim'],
  })
  expect(reasonsOfContract(EXAMPLE_COLLECTION)).toEqual({
    reasons: null,
    unknown_reasons: ['link_in_name', 'asks_to_claim', 'unknown_type'],
  })
  const known = reasons({ status: 'pending', contract: { name: 'drop.xyz' } })
  expect(known).toEqual({ reasons: ['link_in_name'], unknown_reasons: ['asks_to_claim', 'no_metadata'] })
  expect(OWNED_REASONS).toHaveLength(7)
})

test.each([
  ['a document', { json: '{}' }],
  ['a document that is too long for a list', { shortened: ['metadata_json'] }],
])('a token of which %s is told has metadata, though the last attempt to read it has failed', (_, told) => {
  expect(reasons({ status: 'failed', ...told })).toEqual({ reasons: [], unknown_reasons: [] })
  expect(reasons({ status: 'failed', ...told, title: 'Claim at drop.xyz' }).reasons).toEqual([
    'link_in_name',
    'asks_to_claim',
  ])
})

test('of a long text the beginning is looked at', () => {
  const filled = (characters: number) => ({ description: `${'a-'.repeat(characters / 2)} claim at www.drop.example` })
  expect(reasons(filled(4_000)).reasons).toEqual(['asks_to_claim'])
  expect(reasons(filled(5_000)).reasons).toEqual([])
})
