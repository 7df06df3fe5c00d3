import { type ChainQueuesRow, parseQueueFacts, type QueueFacts } from '../../schemas/tables/chain-queues.ts'
import { StandingMemo } from '../http/standing-memo.ts'
import type { Standing } from '../http/standings.ts'

const factsMemo = new StandingMemo<QueueFacts | undefined>((facts) => 1 + (facts?.deposits.own.length ?? 0))

/** What waits at the chain's head; undefined while nobody has told it. */
export function queueFactsOf(standing: Standing): Promise<QueueFacts | undefined> {
  return factsMemo.of(standing, '', async () => {
    const rows = await standing.warehouse.query<Pick<ChainQueuesRow, 'facts'>>(
      'SELECT facts FROM chain_queues FINAL WHERE chain = {chain:String}',
      { chain: standing.chain },
    )
    return rows[0] === undefined ? undefined : parseQueueFacts(rows[0].facts)
  })
}
