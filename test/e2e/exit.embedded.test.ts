import { exitSuite } from './exit.ts'

exitSuite({ mode: 'embedded', modeOf: () => ({}) })
