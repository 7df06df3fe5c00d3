import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'

/** An event log of each test's own, in a folder that goes with it. */
export function eventLogOfEachTest(): () => EventLog {
  let directory = ''
  let eventLog: EventLog | undefined
  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'epochline-log-'))
    eventLog = await openSqliteEventLog({ file: join(directory, 'log.sqlite') })
  })
  afterEach(async () => {
    await eventLog?.[Symbol.asyncDispose]()
    rmSync(directory, { recursive: true })
  })
  return () => {
    if (eventLog === undefined) throw new Error('the event log is open during tests only')
    return eventLog
  }
}
