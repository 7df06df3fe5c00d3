import { expect, test } from 'vitest'
import { type EstimatedValidator, statusEstimates } from '../../api/validators/status-estimates.ts'
import { VALIDATOR_STATUSES, type ValidatorStatus } from '../../schemas/events/beacon-epoch.ts'
import type { EpochsAtHead, QueueFacts } from '../../schemas/tables/chain-queues.ts'

const clock = { genesisTimeSec: 0, secondsPerSlot: 12, slotsPerEpoch: 32 }
const EPOCH_SEC = 384
/** Final; the head is two epochs ahead. */
const horizon = { clock, epoch: 998 }
const FAR = String(2n ** 64n - 1n)
const PUBKEY = `0x${'ab'.repeat(48)}`
const MINE = 'ab'.repeat(8)
const NOBODY = new Map<number, number>()

const facts: QueueFacts = {
  clock,
  slot: 32_000,
  finalityLag: 1,
  seedLookahead: 4,
  exitDelayEpochs: 256,
  serviceEpochs: 256,
  minActivationGwei: '32000000000',
  deposits: { own: [], endEpoch: 1_020, isCarryKnown: true, isSampled: false },
  exits: { earliestEpoch: 1_010, leftGwei: '0', limitGwei: '256000000000', isExact: true },
  sweep: {
    position: 0,
    registrySize: 1_600,
    eligible: 1_600,
    partials: 0,
    perBlockMax: 16,
    partialsPerBlockMax: 8,
    examinedPerBlockMax: 16_384,
  },
}

interface Given {
  readonly status?: ValidatorStatus
  readonly activation?: number
  readonly exit?: number
  readonly withdrawable?: number
  readonly effectiveEth?: number
}

function registered({ status = 'active_ongoing', activation, exit, withdrawable, effectiveEth = 32 }: Given) {
  const gwei = String(BigInt(effectiveEth) * 1_000_000_000n)
  return {
    validator_index: 800,
    balance_gwei: gwei,
    effective_balance_gwei: gwei,
    status: VALIDATOR_STATUSES.indexOf(status),
    slashed: 0,
    activation_epoch: activation === undefined ? FAR : String(activation),
    exit_epoch: exit === undefined ? FAR : String(exit),
    withdrawable_epoch: withdrawable === undefined ? FAR : String(withdrawable),
  }
}

/** Estimated epochs (fractions for slots within) and errors in epochs. */
function estimated(
  validator: Partial<EstimatedValidator>,
  { known = facts, swept = NOBODY }: { readonly known?: QueueFacts | undefined; readonly swept?: typeof NOBODY } = {},
) {
  const given = { pubkey: PUBKEY, registered: undefined, depositSlot: undefined, isNeedExit: false, ...validator }
  const found = statusEstimates(given, { horizon, facts: known, swept })
  const epochAt = (instant: string | null) => (instant === null ? null : Date.parse(instant) / 1_000 / EPOCH_SEC)
  const inEpochs = (seconds: number | null) => (seconds === null ? null : seconds / EPOCH_SEC)
  return {
    active: epochAt(found.estimated_active_at),
    exit: epochAt(found.estimated_exit_at),
    withdrawal: epochAt(found.estimated_withdrawal_at),
    errors: [found.error_seconds.active, found.error_seconds.exit, found.error_seconds.withdrawal].map(inEpochs),
  }
}

const NOTHING = { active: null, exit: null, withdrawal: null, errors: [null, null, null] }
const queued = (...own: QueueFacts['deposits']['own']): QueueFacts => ({
  ...facts,
  deposits: { ...facts.deposits, own },
})

test('a validator without a deposit has no estimates', () => {
  expect(estimated({})).toEqual(NOTHING)
  // Whoever has sent what waits for its key, it is not the deposit that was signed.
  expect(estimated({}, { known: queued([MINE, '32000000000', 1_010]) })).toEqual(NOTHING)
})

test('one that waits is active seven epochs after its deposit is credited', () => {
  const found = estimated({ depositSlot: 31_000 }, { known: queued([MINE, '32000000000', 1_010]) })
  expect(found).toEqual({ ...NOTHING, active: 1_017, errors: [1, null, null] })
})

test('one that waits with several deposits is active after the one that makes up 32 ETH', () => {
  const parts = queued([MINE, '1000000000', 1_004], [MINE, '31000000000', 1_010], [MINE, '1000000000', 1_015])
  expect(estimated({ depositSlot: 31_000 }, { known: parts }).active).toBe(1_017)
})

test('a deposit that came after the queue was read waits at its end, until it is final at least', () => {
  expect(estimated({ depositSlot: 32_010 })).toMatchObject({ active: 1_027, errors: [2, null, null] })
  expect(estimated({ depositSlot: 1_030 * 32 + 16 }).active).toBe(1_040)
})

test('a deposit that has left the queue, and is not final in the registry, is active within seven epochs', () => {
  expect(estimated({ depositSlot: 31_000 })).toMatchObject({ active: 1_007, errors: [2, null, null] })
})

test('less is known of a queue without its carry, and of one whose limit is that of a sample', () => {
  const mine = queued([MINE, '32000000000', 1_100])
  const withoutCarry = { ...mine, deposits: { ...mine.deposits, isCarryKnown: false } }
  expect(estimated({ depositSlot: 31_000 }, { known: withoutCarry }).errors).toEqual([2, null, null])
  const sampled = { ...mine, deposits: { ...mine.deposits, isSampled: true } }
  expect(estimated({ depositSlot: 31_000 }, { known: sampled }).errors).toEqual([5, null, null])
})

test.each([
  { status: 'pending_initialized' as const, active: 1_005 },
  { status: 'pending_queued' as const, active: 1_004 },
])('one that is $status is active in epoch $active', ({ status, active }) => {
  expect(estimated({ registered: registered({ status }) })).toMatchObject({ active, errors: [1, null, null] })
})

test('one in the registry with too little waits for its next deposit', () => {
  const small = { registered: registered({ status: 'pending_initialized', effectiveEth: 1 }) }
  expect(estimated(small)).toEqual(NOTHING)
  expect(estimated(small, { known: queued([MINE, '31000000000', 1_012]) }).active).toBe(1_019)
})

test('epochs that the chain has fixed are exact, whatever waits', () => {
  const leaving = {
    registered: registered({ status: 'active_exiting', activation: 10, exit: 1_234, withdrawable: 1_490 }),
  }
  const found = estimated({ ...leaving, isNeedExit: true }, { known: queued([MINE, '32000000000', 1_100]) })
  expect(found).toMatchObject({ active: 10, exit: 1_234 })
  expect(found.errors.slice(0, 2)).toEqual([0, 0])
})

test('an exit has no estimate before one is asked for, then the end of the queue', () => {
  const active = registered({ activation: 10 })
  expect(estimated({ registered: active })).toEqual({ ...NOTHING, active: 10, errors: [0, null, null] })
  const leaving = estimated({ registered: active, isNeedExit: true })
  expect(leaving).toMatchObject({ active: 10, exit: 1_011 })
  expect(leaving.errors.slice(0, 2)).toEqual([0, 1])
  const told = { ...facts, exits: { ...facts.exits, isExact: false } }
  expect(estimated({ registered: active, isNeedExit: true }, { known: told }).errors[1]).toBe(2)
})

test('exits of one account wait for each other, in an order that nobody knows', () => {
  const leaving = {
    pubkey: PUBKEY,
    registered: registered({ activation: 10 }),
    depositSlot: undefined,
    isNeedExit: true,
  }
  const around = { horizon, facts, swept: NOBODY, exitingGwei: 100n * 32_000_000_000n }
  const found = statusEstimates(leaving, around)
  // From 1,011, the first of 8 an epoch, to 1,023.
  expect(Date.parse(found.estimated_exit_at ?? '') / 1_000 / EPOCH_SEC).toBe(1_017)
  expect(found.error_seconds.exit).toBe((1 + 6) * EPOCH_SEC)
})

const atHead = (...epochs: EpochsAtHead): QueueFacts => ({ ...facts, own: { [MINE]: epochs } })

test('what the head has fixed is told although it is not final: it may be reverted', () => {
  const leaving = { registered: registered({ activation: 10 }), isNeedExit: true }
  const found = estimated(leaving, { known: atHead(4, 10, 1_005, 1_261) })
  expect(found).toMatchObject({ active: 10, exit: 1_005, withdrawal: 1_261 + 50 / 32 })
  expect(found.errors).toEqual([0, 1, 1 + 50 / 32])
  // Whoever has asked for it.
  expect(estimated({ ...leaving, isNeedExit: false }, { known: atHead(4, 10, 1_005, 1_261) }).exit).toBe(1_005)
  const coming = { registered: registered({ status: 'pending_queued' }) }
  expect(estimated(coming, { known: atHead(999, 1_006, null, null) })).toMatchObject({
    active: 1_006,
    errors: [1, null, null],
  })
})

test('one that was slashed is paid later than its exit tells', () => {
  const slashed = estimated({ registered: registered({ activation: 10 }) }, { known: atHead(4, 10, 1_005, 9_192) })
  expect(slashed.withdrawal).toBe(9_192 + 50 / 32)
})

test.each([
  { what: 'is eligible there', own: [1_000, null, null, null] as const, active: 1_006 },
  { what: 'has just come', own: [null, null, null, null] as const, active: 1_007 },
  { what: 'has been eligible for long without finality', own: [700, null, null, null] as const, active: 1_005 },
])('one that is only in the registry at the head and $what is active in $active', ({ own, active }) => {
  const found = estimated({ depositSlot: 31_000 }, { known: atHead(...(own as unknown as EpochsAtHead)) })
  expect(found).toMatchObject({ active, errors: [1, null, null] })
})

test('one that is too young exits when it has served', () => {
  const young = estimated({ registered: registered({ activation: 900 }), isNeedExit: true })
  expect(young).toMatchObject({ exit: 900 + 256 + 5 })
  expect(young.errors[1]).toBe(2)
})

test('a withdrawal comes with the sweep after the withdrawable epoch', () => {
  const soon = registered({ status: 'exited_unslashed', activation: 10, exit: 745, withdrawable: 1_001 })
  // The sweep takes 100 slots; at slot 32,032 it has come to 512, and to 800 18 slots later.
  expect(estimated({ registered: soon })).toMatchObject({ withdrawal: (32_032 + 18) / 32 })
  const late = registered({ status: 'active_exiting', activation: 10, exit: 1_744, withdrawable: 2_000 })
  const found = estimated({ registered: late })
  expect(found.withdrawal).toBe(2_000 + 50 / 32)
  expect(found.errors[2]).toBe(50 / 32)
})

test('a withdrawal of one that only wants to leave adds what is not known of its exit', () => {
  const found = estimated({ registered: registered({ activation: 10 }), isNeedExit: true })
  expect(found.withdrawal).toBe(1_011 + 256 + 50 / 32)
  expect(found.errors[2]).toBe(1 + 50 / 32)
})

test('what was paid was paid when it was', () => {
  const done = registered({ status: 'withdrawal_done', activation: 10, exit: 500, withdrawable: 756 })
  const found = estimated({ registered: done }, { swept: new Map([[800, 24_320]]) })
  expect(found).toEqual({ active: 10, exit: 500, withdrawal: 760, errors: [0, 0, 0] })
})

test('where nobody has told what waits, fixed epochs are all there is, and the sweep has no known error', () => {
  const leaving = registered({ status: 'active_exiting', activation: 10, exit: 1_234, withdrawable: 1_490 })
  const found = statusEstimates(
    { pubkey: PUBKEY, registered: leaving, depositSlot: undefined, isNeedExit: false },
    { horizon, facts: undefined, swept: NOBODY },
  )
  expect(found.error_seconds).toEqual({ active: 0, exit: 0, withdrawal: null })
  expect(Date.parse(found.estimated_withdrawal_at ?? '')).toBe(1_490 * EPOCH_SEC * 1_000)
})
