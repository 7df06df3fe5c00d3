import { pipelineSuite } from './pipeline.ts'

pipelineSuite({ mode: 'embedded', modeOf: () => ({}), deaths: 'on the way' })
