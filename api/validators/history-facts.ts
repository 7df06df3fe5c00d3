import { fixedEpoch } from '../../schemas/eth/far-future.ts'
import { type ChainClock, epochOf, firstSlotOfEpoch } from '../../schemas/eth/time.ts'
import { VALIDATOR_STATUSES, type ValidatorStatus } from '../../schemas/events/beacon-epoch.ts'
import { IS_WITHDRAWAL } from '../../schemas/tables/rewards.ts'
import { inStatements } from '../../schemas/tables/statement-parts.ts'
import type { AccountScope } from '../http/seen-validators.ts'
import type { Horizon } from '../rewards/horizon.ts'
import type { AccountValidator } from './account-validators.ts'
import type { ListedValidator } from './list-validators.ts'

/** What the tables tell of a validator's past beside its state. */
export interface HistoryFacts {
  /** First epochs at whose ends it was seen in a status. */
  readonly firstEpochs: ReadonlyMap<ValidatorStatus, number>
  /** Of the block that slashed it. */
  readonly slashedSlot: number | undefined
  /** Of the first withdrawal since it is withdrawable, which is of all that it has (consensus-specs, get_expected_withdrawals). */
  readonly sweptSlot: number | undefined
}

export type RegisteredValidator = AccountValidator & { readonly registered: ListedValidator }

/** Epochs of one partition of the tables. */
const PARTITION_EPOCHS = 6_750
/**
 * So long before an activation or an exit its queue is looked for, and so long after a validator has become withdrawable its withdrawal:
 * 60 days of mainnet, longer than any queue has been; reading years of epochs for what never was there would take seconds.
 */
const SEARCH_EPOCHS = 2 * PARTITION_EPOCHS
/** Statuses that end with an epoch which the state does not tell afterwards. */
const PASSING = (['pending_initialized', 'pending_queued', 'active_exiting'] as const).map((status) =>
  VALIDATOR_STATUSES.indexOf(status),
)

// The first of them counts, so it does not matter that a row may be there twice.
const FIRST_EPOCHS = `
  SELECT validator_index, status, min(epoch) AS first FROM validator_epochs
  WHERE chain = {chain:String} AND intDiv(epoch, ${PARTITION_EPOCHS}) IN {partitions:Array(UInt32)} AND epoch <= {horizon:UInt32}
    AND validator_index IN {indices:Array(UInt32)} AND status IN {statuses:Array(UInt8)}
  GROUP BY validator_index, status`
const FIRST_ENTRIES = `
  SELECT validator_index, if(kind = 'slashing_penalty', 'slashed', 'paid_out') AS entry, toString(min(slot)) AS first FROM ledger_entries
  WHERE chain = {chain:String} AND intDiv(epoch, ${PARTITION_EPOCHS}) IN {partitions:Array(UInt32)} AND epoch <= {horizon:UInt32}
    AND validator_index IN {indices:Array(UInt32)}
    AND (kind = 'slashing_penalty'
      OR (${IS_WITHDRAWAL} AND slot >= transform(validator_index, {indices:Array(UInt32)}, {withdrawable:Array(UInt64)}, toUInt64(0))))
  GROUP BY validator_index, entry`

/** Facts of validators that the registry has states of, by index. */
export async function historyFacts(
  scope: AccountScope,
  { chain, clock, epoch: horizon }: Horizon,
  validators: readonly RegisteredValidator[],
): Promise<ReadonlyMap<number, HistoryFacts>> {
  const facts = new Map<number, HistoryFacts>()
  for (const some of inStatements(validators)) {
    const indices = some.map(({ registered }) => registered.validator_index)
    const epochs = await scope.shared.query<{ validator_index: number; status: number; first: number }>(FIRST_EPOCHS, {
      chain,
      horizon,
      indices,
      statuses: PASSING,
      partitions: partitionsOf(some.flatMap((one) => epochSpans(one, clock, horizon))),
    })
    const entries = await firstEntries(scope, { chain, clock, epoch: horizon }, some)
    const epochsOf = Map.groupBy(epochs, (row) => row.validator_index)
    const entriesOf = Map.groupBy(entries, (row) => row.validator_index)
    for (const index of indices) {
      const slotOf = (name: FirstEntry['entry']) => {
        const entry = entriesOf.get(index)?.find((row) => row.entry === name)
        return entry === undefined ? undefined : Number(entry.first)
      }
      facts.set(index, {
        firstEpochs: new Map(
          (epochsOf.get(index) ?? []).map(({ status, first }) => [
            VALIDATOR_STATUSES[status] as ValidatorStatus,
            first,
          ]),
        ),
        slashedSlot: slotOf('slashed'),
        sweptSlot: slotOf('paid_out'),
      })
    }
  }
  return facts
}

interface FirstEntry {
  readonly validator_index: number
  readonly entry: 'slashed' | 'paid_out'
  /** Slot. */
  readonly first: string
}

/** First slashings, and first withdrawals since they are withdrawable, of those that leave. */
async function firstEntries(
  { shared }: AccountScope,
  { chain, clock, epoch: horizon }: Pick<Horizon, 'chain' | 'clock' | 'epoch'>,
  validators: readonly RegisteredValidator[],
): Promise<readonly FirstEntry[]> {
  const leaving = validators.filter(({ registered }) => fixedEpoch(registered.exit_epoch) !== undefined)
  if (leaving.length === 0) return []
  return await shared.query(FIRST_ENTRIES, {
    chain,
    horizon,
    indices: leaving.map(({ registered }) => registered.validator_index),
    withdrawable: leaving.map(({ registered }) => withdrawableSlot(registered, clock)),
    partitions: partitionsOf(leaving.flatMap((one) => entrySpans(one, horizon))),
  })
}

/** Epochs, both inclusive. */
type Span = readonly [from: number, to: number]

/** Where a validator may have waited for its activation, and for its exit. */
function epochSpans({ registered, deposit }: RegisteredValidator, clock: ChainClock, horizon: number): readonly Span[] {
  const activation = Math.min(fixedEpoch(registered.activation_epoch) ?? horizon, horizon)
  const depositEpoch = deposit?.slot === undefined ? 0 : epochOf(clock, deposit.slot)
  const exit = fixedEpoch(registered.exit_epoch)
  const exiting: readonly Span[] = exit === undefined ? [] : [[exit - SEARCH_EPOCHS, Math.min(exit, horizon)]]
  return [[Math.max(depositEpoch, activation - SEARCH_EPOCHS), activation], ...exiting]
}

/** Where a validator that leaves may have been slashed, and where it may have been paid out. */
function entrySpans({ registered }: RegisteredValidator, horizon: number): readonly Span[] {
  const [exit, withdrawable] = [Number(registered.exit_epoch), Number(registered.withdrawable_epoch)]
  return [
    [exit - SEARCH_EPOCHS, Math.min(exit, horizon)],
    [withdrawable, Math.min(withdrawable + SEARCH_EPOCHS, horizon)],
  ]
}

function partitionsOf(spans: readonly Span[]): readonly number[] {
  const partitions = new Set<number>()
  for (const [from, to] of spans) {
    for (let at = Math.floor(Math.max(0, from) / PARTITION_EPOCHS); at * PARTITION_EPOCHS <= to; at++)
      partitions.add(at)
  }
  return [...partitions]
}

/** First slot at which a validator that leaves may be paid out. */
function withdrawableSlot({ withdrawable_epoch }: ListedValidator, clock: ChainClock): number {
  return firstSlotOfEpoch(clock, Number(withdrawable_epoch))
}
