import { createSuite } from './create.ts'

createSuite({ mode: 'embedded', modeOf: () => ({}) })
