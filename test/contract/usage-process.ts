import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ClientAddresses } from '../../api/gateway/client-address.ts'
import { Gateway } from '../../api/gateway/gateway.ts'
import { Hosts } from '../../api/gateway/hosts.ts'
import { Meter } from '../../api/gateway/meter.ts'
import { Usage } from '../../api/gateway/usage.ts'
import { openMemoryCounters } from '../../infra/counters/memory.ts'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import type { Counters } from '../../infra/ports/counters.ts'
import { openUpstreams } from '../../infra/upstreams/upstreams.ts'
import { silentLog } from '../unit/silent-log.ts'

// A gateway in a process that may be killed: `node usage-process.ts <url of a node> <log> <file>`. It tells its port; the file has what was taken of
// the quota, a number a line, as a server would have it.

const [, , url = '', log = '', file = ''] = process.argv
const counters = await openMemoryCounters()
const kept: Counters = {
  async take(...asked) {
    const taken = await counters.take(...asked)
    if (taken.allowed) appendFileSync(file, `${asked[1]}\n`)
    return taken
  },
  async giveBack(...given) {
    await counters.giveBack(...given)
    appendFileSync(file, `${-given[1]}\n`)
  },
  [Symbol.asyncDispose]: () => counters[Symbol.asyncDispose](),
}
const usage = new Usage({ eventLog: await openSqliteEventLog({ file: log }), log: silentLog })
const planOf = () => ({ name: 'default', requestsPerDay: 1_000 })
const meter = new Meter({ counters: kept, clientCounters: kept, planOf, usage, log: silentLog })
const networks = [
  { protocol: 'ethereum', network: 'mainnet', service: '', upstreams: [{ url, headers: {}, weight: 1 }] },
]
const gateway = new Gateway({
  ...{ upstreams: openUpstreams({ networks, log: silentLog, secret: 'secret', probeMs: 100 }), meter, log: silentLog },
  ...{
    hosts: new Hosts(() => []),
    addresses: new ClientAddresses(),
    accountsKnown: async () => true,
    wallNow: Date.now,
  },
  standings: { accounts: async () => ({ tokenOf: () => ({ account: 'acme', scopes: ['read'] }) }) },
})
const server = createServer((request, response) => void gateway.handle(request, response)).listen(0, '127.0.0.1')
server.once('listening', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`))
