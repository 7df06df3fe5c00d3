import type { Config } from '../infra/config/types.ts'
import type { Log } from '../infra/ports/log.ts'
import type { Screen } from '../infra/screen.ts'

/** What every command works with. */
export interface Setting {
  readonly config: Config
  readonly log: Log
  readonly screen: Screen
  /** Reads the configuration again: the file may have changed. Throws AppError `config`. */
  readonly readAgain: () => Config
  /** Aborts on Ctrl-C and SIGTERM: finish what runs, then stop. */
  readonly signal: AbortSignal
}

/** Unix seconds. */
export function nowSec(): number {
  return Date.now() / 1000
}
