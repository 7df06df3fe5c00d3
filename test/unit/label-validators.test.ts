import { expect, test } from 'vitest'
import { projectAccountFact } from '../../processors/accounts/account-facts.ts'
import { textColumn } from '../../processors/loop/rows.ts'
import { labelForAccount } from '../../processors/validators/label-validators.ts'
import { StakingBook } from '../../processors/validators/staking-book.ts'
import { ACCOUNTS_KEY } from '../../schemas/events/accounts.ts'
import { type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { validatorsCreated } from '../../schemas/events/created-validators.ts'
import { writerOfEvents } from './log-of-events.ts'

const key = (byte: string): string => `0x${byte.repeat(48)}`
const CREATED = key('aa')
const REQUEST = '0190c2f0-0000-4000-8000-000000000000'

function given() {
  const book = new StakingBook()
  book.add(
    encodeEvent(validatorsCreated, {
      id: 'created',
      key: ACCOUNTS_KEY,
      time: '2026-11-20T00:00:00.000Z',
      data: {
        chain: 'mainnet',
        account: 'a',
        requestId: '0'.repeat(64),
        pubkeys: [CREATED],
        withdrawalCredentials: `0x01${'00'.repeat(31)}`,
        depositFrom: `0x${'11'.repeat(20)}`,
        feeRecipient: `0x${'22'.repeat(20)}`,
        amountGwei: '32000000000',
        depositDataRoots: [],
      },
    }),
  )
  const told: EncodedEvent[] = []
  const writer = writerOfEvents(told)
  const ask = (pubkey: string, { account = 'a', chain = 'mainnet', isSeen = false, notAfterMs = 5 } = {}) =>
    labelForAccount(
      { writer, book, now: () => Date.parse('2026-11-22T00:00:00Z'), wallNow: () => 5 },
      {
        requestId: REQUEST,
        account,
        chain,
        notAfterMs,
        labels: [
          { pubkey: key('bb'), label: 'seen', isSeen: true },
          { pubkey, label: 'x', isSeen },
        ],
      },
    )
  return { told, ask }
}

test('labels what the tables know or the book has created for the account, and nothing where one is neither', async () => {
  const { told, ask } = given()
  expect(await ask(key('cc'))).toEqual({ status: 'foreign', pubkey: key('cc') })
  expect(await ask(CREATED, { account: 'b' })).toEqual({ status: 'foreign', pubkey: CREATED })
  expect(await ask(CREATED, { chain: 'hoodi' })).toEqual({ status: 'foreign', pubkey: CREATED })
  expect(await ask(CREATED, { notAfterMs: 4 })).toEqual({ status: 'late' })
  expect(told).toEqual([])
  expect(await ask(CREATED)).toEqual({ status: 'labelled' })
  expect(await ask(key('cc'), { isSeen: true })).toEqual({ status: 'labelled' })
  expect(told.map(({ id }) => id)).toEqual([1, 2].map(() => `account.validator-labelled:${REQUEST}`))
})

test('a label is a row of its account, with the version of its event', async () => {
  const { told, ask } = given()
  await ask(CREATED)
  const [event] = told as [EncodedEvent]
  const { rows } = projectAccountFact({ event, position: { topic: 'accounts', partition: 0, offset: 6n } } as never, '')
  expect(rows).toEqual([
    {
      table: 'validator_labels',
      columns: {
        chain: textColumn(2, 'mainnet'),
        account: textColumn(2, 'a'),
        pubkey: [key('bb'), CREATED],
        label: ['seen', 'x'],
        version: BigUint64Array.of(7n, 7n),
      },
    },
  ])
})
