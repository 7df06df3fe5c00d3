import { broadcastSuite } from './broadcast.ts'

broadcastSuite({ mode: 'embedded', modeOf: () => ({}), twoProcesses: false })
