import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { projectQueues } from '../../processors/head/queues.ts'
import { FAR_FUTURE_EPOCH } from '../../schemas/eth/far-future.ts'
import { type BeaconQueuesData, beaconQueues } from '../../schemas/events/beacon-queues.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { GENESIS_SEC, hashOf } from './api-fixture.ts'

const SLOTS_PER_EPOCH = 32
let offset = 0n

/** What waits at a head of the fixture's chain, as its event is told and projected; each is newer than the ones before. */
export async function insertQueues(
  warehouse: Warehouse,
  {
    slot,
    deposits,
    own = [],
  }: {
    readonly slot: number
    /** Of validators that stay, where nothing else is said. */
    readonly deposits: Omit<BeaconQueuesData['columns'], 'withdrawableEpoch'> &
      Partial<Pick<BeaconQueuesData['columns'], 'withdrawableEpoch'>>
    readonly own?: BeaconQueuesData['header']['own']
  },
): Promise<void> {
  const header = {
    chain: 'mainnet',
    clock: { genesisTimeSec: GENESIS_SEC, secondsPerSlot: 12, slotsPerEpoch: SLOTS_PER_EPOCH },
    rules: {
      EFFECTIVE_BALANCE_INCREMENT: '1000000000',
      MIN_ACTIVATION_BALANCE: '32000000000',
      MIN_PER_EPOCH_CHURN_LIMIT_ELECTRA: '128000000000',
      CHURN_LIMIT_QUOTIENT: '65536',
      MAX_PER_EPOCH_ACTIVATION_EXIT_CHURN_LIMIT: '256000000000',
      MAX_PENDING_DEPOSITS_PER_EPOCH: 16,
      MAX_SEED_LOOKAHEAD: 4,
      MIN_VALIDATOR_WITHDRAWABILITY_DELAY: 256,
      SHARD_COMMITTEE_PERIOD: 256,
      MAX_WITHDRAWALS_PER_PAYLOAD: 16,
      MAX_PENDING_PARTIALS_PER_WITHDRAWALS_SWEEP: 8,
      MAX_VALIDATORS_PER_WITHDRAWALS_SWEEP: 16_384,
      gloas: null,
    },
    slot,
    root: hashOf(slot),
    finalizedEpoch: Math.floor(slot / SLOTS_PER_EPOCH) - 2,
    totalActiveGwei: String(36_000_000n * 1_000_000_000n),
    isSampled: false,
    carriedGwei: '0',
    exits: { earliestEpoch: 0, leftGwei: '0', isExact: true },
    sweep: { position: 0, registrySize: 1_000_000, eligible: 900_000, partials: 0 },
    own,
  }
  const stay = new BigUint64Array(deposits.slot.length).fill(FAR_FUTURE_EPOCH)
  const data = { header, columns: { withdrawableEpoch: stay, ...deposits } }
  const event = encodeEvent(beaconQueues, { id: 'queues', key: 'mainnet', time: '', data })
  const { rows } = projectQueues({ event, position: { partition: 0, offset: offset++ } }, 'mainnet')
  for (const { table, columns } of rows) await warehouse.insert(table, columns)
}
