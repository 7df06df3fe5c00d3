import { withServers } from './servers.ts'
import { webhooksSuite } from './webhooks.ts'

withServers((modeOf) => webhooksSuite({ mode: 'servers', modeOf }))
