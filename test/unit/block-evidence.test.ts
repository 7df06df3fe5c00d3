import { expect, test } from 'vitest'
import type { BalanceChange, ExecutionBlock } from '../../infra/ports/execution-source.ts'
import type { RelayClaim } from '../../infra/ports/relay-claims.ts'
import { BlockEvidenceReader } from '../../ingest/execution/block-evidence.ts'
import { ACCOUNTS_KEY } from '../../schemas/events/accounts.ts'
import { blockEvidence } from '../../schemas/events/block-evidence.ts'
import { decodeEvent, type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { validatorsCreated } from '../../schemas/events/created-validators.ts'
import { feeRecipientsTold } from '../../schemas/events/fee-recipients.ts'
import { validatorsIdentified } from '../../schemas/events/validators.ts'
import { tracked } from './account-facts.ts'
import { eventLogOfEachTest } from './event-log-of-each-test.ts'
import { type GivenTransaction, NO_LOGS, transactionColumns } from './execution-columns.ts'
import { silentLog } from './silent-log.ts'

const CHAIN = 'mainnet'
const TIME = '2026-01-01T00:00:12.000Z'
const key = (digit: string): string => `0x${digit.repeat(96)}`
const address = (digit: string): string => `0x${digit.repeat(40)}`
const hash = (digit: string): string => `0x${digit.repeat(64)}`
const [TRACKED, CREATED, NOBODYS] = [key('1'), key('2'), key('3')]
const [WITHDRAWN, TOLD, REGISTERED, BUILDER] = [address('a'), address('b'), address('c'), address('d')]

const eventLog = eventLogOfEachTest()

const fact = { key: ACCOUNTS_KEY, time: TIME }

function identified(
  validators: readonly (readonly [index: number, pubkey: string, credentials: string])[],
): EncodedEvent {
  return encodeEvent(validatorsIdentified, {
    ...{ id: `identified:${validators[0]?.[0]}`, key: CHAIN, time: TIME },
    data: {
      chain: CHAIN,
      validators: validators.map(([index, pubkey, withdrawalCredentials]) => ({
        index,
        pubkey,
        withdrawalCredentials,
      })),
    },
  })
}

function told(pubkey: string, recipient: string): EncodedEvent {
  const data = { chain: CHAIN, recipients: [{ pubkey, address: recipient }], isOwn: true }
  return encodeEvent(feeRecipientsTold, { ...fact, id: `told:${recipient}`, data })
}

const created = encodeEvent(validatorsCreated, {
  ...{ ...fact, id: 'created' },
  data: {
    ...{ chain: CHAIN, account: 'b', requestId: '1'.repeat(64), pubkeys: [CREATED], depositDataRoots: [] },
    ...{ withdrawalCredentials: `0x01${'00'.repeat(11)}${WITHDRAWN.slice(2)}`, depositFrom: WITHDRAWN },
    ...{ feeRecipient: REGISTERED, amountGwei: '32000000000' },
  },
})

async function givenValidators(): Promise<void> {
  await eventLog().append('accounts', [tracked('a', [TRACKED]), told(TRACKED, TOLD), created])
  await eventLog().append('validators', [
    identified([
      [1, TRACKED, `0x02${'00'.repeat(11)}${WITHDRAWN.slice(2)}`],
      [2, CREATED, `0x00${'00'.repeat(31)}`],
      [3, NOBODYS, `0x01${'00'.repeat(11)}${WITHDRAWN.slice(2)}`],
    ]),
  ])
}

function blockOf(transactions: readonly GivenTransaction[], change: Partial<ExecutionBlock> = {}): ExecutionBlock {
  return {
    header: {
      ...{ number: 7, hash: hash('7'), parentHash: hash('6'), timestampSec: 1, coinbase: BUILDER, gasUsed: 0 },
      ...{ extraData: '0x', baseFeePerGasWei: '100' },
    },
    ...{ matchesHash: true, logsCheck: 'receipts', hasOutcomes: true, provenSenders: [] },
    withdrawals: [],
    columns: transactionColumns(transactions),
    logs: NO_LOGS,
    ...change,
  }
}

interface Asked {
  readonly balancesOf: string[][]
  readonly relays: string[]
}

/** A reader whose node tells these balances, and whose relays these claims; and what it asked them. */
function readerOf(balances: Readonly<Record<string, BalanceChange>>, claims: readonly RelayClaim[] = []) {
  const asked: Asked = { balancesOf: [], relays: [] }
  const reader = new BlockEvidenceReader({
    ...{ eventLog: eventLog(), chain: CHAIN, unnamedChain: CHAIN, log: silentLog },
    execution: {
      balanceChanges: async (addresses) => {
        asked.balancesOf.push([...addresses])
        return addresses.map((one) => balances[one])
      },
    },
    relays: {
      count: 1,
      claimsOf: async (block) => {
        asked.relays.push(block)
        return claims
      },
    },
  })
  return { reader, asked }
}

const CLAIM: RelayClaim = {
  ...{ relay: 'relay 1', valueWei: 5n, feeRecipient: TOLD, proposerPubkey: TRACKED, builderPubkey: key('9'), slot: 1 },
}

test('balances are asked at the addresses of a tracked proposer, and corrected by what the block itself says', async () => {
  await givenValidators()
  const { reader, asked } = readerOf({
    [WITHDRAWN]: { beforeWei: 0n, afterWei: 3_000_000_000n },
    [TOLD]: { beforeWei: 9_000_000n, afterWei: 8_000_000n },
  })
  const block = blockOf(
    [
      { sender: TOLD, recipient: BUILDER, valueWei: 7n, priceWei: 101n },
      { sender: TOLD, recipient: BUILDER, valueWei: 8n, priceWei: 101n, succeeded: false },
      { sender: BUILDER, recipient: TOLD, valueWei: 11n, priceWei: 100n },
    ],
    { withdrawals: [{ address: WITHDRAWN, amountGwei: 3n }] },
  )
  const [event, ...more] = await reader.eventsOf(1, block, TIME)
  expect(more).toEqual([])
  expect(event).toMatchObject({ id: `execution.block-evidence:${CHAIN}:${hash('7')}`, time: TIME })
  const none = { withdrawalsWei: '0', receivedWei: '0', spentWei: '0', tipsWei: '0' }
  expect(decodeEvent(blockEvidence, event as EncodedEvent)).toEqual({
    ...{ chain: CHAIN, number: 7, hash: hash('7'), claims: [] },
    balances: [
      {
        address: WITHDRAWN,
        change: { ...none, beforeWei: '0', afterWei: '3000000000', withdrawalsWei: '3000000000' },
      },
      {
        address: TOLD,
        // Both transactions burn 21,000 * 101; the second one fails and moves nothing.
        change: { ...none, beforeWei: '9000000', afterWei: '8000000', receivedWei: '11', spentWei: '4242007' },
      },
    ],
  })
  expect(asked).toEqual({ balancesOf: [[WITHDRAWN, TOLD]], relays: [hash('7')] })
})

test('the coinbase’s balance is corrected by the tips', async () => {
  await givenValidators()
  const { reader } = readerOf({ [REGISTERED]: { beforeWei: 1n, afterWei: 21_001n } })
  const block = blockOf([{ sender: BUILDER, recipient: TOLD, priceWei: 101n }])
  const own = { ...block, header: { ...block.header, coinbase: REGISTERED } }
  const [event] = await reader.eventsOf(2, own, TIME)
  expect(decodeEvent(blockEvidence, event as EncodedEvent).balances).toMatchObject([
    { address: REGISTERED, change: { tipsWei: '21000' } },
  ])
})

test('nobody is asked about a proposer that no account has', async () => {
  await givenValidators()
  const { reader, asked } = readerOf({ [WITHDRAWN]: { beforeWei: 0n, afterWei: 1n } }, [CLAIM])
  expect(await reader.eventsOf(3, blockOf([]), TIME)).toEqual([])
  expect(await reader.eventsOf(4, blockOf([]), TIME)).toEqual([])
  expect(asked).toEqual({ balancesOf: [], relays: [] })
})

test('a relay’s claim is kept where no node tells balances', async () => {
  await givenValidators()
  const [event] = await readerOf({}, [CLAIM]).reader.eventsOf(1, blockOf([]), TIME)
  expect(decodeEvent(blockEvidence, event as EncodedEvent)).toMatchObject({
    balances: [],
    claims: [{ ...CLAIM, valueWei: '5' }],
  })
  expect(await readerOf({}).reader.eventsOf(1, blockOf([]), TIME)).toEqual([])
})

test.each<[string, ExecutionBlock]>([
  ['withdrawals are not proven', blockOf([], { withdrawals: undefined })],
  ['nothing tells what became of the transactions', blockOf([], { hasOutcomes: false })],
  ['the address has sent blobs, whose price is not in the block', blockOf([{ type: 3, sender: TOLD }])],
])('a balance is left out where %s', async (_, block) => {
  await givenValidators()
  const { reader } = readerOf({ [TOLD]: { beforeWei: 0n, afterWei: 1n } })
  expect(await reader.eventsOf(1, block, TIME)).toEqual([])
})

test('of many addresses the newest eight are asked about', async () => {
  await givenValidators()
  const more = Array.from({ length: 9 }, (_, i) => `0x${String(i).repeat(40)}`)
  await eventLog().append(
    'accounts',
    more.map((one) => told(TRACKED, one)),
  )
  const { reader, asked } = readerOf({})
  await reader.eventsOf(1, blockOf([]), TIME)
  expect(asked.balancesOf).toEqual([more.slice(1)])
})
