import { leasesSuite } from './leases.ts'
import { withServers } from './servers.ts'

withServers((modeOf) => leasesSuite({ mode: 'servers', modeOf, succeedsSleepers: true }))
