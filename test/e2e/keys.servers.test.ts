import { keysSuite } from './keys.ts'
import { withServers } from './servers.ts'

withServers((modeOf) => keysSuite({ mode: 'servers', modeOf }))
