import { loadConfig } from '../infra/config/config.ts'
import type { Environment } from '../infra/config/environment.ts'
import { formatConfig, summarize } from '../infra/config/format.ts'

/** `epochline config check`: what was understood. Throws AppError `config` with a line for each mistake. */
export function checkConfig(env: Environment): string {
  return `The configuration is right.\n${summarize(loadConfig(env).config)}\n`
}

/** `epochline config show`: every setting that is in force, with where it comes from. Throws as `checkConfig`. */
export function showConfig(env: Environment): string {
  const { config, shown } = loadConfig(env)
  return formatConfig(config, shown)
}
