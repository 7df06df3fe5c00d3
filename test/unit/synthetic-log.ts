import { executionBlockEvents } from '../../ingest/execution/block-events.ts'
import { chainKey } from '../../schemas/chains.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import {
  type ChainClock,
  DAY_SEC,
  dayOfSlot,
  epochOf,
  firstSlotOfDay,
  formatDay,
  formatInstant,
  slotTimeSec,
} from '../../schemas/eth/time.ts'
import { ACCOUNTS_KEY, feeRateSet, TRACKED_PER_EVENT_MAX, validatorsTracked } from '../../schemas/events/accounts.ts'
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
import type { LogColumns } from '../../schemas/events/execution-logs.ts'
import { validatorsIdentified } from '../../schemas/events/validators.ts'
import { transactionColumns } from './execution-columns.ts'

/** How large a made-up log is; every chain is as large as the others. */
export interface LogSize {
  readonly chains: readonly string[]
  readonly epochs: number
  /** Of each chain, all of them in every epoch. */
  readonly validators: number
  readonly rangeValidators: number
  /** Validators that the account has, from the first on; the others are in the detail only. */
  readonly owned: number
  readonly transactions: number
  readonly logs: number
}

/** Slots of an hour, four an epoch, six epochs a day: days begin in the last slot of an epoch. */
const CLOCK: ChainClock = { genesisTimeSec: 1_767_200_400 + 1_800, secondsPerSlot: 3_600, slotsPerEpoch: 4 }
const EPOCHS_PER_DAY = DAY_SEC / CLOCK.secondsPerSlot / CLOCK.slotsPerEpoch
const ACCOUNT = 'synthetic'
const START_GWEI = 32_000_000_000n
const FAR = 2n ** 64n - 1n
const PROPOSER_GWEI = 4_100n
const SYNC_GWEI = 25n
const WITHDRAWAL_GWEI = 777n

const address = (kind: string): string => `0x${kind.repeat(20)}`
const pubkeyOf = (index: number): string => `0x${'ab'.repeat(44)}${index.toString(16).padStart(8, '0')}`
const instant = (slot: number): string => formatInstant(slotTimeSec(CLOCK, slot))

/** Hashes of different chains differ, as they do between networks. */
function hashOf(chain: string, kind: string, slot: number): string {
  return `0x${kind.repeat(12)}${Buffer.from(chain).toString('hex').slice(0, 16).padEnd(16, '0')}${slot.toString(16).padStart(24, '0')}`
}

/** What is appended together: the events of one epoch and topic. */
export interface LogChunk {
  readonly topic: Topic
  readonly events: readonly EncodedEvent[]
}

/** Every balance of the log is explained, so its days can be proven; chains take turns epoch by epoch, as ingesters do. */
export function* syntheticLog(size: LogSize): Generator<LogChunk> {
  yield { topic: 'accounts', events: accountEvents(size) }
  yield { topic: 'validators', events: size.chains.flatMap((chain) => identities(chain, size)) }
  const chains = size.chains.map((chain) => new SyntheticChain(chain, size))
  for (let epoch = 0; epoch < size.epochs; epoch++) for (const chain of chains) yield* chain.epoch(epoch)
}

/** The days of each chain that its epochs cover wholly: the chain begins in its first, and the last one lacks its end. */
export function wholeDays({ epochs }: Pick<LogSize, 'epochs'>): readonly string[] {
  const first = dayOfSlot(CLOCK, 0) + 1
  const days: string[] = []
  for (let day = first; epochOf(CLOCK, firstSlotOfDay(CLOCK, day + 1)) < epochs; day++) days.push(formatDay(day))
  return days
}

/** Events of `beacon.epochs` and `execution.blocks` that bear on one day of a chain. */
export function eventsPerDay(size: LogSize): number {
  const ranges = Math.ceil(size.validators / size.rangeValidators)
  return EPOCHS_PER_DAY * (ranges + 1) + ranges + EPOCHS_PER_DAY * CLOCK.slotsPerEpoch
}

function accountEvents({ chains, owned }: LogSize): readonly EncodedEvent[] {
  const fact = { key: ACCOUNTS_KEY, time: instant(0) }
  const events: EncodedEvent[] = [
    encodeEvent(feeRateSet, {
      ...fact,
      id: 'account.fee-rate-set:0',
      data: { account: ACCOUNT, rate: '0.1', effectiveFrom: instant(0) },
    }),
  ]
  for (const chain of chains) {
    for (let from = 0; from < owned; from += TRACKED_PER_EVENT_MAX) {
      const length = Math.min(TRACKED_PER_EVENT_MAX, owned - from)
      const pubkeys = Array.from({ length }, (_, i) => pubkeyOf(from + i))
      const id = `account.validators-tracked:${chain}:${from}`
      events.push(encodeEvent(validatorsTracked, { ...fact, id, data: { chain, account: ACCOUNT, pubkeys } }))
    }
  }
  return events
}

function identities(chain: string, { owned }: LogSize): readonly EncodedEvent[] {
  const validators = Array.from({ length: owned }, (_, index) => ({
    index,
    pubkey: pubkeyOf(index),
    withdrawalCredentials: `0x01${'00'.repeat(11)}${'cc'.repeat(20)}`,
  }))
  const id = `validators.identified:${chain}:0`
  return [
    encodeEvent(validatorsIdentified, { id, key: chainKey(chain), time: instant(0), data: { chain, validators } }),
  ]
}

interface Sync {
  readonly offset: number
  readonly validator: number
}

class SyntheticChain {
  readonly #chain: string
  readonly #size: LogSize
  readonly #balances: BigInt64Array
  readonly #ranges: readonly { readonly range: number; readonly from: number; readonly to: number }[]

  constructor(chain: string, size: LogSize) {
    this.#chain = chain
    this.#size = size
    this.#balances = new BigInt64Array(size.validators).fill(START_GWEI)
    const { validators, rangeValidators } = size
    this.#ranges = Array.from({ length: Math.ceil(validators / rangeValidators) }, (_, range) => ({
      range,
      from: range * rangeValidators,
      to: Math.min(validators, (range + 1) * rangeValidators),
    }))
  }

  /** The events of one epoch; epochs are asked for in order. */
  *epoch(epoch: number): Generator<LogChunk> {
    const attestation = this.#attest(epoch)
    const blocks: FinalizedBlock[] = []
    const effects: BalanceEffect[] = []
    const sync: Sync[] = []
    const balances: EncodedEvent[] = []
    const first = epoch * CLOCK.slotsPerEpoch
    for (let slot = first; slot < first + CLOCK.slotsPerEpoch; slot++) {
      const day = dayOfSlot(CLOCK, slot)
      if (slot > 0 && slot === firstSlotOfDay(CLOCK, day)) balances.push(...this.#dayBalances(epoch, day))
      if (slot % 9 === 5) continue // missed
      const proposer = (slot * 31) % this.#size.validators
      blocks.push(this.#block(slot, proposer))
      this.#credit(proposer, PROPOSER_GWEI)
      const seat = { offset: slot - first, validator: (slot * 17) % this.#size.validators }
      sync.push(seat)
      this.#credit(seat.validator, SYNC_GWEI)
      if (slot % 7 === 0) {
        const validatorIndex = (slot * 13) % this.#size.validators
        const amountGwei = String(-WITHDRAWAL_GWEI)
        effects.push({ slot, validatorIndex, kind: 'withdrawal', reference: slot / 7, amountGwei })
        this.#credit(validatorIndex, -WITHDRAWAL_GWEI)
      }
    }
    yield { topic: 'beacon.blocks', events: blocks.map((block) => this.#headEvent(block)) }
    const execution = blocks.map(({ slot }) => this.#executionEvents(slot))
    yield { topic: 'execution.logs', events: execution.flatMap(({ logs }) => logs) }
    yield { topic: 'execution.blocks', events: execution.flatMap((events) => events.blocks) }
    const parts = this.#parts(balances.length > 0)
    const ending = this.#blocksEvent(epoch, { blocks, effects, sync, parts })
    yield { topic: 'beacon.epochs', events: [...balances, ...this.#validators(epoch, attestation), ending] }
  }

  #credit(validator: number, gwei: bigint): void {
    this.#balances[validator] = (this.#balances[validator] as bigint) + gwei
  }

  /** One of three equal parts of what the transition into the epoch credits to each validator. */
  #attest(epoch: number): BigInt64Array {
    const part = BigInt64Array.from({ length: this.#size.validators }, (_, v) =>
      epoch < 2 ? 0n : BigInt(900 + ((v * 7 + epoch * 13) % 500)),
    )
    part.forEach((gwei, v) => {
      this.#credit(v, gwei * 3n)
    })
    return part
  }

  #parts(beginsDay: boolean): readonly EpochPart[] {
    const kinds: readonly EpochPart['kind'][] = beginsDay ? ['validators', 'day_balances'] : ['validators']
    return kinds.flatMap((kind) => this.#ranges.map(({ range, from, to }) => ({ kind, range, rows: to - from })))
  }

  #block(slot: number, proposerIndex: number): FinalizedBlock {
    return {
      slot,
      root: hashOf(this.#chain, '0b', slot),
      parentRoot: hashOf(this.#chain, '0b', Math.max(0, slot - 1)),
      proposerIndex,
      executionBlockHash: hashOf(this.#chain, '0e', slot),
      executionBlockNumber: slot,
      feeRecipient: address('fe'),
      attestationsGwei: '4000',
      syncAggregateGwei: '70',
      proposerSlashingsGwei: '0',
      attesterSlashingsGwei: '30',
    }
  }

  #headEvent(block: FinalizedBlock): EncodedEvent {
    const { slot, root, parentRoot, proposerIndex, executionBlockHash, executionBlockNumber } = block
    return encodeEvent(beaconBlock, {
      id: `beacon.block:${root}`,
      key: chainKey(this.#chain),
      time: instant(slot),
      data: { chain: this.#chain, slot, root, parentRoot, proposerIndex, executionBlockHash, executionBlockNumber },
    })
  }

  #executionEvents(slot: number): ReturnType<typeof executionBlockEvents> {
    const { transactions } = this.#size
    const header = {
      number: slot,
      hash: hashOf(this.#chain, '0e', slot),
      parentHash: hashOf(this.#chain, '0e', Math.max(0, slot - 1)),
      timestampSec: slotTimeSec(CLOCK, slot),
      coinbase: address('fe'),
      extraData: '0x',
      baseFeePerGasWei: '7',
      gasUsed: 21_000 * transactions,
    }
    const columns = transactionColumns(
      Array.from({ length: transactions }, (_, i) => ({
        priceWei: 9n + BigInt(i % 5),
        sender: address('5e'),
        recipient: address('0d'),
        valueWei: BigInt(i),
        hash: hashOf(this.#chain, '0f', slot * 10_000 + i),
      })),
    )
    return executionBlockEvents(
      this.#chain,
      {
        header,
        columns,
        matchesHash: true,
        logsCheck: 'receipts',
        hasOutcomes: true,
        provenSenders: [],
        withdrawals: [],
        logs: logsOf(this.#size.logs),
      },
      instant(slot),
    )
  }

  #dayBalances(epoch: number, day: number): readonly EncodedEvent[] {
    const chain = this.#chain
    const slot = firstSlotOfDay(CLOCK, day) - 1
    return this.#ranges.map(({ range, from, to }) =>
      encodeEvent(dayBalances, {
        id: `beacon.day-balances:${chain}:${day}:${range}`,
        key: chainKey(chain, range),
        time: instant(slot),
        data: {
          header: { chain, epoch, day, slot, range },
          columns: { validatorIndex: indices(from, to), balanceGwei: this.#balances.slice(from, to) },
        },
      }),
    )
  }

  #validators(epoch: number, attestation: BigInt64Array): readonly EncodedEvent[] {
    const chain = this.#chain
    const active = VALIDATOR_STATUSES.indexOf('active_ongoing')
    return this.#ranges.map(({ range, from, to }) => {
      const rows = to - from
      const part = attestation.slice(from, to)
      return encodeEvent(epochValidators, {
        id: `beacon.epoch-validators:${chain}:${epoch}:${range}`,
        key: chainKey(chain, range),
        time: instant((epoch + 1) * CLOCK.slotsPerEpoch - 1),
        data: {
          header: { chain, clock: CLOCK, epoch, range },
          columns: {
            validatorIndex: indices(from, to),
            sourceGwei: part,
            targetGwei: part,
            headGwei: part,
            inactivityGwei: new BigInt64Array(rows),
            balanceGwei: this.#balances.slice(from, to),
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

  #blocksEvent(
    epoch: number,
    content: {
      readonly blocks: FinalizedBlock[]
      readonly effects: BalanceEffect[]
      readonly sync: readonly Sync[]
      readonly parts: readonly EpochPart[]
    },
  ): EncodedEvent {
    const chain = this.#chain
    const { blocks, effects, sync, parts } = content
    return encodeEvent(epochBlocks, {
      id: `beacon.epoch-blocks:${chain}:${epoch}`,
      key: chainKey(chain),
      time: instant((epoch + 1) * CLOCK.slotsPerEpoch - 1),
      data: {
        header: {
          ...{ chain, clock: CLOCK, epoch, parts: [...parts], blocks, effects, proof: null, residuals: [] },
          ...{ proposers: null, network: null, differences: null },
        },
        columns: {
          slotOffset: Uint8Array.from(sync, ({ offset }) => offset),
          validatorIndex: Uint32Array.from(sync, ({ validator }) => validator),
          syncGwei: new BigInt64Array(sync.length).fill(SYNC_GWEI),
        },
      },
    })
  }
}

function indices(from: number, to: number): Uint32Array<ArrayBuffer> {
  return Uint32Array.from({ length: to - from }, (_, i) => from + i)
}

/** Transfers of a few contracts. */
function logsOf(count: number): LogColumns {
  const contracts = ['a0', 'a1', 'a2'].map((kind) => bytesOf(address(kind)))
  const addresses = Array.from({ length: count }, (_, i) => contracts[i % contracts.length] as Uint8Array)
  return {
    logIndex: indices(0, count),
    transactionIndex: new Uint32Array(count),
    transactionHash: new Uint8Array(count * 32),
    address: new Uint8Array(Buffer.concat(addresses)),
    topics: Array.from({ length: count }, () => new Uint8Array(96)),
    data: Array.from({ length: count }, () => new Uint8Array(32)),
  }
}
