import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import type { Setting } from '../../commands/setting.ts'
import { readConfig } from '../../infra/config/config.ts'
import { openScreen } from '../../infra/screen.ts'
import { silentLog } from './silent-log.ts'

export interface TestSetting extends Setting {
  /** What was printed since it was last asked. */
  printed(): string
}

/** Nobody listens at this port. */
const NO_NODES = { BEACON_URL: 'http://127.0.0.1:9', EXECUTION_URL: 'http://127.0.0.1:9' }

/** Makes what commands work with, each time with a data folder of its own; the folders go with the tests of the file. */
export function settingsOfFile(): (env?: Readonly<Record<string, string>>) => TestSetting {
  const directory = mkdtempSync(join(tmpdir(), 'epochline-settings-'))
  afterAll(() => rmSync(directory, { recursive: true }))
  return (env = {}) => {
    let text = ''
    const config = readConfig({ ...NO_NODES, ...env, EPOCHLINE_DATA: mkdtempSync(join(directory, 'data-')) })
    return {
      config,
      log: silentLog,
      screen: openScreen({
        write: (some) => {
          text += some
        },
      }),
      readAgain: () => config,
      signal: new AbortController().signal,
      printed() {
        const printed = text
        text = ''
        return printed
      },
    }
  }
}
