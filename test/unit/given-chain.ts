import { pubkeyOf } from '../../infra/devnet/consensus/keys.ts'
import { chainKey } from '../../schemas/chains.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import {
  type ChainClock,
  dayOfSlot,
  epochOf,
  firstSlotOfDay,
  formatDay,
  formatInstant,
  slotTimeSec,
} from '../../schemas/eth/time.ts'
import { ACCOUNTS_KEY, feeRateSet, hashToken, tokenCreated, validatorsTracked } from '../../schemas/events/accounts.ts'
import type { BalanceEffect } from '../../schemas/events/balance-effects.ts'
import { beaconBlock } from '../../schemas/events/beacon-block.ts'
import {
  dayBalances,
  type EpochPart,
  epochBlocks,
  epochValidators,
  type FinalizedBlock,
  VALIDATOR_STATUSES,
} from '../../schemas/events/beacon-epoch.ts'
import { type EncodedEvent, encodeEvent, type Topic } from '../../schemas/events/codec.ts'
import { executionBlock } from '../../schemas/events/execution-block.ts'
import { feeRecipientsTold } from '../../schemas/events/fee-recipients.ts'
import { usageCounted } from '../../schemas/events/usage.ts'
import { registryLookedAt, validatorsIdentified } from '../../schemas/events/validators.ts'
import { TIME_BUCKETS } from '../../schemas/usage-times.ts'
import { transactionColumns } from './execution-columns.ts'

/** A log written by hand: a chain of slow slots (one an hour, four an epoch) whose days are 24 slots and begin inside epochs. */
export interface GivenChain {
  readonly events: ReadonlyMap<Topic, readonly EncodedEvent[]>
  readonly wholeDays: readonly string[]
  readonly validators: number
  readonly epochs: number
  readonly dailySums: readonly { readonly day: string; readonly cl: string; readonly el: string }[]
  readonly settledBlocks: number
  /** A validators event of a whole day with more in one reward than nodes round. */
  readonly tampered: EncodedEvent
  readonly tamperedEpoch: number
}

const CLOCK: ChainClock = { genesisTimeSec: 1_767_200_400 + 1_800, secondsPerSlot: 3_600, slotsPerEpoch: 4 }
/** What every event of it says. */
export const GIVEN_CHAIN = 'mainnet'
const VALIDATORS = 5
/** The first validators are one range, the others another: an epoch comes in several parts. */
const RANGES = [
  { range: 0, from: 0, to: 3 },
  { range: 1, from: 3, to: VALIDATORS },
] as const
/** Three whole days; 18 have two, and 12 have one, in which everything happens that the others have. */
const EPOCHS = 24
const START_GWEI = 32_000_000_000n
const FAR = 2n ** 64n - 1n
const TAMPERED_EPOCH = 10
/** More than a node rounds in all epochs of a day. */
export const TAMPERED_GWEI = 1_000n

const hash = (kind: string, number: number): string => `0x${kind.repeat(16)}${number.toString(16).padStart(32, '0')}`
/** Points of the curve: commands take no others. */
export const givenKey = (index: number): string => hexOf(pubkeyOf(index))
const address = (kind: string): string => `0x${kind.repeat(20)}`
const instant = (slot: number): string => formatInstant(slotTimeSec(CLOCK, slot))

/** `tellsGenesis`: with the balances that the chain began with, as logs have told them since its first day is closed. */
export function givenChain(epochs = EPOCHS, { tellsGenesis = false } = {}): GivenChain {
  const finalized: EncodedEvent[] = []
  const head: EncodedEvent[] = []
  const execution: EncodedEvent[] = []
  const balances = new Array<bigint>(VALIDATORS).fill(START_GWEI)
  const clByDay = new Map<string, bigint>()
  const elByDay = new Map<string, bigint>()
  let tampered: EncodedEvent | undefined
  let settledBlocks = 0

  const credit = (slot: number, validator: number, gwei: bigint, isReward: boolean): void => {
    balances[validator] = (balances[validator] as bigint) + gwei
    if (!isReward) return
    const day = formatDay(dayOfSlot(CLOCK, slot))
    clByDay.set(day, (clByDay.get(day) ?? 0n) + gwei)
  }

  for (let epoch = 0; epoch < epochs; epoch++) {
    const firstSlot = epoch * CLOCK.slotsPerEpoch
    const attestation = Array.from({ length: VALIDATORS }, (_, v) =>
      epoch < 2 ? 0n : BigInt(1_000 + v * 7 - epoch * 150),
    )
    attestation.forEach((gwei, v) => {
      credit(firstSlot, v, gwei * 3n - (epoch > 3 ? 5n : 0n), true)
    })
    const blocks: FinalizedBlock[] = []
    const effects: BalanceEffect[] = []
    const sync: { offset: number; validator: number; gwei: bigint }[] = []
    const dayEvents: EncodedEvent[] = []
    if (epoch === 7) {
      effects.push({ slot: firstSlot, validatorIndex: 2, kind: 'deposit', reference: 0, amountGwei: '1000000000' })
      credit(firstSlot, 2, 1_000_000_000n, false)
    }
    for (let slot = firstSlot; slot < firstSlot + CLOCK.slotsPerEpoch; slot++) {
      const day = dayOfSlot(CLOCK, slot)
      const beginsDay = slot === firstSlotOfDay(CLOCK, day) && (slot > 0 || tellsGenesis)
      if (beginsDay) dayEvents.push(...dayBalancesEvents(epoch, day, balances))
      if (slot % 9 === 5) continue // missed
      const proposer = slot % (VALIDATORS + 1) // the last one is nobody's
      const block = finalizedBlock(slot, proposer)
      blocks.push(block)
      if (proposer < VALIDATORS) {
        credit(slot, proposer, 4_100n, true)
        settledBlocks++
        const name = formatDay(day)
        elByDay.set(name, (elByDay.get(name) ?? 0n) + revenueOf(slot))
      }
      for (const validator of [slot % VALIDATORS, (slot + 2) % VALIDATORS]) {
        const gwei = slot % 4 === 0 ? -30n : 25n
        sync.push({ offset: slot - firstSlot, validator, gwei })
        credit(slot, validator, gwei, true)
      }
      if (slot === 30) {
        effects.push({ slot, validatorIndex: 4, kind: 'slashing_penalty', reference: 0, amountGwei: '-7812500' })
        credit(slot, 4, -7_812_500n, true)
      }
      if (slot % 7 === 0) {
        const index = slot / 7
        const validatorIndex = slot % VALIDATORS
        effects.push({ slot, validatorIndex, kind: 'withdrawal', reference: index, amountGwei: '-777' })
        credit(slot, slot % VALIDATORS, -777n, false)
      }
      head.push(headEvent(block))
      execution.push(executionEvent(slot))
    }
    const validators = (extraGwei: bigint) => validatorsEvents(epoch, attestation, balances, extraGwei)
    if (epoch === TAMPERED_EPOCH) [tampered] = validators(TAMPERED_GWEI)
    const content = { blocks, effects, sync, beginsDay: dayEvents.length > 0 }
    finalized.push(...dayEvents, ...validators(0n), blocksEvent(epoch, content))
  }
  if (tampered === undefined) throw new Error('no epoch to tamper with')
  const wholeDays = [...clByDay.keys()].filter((day) => {
    const number = Date.parse(day) / 86_400_000
    const next = firstSlotOfDay(CLOCK, number + 1)
    return (tellsGenesis || firstSlotOfDay(CLOCK, number) > 0) && epochOf(CLOCK, next) < epochs
  })
  return {
    events: new Map<Topic, readonly EncodedEvent[]>([
      ['accounts', accountEvents()],
      ['validators', [identities(), look()]],
      ['beacon.blocks', head],
      ['execution.blocks', execution],
      ['beacon.epochs', finalized],
      ['usage', usageEvents()],
    ]),
    wholeDays,
    validators: VALIDATORS,
    dailySums: wholeDays.map((day) => ({ day, cl: `${clByDay.get(day) ?? 0n}`, el: `${elByDay.get(day) ?? 0n}` })),
    epochs,
    settledBlocks,
    tampered,
    tamperedEpoch: TAMPERED_EPOCH,
  }
}

function accountEvents(): readonly EncodedEvent[] {
  const fact = { key: ACCOUNTS_KEY, time: instant(0) }
  const rate = (text: string, slot: number): EncodedEvent =>
    encodeEvent(feeRateSet, {
      ...fact,
      id: `account.fee-rate-set:a:${slot}`,
      data: { account: 'a', rate: text, effectiveFrom: instant(slot) },
    })
  const pubkeys = Array.from({ length: VALIDATORS }, (_, index) => givenKey(index))
  return [
    encodeEvent(tokenCreated, {
      ...fact,
      id: 'token',
      data: { account: 'a', tokenHash: hashToken('secret'), name: '', scopes: ['read'] },
    }),
    encodeEvent(validatorsTracked, { ...fact, id: 'tracked', data: { chain: GIVEN_CHAIN, account: 'a', pubkeys } }),
    encodeEvent(feeRecipientsTold, {
      ...fact,
      id: 'fee-recipients',
      data: {
        chain: GIVEN_CHAIN,
        recipients: pubkeys.map((pubkey) => ({ pubkey, address: address('fe') })),
        isOwn: true,
      },
    }),
    rate('0.25', 40),
    rate('0.1', 0),
  ]
}

/** Two processes of one minute, the first of which goes on to the next; what it tells again of the first one has more calls, and fewer billed. */
function usageEvents(): readonly EncodedEvent[] {
  const counted = (writer: string, minute: number, calls: readonly number[], told: number): EncodedEvent => {
    const header = { writer: writer.repeat(16), minuteSec: slotTimeSec(CLOCK, 0) + minute * 60, part: 0 }
    const key = `${header.writer}:${header.minuteSec}:0`
    const texts = (text: string) => calls.map(() => Buffer.from(text))
    const columns = {
      account: texts('a'),
      tokenHash: Buffer.from(hashToken('secret').repeat(calls.length), 'hex'),
      place: texts('ethereum/mainnet'),
      method: calls.map((_, row) => Buffer.from(`method_${row}`)),
      status: new Uint32Array(calls.length).fill(200),
      calls: Uint32Array.from(calls),
      billed: Uint32Array.from(calls, (some) => some - told),
      requestBytes: BigUint64Array.from(calls, (some) => BigInt(some) * 2n ** 32n),
      answerBytes: BigUint64Array.from(calls, BigInt),
      pushes: Uint32Array.from(calls),
      timeUs: BigUint64Array.from(calls, (some) => BigInt(some) * 1_500n),
      times: calls.map((some) => Buffer.from(new Uint32Array(TIME_BUCKETS).fill(some, 3, 4).buffer)),
    }
    return encodeEvent(usageCounted, {
      id: `${usageCounted.name}:${key}:${told}`,
      key,
      time: instant(0),
      data: { header, columns },
    })
  }
  return [
    counted('a', 0, [2], 0),
    counted('b', 0, [5, 7], 0),
    counted('a', 1, [3], 0),
    counted('a', 0, [4, 1], 1),
    counted('a', 1, [8], 1),
  ]
}

function identities(): EncodedEvent {
  const validators = Array.from({ length: VALIDATORS }, (_, index) => ({
    index,
    pubkey: givenKey(index),
    withdrawalCredentials: `0x01${'00'.repeat(11)}${'cc'.repeat(20)}`,
  }))
  return encodeEvent(validatorsIdentified, {
    id: 'identified',
    key: chainKey(GIVEN_CHAIN),
    time: instant(0),
    data: { chain: GIVEN_CHAIN, validators },
  })
}

/** For whoever the account fact before it names. */
function look(): EncodedEvent {
  return encodeEvent(registryLookedAt, {
    id: 'looked',
    key: chainKey(GIVEN_CHAIN),
    time: instant(0),
    data: { chain: GIVEN_CHAIN, accountsThrough: '1', fromEpoch: 0 },
  })
}

/** Odd slots are builder blocks that pay 10^15 + slot wei; even ones leave two tips to the proposer. */
function revenueOf(slot: number): bigint {
  return slot % 2 === 1 ? 10n ** 15n + BigInt(slot) : 21_000n * 2n + 50_000n * 5n
}

function finalizedBlock(slot: number, proposerIndex: number): FinalizedBlock {
  return {
    slot,
    root: hash('0b', slot),
    parentRoot: hash('0b', Math.max(0, slot - 1)),
    proposerIndex,
    executionBlockHash: hash('0e', slot),
    executionBlockNumber: slot,
    feeRecipient: address('fe'),
    attestationsGwei: '4000',
    syncAggregateGwei: '70',
    proposerSlashingsGwei: '0',
    attesterSlashingsGwei: '30',
  }
}

function headEvent({
  slot,
  root,
  parentRoot,
  proposerIndex,
  executionBlockHash,
  executionBlockNumber,
}: FinalizedBlock) {
  return encodeEvent(beaconBlock, {
    id: `beacon.block:${root}`,
    key: chainKey(GIVEN_CHAIN),
    time: instant(slot),
    data: { chain: GIVEN_CHAIN, slot, root, parentRoot, proposerIndex, executionBlockHash, executionBlockNumber },
  })
}

function executionEvent(slot: number): EncodedEvent {
  const coinbase = slot % 2 === 1 ? address('bb') : address('fe')
  const payment = { sender: coinbase, recipient: address('fe'), valueWei: revenueOf(slot) }
  return encodeEvent(executionBlock, {
    id: `execution.block:${GIVEN_CHAIN}:${hash('0e', slot)}`,
    key: chainKey(GIVEN_CHAIN, hash('0e', slot)),
    time: instant(slot),
    data: {
      header: {
        chain: GIVEN_CHAIN,
        number: slot,
        hash: hash('0e', slot),
        parentHash: hash('0e', Math.max(0, slot - 1)),
        timestampSec: slotTimeSec(CLOCK, slot),
        coinbase,
        extraData: '0x',
        baseFeePerGasWei: '7',
        gasUsed: 71_000,
        logParts: 0,
        logsCheck: 'receipts',
        hasOutcomes: true,
        provenSenders: [0, 1],
      },
      columns: transactionColumns([
        { priceWei: 9n },
        { type: 0, gasUsed: 50_000n, priceWei: 12n, hash: hash('0f', slot), ...(slot % 2 === 1 ? payment : {}) },
      ]),
    },
  })
}

function dayBalancesEvents(epoch: number, day: number, balances: readonly bigint[]): readonly EncodedEvent[] {
  const slot = Math.max(0, firstSlotOfDay(CLOCK, day) - 1)
  return RANGES.map(({ range, from, to }) =>
    encodeEvent(dayBalances, {
      id: `beacon.day-balances:${GIVEN_CHAIN}:${day}:${range}`,
      key: chainKey(GIVEN_CHAIN, range),
      time: instant(slot),
      data: {
        header: { chain: GIVEN_CHAIN, epoch, day, slot, range },
        columns: {
          validatorIndex: Uint32Array.from({ length: to - from }, (_, i) => from + i),
          balanceGwei: BigInt64Array.from(balances.slice(from, to)),
        },
      },
    }),
  )
}

function validatorsEvents(
  epoch: number,
  attestation: readonly bigint[],
  balances: readonly bigint[],
  extraGwei: bigint,
): readonly EncodedEvent[] {
  const active = VALIDATOR_STATUSES.indexOf('active_ongoing')
  return RANGES.map(({ range, from, to }) => {
    const rows = to - from
    const own = attestation.slice(from, to)
    return encodeEvent(epochValidators, {
      id: `beacon.epoch-validators:${GIVEN_CHAIN}:${epoch}:${range}`,
      key: chainKey(GIVEN_CHAIN, range),
      time: instant((epoch + 1) * CLOCK.slotsPerEpoch - 1),
      data: {
        header: { chain: GIVEN_CHAIN, clock: CLOCK, epoch, range },
        columns: {
          validatorIndex: Uint32Array.from({ length: rows }, (_, i) => from + i),
          sourceGwei: BigInt64Array.from(own, (gwei, i) => gwei + (from + i === 1 ? extraGwei : 0n)),
          targetGwei: BigInt64Array.from(own),
          headGwei: BigInt64Array.from(own),
          inactivityGwei: new BigInt64Array(rows).fill(epoch > 3 ? -5n : 0n),
          balanceGwei: BigInt64Array.from(balances.slice(from, to)),
          effectiveBalanceEth: new Uint32Array(rows).fill(32),
          status: new Uint8Array(rows).fill(active),
          slashed: new Uint8Array(rows),
          activationEpoch: new BigUint64Array(rows),
          exitEpoch: new BigUint64Array(rows).fill(FAR),
          withdrawableEpoch: new BigUint64Array(rows).fill(FAR),
        },
      },
    })
  })
}

interface EpochContent {
  readonly blocks: FinalizedBlock[]
  readonly effects: BalanceEffect[]
  readonly sync: readonly { readonly offset: number; readonly validator: number; readonly gwei: bigint }[]
  readonly beginsDay: boolean
}

/** Whose turn each slot was, sums over all validators, and a node that differed. */
function toldOfNetwork(epoch: number, blocks: readonly FinalizedBlock[]) {
  const firstSlot = epoch * CLOCK.slotsPerEpoch
  const proposerOf = new Map(blocks.map(({ slot, proposerIndex }) => [slot, proposerIndex]))
  const gwei = (times: number) => String(times * (epoch + 1))
  return {
    proposers: Array.from({ length: CLOCK.slotsPerEpoch }, (_, offset) => proposerOf.get(firstSlot + offset) ?? offset),
    network: {
      ...{ activeValidators: 1_000 + epoch, effectiveBalanceGwei: gwei(32_000_000_000), inactivityGwei: gwei(-2) },
      ...{ sourceGwei: gwei(3), targetGwei: gwei(5), headGwei: gwei(7), syncGwei: gwei(-11), proposerGwei: gwei(13) },
      ...{ slashingPenaltyGwei: gwei(-17), idealAttestationsGwei: gwei(19) },
    },
    differences: [{ node: 'beacon node 2', client: `Client/v${epoch}`, what: 'state root' as const }],
  }
}

function blocksEvent(epoch: number, { blocks, effects, sync, beginsDay }: EpochContent): EncodedEvent {
  const kinds: readonly EpochPart['kind'][] = beginsDay ? ['validators', 'day_balances'] : ['validators']
  const parts = kinds.flatMap((kind) => RANGES.map(({ range, from, to }) => ({ kind, range, rows: to - from })))
  return encodeEvent(epochBlocks, {
    id: `beacon.epoch-blocks:${GIVEN_CHAIN}:${epoch}`,
    key: chainKey(GIVEN_CHAIN),
    time: instant((epoch + 1) * CLOCK.slotsPerEpoch - 1),
    data: {
      header: {
        ...{ chain: GIVEN_CHAIN, clock: CLOCK, epoch, parts, blocks, effects, proof: null, residuals: [] },
        ...toldOfNetwork(epoch, blocks),
      },
      columns: {
        slotOffset: Uint8Array.from(sync, (s) => s.offset),
        validatorIndex: Uint32Array.from(sync, (s) => s.validator),
        syncGwei: BigInt64Array.from(sync, (s) => s.gwei),
      },
    },
  })
}
