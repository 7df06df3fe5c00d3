import { createInterface } from 'node:readline'
import { AppError } from '../../schemas/errors.ts'
import { openLogAt } from './event-log-place.ts'

/** Holds a lease, says so, and appends an event for each line that it is given: a process to be stopped and killed. */
const [place = '', name = ''] = process.argv.slice(2)
await using log = await openLogAt(JSON.parse(place))
const lease = await log.lease(name, new AbortController().signal)
process.stdout.write('held\n')
for await (const id of createInterface({ input: process.stdin })) process.stdout.write(`${await append(id)}\n`)

async function append(id: string): Promise<string> {
  const data = new TextEncoder().encode(id)
  try {
    await lease.append('beacon.blocks', [
      { id, type: 'test', version: 1, key: 'k', time: '2026-01-01T00:00:00.000Z', data },
    ])
    return `appended ${id}`
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return `refused ${id}: ${error.code}`
  }
}
