import { createSuite } from './create.ts'
import { withServers } from './servers.ts'

withServers((modeOf) => createSuite({ mode: 'servers', modeOf }))
