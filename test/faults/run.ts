import { runVitest } from '../run-vitest.ts'

/**
 * `npm run test:faults`: lets the program meet every fault of a node that test/faults/catalogue.ts knows.
 *
 *     --write           writes what an operator sees of each into docs/faults.md
 *     --only <pattern>  only faults whose names match
 *     --every <n>       each nth fault of the catalogue: a short form, since every fault is a chain with days to close
 *     anything else is passed on to vitest
 */
const args = process.argv.slice(2)
const environment: Record<string, string> = {}
const write = args.indexOf('--write')
if (write !== -1) {
  args.splice(write, 1)
  environment.EPOCHLINE_FAULTS_WRITE = '1'
}
const only = args.indexOf('--only')
if (only !== -1) environment.EPOCHLINE_FAULTS_ONLY = args.splice(only, 2)[1] ?? ''

const every = args.indexOf('--every')
if (every !== -1) environment.EPOCHLINE_FAULTS_EVERY = args.splice(every, 2)[1] ?? ''

process.exitCode = await runVitest('faults', args, environment)
