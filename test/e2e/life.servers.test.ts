import { lifeSuite } from './life.ts'
import { withServers } from './servers.ts'

withServers((modeOf) => lifeSuite({ mode: 'servers', modeOf }))
