import { lifeSuite } from './life.ts'

lifeSuite({ mode: 'embedded', modeOf: () => ({}) })
