import { describe, expect, it } from 'vitest'
import { executionRevertEvent } from '../../ingest/execution/block-events.ts'
import { everyAccount } from '../../processors/derive.ts'
import { project } from '../../processors/loop/consume.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { paymentEvidence } from '../../processors/rewards/payment-evidence.ts'
import { settleBlocks } from '../../processors/settlements/settle.ts'
import { proveSettlements } from '../../processors/verify/prove-settlements.ts'
import { findUnexplainedRevenue } from '../../processors/verify/unexplained-revenue.ts'
import { ACCOUNTS_KEY, feeRateSet, validatorsTracked } from '../../schemas/events/accounts.ts'
import { decodeEvent, type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { executionBlock } from '../../schemas/events/execution-block.ts'
import { feeRecipientsTold } from '../../schemas/events/fee-recipients.ts'
import { tracked } from './account-facts.ts'
import { withFailedPayment } from './changed-events.ts'
import { dumpTables, projecting, rebuildFrom } from './projecting.ts'
import { chain, type Row, rebuiltTablesOfFile } from './rebuilt-tables.ts'

/** Behind those of all that is right. */
const ALTERED_VERSION = 2 ** 40
const TEST_MS = 120_000
const never = new AbortController().signal
const { stores, warehouse, rebuilt, whole } = rebuiltTablesOfFile()

describe('a settlement', () => {
  const blocks = chain.events.get('execution.blocks') ?? []
  const builders = blocks.filter((event) => paymentEvidence(decodeEvent(executionBlock, event)).length > 0)
  const settled = () => warehouse().query<Row>('SELECT * EXCEPT (version) FROM settlements FINAL ORDER BY slot')

  const reverted = (event: EncodedEvent): EncodedEvent => {
    const { chain, number, hash } = decodeEvent(executionBlock, event).header
    return executionRevertEvent(chain, { number, hash }, event.time)
  }

  it.each([
    ['turns out to prove no revenue', withFailedPayment],
    ['is reverted', reverted],
  ])('is taken back when its block %s, and comes again with it', { timeout: TEST_MS }, async (_, change) => {
    await whole()
    const before = await settled()
    const changed = builders.map(change)
    await using eventLog = await stores().openLog(new Map([['execution.blocks', [...blocks, ...changed, ...builders]]]))
    const stored = await Array.fromAsync(eventLog.read({ topic: 'execution.blocks', signal: never }))
    const projector = PROJECTORS.find(({ topic }) => topic === 'execution.blocks')
    if (projector === undefined) throw new Error('no projector of execution blocks')
    const ports = await projecting(eventLog, warehouse())
    await project(ports, projector, stored.slice(blocks.length, blocks.length + changed.length))
    await ports.wanted.make()
    expect((await settled()).map(({ slot }) => slot)).toEqual(
      before.map(({ slot }) => slot).filter((slot) => Number(slot) % 2 === 0),
    )
    expect(await proveSettlements(warehouse())).toMatchObject({ wrong: 0 })
    await project(ports, projector, stored.slice(blocks.length + changed.length))
    await ports.wanted.make()
    expect(await settled()).toEqual(before)
  })

  it('comes, and its day’s revenue with it, when the operator tells whom the proposer is paid at', {
    timeout: TEST_MS,
  }, async () => {
    const facts = chain.events.get('accounts') ?? []
    const isTold = ({ type }: EncodedEvent) => type === feeRecipientsTold.name
    const told = facts.filter(isTold)
    await using eventLog = await stores().openLog(
      new Map([...chain.events, ['accounts', [...facts.filter((fact) => !isTold(fact)), ...told]]]),
    )
    await rebuildFrom(eventLog, warehouse())
    const whole = await dumpTables(warehouse())
    const builderSlots = builders.map((event) => decodeEvent(executionBlock, event).header.number)
    await using untold = await stores().openLog(
      new Map([...chain.events, ['accounts', facts.filter((fact) => !isTold(fact))]]),
    )
    await rebuildFrom(untold, warehouse())
    const before = (await settled()).map(({ slot }) => Number(slot))
    // Odd validators propose builders' blocks only, so nothing shows whom they are paid at.
    expect(before.filter((slot) => builderSlots.includes(slot))).toEqual([])
    const [unexplained] = await findUnexplainedRevenue(warehouse())
    const closed = await warehouse().query<{ slot: string }>(
      'SELECT slot FROM finalized_blocks FINAL WHERE proposer_index < 5 AND day IN (SELECT day FROM closed_days)',
    )
    const own = closed.map(({ slot }) => Number(slot)).filter((slot) => builderSlots.includes(slot))
    const claimed = own.reduce((sum, slot) => sum + 10n ** 15n + BigInt(slot), 0n)
    expect(unexplained).toMatchObject({ chain: 'mainnet', blocks: `${own.length}`, claimed_wei: `${claimed}` })
    expect(own.length).toBeGreaterThan(0)
    const projector = PROJECTORS.find(({ topic }) => topic === 'accounts')
    if (projector === undefined) throw new Error('no projector of accounts')
    const ports = await projecting(eventLog, warehouse())
    const stored = await Array.fromAsync(eventLog.read({ topic: 'accounts', signal: never }))
    await project(ports, projector, stored.slice(-told.length))
    await ports.wanted.make()
    expect(await dumpTables(warehouse())).toEqual(whole)
    expect(await findUnexplainedRevenue(warehouse())).toEqual([])
  })

  it('is proven: one that is missing, one that pays nothing proven and one with a wrong fee are named', {
    timeout: TEST_MS,
  }, async () => {
    await whole()
    expect(await proveSettlements(warehouse())).toEqual({ checked: chain.settledBlocks, wrong: 0, examples: [] })
    const [first, second] = (await settled()).map(({ slot }) => slot)
    const change = (what: string) =>
      warehouse().command(
        `INSERT INTO settlements SELECT * REPLACE (${what}) FROM settlements AS s FINAL WHERE s.slot = ${second}`,
      )
    await warehouse().command(`ALTER TABLE settlements DELETE WHERE slot = ${first} SETTINGS mutations_sync = 1`)
    const altered = async (what: string): Promise<readonly string[]> => {
      await change(`${what}, version + ${ALTERED_VERSION} AS version`)
      const { examples } = await proveSettlements(warehouse())
      await warehouse().command(
        `ALTER TABLE settlements DELETE WHERE version > ${ALTERED_VERSION} SETTINGS mutations_sync = 1`,
      )
      return examples.filter(({ slot }) => slot === second).map(({ reason }) => reason)
    }
    const [named, timed, paid] = [
      'it names another block or proposer than the chain',
      'its time is not that of the block',
      'its class or payee is not that of the block',
    ]
    expect(await altered('block_number + 1 AS block_number')).toEqual([named])
    expect(await altered('validator_index + 1 AS validator_index')).toEqual([named])
    expect(await altered(`'0x${'aa'.repeat(48)}' AS pubkey`)).toEqual([named])
    expect(await altered('time + 3456000 AS time')).toEqual([timed])
    expect(await altered(`'0x${'01'.repeat(20)}' AS fee_address`)).toEqual([paid])
    expect(await altered("'coinbase_is_proposer' AS revenue_class")).toEqual([paid])
    expect(await altered('time AS time')).toEqual([])
    await change(
      'service_fee_wei + 1 AS service_fee_wei, user_reward_wei - 1 AS user_reward_wei, version + 1 AS version',
    )
    await change('slot + 1000 AS slot')
    expect(await proveSettlements(warehouse())).toEqual({
      checked: chain.settledBlocks + 1,
      wrong: 3,
      examples: [
        { chain: 'mainnet', account: 'a', slot: first, reason: 'proven revenue is not settled' },
        {
          chain: 'mainnet',
          account: 'a',
          slot: second,
          reason: 'the fee is not the revenue times the rate, rounded down',
        },
        {
          chain: 'mainnet',
          account: 'a',
          slot: String(Number(second) + 1000),
          reason: 'settled without proven revenue',
        },
      ],
    })
  })

  it('is made in pages where the history of an account is long', { timeout: TEST_MS }, async () => {
    await whole()
    const before = await settled()
    await warehouse().command('TRUNCATE TABLE settlements')
    await settleBlocks(warehouse(), { by: 'accounts', accounts: ['a'] }, 7)
    expect(await settled()).toEqual(before)
  })

  it('is the same of accounts that are settled together and one by one', { timeout: TEST_MS }, async () => {
    const facts = chain.events.get('accounts') ?? []
    const all = facts
      .filter(({ type }) => type === validatorsTracked.name)
      .map((e) => decodeEvent(validatorsTracked, e))
    const given = tracked('b', all.flatMap(({ pubkeys }) => pubkeys).slice(0, 2))
    await rebuilt(new Map([...chain.events, ['accounts', [...facts, given]]]))
    const [before, accounts] = [await settled(), await everyAccount(warehouse())]
    expect(new Set(before.map(({ account }) => account))).toEqual(new Set(accounts))
    expect(accounts.toSorted()).toEqual(['a', 'b'])
    for (const groups of [[accounts], accounts.map((account) => [account])]) {
      await warehouse().command('TRUNCATE TABLE settlements')
      for (const some of groups) await settleBlocks(warehouse(), { by: 'accounts', accounts: some })
      expect(await settled()).toEqual(before)
    }
  })

  it('takes a rate from the beginning of time as one that had begun, and one of the far future as one that had not', {
    timeout: TEST_MS,
  }, async () => {
    const rate = (text: string, effectiveFrom: string) =>
      encodeEvent(feeRateSet, {
        id: `account.fee-rate-set:a:${effectiveFrom}`,
        key: ACCOUNTS_KEY,
        time: '2026-01-01T00:00:00.000Z',
        data: { account: 'a', rate: text, effectiveFrom },
      })
    const facts = (chain.events.get('accounts') ?? []).filter(({ type }) => type !== feeRateSet.name)
    const rates = [rate('0.125', '1969-12-31T16:00:00.000Z'), rate('0.5', '9999-12-31T16:00:00.000Z')]
    await rebuilt(new Map([...chain.events, ['accounts', [...facts, ...rates]]]))
    expect(await warehouse().query('SELECT DISTINCT fee_rate FROM settlements FINAL')).toEqual([{ fee_rate: '0.125' }])
  })
})
