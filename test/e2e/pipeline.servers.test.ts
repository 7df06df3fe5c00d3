import { pipelineSuite } from './pipeline.ts'
import { withServers } from './servers.ts'

withServers((modeOf) => pipelineSuite({ mode: 'servers', modeOf, deaths: 'nowhere' }))
