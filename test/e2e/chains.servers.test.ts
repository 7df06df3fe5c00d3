import { chainsSuite } from './chains.ts'
import { withServers } from './servers.ts'

withServers((modeOf) => chainsSuite('servers', modeOf))
