import { loadConfig } from '../infra/config/config.ts'
import { formatConfig, summarize } from '../infra/config/format.ts'
import type { ConfigSource } from '../infra/config/layers.ts'

/** `epochline config check`: what was understood. Throws AppError `config` with a line for each mistake. */
export function checkConfig(source: ConfigSource): string {
  const { config, notes } = loadConfig(source)
  return ['The configuration is right.', summarize(config), ...notes.map((note) => `note: ${note}`), ''].join('\n')
}

/** `epochline config show`: every setting that is in force, with where it comes from. Throws as `checkConfig`. */
export function showConfig(source: ConfigSource): string {
  const { config, shown } = loadConfig(source)
  return formatConfig(config, shown)
}
