import { quotesSuite } from './quotes.ts'

quotesSuite({ mode: 'embedded', modeOf: () => ({}) })
