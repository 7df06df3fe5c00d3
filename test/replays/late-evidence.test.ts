import { beforeAll, describe, expect, it } from 'vitest'
import { type Projector, project } from '../../processors/loop/consume.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { proveDays } from '../../processors/verify/prove-days.ts'
import { proveSettlements } from '../../processors/verify/prove-settlements.ts'
import { ACCOUNTS_KEY } from '../../schemas/events/accounts.ts'
import { type BlockEvidence, blockEvidence } from '../../schemas/events/block-evidence.ts'
import { decodeEvent, type EncodedEvent, encodeEvent, type Topic } from '../../schemas/events/codec.ts'
import { validatorsCreated } from '../../schemas/events/created-validators.ts'
import { depositContractTold } from '../../schemas/events/deposit-contract.ts'
import { executionBlock } from '../../schemas/events/execution-block.ts'
import { GIVEN_CHAIN, givenChain, givenKey } from '../unit/given-chain.ts'
import { dumpTables, projecting, rebuildFrom } from '../unit/projecting.ts'
import { storesOfFile } from '../unit/warehouse-of-file.ts'

// What a block's revenue follows from comes in whatever order topics and keys give: evidence behind its block, the address of a
// validator's creation and the chain's deposit contract behind all blocks. Whole logs give the same tables all the same.

const TEST_MS = 120_000
const chain = givenChain(18)
const never = new AbortController().signal
const [PAYEE, OTHER] = [`0x${'fe'.repeat(20)}`, `0x${'0d'.repeat(20)}`]
const VALIDATOR = 1

/** Each block of the log with what a relay says of it: odd ones are builders', and every fifth of these is lied about. */
function evidenceOf(event: EncodedEvent): EncodedEvent {
  const { number, hash } = decodeEvent(executionBlock, event).header
  const paid = number % 2 === 1 ? 10n ** 15n + BigInt(number) : 292_000n
  const claim = { relay: 'relay 1', feeRecipient: PAYEE, builderPubkey: givenKey(0), slot: number }
  const proposerPubkey = givenKey(number % 6)
  const none = { beforeWei: '7', withdrawalsWei: '0', receivedWei: '0', spentWei: '0', tipsWei: '0' }
  const data: BlockEvidence = {
    ...{ chain: GIVEN_CHAIN, number, hash },
    balances: [{ address: PAYEE, change: { ...none, afterWei: '12' } }],
    claims: number % 3 === 0 ? [] : [{ ...claim, proposerPubkey, valueWei: `${number % 5 === 0 ? 1n : paid}` }],
  }
  return encodeEvent(blockEvidence, { id: `evidence:${hash}`, key: event.key, time: event.time, data })
}

const created = encodeEvent(validatorsCreated, {
  ...{ id: 'created', key: ACCOUNTS_KEY, time: '2026-01-01T00:00:00.000Z' },
  data: {
    ...{ chain: GIVEN_CHAIN, account: 'a', requestId: '1'.repeat(64), pubkeys: [givenKey(VALIDATOR)] },
    ...{ withdrawalCredentials: `0x01${'00'.repeat(11)}${'cc'.repeat(20)}`, depositFrom: OTHER, feeRecipient: OTHER },
    ...{ amountGwei: '32000000000', depositDataRoots: [] },
  },
})
const contract = encodeEvent(depositContractTold, {
  ...{ id: 'contract', key: GIVEN_CHAIN, time: '2026-01-01T00:00:00.000Z' },
  data: { chain: GIVEN_CHAIN, address: `0x${'de'.repeat(20)}` },
})

const blocks = chain.events.get('execution.blocks') ?? []
const evidence = blocks.map(evidenceOf)
/** What was told of it when the block was read: of some blocks relays tell only when they are asked again. */
const first = evidence.map((event, i) => {
  const data = decodeEvent(blockEvidence, event)
  return i % 4 === 0 ? encodeEvent(blockEvidence, { ...event, data: { ...data, claims: [] } }) : event
})
const more: ReadonlyMap<Topic, readonly EncodedEvent[]> = new Map([
  ['accounts', [...(chain.events.get('accounts') ?? []), created]],
  ['validators', [...(chain.events.get('validators') ?? []), contract]],
  // Some of it before its block, as it is written, and some long after it, as a backfill brings it.
  [
    'execution.blocks',
    [...blocks.flatMap((block, i) => (i % 2 === 0 ? [first[i] as EncodedEvent, block] : [block])), ...evidence],
  ],
])

describe('a log with evidence', () => {
  const stores = storesOfFile()
  let right: Record<string, unknown[]>

  const openLog = () => stores().openLog(new Map([...chain.events, ...more]))

  beforeAll(async () => {
    await using eventLog = await openLog()
    await rebuildFrom(eventLog, stores().warehouse)
    right = await dumpTables(stores().warehouse)
  }, TEST_MS)

  it('has classes that tell builders’ blocks from local ones, and proves its days and settlements', async () => {
    const settled = right.settlements as { slot: string; revenue_class: string; revenue_wei: string }[]
    expect(new Set(settled.map(({ revenue_class }) => revenue_class))).toEqual(
      new Set(['builder_payment', 'local', 'coinbase_is_proposer']),
    )
    for (const { slot, revenue_class, revenue_wei } of settled) {
      const number = Number(slot)
      const isClaimed = number % 3 !== 0
      const expected = number % 2 === 1 ? 'builder_payment' : isClaimed ? 'coinbase_is_proposer' : 'local'
      expect(revenue_class, slot).toBe(expected)
      expect(revenue_wei, slot).toBe(`${number % 2 === 1 ? 10n ** 15n + BigInt(number) : 292_000n}`)
    }
    expect(right.block_balances).toHaveLength(blocks.length)
    expect(right.relay_claims?.length).toBeGreaterThan(blocks.length / 2)
    for (const proof of (await Array.fromAsync(proveDays(stores().warehouse))).flat())
      expect(proof).toMatchObject({ stored_agrees: 1 })
    expect((await proveSettlements(stores().warehouse)).examples).toEqual([])
  })

  it.each(['validators', 'accounts', 'execution.blocks'] as const)(
    'gives the same tables where %s come last, made after every few events',
    { timeout: TEST_MS },
    async (topic) => {
      const isLast = (projector: Projector): boolean => projector.topic === topic
      const projectors = [...PROJECTORS.filter((one) => !isLast(one)), ...PROJECTORS.filter(isLast)]
      const { warehouse, empty } = stores()
      await empty()
      await using eventLog = await openLog()
      const ports = await projecting(eventLog, warehouse)
      for (const projector of projectors) {
        const stored = await Array.fromAsync(eventLog.read({ topic: projector.topic, signal: never }))
        const most = Math.ceil(stored.length / 3)
        for (let at = 0; at < stored.length; at += most) {
          await project(ports, projector, stored.slice(at, at + most))
          await ports.wanted.make()
        }
      }
      expect(await dumpTables(warehouse)).toEqual(right)
    },
  )
})
