import { monitorEventLoopDelay } from 'node:perf_hooks'
import { apiRole } from '../../commands/api-role.ts'
import { ingestRole } from '../../commands/ingest-role.ts'
import { processRole } from '../../commands/process-role.ts'
import { runRoles } from '../../commands/run-roles.ts'
import { validatorsRole } from '../../commands/validators/role.ts'
import { readConfig } from '../../infra/config/config.ts'
import { prepareRuntime } from '../../infra/runtime.ts'
import { openScreen } from '../../infra/screen.ts'
import { silentLog } from '../unit/silent-log.ts'

// The program with all its roles, in a process of its own. Tells its parent the 99th percentile of its event loop's delay since it was
// asked last, in milliseconds.
const LOOK_EVERY_MS = 1
const NANOSECONDS_PER_MS = 1e6

prepareRuntime()
const stop = new AbortController()
const delay = monitorEventLoopDelay({ resolution: LOOK_EVERY_MS })
delay.enable()
process.on('message', (message) => {
  if (message === 'stop') return stop.abort()
  // A timer that fires on time is one pause late already.
  process.send?.(delay.percentile(99) / NANOSECONDS_PER_MS - LOOK_EVERY_MS)
  delay.reset()
})
process.on('disconnect', () => stop.abort())

const config = readConfig(process.env)
const setting = { config, log: silentLog, screen: openScreen(), readAgain: () => config, signal: stop.signal }
await runRoles(setting, [ingestRole, processRole, apiRole, validatorsRole])
process.disconnect?.()
