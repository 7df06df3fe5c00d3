import { withServers } from './servers.ts'
import { vaultTakeoverSuite } from './vault-takeover.ts'

withServers((modeOf) => vaultTakeoverSuite({ mode: 'servers', modeOf }))
