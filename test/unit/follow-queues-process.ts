// Child process of long-queue.test.ts: tells a node's queues into a log, and says a line whenever it has read them.

import { openHttpBeaconSource } from '../../infra/beacon/http-source.ts'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import { followQueues } from '../../ingest/queues/queue-follower.ts'
import { BEACON_CHAIN, ofChain } from './follow-synthetic.ts'
import { silentLog } from './silent-log.ts'

const [url = '', file = ''] = process.argv.slice(2)
await using source = await openHttpBeaconSource({ urls: [url], log: silentLog })
await using eventLog = await openSqliteEventLog({ file })
const stop = new AbortController()
process.on('SIGTERM', () => stop.abort())
const readQueues = source.queues.bind(source)
const beacon = Object.assign(source, {
  queues: async (own: readonly string[]) => {
    const queues = await readQueues(own)
    process.stdout.write(`read ${queues.slot}\n`)
    return queues
  },
})
await followQueues({ ...ofChain(BEACON_CHAIN, eventLog), beacon, readPauseMs: 0 }, stop.signal)
