import { pino } from 'pino'
import { apiRole } from '../../commands/api-role.ts'
import { processRole } from '../../commands/process-role.ts'
import { runRoles } from '../../commands/run-roles.ts'
import { readConfig } from '../../infra/config/config.ts'
import { prepareRuntime } from '../../infra/runtime.ts'
import { openScreen } from '../../infra/screen.ts'

// The API as the program runs it, in a process of its own, with the processors where BENCH_PROCESSES is set. Tells its parent the microseconds of CPU that it has used, when asked, and people what goes wrong.
prepareRuntime()
const stop = new AbortController()
process.on('message', (message) => {
  if (message === 'stop') stop.abort()
  else process.send?.(process.cpuUsage())
})
process.on('disconnect', () => stop.abort())

const config = readConfig(process.env)
const log = pino({ level: 'warn' }, pino.destination({ fd: 2, sync: true }))
const setting = { config, log, screen: openScreen(), readAgain: () => config, signal: stop.signal }
await runRoles(setting, process.env.BENCH_PROCESSES === undefined ? [apiRole] : [apiRole, processRole])
process.disconnect?.()
