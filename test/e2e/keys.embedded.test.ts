import { keysSuite } from './keys.ts'

keysSuite({ mode: 'embedded', modeOf: () => ({}) })
