import { quotesSuite } from './quotes.ts'
import { withServers } from './servers.ts'

withServers((modeOf) => quotesSuite({ mode: 'servers', modeOf }))
