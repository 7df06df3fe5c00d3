import { Standings } from '../../api/http/standings.ts'
import { accountTotals } from '../../api/rewards/account-totals.ts'
import { horizonOf } from '../../api/rewards/horizon.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import type { EncodedEvent, Topic } from '../../schemas/events/codec.ts'
import { epochOfEvent, keepValidators } from './changed-events.ts'
import { givenChain } from './given-chain.ts'
import { rebuildFrom } from './projecting.ts'
import { storesOfFile } from './warehouse-of-file.ts'

export type Events = ReadonlyMap<Topic, readonly EncodedEvent[]>
export type Row = Record<string, string | number>

export const SLOTS_PER_EPOCH = 4
export const chain = givenChain()

/** The finalized stream of the given chain, each event changed. */
export const finalized = (change: (event: EncodedEvent, epoch: number) => EncodedEvent): readonly EncodedEvent[] =>
  (chain.events.get('beacon.epochs') ?? []).map((event) => change(event, epochOfEvent(event, SLOTS_PER_EPOCH)))

/** The finalized stream as it is when each validator is tracked from an epoch on. */
export const trackedFrom = (epochs: readonly number[]): readonly EncodedEvent[] =>
  finalized((event, epoch) => keepValidators(event, (validator) => (epochs[validator] as number) <= epoch))

export const withEpochs = (events: readonly EncodedEvent[]): Events =>
  new Map([...chain.events, ['beacon.epochs', events]])

/** Tables that a rebuild has made of events of the given chain. */
export function rebuiltTablesOfFile() {
  const stores = storesOfFile()

  async function rebuiltLog(events: Events): Promise<EventLog> {
    const eventLog = await stores().openLog(events)
    await rebuildFrom(eventLog, stores().warehouse)
    return eventLog
  }

  /** What the API looks at for account `a`. */
  async function look() {
    const { warehouse } = stores()
    const standing = await new Standings(warehouse).of('mainnet')
    const horizon = await horizonOf(standing)
    if (horizon === undefined) throw new Error('no complete epoch')
    return { scope: { standing, account: 'a', shared: warehouse }, horizon }
  }

  return {
    stores,
    look,
    warehouse: () => stores().warehouse,
    /** From these events; those of one name are rebuilt once. */
    async rebuilt(events: Events, name?: string): Promise<void> {
      const fill = () => rebuiltLog(events)
      await using _eventLog = await (name === undefined ? fill() : stores().filled(name, fill))
    },
    /** From the whole chain. */
    async whole(): Promise<void> {
      await using _eventLog = await stores().filled('whole', () => rebuiltLog(chain.events))
    },
    async totals() {
      const { scope, horizon } = await look()
      return accountTotals(scope, horizon)
    },
    /** Whole rows of days. */
    wholeRows: () =>
      stores().warehouse.query<Row>(
        'SELECT * EXCEPT (version) FROM daily_rewards FINAL WHERE is_whole = 1 ORDER BY day, validator_index',
      ),
  }
}
