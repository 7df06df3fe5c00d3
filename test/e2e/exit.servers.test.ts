import { exitSuite } from './exit.ts'
import { withServers } from './servers.ts'

withServers((modeOf) => exitSuite({ mode: 'servers', modeOf }))
