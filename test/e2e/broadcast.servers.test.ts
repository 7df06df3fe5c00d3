import { broadcastSuite } from './broadcast.ts'
import { withServers } from './servers.ts'

withServers((modeOf) => broadcastSuite({ mode: 'servers', modeOf, twoProcesses: true }))
