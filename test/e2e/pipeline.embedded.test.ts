import { pipelineSuite } from './pipeline.ts'

pipelineSuite('embedded', () => ({}))
