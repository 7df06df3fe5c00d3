import { type ForkName, SLOTS_PER_EPOCH } from '@lodestar/params'
import { sszTypesFor } from '@lodestar/types'
import { expect, test } from 'vitest'
import { openBeaconSource } from '../../infra/beacon/source.ts'
import type { BeaconSource, FinalChain, FinalizedCheckpoint, RegistryWord } from '../../infra/ports/beacon-source.ts'
import { followEpochs } from '../../ingest/epochs/epoch-follower.ts'
import { ACCOUNTS_KEY, validatorsTracked } from '../../schemas/events/accounts.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { PATIENCE, tries } from '../long-form.ts'
import type { Step } from '../transition/balance-changes.ts'
import { ServedHistory } from '../transition/served-history.ts'
import { rebuildFrom } from '../unit/projecting.ts'
import { silentLog } from '../unit/silent-log.ts'
import { storesOfFile } from '../unit/warehouse-of-file.ts'

// Random histories of mainnet's preset from a node's bytes to rows: explained-histories.test.ts has many more of them, and begins with
// what was read.

const CHAIN = 'history'
const TIMEOUT_MS = 120_000 * PATIENCE
const SEEDS = Array.from({ length: tries(2, 50) }, (_, seed) => String(seed))

/** Columns of `validator_epochs`, and kinds of `ledger_entries` as far as the reference's steps tell them apart. */
const PART_OF_STEP: Readonly<Record<Step, string>> = {
  source: 'source',
  target: 'target',
  head: 'head',
  inactivity: 'inactivity',
  slashings: 'slashing_correlation',
  pending_deposits: 'deposit',
  pending_consolidations: 'consolidation',
  upgrade_bellatrix: 'moved_to_queue',
  upgrade_capella: 'moved_to_queue',
  upgrade_deneb: 'moved_to_queue',
  upgrade_electra: 'moved_to_queue',
  upgrade_fulu: 'moved_to_queue',
  withdrawals: 'withdrawal',
  proposer_slashing: 'slashing_penalty',
  attester_slashing: 'slashing_penalty',
  slashing_report: 'proposer',
  attestation: 'proposer',
  deposit: 'deposit',
  consolidation_request: 'moved_to_queue',
  sync_aggregate: 'sync',
  sync_proposer: 'proposer',
}

interface Row {
  readonly slot: string
  readonly part: string
  readonly validator: number
  readonly gwei: string
}

const ROWS = `
  SELECT slot, part, validator, gwei FROM (
    SELECT
      epoch * {slots:UInt64} AS slot, validator_index AS validator,
      arrayJoin([('source', source_gwei), ('target', target_gwei), ('head', head_gwei), ('inactivity', inactivity_gwei)]) AS pair,
      pair.1 AS part, pair.2 AS gwei
    FROM validator_epochs FINAL WHERE chain = {chain:String}
    UNION ALL
    SELECT
      toUInt64(slot) AS slot, validator_index AS validator, ('', toInt64(0)) AS pair,
      multiIf(kind LIKE 'withdrawal%', 'withdrawal', kind LIKE 'consolidation%', 'consolidation', kind = 'returned_from_queue', 'deposit',
        toString(kind)) AS part,
      sum(amount_gwei) AS gwei
    FROM ledger_entries FINAL WHERE chain = {chain:String} GROUP BY slot, validator, part
  )
  WHERE gwei != 0`

const stores = storesOfFile()

/** What registries have said of tracked validators before an epoch was published; undefined where no registry of the chain was there. */
interface Held {
  readonly words: (RegistryWord | undefined)[]
}

/** A source that notes what it says of identities. */
function noting(beacon: BeaconSource, { words }: Held): BeaconSource {
  const finalChain = (checkpoint: FinalizedCheckpoint): FinalChain => {
    const final = beacon.finalChain(checkpoint)
    return instead(final, {
      registered: async (claims) => {
        const word = await final.registered(claims)
        words.push(word)
        return word
      },
    })
  }
  return instead(beacon, { finalChain })
}

/** An object with some of its methods replaced. */
function instead<Whole extends object>(whole: Whole, parts: Partial<Whole>): Whole {
  return new Proxy(whole, {
    get: (target, key) => {
      const value = Reflect.get(key in parts ? parts : target, key)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** Follows a node that tells the history, and makes its tables. */
async function read(history: ServedHistory): Promise<Held> {
  const held: Held = { words: [] }
  await stores().empty()
  await using eventLog = await stores().openLog()
  const pubkeys = [...history.pubkeys]
  await eventLog.append('accounts', [
    encodeEvent(validatorsTracked, {
      ...{ id: 'account.validators-tracked:history', key: ACCOUNTS_KEY, time: '2020-01-01T00:00:00.000Z' },
      data: { chain: CHAIN, account: 'a', pubkeys },
    }),
  ])
  await using node = await history.open()
  await using source = await openBeaconSource({ urls: [node.url], log: silentLog })
  const beacon = noting(source, held)
  const done = new AbortController()
  const onProgress = ({ nextEpoch }: { readonly nextEpoch: number }) => {
    if (nextEpoch === history.finalEpochs) done.abort()
  }
  const ingester = { chain: CHAIN, writer: eventLog, eventLog, unnamedChain: CHAIN, log: silentLog, beacon }
  const signal = AbortSignal.any([done.signal, AbortSignal.timeout(TIMEOUT_MS)])
  await followEpochs({ ...ingester, startEpoch: 0, onProgress, outageWaitMs: 50 }, signal)
  await rebuildFrom(eventLog, stores().warehouse)
  return held
}

async function missedSlots(): Promise<readonly (readonly [slot: number, proposer: number])[]> {
  const rows = await stores().warehouse.query<{ slot: string; proposer_index: number }>(
    'SELECT slot, proposer_index FROM missed_slots FINAL WHERE chain = {chain:String} ORDER BY slot',
    { chain: CHAIN },
  )
  return rows.map(({ slot, proposer_index }) => [Number(slot), proposer_index])
}

/** Slots without a block, and who the reference let propose in them. */
function missedIn(history: ServedHistory): readonly (readonly [slot: number, proposer: number | undefined])[] {
  return history.epochs.slice(0, history.finalEpochs).flatMap(({ epoch, blocks, proposers }) => {
    const filled = new Set(blocks.map(({ slot }) => slot))
    const turns = proposers.map((proposer, offset) => [epoch * SLOTS_PER_EPOCH + offset, proposer] as const)
    return turns.filter(([slot]) => slot > 0 && !filled.has(slot))
  })
}

const SUMMED = ['source', 'target', 'head', 'inactivity', 'sync', 'proposer', 'slashing_penalty'] as const
const SUM_OF_PART: Readonly<Record<string, (typeof SUMMED)[number]>> = {
  ...Object.fromEntries(SUMMED.map((part) => [part, part])),
  slashing_correlation: 'slashing_penalty',
}

async function networkSums() {
  const columns = SUMMED.map((part) => `toString(${part}_gwei) AS ${part}`).join(', ')
  return await stores().warehouse.query(
    `SELECT epoch, active_validators, toString(effective_balance_gwei) AS effective_balance, ${columns}
     FROM network_epochs FINAL WHERE chain = {chain:String} ORDER BY epoch`,
    { chain: CHAIN },
  )
}

/** What the reference credited to all validators of each epoch, and who was active in it by its state. */
function sumsOf(history: ServedHistory) {
  return history.epochs.slice(0, history.finalEpochs).map(({ epoch, fork, state, changes }) => {
    const sums: Record<string, bigint> = Object.fromEntries(SUMMED.map((part) => [part, 0n]))
    for (const { step, gwei } of changes) {
      const part = SUM_OF_PART[PART_OF_STEP[step]]
      if (part !== undefined) sums[part] = (sums[part] ?? 0n) + gwei
    }
    const { validators } = sszTypesFor(fork as ForkName).BeaconState.deserialize(state)
    const active = validators.filter(({ activationEpoch, exitEpoch }) => activationEpoch <= epoch && epoch < exitEpoch)
    const effective = active.reduce((sum, { effectiveBalance }) => sum + BigInt(effectiveBalance), 0n)
    return {
      ...{ epoch, active_validators: active.length, effective_balance: String(effective) },
      ...Object.fromEntries(Object.entries(sums).map(([part, gwei]) => [part, String(gwei)])),
    }
  })
}

const name = (slot: number | string, part: string, validator: number) =>
  `slot ${slot}, ${part} of validator ${validator}`

/** Parts that the histories had. */
const met = new Set<string>()

test.each(SEEDS)(
  'rows of a history are what the reference state transition does to balances: seed %s, from SSZ over HTTP',
  { timeout: TIMEOUT_MS },
  async (seed) => {
    const history = new ServedHistory({ seed })
    const { words } = await read(history)
    // While an epoch is published the next ones are read: the registry is of one of those then, and no word of it where no block names its state.
    expect(words.filter((word) => word !== undefined).length).toBeGreaterThan(words.length / 4)
    const { warehouse } = stores()
    const rows = await warehouse.query<Row>(ROWS, { chain: CHAIN, slots: SLOTS_PER_EPOCH })
    const told = new Map(rows.map(({ slot, part, validator, gwei }) => [name(slot, part, validator), BigInt(gwei)]))
    const done = new Map<string, bigint>()
    for (const { changes } of history.epochs.slice(0, history.finalEpochs))
      for (const { slot, step, validatorIndex, gwei } of changes) {
        const key = name(slot, PART_OF_STEP[step], validatorIndex)
        done.set(key, (done.get(key) ?? 0n) + gwei)
      }
    const wrong = [...new Set([...told.keys(), ...done.keys()])].flatMap((key) => {
      const [ours, theirs] = [told.get(key) ?? 0n, done.get(key) ?? 0n]
      return ours === theirs ? [] : [`${key}: ${ours} instead of ${theirs}`]
    })
    expect(wrong.slice(0, 5)).toEqual([])
    expect(told.size).toBeGreaterThan(10_000)
    for (const { part } of rows) met.add(part)
    expect(await warehouse.query('SELECT * FROM epoch_residuals FINAL')).toEqual([])
    expect(await missedSlots()).toEqual(missedIn(history))
    expect(await networkSums()).toEqual(sumsOf(history))
    const proofs = await warehouse.query<{ epoch: number }>('SELECT epoch FROM epoch_proofs FINAL ORDER BY epoch')
    expect(proofs.map(({ epoch }) => epoch)).toEqual([...history.epochs.keys()].slice(0, history.finalEpochs))
  },
)

test('among these rows are some of every part', () => {
  expect(met).toEqual(new Set(Object.values(PART_OF_STEP)))
})
