import { chainsSuite } from './chains.ts'

chainsSuite('embedded', () => ({}))
