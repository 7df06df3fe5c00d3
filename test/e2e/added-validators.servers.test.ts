import { addedValidatorsSuite } from './added-validators.ts'
import { withServers } from './servers.ts'

withServers((modeOf) => addedValidatorsSuite({ mode: 'servers', modeOf }))
