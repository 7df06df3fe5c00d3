import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'

/** Appends events one by one and prints the number of each as soon as the log has answered: a process to be killed. */
const [file = '', name = '', count = '0'] = process.argv.slice(2)
await using log = await openSqliteEventLog({ file })
for (let i = 0; i < Number(count); i++) {
  const data = new Uint8Array(2_000)
  await log.append('beacon.blocks', [
    { id: `${name}-${i}`, type: 'test', version: 1, key: name, time: '2026-01-01T00:00:00.000Z', data },
  ])
  process.stdout.write(`${i}\n`)
}
