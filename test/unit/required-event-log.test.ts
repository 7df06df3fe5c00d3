import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { requireEventLog } from '../../infra/data-directory.ts'

const directory = mkdtempSync(join(tmpdir(), 'required-log-'))
afterAll(() => rmSync(directory, { recursive: true }))

const NOBODY = 65_534

/** Rights of files do not hold for root. */
function asOrdinaryUser(run: () => void): void {
  const isRoot = process.geteuid?.() === 0
  if (isRoot) process.seteuid?.(NOBODY)
  try {
    run()
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
}

/** A data folder with a log below a folder. */
function givenLog(): { readonly above: string; readonly data: string; readonly file: string } {
  chmodSync(directory, 0o755)
  const above = mkdtempSync(join(directory, 'above-'))
  chmodSync(above, 0o755)
  const data = join(above, 'data')
  mkdirSync(data, 0o755)
  const file = join(data, 'event-log.sqlite')
  writeFileSync(file, '')
  return { above, data, file }
}

describe('an event log that a command needs', () => {
  it.each(['data', 'above'] as const)('is not called missing where access to the folder is denied: %s', (closed) => {
    const given = givenLog()
    asOrdinaryUser(() => requireEventLog(given.file))
    chmodSync(given[closed], 0)
    try {
      expect(() => asOrdinaryUser(() => requireEventLog(given.file))).toThrow(
        expect.objectContaining({
          code: 'usage',
          message: expect.stringContaining(`Access to ${JSON.stringify(given.data)} is denied`),
        }),
      )
    } finally {
      chmodSync(given[closed], 0o755)
    }
  })

  it('is called missing where the folder has none, with the folder that was meant', () => {
    const { data, file } = givenLog()
    expect(() => requireEventLog(file.replace('/data/', '/dta/'))).toThrow(
      `There is no event log in ${JSON.stringify(data.replace(/data$/, 'dta'))}: only all and ingest begin one; another folder is named by --data or EPOCHLINE_DATA. Did you mean ${data}?`,
    )
  })
})
