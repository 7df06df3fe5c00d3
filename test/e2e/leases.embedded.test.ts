import { leasesSuite } from './leases.ts'

leasesSuite({ mode: 'embedded', modeOf: () => ({}), succeedsSleepers: false })
