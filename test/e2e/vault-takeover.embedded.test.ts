import { vaultTakeoverSuite } from './vault-takeover.ts'

vaultTakeoverSuite({ mode: 'embedded', modeOf: () => ({}) })
