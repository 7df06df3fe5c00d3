import { beforeAll, describe, expect, test } from 'vitest'
import type { ExecutionBlock } from '../../infra/ports/execution-source.ts'
import { explainedBalance } from '../../ingest/execution/balance-change.ts'
import { executionBlockEvents } from '../../ingest/execution/block-events.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { blockEvidence } from '../../schemas/events/block-evidence.ts'
import { decodeEvent, type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { executionBlock } from '../../schemas/events/execution-block.ts'
import { asEarlierRelease } from './changed-events.ts'
import { NO_LOGS, transactionColumns } from './execution-columns.ts'
import { hashOf, insertEvents, insertProposers, pubkeyOf, type RevenueRow, revenuesOf } from './given-revenue.ts'
import {
  BASE_FEE_WEI,
  CREDITED,
  DEPOSIT_CONTRACT,
  OWN,
  PAYMENT_CASES,
  type PaymentCase,
  REGISTERED,
} from './payment-cases.ts'
import { storesOfFile } from './warehouse-of-file.ts'

// From a block's transactions, and what a node and relays say of it, by way of events and rows to the class and the figure.

const CHAIN = 'mainnet'
const TIME = '2026-01-01T00:00:00.000Z'
/** Several cases may say the same of different blocks; the number tells them apart. */
const CASES = PAYMENT_CASES.map((one, number) => ({ ...one, number }))

/** Each case has a proposer of its own, whose index is the case's number. */
const proposerOf = ({ number, coinbase, told = [OWN], created }: Numbered) => ({
  ...{ number, blockHash: hashOf(number), coinbase, told, withdrawalAddress: CREDITED },
  ...{ depositContract: DEPOSIT_CONTRACT, registered: created === true ? REGISTERED : undefined },
})

type Numbered = PaymentCase & { readonly number: number }

function blockOf({ number, coinbase, extraData = 'geth', adds = [], withdrawnGwei = [] }: Numbered): ExecutionBlock {
  const last = adds.length - 1
  return {
    header: {
      ...{ number, hash: hashOf(number), parentHash: hashOf(number + 1_000), timestampSec: 1, coinbase, gasUsed: 0 },
      ...{ extraData: hexOf(Buffer.from(extraData)), baseFeePerGasWei: `${BASE_FEE_WEI}` },
    },
    matchesHash: true,
    logsCheck: 'receipts',
    hasOutcomes: true,
    provenSenders: adds.flatMap(({ sender }, i) => (sender === coinbase || i >= last - 1 ? [i] : [])),
    withdrawals: withdrawnGwei,
    columns: transactionColumns(adds),
    logs: NO_LOGS,
  }
}

function eventsOf(one: Numbered): readonly EncodedEvent[] {
  const block = blockOf(one)
  const balances = (one.balances ?? []).flatMap(({ address, before, after }) => {
    const change = explainedBalance(address, { beforeWei: before, afterWei: after }, block)
    return change === undefined ? [] : [{ address, change }]
  })
  const claims = (one.claims ?? []).map(({ valueWei, ofAnother }, i) => ({
    ...{
      relay: `relay ${i + 1}`,
      valueWei: `${valueWei}`,
      feeRecipient: OWN,
      builderPubkey: pubkeyOf(0),
      slot: one.number,
    },
    proposerPubkey: pubkeyOf(ofAnother === true ? one.number + 1_000 : one.number),
  }))
  const { number, hash } = block.header
  const evidence = encodeEvent(blockEvidence, {
    ...{ id: `execution.block-evidence:${CHAIN}:${hash}`, key: CHAIN, time: TIME },
    data: { chain: CHAIN, number, hash, balances, claims },
  })
  return [evidence, ...executionBlockEvents(CHAIN, block, TIME).blocks]
}

const stores = storesOfFile()
let found: ReadonlyMap<number, RevenueRow>

describe('what a block has paid its proposer', () => {
  beforeAll(async () => {
    const { warehouse, empty } = stores()
    await empty()
    await insertProposers(warehouse, CASES.map(proposerOf))
    await insertEvents(warehouse, CASES.flatMap(eventsOf))
    found = await revenuesOf(warehouse)
  })

  test.each(CASES)('$expected.class: $reason', ({ number, expected }) => {
    expect(found.get(number)).toEqual({
      revenue_class: expected.class,
      revenue_wei: expected.revenue,
      claimed_wei: expected.claimed ?? expected.revenue,
      recipient: expected.recipient,
      is_contradicted: expected.contradicted === true ? 1 : 0,
    })
  })

  test('of every class there are several cases', () => {
    const counts = Map.groupBy(CASES, ({ expected }) => expected.class)
    expect([...counts].map(([name, cases]) => `${name} ${cases.length}`).toSorted()).toEqual([
      'builder_payment 19',
      'coinbase_is_proposer 5',
      'direct_transfers 10',
      'local 10',
      'relay_only 2',
      'unexplained 12',
    ])
  })
})

describe('a block that an earlier release has told', () => {
  /** What it was read as: by what its coinbase has sent in the last transaction, and nothing else. */
  const READ_THEN: Readonly<Record<string, readonly [revenueClass: string, revenueWei: string]>> = {
    'the coinbase pays in the last transaction, and keeps the tips': ['builder_payment', '5000000'],
    'the refund behind it takes nothing from the payment, and is not in its place': ['unexplained', '0'],
    'what is sent to nobody pays nobody': ['unexplained', '0'],
    'a deposit pays nobody': ['unexplained', '0'],
    'another wallet pays in the last transaction, without a tip: only whoever made the block lets that in': [
      'unexplained',
      '0',
    ],
    'a builder is named and nobody paid: the builder left the tips to the proposer’s coinbase': ['local', '84000'],
    'of whom nothing was told, a block that names a builder shows no coinbase of the proposer’s': ['local', '84000'],
    'it pays the address that the validator was made with': ['unexplained', '0'],
  }

  test('stays as it was served, whatever is read out of new ones', async () => {
    const { warehouse, empty } = stores()
    await empty()
    const cases = CASES.filter(({ reason }) => reason in READ_THEN)
    await insertProposers(warehouse, cases.map(proposerOf))
    const blocks = cases.flatMap((one) => executionBlockEvents(CHAIN, blockOf(one), TIME).blocks)
    const earlier = blocks.map(asEarlierRelease)
    for (const event of earlier) expect(decodeEvent(executionBlock, event).header).not.toHaveProperty('provenSenders')
    await insertEvents(warehouse, earlier)
    const rows = await revenuesOf(warehouse)
    const read = cases.map(({ number, reason }) => {
      const row = rows.get(number)
      return [reason, [row?.revenue_class, row?.revenue_wei]]
    })
    expect(Object.fromEntries(read)).toEqual(READ_THEN)
  })
})
